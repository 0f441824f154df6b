"""`module:Name`: ids that a module registers, its classes, its functions."""

import sys

import gymnasium
import pytest

from isl import DQN
from isl.cli.main import main
from isl.envs import named
from isl.errors import UsageError

MODULE = """
import gymnasium, numpy as np
from gymnasium.spaces import Box, Discrete

class Steps(gymnasium.Env):
    metadata = {"render_modes": ["rgb_array"]}
    observation_space, action_space = Box(-1, 1, (2,)), Discrete(2)
    def __init__(self, render_mode=None):
        self.render_mode = render_mode
    def reset(self, *, seed=None, options=None):
        self.left = 5
        return np.zeros(2, np.float32), {}
    def step(self, action):
        self.left -= 1
        return np.zeros(2, np.float32), float(action), self.left == 0, False, {}

class Needs(Steps):
    def __init__(self, size):
        pass

def make():
    return Steps()

def nothing():
    return 3

number = 7
gymnasium.register("NamedHere-v0", Steps)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a module in it that is not on the path."""
    (tmp_path / "named_here.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("named_here", None)
    gymnasium.registry.pop("NamedHere-v0", None)


@pytest.mark.usefixtures("folder")
def test_an_id_a_class_and_a_function():
    for name in ("NamedHere-v0", "Steps", "make"):
        env = named.make(f"named_here:{name}")
        assert type(env.unwrapped).__name__ == "Steps"
    assert DQN("named_here:Steps", num_envs=2).episodes.width == 2


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("named_here:Step", "no environment 'Step'; did you mean named_here:Steps?"),
        ("named_here:number", "no environment 'number'; expected an id, a class or a function"),
        ("named_here:nothing", "makes int, expected a Gymnasium environment"),
        ("named_here:Needs", "cannot be made: .* missing 1 required positional argument"),
        ("named_her:Steps", "no module named 'named_her' .* is its folder the current one"),
    ],
)
def test_what_is_not_there(name, told):
    with pytest.raises(UsageError, match=told):
        named.make(name)


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_on_the_command_line(capfd):
    options = "--agent dqn --timesteps 60 --hidden 8 --learning-starts 8 --seeds 1 --out runs"
    assert main(["train", "named_here:Steps", *options.split()]) == 0
    assert main(["eval", "runs", "--env", "named_here:Steps", "--episodes", "2"]) == 0
    assert "mean return" in capfd.readouterr().out
    assert main(["train", "named_here:Step", *options.split()]) == 2
    assert "did you mean named_here:Steps?" in capfd.readouterr().err
