"""Callbacks of `learn`: public names of `isl.model`'s modules."""

from isl.model.callbacks import (
    BaseCallback,
    CallbackList,
    CheckpointCallback,
    EvalCallback,
)
from isl.model.given_callbacks import FunctionCallback
from isl.model.trackers import MLflowCallback, WandbCallback

__all__ = [
    "BaseCallback",
    "CallbackList",
    "CheckpointCallback",
    "EvalCallback",
    "FunctionCallback",
    "MLflowCallback",
    "WandbCallback",
]
