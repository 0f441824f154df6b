"""Deep exploration for reinforcement learning, compiled.

from isl import Seeker
model = Seeker("MountainCar-v0").learn(100_000)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium

from isl.garbage import uncollected
from isl.version import __version__

if TYPE_CHECKING:
    from isl.model import DQN, ISL, SBEED, UBE, BootDQN, Seeker, StableDQN, load

__all__ = ["DQN", "ISL", "SBEED", "UBE", "BootDQN", "Seeker", "StableDQN", "__version__", "load"]

# By name only: `import isl` loads neither JAX nor the tasks.
_TWINS = {
    "isl.envs.gymnasium": ("DeepSea", "CartpoleSwingup"),
    "isl.envs.minigrid.gymnasium": ("Empty", "DoorKey", "MultiRoom", "KeyCorridor", "FourRooms"),
    "isl.envs.small": ("Lock", "RiverSwim", "PointMaze"),
}
for _module, _names in _TWINS.items():
    for _name in _names:
        if f"isl/{_name}-v0" not in gymnasium.registry:
            gymnasium.register(f"isl/{_name}-v0", f"{_module}:{_name}Env")


def __getattr__(name: str) -> Any:
    """The models, imported when first asked for."""
    if name in __all__:
        with uncollected():
            from isl import model

        return getattr(model, name)
    raise AttributeError(f"module 'isl' has no attribute {name!r}")
