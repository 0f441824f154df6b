"""Callbacks of `learn`: public names of `isl.model.callbacks`."""

from isl.model.callbacks import (
    BaseCallback,
    CallbackList,
    CheckpointCallback,
    EvalCallback,
    FunctionCallback,
)

__all__ = ["BaseCallback", "CallbackList", "CheckpointCallback", "EvalCallback", "FunctionCallback"]
