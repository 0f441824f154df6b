"""Exported policies choose and believe what the model does, in a process that cannot import JAX."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from gymnasium.vector.utils import concatenate, create_empty_array

from isl import DQN, Seeker
from isl.agents import load
from isl.cli.main import main
from isl.envs import spaces
from isl.errors import UsageError
from isl.model.policy import Policy, make_agent

DOCS = Path(__file__).parents[2] / "docs" / "export.md"
NUMBER = 1000  # observations of each kind
SMALL_IMAGE = Box(0, 255, (12, 12, 3), np.uint8)
VECTOR = Box(-5, 5, (4,), np.float32)
MIXED = Dict(
    {
        "position": Box(-1, 1, (3,), np.float64),
        "room": Discrete(6, start=1),
        "keys": MultiBinary(4),
        "inner": Tuple([Box(0, 1000, (2,), np.int64), Discrete(2)]),
    }
)
PARTS = Dict(
    {
        "speed": Box(-1, 1, (3,), np.float32),
        "front": Box(0, 255, (12, 12, 1), np.uint8),
        "inner": Tuple([Discrete(4, start=1), Box(0, 255, (3, 16, 8), np.uint8)]),
    }
)
KINDS = {
    "table": ("seeker", Discrete(40, start=3), Discrete(3, start=2)),
    "product": (
        "seeker",
        Dict({"room": Discrete(6, start=1), "keys": MultiBinary(3)}),
        Discrete(5),
    ),
    "vector": ("seeker", VECTOR, Discrete(3)),
    "long": ("seeker", Box(-1, 1, (60,), np.float32), Discrete(3)),
    "image": ("seeker", SMALL_IMAGE, Discrete(3)),
    "dict": ("seeker", MIXED, MultiDiscrete([2, 3])),
    "parts": ("seeker", PARTS, Discrete(3)),
    "parts of dqn": ("dqn", PARTS, Discrete(3)),
    "ensemble": ("boot_dqn", SMALL_IMAGE, Discrete(2)),
    "learner": ("isl", VECTOR, Discrete(2)),
    "softplus": ("ube", VECTOR, Discrete(4)),
    "policy": ("sbeed", Box(-1, 1, (2, 3), np.float64), Discrete(4)),
    "rows": ("dqn", Discrete(7), Discrete(4)),
}
SCRIPT = """
import json, sys
class NoJax:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("jax", "jaxlib", "flax", "isl"):
            raise ImportError(name)
sys.meta_path.insert(0, NoJax())
import numpy as np
folder, names, kind = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
def parts(held):
    return {name.partition(":")[2]: held[name] for name in held if name.startswith("in:")}
def nested(told, leaves):
    if isinstance(told, str):
        return leaves[told]
    if isinstance(told, list):
        return [nested(x, leaves) for x in told]
    return {name: nested(x, leaves) for name, x in told.items()}
"""
WITH_NUMPY = """
for name in names:
    held = np.load(f"{folder}/{name}.data.npz")
    given = nested(json.loads(str(held["shape"])), parts(held))
    np.savez(f"{folder}/{name}.found.npz", **Policy(f"{folder}/{name}.npz")(given))
"""
WITH_ONNX = """
import onnxruntime
for name in names:
    held = np.load(f"{folder}/{name}.data.npz")
    session = onnxruntime.InferenceSession(f"{folder}/{name}.onnx")
    outputs = [x.name for x in session.get_outputs()]
    np.savez(f"{folder}/{name}.found.npz", **dict(zip(outputs, session.run(outputs, parts(held)))))
