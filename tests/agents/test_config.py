import dataclasses

import pytest

from isl import agents
from isl.errors import UsageError
from isl.experiments import presets
from isl.experiments.spec import resolve

ISL = agents.load("isl").Config


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
    of_isl_alone = preset == presets.ELSEWHERE or preset.endswith("_tables")
    assert set(sections) == ({"isl"} if of_isl_alone else set(agents.AGENTS))
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
    paper, tables = (presets.load(name)["isl"] for name in (family, f"{family}_tables"))
    assert tables == paper | changes


def test_every_field_is_documented():
    for agent in agents.AGENTS:
        for option in dataclasses.fields(agents.load(agent).Config):
            assert option.metadata["help"]


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
