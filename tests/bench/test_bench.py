"""The benchmark's own arithmetic: the limit counts the update's products, turns are turns."""

from __future__ import annotations

import io
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.interpreters.partial_eval import dce_jaxpr
from rich.console import Console

from isl.agents.base import Transition
from isl.bench import exploration, ours, peers, report
from isl.bench.limit import isl_products
from isl.bench.timing import Contestant, take_turns
from isl.cli.main import main

pytestmark = pytest.mark.slow  # compiles and measures


def dot_flops(jaxpr):
    """Floating point operations of all products in a program, branches counted once."""
    total = 0.0
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            (contracted, _), (batch, _) = equation.params["dimension_numbers"]
            left, right = (v.aval.shape for v in equation.invars)
            inner = np.prod([left[i] for i in contracted])
            stacked = np.prod([left[i] for i in batch])
            total += 2 * np.prod(left) * np.prod(right) / (inner * stacked)
        for value in equation.params.values():
            for inner in value if isinstance(value, tuple | list) else [value]:
                closed = getattr(inner, "jaxpr", inner)
                if hasattr(closed, "eqns"):
                    total += dot_flops(closed)
    return total


@pytest.mark.parametrize("task", ["deep_sea/5", "cartpole_swingup/10"])
def test_the_limit_has_exactly_the_products_of_an_update(task):
    env, agent, cfg = ours.build(task, "isl", {"batch_size": 16, "hidden": (7, 6)})
    learner = jax.eval_shape(agent.init, jax.random.key(0))
    space = env.observation_space
    obs = jnp.zeros((16, *(space.shape or ())), space.dtype if space.shape else jnp.int32)
    ones = jnp.ones(16)
    batch = Transition(obs, jnp.zeros(16, jnp.int32), ones, ones, obs)
    update = jax.make_jaxpr(lambda s: agent.update(s, agent.target(s), batch, jax.random.key(0)))(
        learner
    )
    inputs = int(np.prod(space.shape)) if space.shape else None
    shapes = isl_products(cfg.batch_size, env.num_actions, cfg.hidden, inputs)
    used, _ = dce_jaxpr(update.jaxpr, [True] * len(update.jaxpr.outvars))  # as XLA does
    assert dot_flops(used) == sum(2 * a * b * c for a, b, c in shapes)


def test_contestants_take_turns():
    order = []
    runners = [Contestant(n, 2, lambda n=n: order.append(n)) for n in "abc"]
    take_turns(runners, 2)
    assert order == list("abcabc")
    assert all(len(runner.seconds) == len(runner.cpu_seconds) == 2 for runner in runners)
    assert runners[0].spread[0] <= runners[0].median <= runners[0].spread[1]


def test_the_limit_is_measured_and_printed(monkeypatch):
    monkeypatch.setattr(report, "TASKS", ("deep_sea/4",))
    out = io.StringIO()
    rows = report._limit(Console(file=out, width=120), turns=1)
    json.dumps(rows)
    row = rows["deep_sea/4"]
    limit = row["products"]["median_seconds"] + row["adam"]["median_seconds"]
    assert row["update_over_limit"] == pytest.approx(row["update"]["median_seconds"] / limit)
    assert "GFLOP/s" in out.getvalue()


def test_a_peer_that_is_missing_is_named(monkeypatch):
    def absent(task, steps):
        raise ModuleNotFoundError("No module named 'someone'")

    monkeypatch.setattr(peers, "PEERS", {"someone's dqn": absent})
    found, missing = peers.available("deep_sea/4", 1)
    assert found == []
    assert missing == {"someone's dqn deep_sea/4": "ModuleNotFoundError: No module named 'someone'"}


@pytest.mark.parametrize(
    "wrong",
    [
        "--what host --no-peers",
        "--what startup --out b",
        "--what solve --turns 3",
        "--turns 0",
        "--what nothing",
    ],
)
def test_options_without_effect_are_refused(capsys, wrong):
    assert main(["bench", *wrong.split()]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_policy_is_timed_beside_softmax(monkeypatch, capsys):
    monkeypatch.setattr(exploration, "SHAPES", {(8, 2): 2})
    monkeypatch.setattr(exploration, "ROUNDS", 2)
    exploration.compare()
    shape, *figures = capsys.readouterr().out.splitlines()[-1].split()
    assert shape == "[8,2]"
    call, softmax, ratio = map(float, figures[:3])
    assert ratio == pytest.approx(call / softmax, rel=0.05)
