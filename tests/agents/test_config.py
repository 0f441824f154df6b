"""Hyper-parameters: what is checked, what the presets say, and what would have no effect."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from isl import DQN, Seeker, agents
from isl import ISL as ISLModel
from isl.agents.base import Transition
from isl.errors import UsageError
from isl.experiments import presets
from isl.experiments.spec import resolve
from isl.nn.networks import WithTorso, dummy_observation

ISL = agents.load("isl").Config
PEERS = ("boot_dqn", "ube", "sbeed", "dqn")
TABLE, VECTOR = Discrete(5), Box(-1, 1, (3,), np.float32)
IMAGE = Box(0, 255, (8, 8, 1), np.uint8)


@pytest.mark.parametrize(
    ("overrides", "line"),
    [
        ({"kappa": -1}, "kappa must be > 0, got -1"),
        ({"kappa": float("nan")}, "kappa must be a number, got nan"),
        ({"kappa": "1"}, "kappa must be a number, got '1'"),
        ({"gamma": 1.5}, "gamma must be <= 1, got 1.5"),
        ({"eta1": -0.1}, "eta1 must be >= 0, got -0.1"),
        ({"batch_size": 2.5}, "batch_size must be a whole number, got 2.5"),
        ({"batch_size": True}, "batch_size must be a whole number, got True"),
        ({"hidden": []}, "hidden must be a list of whole numbers, got []"),
        ({"hidden": [50, 0]}, "hidden must be >= 1, got 0"),
        ({"ell_bias": 1}, "ell_bias must be true or false, got 1"),
        ({"kapa": 1}, "unknown hyper-parameter 'kapa'; did you mean kappa?"),
        (
            {"foo": 1},
            "unknown hyper-parameter 'foo'; basic options: gamma, hidden, replay_capacity, steps, "
            "kappa, lr_q, lr_ell (all: isl list AGENT)",
        ),
    ],
)
def test_bad_values_are_named(overrides, line):
    with pytest.raises(UsageError) as error:
        ISL().replace(overrides)
    assert str(error.value) == line


def test_whole_floats_become_ints_and_lists_tuples():
    config = ISL().replace({"batch_size": 64.0, "hidden": [20]})
    assert config.batch_size == 64
    assert isinstance(config.batch_size, int)
    assert config.hidden == (20,)


def test_config_survives_json_values():
    config = ISL().replace({"hidden": (20, 30), "kappa": 3})
    assert ISL().replace(config.to_dict()) == config


@pytest.mark.parametrize("preset", presets.names())
def test_presets_are_valid_for_their_agents(preset):
    sections = presets.load(preset)
    own = {"isl_tables"} if preset.endswith("_tables") else {"isl", *PEERS}
    assert set(sections) == own
    for agent, section in sections.items():
        agents.load(agent).Config().replace(section)


def test_presets_are_the_papers_tables():
    """Typed from the paper's tables a second time, ISL's columns."""
    table = {
        "deep_sea": (256, 2e-4, 1e-4, 5e-5, 2, 2, 1, 0.9, 0.1, 1),
        "deep_sea_stochastic": (256, 1e-4, 1e-4, 5e-5, 2, 10, 1, 1.0, 0.5, 1),
        "cartpole_swingup": (64, 2e-4, 5e-6, 2e-5, 4, 1, 3, 0.8, 0.7, 13),
    }
    names = ("batch_size", "lr_q", "lr_rho", "lr_ell", "target_period")
    names += ("steps", "updates", "eta1", "eta2", "kappa")
    for preset, values in table.items():
        config = ISL().replace(presets.load(preset)["isl"])
        assert tuple(getattr(config, name) for name in names) == values
        assert (config.gamma, config.replay_capacity, config.hidden) == (0.99, 100_000, (50, 50))
        assert (config.ell_min, config.ell_max) == (1e-12, 100)


@pytest.mark.parametrize(
    ("family", "changes"),
    [("deep_sea", {"lr_codes": 1e-3}), ("deep_sea_stochastic", {"lr_codes": 5e-4, "steps": 2})],
)
def test_tables_differ_from_the_paper_in_few_numbers(family, changes):
    paper, tables = presets.load(family)["isl"], presets.load(f"{family}_tables")["isl_tables"]
    assert tables == paper | changes


@pytest.mark.parametrize("agent", ["isl", "isl_tables", "isl_authors"])
def test_a_variant_of_isl_takes_the_papers_preset(agent):
    paper = presets.load("deep_sea_stochastic")["isl"]
    assert presets.values(None, "deep_sea_stochastic/4", agent, Discrete(16)) == paper


@pytest.mark.parametrize(
    ("preset", "agent", "said"),
    [
        ("atuo", "isl", "unknown preset 'atuo'; known: cartpole_swingup, deep_sea"),
        ("deep_sea_tables", "dqn", "nothing for agent 'dqn'; it has isl_tables"),
        ("deep_sea", "seeker", "nothing for agent 'seeker'; it has isl"),
    ],
)
def test_presets_that_are_not_there_are_named(preset, agent, said):
    with pytest.raises(UsageError, match=said):
        presets.values(preset, "CartPole-v1", agent, VECTOR)


def test_beyond_the_paper_isl_takes_the_preset_of_such_observations_and_seeker_its_defaults():
    for task, preset in (("FrozenLake-v1", "deep_sea"), ("MountainCar-v0", "cartpole_swingup")):
        paper = ISL().replace(presets.load(preset)["isl"])
        assert resolve(task, "isl", {}).config() == paper
        assert resolve(task, "seeker", {}).config() == agents.load("seeker").Config()


@pytest.mark.parametrize("agent", agents.AGENTS)
def test_every_option_is_documented_and_few_are_basic(agent):
    options = dataclasses.fields(agents.load(agent).Config)
    assert all(option.metadata["help"] for option in options)
    basic = [option.name for option in options if option.metadata["basic"]]
    assert {"gamma", "replay_capacity"} <= set(basic)
    assert len(basic) <= 8 < len(options)


def test_a_later_option_is_told_once_it_is_changed():
    plain = agents.load("dqn").Config()
    assert "lr_codes" not in plain.to_dict()
    changed = plain.replace({"lr_codes": 0.5})
    assert changed.to_dict()["lr_codes"] == 0.5
    assert plain.replace(changed.to_dict()) == changed


@pytest.mark.parametrize(
    ("option", "agent"),
    [
        ("ell_gamma", "seeker"),
        ("lr_codes", "isl_tables"),
        ("ell_ensemble", "isl_authors"),
        ("double_ell", "isl_authors"),
    ],
)
def test_an_option_that_moved_names_its_agent(option, agent):
    said = f"unknown hyper-parameter '{option}'; it is an option of the agent {agent}"
    with pytest.raises(UsageError, match=said):
        ISL().replace({option: 1})


RATES = dict.fromkeys(("lr_q", "lr_rho", "lr_ell"), 0.7)
NO_EFFECT = {  # agent, space, and the options that do nothing there
    "isl-table": ("isl", TABLE, {}),
    "isl_authors-vector": ("isl_authors", VECTOR, {}),
    "isl_tables": ("isl_tables", TABLE, RATES | {"hidden": (9,), "ell_bias": True}),
    "seeker-table": ("seeker", TABLE, {"hidden": (9,), "lr": 0.7, "averaging": 0.5, "tilings": 9}),
    "seeker-vector": ("seeker", VECTOR, {"sweep": 9, "successors": 3}),
    "seeker-image": ("seeker", IMAGE, {"sweep": 9, "successors": 3, "tile_width": 2.0}),
    "seeker-torso": ("seeker", WithTorso(TABLE, None), {"sweep": 9, "successors": 3}),
    "boot_dqn-table": ("boot_dqn", TABLE, {}),
    "ube-vector": ("ube", VECTOR, {}),
    "sbeed-vector": ("sbeed", VECTOR, {"target_period": 9}),
    "dqn-table": ("dqn", TABLE, {}),
    "dqn-vector": ("dqn", VECTOR, {"lr_codes": 0.7}),
}


@pytest.mark.parametrize(("agent", "space", "useless"), NO_EFFECT.values(), ids=NO_EFFECT)
def test_options_without_effect_are_refused(agent, space, useless):
    usual = agents.load(agent).Config()
    names = {option.name for option in dataclasses.fields(usual)}
    assert useless.keys() <= names
    usual.check_given(names, space, usual)  # at their usual values they mislead nobody
    for name, value in useless.items():
        changed = usual.replace({name: value})
        changed.check_given(names - {name}, space, usual)
        with pytest.raises(UsageError, match=f"{name} has no effect here: .*; leave it out"):
            changed.check_given([name], space, usual)


def test_the_control_on_a_table_has_one_rate():
    usual = agents.load("dqn").Config(lr_codes=0.1)
    for name, value in (("hidden", [7]), ("lr", 0.7)):
        with pytest.raises(UsageError, match=f"{name} has no effect here"):
            usual.replace({name: value}).check_given([name], TABLE, usual)


@pytest.mark.parametrize("case", ["isl_tables", "seeker-table", "seeker-vector", "dqn-vector"])
def test_what_is_said_to_have_no_effect_has_none(case):
    """The program of an update is the same, word for word."""
    name, space, useless = NO_EFFECT[case]
    module = agents.load(name)

    def program(changes):
        agent = module.make(module.Config(hidden=(4,), batch_size=2).replace(changes), space, 2)
        obs = jnp.stack([dummy_observation(space)] * 2)
        batch = Transition(obs, jnp.zeros(2, jnp.int32), jnp.ones(2), jnp.ones(2), obs)

        def run(key):
            learner = agent.init(key)
            return agent.update(learner, agent.target(learner), batch, key)

        return jax.jit(run).lower(jax.random.key(0)).as_text()

    plain = program({})
    assert program(useless) == plain
    assert program({"gamma": 0.5}) != plain  # so that the comparison can fail


@pytest.mark.parametrize(
    ("model", "env", "options", "said"),
    [
        (Seeker, "FrozenLake-v1", {"hidden": (8,)}, "hidden has no effect here: a table has"),
        (Seeker, "CartPole-v1", {"sweep": 9}, "sweep has no effect here: these observations"),
        (Seeker, "CartPole-v1", {"normalize": True}, "Seeker normalises vectors by itself"),
        (DQN, "CartPole-v1", {"lr_codes": 0.1}, "lr_codes has no effect here: it is the rate of"),
        (ISLModel, "deep_sea/4", {"ell_gamma": 0.9}, "it is an option of the agent seeker"),
    ],
)
def test_a_model_refuses_what_would_have_no_effect(model, env, options, said):
    with pytest.raises(UsageError, match=said):
        model(env, **options)


def test_overrides_win_over_the_preset():
    spec = resolve("cartpole_swingup/3", "isl", {"kappa": 5})
    assert (spec.hyper["kappa"], spec.hyper["eta2"], spec.episodes) == (5, 0.7, 1_000)


def test_the_control_anneals_over_a_tenth_of_its_budget():
    assert resolve("deep_sea/20", "dqn", {}).hyper["epsilon_steps"] == 20_000
    assert resolve("deep_sea/20", "dqn", {}, episodes=100).hyper["epsilon_steps"] == 200
    assert resolve("deep_sea/20", "dqn", {"epsilon_steps": 7}).hyper["epsilon_steps"] == 7


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"task": "cartpole_swingup/3", "until_solved": True}, "--until-solved"),
        ({"task": "cartpole_swingup/3", "mapping_seed": 1}, "--mapping-seed"),
        ({"task": "deep_sea/5", "episodes": 0}, "--episodes must be at least 1, got 0"),
        ({"task": "deep_sea/5", "cohort_width": 0}, "--cohort-width must be at least 1, got 0"),
        ({"task": "deep_sea/5", "timesteps": 9}, "--timesteps is for Gymnasium environments"),
        ({"task": "FrozenLake-v1", "episodes": 9}, "--episodes is for compiled tasks"),
        ({"task": "FrozenLake-v1", "timesteps": 0}, "--timesteps must be at least 1, got 0"),
        ({"task": "FrozenLake-v1", "cohort_width": 2}, "--cohort-width is for compiled tasks"),
        ({"task": "FrozenLak-v1"}, "did you mean FrozenLake-v1?"),
        ({"task": "deep_see/5"}, "did you mean 'deep_sea/5'?"),
    ],
)
def test_options_that_do_not_fit_the_task(arguments, words):
    with pytest.raises(UsageError, match=words):
        resolve(agent="isl", overrides={}, **arguments)