"""


class Holder(NamedTuple):
    """A policy with what it learned: a model without an environment or a training loop."""

    policy: Policy
    learner: Any

    def predict(self, batch):
        return self.policy.predict(self.learner, batch, None, None, deterministic=True)[0]

    def inspect(self, batch):
        return self.policy.inspect(self.learner, batch)

    def export(self, path):
        return self.policy.export(self.learner, path, "an agent")


def model_of(name, torso=None):
    """All numbers that are learned are drawn."""
    agent, space, choices = KINDS[name]
    observations, actions = spaces.observations(space), spaces.actions(choices)
    config = load(agent).Config(hidden=(8, 8))
    if agent == "boot_dqn":
        config = config.replace({"ensemble": 3})
    made = make_agent(agent, config, observations, actions, False, torso)
    rng = np.random.default_rng(0)

    def drawn(path, leaf):
        x = rng.normal(size=leaf.shape) * 0.3
        if leaf.dtype != np.float32:
            return jnp.zeros(leaf.shape, leaf.dtype)
        if leaf.ndim == 0:  # units and numbers of steps
            x = np.abs(x) + 2
        elif any(name in jax.tree_util.keystr(path) for name in ("visits", "squares", "ell")):
            x = np.abs(x)  # these are never negative
        return jnp.asarray(x, leaf.dtype)

    template = jax.eval_shape(made.init, jax.random.key(0))
    learner = jax.tree_util.tree_map_with_path(drawn, template)
    return Holder(Policy(made, observations, actions, name, 0), learner)


def paths(space, path=()):
    """The space as nested lists and dicts with names of inputs as leaves."""
    if isinstance(space, Dict):
        return {key: paths(part, (*path, key)) for key, part in space.spaces.items()}
    if isinstance(space, Tuple):
        return [paths(part, (*path, str(i))) for i, part in enumerate(space.spaces)]
    return "/".join(path) or "observation"


def leaves(told, batch):
    if isinstance(told, str):
        return {told: batch}
    keys = range(len(told)) if isinstance(told, list) else told
    return {k: x for key in keys for k, x in leaves(told[key], batch[key]).items()}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder with observations for each kind, and what the models choose and believe there."""
    folder, expected = tmp_path_factory.mktemp("policies"), {}
    for name in KINDS:
        model, space = model_of(name), KINDS[name][1]
        space.seed(0)
        drawn = [space.sample() for _ in range(NUMBER)]
        batch = concatenate(space, drawn, create_empty_array(space, NUMBER))
        told = paths(space)
        held = {f"in:{key}": x for key, x in leaves(told, batch).items()}
        np.savez(folder / f"{name}.data.npz", shape=json.dumps(told), **held)
        expected[name] = (model, model.predict(batch), model.inspect(batch))
    varied = [
        len(np.unique(actions.reshape(NUMBER, -1), axis=0)) > 1
        for _, actions, _ in expected.values()
    ]
    assert sum(varied) >= 7  # where all actions are the same, little is shown
    return folder, expected


def reader():
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    return next(block for block in blocks if "class Policy" in block)


def run_without_jax(python, code, folder, kind):
    told = [folder, json.dumps(list(KINDS)), kind]
    done = subprocess.run([python, "-c", SCRIPT + code, *told], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def check(folder, name, expected, left_out):
    _, actions, beliefs = expected[name]
    with np.load(folder / f"{name}.found.npz") as found:
        np.testing.assert_array_equal(found["action"], actions)
        assert {*found} == {"action", *beliefs} - {*left_out}
        for belief in {*found} - {"action"}:
            scale = np.abs(beliefs[belief]).max() + 1e-9
            off = np.abs(found[belief].astype(float) - beliefs[belief]).reshape(NUMBER, -1).max(-1)
            # Who is Pareto optimal can hang on the last bit, and the policy then does too.
            allowed = 0.02 * NUMBER if belief in ("pareto", "policy") else 0
            assert (off > 1e-4 * scale).sum() <= allowed, (name, belief)


def test_the_reader_of_the_docs_gives_the_same_actions_without_jax(models):
    folder, expected = models
    left = {name: model.export(folder / f"{name}.npz") for name, (model, *_) in expected.items()}
    run_without_jax(sys.executable, reader() + WITH_NUMPY, folder, "numpy")
    for name in KINDS:
        check(folder, name, expected, left[name])
    assert left["vector"] == left["table"] == left["product"] == []
    assert left["dict"] == ["pareto", "policy", "value"]  # six actions: they need a loop


def test_onnx_gives_the_same_actions_without_jax(models):
    """`ISL_ONNX_PYTHON` may name the interpreter of an environment that has no JAX at all."""
    if importlib.util.find_spec("onnx") is None:
        pytest.skip("needs the package onnx: pip install 'isl[export]'")
    python = os.environ.get("ISL_ONNX_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import onnxruntime"], capture_output=True).returncode:
        pytest.skip("needs the package onnxruntime: pip install 'isl[export]'")
    folder, expected = models
    left = {name: model.export(folder / f"{name}.onnx") for name, (model, *_) in expected.items()}
    run_without_jax(python, WITH_ONNX, folder, "onnx")
    for name in KINDS:
        check(folder, name, expected, left[name])


