"""Every agent learns the known values of the probes (tests/support/probes.py)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isl import agents
from isl.training.compiled import compile_training
from tests.support.probes import CELLS, GAMMA, PROBES, Probes, known_values

pytestmark = pytest.mark.slow  # trains every agent

COMMON = {"gamma": GAMMA, "hidden": (32, 32), "batch_size": 64, "learning_starts": 256}
SETTINGS = {
    # κ is small, so that v* is all but max q̂.
    "isl": {"kappa": 0.02, "lr_q": 2e-3, "lr_rho": 1e-3, "lr_ell": 1e-3, "ell_max": 10.0},
    "seeker": {"kappa": 1e-3},
    "boot_dqn": {"lr": 2e-3, "ensemble": 4, "prior_scale": 1.0},
    "ube": {"lr_q": 2e-3, "lr_u": 1e-3, "mu": 1.0, "beta": 0.5},
    "sbeed": {"kappa": 0.2, "lr_v": 3e-3, "lr_pi": 3e-3, "lr_rho": 3e-3},
    "dqn": {"lr": 2e-3, "epsilon_steps": 1_000, "epsilon_end": 0.2},
    # Without greedy episodes: every action of every probe is tried often.
    "stable_dqn": {"lr": 2e-3, "epsilon_steps": 1_000, "epsilon_end": 0.2, "greedy_share": 0.0},
}
UPDATES = 3_000
TOLERANCE = 0.1
NOISY_TOLERANCE = 0.2  # rewards are 0.5 or 1.5, and an action may have been tried but twenty times


@cache
def beliefs(name: str) -> tuple[dict[str, np.ndarray], np.ndarray, bool]:
    """Once trained: what `inspect` shows in every state, what is exploited there, all finite?"""
    module = agents.load(name)
    env = Probes()
    settings = {**COMMON, **SETTINGS[name]}
    agent = module.make(module.Config(**settings), env.observation_space, env.num_actions)
    program = compile_training(env, agent, UPDATES)
    state, _ = program.warm_up(program.init([0]))
    state, _, metrics = program.chunk(state)
    learner = jax.tree.map(lambda x: x[0], state.seeds.learner)
    look = lambda obs: (agent.inspect(learner, obs), agent.exploit(learner, obs))  # noqa: E731
    seen, exploited = jax.jit(jax.vmap(look))(jnp.arange(len(CELLS)))
    finite = all(np.isfinite(x).all() and x.dtype == np.float32 for x in metrics.values())
    return {k: np.asarray(x) for k, x in seen.items()}, np.asarray(exploited), finite


@pytest.mark.parametrize("probe", PROBES)
@pytest.mark.parametrize("name", SETTINGS)
def test_learns_the_known_values(name, probe):
    q, v = known_values(SETTINGS["sbeed"]["kappa"] if name == "sbeed" else 0.0)
    seen, exploited, _ = beliefs(name)
    tolerance = NOISY_TOLERANCE if probe == "noisy" else TOLERANCE
    for state in (i for i, cell in enumerate(CELLS) if cell.probe == probe):
        assert seen["value"][state] == pytest.approx(v[state], abs=tolerance)
        best = int(q[state].argmax())
        if probe == "one_state":
            assert exploited[state] == best
            assert seen["policy"][state].argmax() == best
        else:  # both actions are worth the same: whichever is exploited is one of the best
            best = int(exploited[state])
        assert seen["q"][state, best] == pytest.approx(q[state, best], abs=tolerance)


@pytest.mark.parametrize("name", SETTINGS)
def test_shows_a_policy_and_finite_figures(name):
    seen, _, finite = beliefs(name)
    assert finite
    np.testing.assert_allclose(seen["policy"].sum(axis=1), 1.0, atol=1e-5)
    assert seen["policy"].min() >= 0.0
    assert all(np.isfinite(x).all() for x in seen.values())
    if "ell" in seen:
        assert seen["ell"].min() > 0.0


def test_an_agent_of_the_users_own_trains_by_its_dotted_path(monkeypatch):
    """docs/your-agent.md: the same probes, the same loop, nothing registered."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "docs")
    module = agents.load("examples.my_agent")
    env = Probes()
    config = module.Config(gamma=GAMMA, learning_starts=32, batch_size=16)
    agent = module.make(config, env.observation_space, env.num_actions)
    program = compile_training(env, agent, UPDATES)
    state, _ = program.warm_up(program.init([0]))
    state, _, _ = program.chunk(state)
    learner = jax.tree.map(lambda x: x[0], state.seeds.learner)
    seen = jax.jit(jax.vmap(lambda obs: agent.inspect(learner, obs)))(jnp.arange(len(CELLS)))
    q, _ = known_values()
    np.testing.assert_allclose(np.max(seen["q"], axis=1), q.max(axis=1), atol=0.25)
