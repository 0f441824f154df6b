"""Environments that forbid actions, through the user's object: every agent, every answer."""

import os

import numpy as np
import pytest

from isl import DQN, ISL, SBEED, UBE, BootDQN, Seeker, StableDQN
from isl.errors import UsageError
from isl.model.classes import ISLAuthors, ISLTables
from isl.model.evaluation import evaluate
from tests.support.masked_envs import OPEN, RIGHT, Corridor

SMALL = {"hidden": (16,), "batch_size": 16, "learning_starts": 32}
FAST = SMALL | {"gamma": 0.8, "target_period": 5, "steps": 1}
RATES = {"lr_q": 5e-3, "lr_rho": 5e-3, "lr_ell": 5e-3, "kappa": 0.1}
CASES = {
    "seeker": (Seeker, True, {}),
    "seeker on vectors": (Seeker, False, FAST | {"averaging": 0.02, "lr": 5e-3}),
    "isl_tables": (ISLTables, True, {"lr_codes": 0.05, "kappa": 0.1, "learning_starts": 32}),
    "isl": (ISL, True, FAST | RATES),
    "isl_authors": (ISLAuthors, True, FAST | RATES),
    "boot_dqn": (BootDQN, True, FAST | {"ensemble": 3, "lr": 5e-3, "prior_scale": 1.0}),
    "ube": (UBE, True, FAST | {"lr_q": 5e-3, "beta": 0.1}),
    "sbeed": (SBEED, True, FAST | {"kappa": 0.02, "target_period": 1}),
    "dqn": (DQN, True, FAST | {"epsilon_steps": 300, "lr": 5e-3}),
    "stable_dqn": (StableDQN, False, FAST | {"epsilon_steps": 300, "averaging": 0.02, "lr": 5e-3}),
}
STEPS = 100_000 if "ISL_MASKED_FULL" in os.environ else 1_200
IN_SHORT = ("seeker", "dqn")  # each of the others compiles programs for seconds


@pytest.mark.parametrize(
    "case",
    [pytest.param(name, marks=() if name in IN_SHORT else pytest.mark.slow) for name in CASES],
)
def test_every_agent_solves_a_corridor_whose_walls_raise(case):
    model_class, table, hyper = CASES[case]
    made = []

    def make():
        made.append(Corridor(table=table, says="info" if len(made) % 2 else "method"))
        return made[-1]

    model = model_class(make, preset="deep_sea" if "isl" in case else None, **hyper)
    # One evaluation, at the end, follows masks too.
    model.learn(STEPS, progress_bar=False, n_eval_episodes=1, eval_freq=STEPS)
    result = evaluate(model, make, 3, max_steps=12)
    assert sum(env.touched for env in made) >= STEPS
    assert result.returns == [1.0] * 3
    assert result.lengths == [4] * 3


def test_a_prediction_stays_within_its_masks():
    model = DQN(lambda: Corridor(), **SMALL)
    obs = np.array([[0, 4], [3, 4], [1, 4]], np.float32)
    masks = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    for deterministic in (True, False):
        actions, _ = model.predict(obs, deterministic=deterministic, action_masks=masks)
        assert actions.tolist() == [RIGHT, OPEN, 0]
    for mask in masks:
        action, _ = model.predict(obs[0], action_masks=mask)
        assert mask[action]
    with pytest.raises(UsageError, match="expected a row for each observation"):
        model.predict(obs, action_masks=masks[:2])
    with pytest.raises(UsageError, match=r"shape \(2,\), expected 3 flags"):
        model.predict(obs[0], action_masks=[1, 0])
    with pytest.raises(UsageError, match="allows no action"):
        model.predict(obs[0], action_masks=[0, 0, 0])


def test_a_model_of_a_masked_environment_goes_on_as_if_never_saved(tmp_path):
    model = Seeker(lambda: Corridor(table=True), seed=3)
    model.learn(100, progress_bar=False, n_eval_episodes=0)
    model.save(tmp_path / "m.isl")
    other = Seeker.load(tmp_path / "m.isl", env=lambda: Corridor(table=True))
    for each in (model, other):
        each.learn(100, progress_bar=False, n_eval_episodes=0, reset_num_timesteps=False)
    ours, theirs = model.get_parameters(), other.get_parameters()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