def test_the_reader_is_short():
    lines = [line for line in reader().splitlines() if line.strip()]
    assert len(lines) <= 40


class Doubled(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.tanh(nn.Dense(5)(x * 2))


class Sorted(nn.Module):
    @nn.compact
    def __call__(self, x):
        return jnp.sort(x)


def read_here(folder, name):
    """The policy in a file, by the reader of the docs in this process."""
    (folder / "reader.py").write_text(reader(), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("reader", folder / "reader.py")
    read = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(read)
    return read.Policy(folder / name)


def test_a_torso_of_ones_own(tmp_path):
    model, space = model_of("vector", torso=Doubled()), KINDS["vector"][1]
    model.export(tmp_path / "p.npz")
    batch = np.stack([space.sample() for _ in range(50)])
    actions = read_here(tmp_path, "p.npz")(batch)["action"]
    np.testing.assert_array_equal(actions, model.predict(batch))
    with pytest.raises(UsageError, match="cannot be exported: the operation sort") as told:
        model_of("vector", torso=Sorted()).export(tmp_path / "q.npz")
    assert "\n" not in str(told.value)
    assert not (tmp_path / "q.npz").exists()


@pytest.mark.parametrize("given_up", [False, True])
def test_a_table_of_what_comes_back(tmp_path, given_up):
    import isl.paper.grids  # noqa: F401 - registers it

    quiet = {"progress_bar": False, "n_eval_episodes": 0}
    model = Seeker("isl/Labyrinth-v0", seed=0).learn(900, **quiet)
    learner = model.learner._replace(over=jnp.asarray(given_up))
    model = Holder(model._policy, learner)
    left = model.export(tmp_path / "p.npz")
    places = np.stack(np.meshgrid(np.arange(8), np.arange(8)), -1).reshape(-1, 2)
    batch = (places / 6).astype(np.float32)  # some of them are nowhere
    found, told = read_here(tmp_path, "p.npz")(batch), model.inspect(batch)
    np.testing.assert_array_equal(found["action"], model.predict(batch))
    assert {*found} == {"action", *told} - {*left}
    for name in {*found} - {"action"}:
        np.testing.assert_allclose(found[name], told[name], rtol=1e-4, atol=1e-5)
    assert given_up or not left


def test_command_line(tmp_path, capsys):
    model = DQN("deep_sea/3", hidden=(4,), batch_size=4, learning_starts=8)
    model.save(tmp_path / "m.isl", replay=False)
    assert main(["export", "policy", str(tmp_path / "m.isl"), str(tmp_path / "p.npz")]) == 0
    assert "p.npz: " in capsys.readouterr().out
    assert main(["export", "policy", str(tmp_path / "m.isl"), str(tmp_path / "p.pt")]) == 2
    assert "ends in .onnx or .npz" in capsys.readouterr().err
    assert (
        main(["export", "policy", str(tmp_path / "m.isl"), str(tmp_path / "p.npz"), "--best"]) == 2
    )
    assert main(["export", "bsuite", str(tmp_path), str(tmp_path), "--best"]) == 2
    assert main(["export", "policy", str(tmp_path / "no.isl"), str(tmp_path / "p.npz")]) == 2
