"""Whoever comes from Stable-Baselines3 is told what an option is called here."""

import dataclasses
import inspect

import pytest

from isl import DQN, ISL, BootDQN, Seeker, agents
from isl.agents import sb3_names
from isl.errors import UsageError

ASKED = [
    (ISL, "learning_rate", "here it is lr_q, "),
    (Seeker, "learning_rate", "here it is lr"),
    (DQN, "learning_rate", "here it is lr and lr_codes"),
    (Seeker, "buffer_size", "here it is replay_capacity"),
    (DQN, "train_freq", "here it is steps, environment steps between updates"),
    (DQN, "gradient_steps", "here it is updates"),
    (DQN, "target_update_interval", "here it is target_period, counted in updates"),
    (DQN, "exploration_fraction", "here it is epsilon_steps, counted in environment steps"),
    (DQN, "exploration_final_eps", "here it is epsilon_end"),
    (BootDQN, "exploration_initial_eps", "here it is epsilon"),
    (Seeker, "exploration_fraction", "leave it out: this agent does not explore by"),
    (Seeker, "ent_coef", "here it is kappa"),
    (Seeker, "policy_kwargs", "here it is hidden"),
    (Seeker, "net_arch", "here it is hidden"),
    (DQN, "tau", "leave it out: targets are copied whole"),
    (DQN, "n_steps", "leave it out: it is for learning from rollouts"),
    (DQN, "device", "leave it out: JAX chooses the device"),
    (DQN, "n_envs", "leave it out: models take num_envs=…, given the environment's name or a"),
    (DQN, "policy", "leave it out: the observations decide the network"),
]


@pytest.mark.parametrize(("model", "name", "line"), ASKED)
def test_an_option_is_answered_by_its_name_here(model, name, line):
    with pytest.raises(UsageError) as error:
        model("deep_sea/3", **{name: 1})
    assert str(error.value).startswith(f"unknown hyper-parameter {name!r}; {line}")


@pytest.mark.parametrize("agent", agents.AGENTS)
def test_every_answer_names_options_that_the_agent_has_or_says_what_to_do(agent):
    known = [option.name for option in dataclasses.fields(agents.load(agent).Config)]
    for name, here in sb3_names.SB3.items():
        assert name not in known, f"{agent} has {name} itself"
        if set(here.names) & set(known):
            assert sb3_names.answer(name, known).startswith("here it is ")
        else:
            assert here.instead, f"nothing is said of {name} to the users of {agent}"
            assert sb3_names.answer(name, known) == f"leave it out: {here.instead}"
    assert sb3_names.answer("gamma", known) is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: DQN("MlpPolicy", "CartPole-v1", verbose=1),
        lambda: DQN("MlpPolicy", env="CartPole-v1"),
        lambda: DQN("CnnPolicy"),
    ],
)
def test_a_policy_in_the_first_place_is_answered(call):
    with pytest.raises(UsageError, match=r"^DQN\(env\) takes no policy '\w+': the observations"):
        call()


def test_what_is_shown_of_a_model_is_what_it_takes():
    assert list(inspect.signature(Seeker).parameters)[:2] == ["env", "seed"]
    assert DQN(env="deep_sea/3", hidden=(4,)).task == "deep_sea/3"
