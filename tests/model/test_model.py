"""The practitioner's door: learn, predict, inspect, save, load, callbacks."""

import subprocess
import sys

import flax.linen as nn
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete

from isl import DQN, ISL, SBEED, UBE, BootDQN, Seeker, agents, load
from isl.agents.wrappers.normalise_observations import Statistics, include, normalise
from isl.envs import spaces
from isl.errors import DamagedFile, UnsupportedFormat, UsageError
from isl.experiments import presets
from isl.model.callbacks import BaseCallback, CheckpointCallback, EvalCallback
from isl.model.policy import Policy, make_agent
from isl.storage import checkpoint, tensorboard

TINY = {"hidden": (4,), "batch_size": 4, "learning_starts": 16}


def quiet(model, steps, **options):
    return model.learn(steps, **{"progress_bar": False, "n_eval_episodes": 0} | options)


def same(one, other):
    ours, theirs = jax.tree.leaves(one), jax.tree.leaves(other)
    return len(ours) == len(theirs) and all(map(np.array_equal, ours, theirs))


class PixelSea(gymnasium.Env):
    """A 5 × 5 Deep Sea seen as a picture; two actions, written as one of two levers."""

    observation_space = Box(0, 255, (5, 5, 1), np.uint8)
    action_space = MultiDiscrete([2, 1])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._row = self._column = 0
        return self._picture(), {}

    def step(self, action):
        assert self.action_space.contains(action)
        right = int(action[0])
        goal = right and self._column == 4
        self._column = min(max(self._column + 2 * right - 1, 0), 4)
        self._row += 1
        return self._picture(), float(goal) - 0.002 * right, self._row == 5, False, {}

    def _picture(self):
        picture = np.zeros((5, 5, 1), np.uint8)
        if self._row < 5:
            picture[self._row, self._column] = 255
        return picture


def test_an_image_environment_end_to_end():
    model = quiet(DQN(PixelSea(), hidden=(8,), batch_size=8, learning_starts=16), 60)
    storage = model._loop.state()["device"]["storage"]
    assert storage.obs.dtype == storage.next_obs.dtype == np.uint8
    assert storage.obs.shape == (60, 5, 5, 1)
    obs, _ = model.env.reset()
    action, _ = model.predict(obs)
    assert model.action_space.contains(action)
    many, _ = model.predict(np.stack([obs] * 3))
    assert many.shape == (3, 2)
    assert model.inspect(obs)["q"].shape == (2,)


@pytest.mark.parametrize("model_class", [Seeker, ISL, BootDQN, UBE, SBEED, DQN])
def test_every_agent_predicts_and_is_inspected(model_class):
    model = model_class("CartPole-v1", **TINY)
    obs = np.zeros(4, np.float32)
    action, state = model.predict(obs)
    assert action in (0, 1)
    assert state is None
    assert model.inspect(obs)["policy"].sum() == pytest.approx(1, abs=1e-5)
    many, state = model.predict(np.zeros((3, 4), np.float32), deterministic=False)
    assert many.shape == (3,)
    _, later = model.predict(
        np.zeros((3, 4), np.float32),
        state=state,
        episode_start=np.array([False, False, False]),
        deterministic=False,
    )
    assert same(state, later)  # what was drawn for an episode lasts until it ends


def test_isl_shows_its_beliefs():
    beliefs = ISL("deep_sea/3", **TINY).inspect(0)
    assert {"q", "ell", "policy", "pareto"} <= set(beliefs)
    assert all(beliefs[name].shape == (2,) for name in ("q", "ell", "policy", "pareto"))


def test_the_preset_of_a_task_is_the_default_and_can_be_overridden():
    stochastic = ISL("deep_sea_stochastic/3", kappa=2.5)
    assert (stochastic.config.steps, stochastic.config.kappa) == (10, 2.5)
    with pytest.raises(UsageError, match="did you mean kappa"):
        ISL("deep_sea/3", kapa=1.0)


def test_isl_beyond_the_paper_takes_its_preset_and_names_seeker_in_one_line(caplog):
    model = ISL("FrozenLake-v1", **TINY)
    assert model.config == type(model.config)().replace(presets.load("deep_sea")["isl"] | TINY)
    (line,) = caplog.messages
    assert line == (
        "ISL takes the paper's preset deep_sea here; "
        "Seeker is the agent for environments that nobody tuned"
    )
    caplog.clear()
    ISL("deep_sea/3", **TINY)  # the paper's own task
    ISL("FrozenLake-v1", preset="deep_sea", **TINY)  # asked for
    assert Seeker("FrozenLake-v1").config == type(Seeker("FrozenLake-v1").config)()
    assert not caplog.messages


@pytest.fixture(scope="module")
def half(tmp_path_factory):
    """A host model with everything that draws and counts, half way; and one that went on."""
    path = tmp_path_factory.mktemp("half") / "half.isl"
    model = BootDQN("CartPole-v1", seed=3, normalize=True, ensemble=2, replay_capacity=70, **TINY)
    quiet(model, 45)
    model.save(path)
    quiet(model, 45, reset_num_timesteps=False)
    return path, model


def test_a_loaded_model_goes_on_as_if_never_saved(half):
    path, whole = half
    model = quiet(BootDQN.load(path, env="CartPole-v1"), 45, reset_num_timesteps=False)
    assert model.num_timesteps == whole.num_timesteps == 90
    assert same(model.learner, whole.learner)
    assert same(model._loop.state(), whole._loop.state())
    assert model.episodes.finished == whole.episodes.finished
    assert same(model.episodes.state(), whole.episodes.state())


def test_a_model_of_a_compiled_task_goes_on_as_if_never_saved(tmp_path):
    model = quiet(DQN("deep_sea/3", seed=1, replay_capacity=600, **TINY), 100)
    model.save(tmp_path / "m.isl")
    loaded = DQN.load(tmp_path / "m.isl")
    quiet(model, 100, reset_num_timesteps=False)
    quiet(loaded, 100, reset_num_timesteps=False, n_eval_episodes=5)  # no bit depends on it
    assert [row.steps for row in loaded.evaluations] == [loaded.num_timesteps]
    assert loaded.evaluations[0].length_mean == 3
    assert loaded.num_timesteps == model.num_timesteps
    assert same(loaded.learner, model.learner)
    assert same(loaded._loop.state(), model._loop.state())


def test_a_model_can_be_loaded_without_environment_and_given_one_later(half):
    path, whole = half
    model = load(path)
    assert isinstance(model, BootDQN)
    assert model.env is None
    assert model.predict(np.zeros(4, np.float32))[0] in (0, 1)
    with pytest.raises(UsageError, match="set_env"):
        model.learn(1)
    with pytest.raises(UsageError, match="made for observation space"):
        model.set_env("FrozenLake-v1")
    model.set_env("CartPole-v1")
    assert same(quiet(model, 45, reset_num_timesteps=False).learner, whole.learner)


def test_a_loaded_model_makes_no_training_loop_to_predict(half):
    path, whole = half
    env = gymnasium.make("CartPole-v1")
    model = load(path, env=env)
    assert model.predict(np.zeros(4, np.float32))[0] in (0, 1)
    assert model._made is None
    assert env.unwrapped.state is None  # not even reset
    assert model.num_timesteps == 45
    assert same(quiet(model, 45, reset_num_timesteps=False).learner, whole.learner)


def test_without_the_replay_only_what_was_learned_is_kept(half, tmp_path):
    _, whole = half
    whole.save(tmp_path / "small.isl", replay=False)
    model = BootDQN.load(tmp_path / "small.isl", env="CartPole-v1")
    assert same(model.learner, whole.learner)
    assert model._loop.steps == 0
    assert model.num_timesteps == 90
    assert not same(
        model._loop.state()["device"]["streams"], whole._loop.state()["device"]["streams"]
    )


def test_a_model_of_another_agent_is_refused(half):
    with pytest.raises(UsageError, match="holds a model of agent 'boot_dqn', expected 'isl'"):
        ISL.load(half[0])


@pytest.mark.parametrize("damage", ["flipped", "short", "empty", "pickle"])
def test_a_damaged_model_is_refused(half, tmp_path, damage):
    data = bytearray(half[0].read_bytes())
    match damage:
        case "flipped":
            data[-20] ^= 1
        case "short":
            data = data[: len(data) // 2]
        case "empty":
            data = bytearray()
        case "pickle":
            data = bytearray(b"cos\nsystem\n(S'touch pwned'\ntR.")
    path = tmp_path / "bad.isl"
    path.write_bytes(data)
    with pytest.raises(DamagedFile):
        load(path)
    assert not (tmp_path / "pwned").exists()


def forged(half, tmp_path, **changes):
    """A file with a valid seal and other metadata."""
    arrays, meta = checkpoint.unpack(half[0], half[0].read_bytes())
    path = tmp_path / "forged.isl"
    path.write_bytes(checkpoint.pack(arrays, meta | changes))
    return path


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"agent": "os.path"}, "holds a model of agent 'os.path'"),
        ({"hyper": {"gamma": 7}}, "bad hyper-parameter"),
        ({"hyper": {"no_such": 7}}, "bad hyper-parameter"),
        ({"observation_space": {"kind": "Discrete", "n": -1, "start": 0}}, "bad observation_space"),
        ({"observation_space": {"kind": "Box", "shape": [9], "dtype": "float32"}}, "tensor"),
        ({"action_space": {"kind": "Nonsense"}}, "bad action_space"),
        ({"width": "two"}, "no valid 'width'"),
        ({"type": "snapshots"}, "not a model"),
    ],
)
def test_a_forged_model_is_refused(half, tmp_path, changes, words):
    with pytest.raises((DamagedFile, UsageError), match=words):
        load(forged(half, tmp_path, **changes))


def test_no_environment_is_made_from_a_name_in_a_file(half, tmp_path):
    path = forged(half, tmp_path, task="this_module_must_not_be_imported:Env-v0", kind="compiled")
    assert load(path).env is None


def test_a_model_of_another_version_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "FORMAT", 99)
    path = tmp_path / "future.isl"
    arrays = {"x": np.zeros(1, np.float32)}
    path.write_bytes(checkpoint.pack(arrays, {"type": "model"}))
    monkeypatch.undo()
    with pytest.raises(UnsupportedFormat):
        load(path)


class Halves(nn.Module):
    @nn.compact
    def __call__(self, batch):
        return batch[:, :2]


def test_a_custom_torso_is_given_again_at_load(tmp_path):
    model = DQN("CartPole-v1", torso=Halves(), **TINY)
    kernel = model.get_parameters()[".q.params['q']['params']['first']['kernel']"]
    assert kernel.shape == (4, 2)
    model.save(tmp_path / "m.isl")
    with pytest.raises(UsageError, match=r"give torso=Halves"):
        DQN.load(tmp_path / "m.isl")
    loaded = DQN.load(tmp_path / "m.isl", torso=Halves())
    assert same(loaded.learner, model.learner)


def test_statistics_are_the_mean_and_the_variance():
    data = np.random.default_rng(0).normal([5, -3], [2, 0.1], (50, 2)).astype(np.float32)
    statistics = Statistics(jnp.float32(0), jnp.zeros(2), jnp.zeros(2))
    for row in data:
        statistics = include(statistics, row)
    scaled = normalise(statistics, data)
    np.testing.assert_allclose(scaled.mean(0), 0, atol=1e-4)
    np.testing.assert_allclose(scaled.std(0), 1, rtol=1e-4)


def test_normalisation_keeps_raw_observations_in_the_replay(half):
    _, whole = half
    device = whole._loop.state()["device"]
    raw = device["storage"].transition.obs
    statistics = whole.learner.statistics
    assert float(statistics.seen) == 90
    recent = raw.mean(axis=0)  # the replay holds the last 70 of the 90 that were counted
    assert np.abs(recent - statistics.mean).max() < 0.3
    with pytest.raises(UsageError, match="vectors of numbers"):
        DQN("deep_sea/3", normalize=True)


class Events(BaseCallback):
    def __init__(self, stop_at):
        super().__init__()
        self.seen, self._stop_at = [], stop_at

    def _on_training_start(self):
        self.seen.append("start")

    def _on_rollout_start(self):
        self.seen.append("rollout")

    def _on_step(self):
        self.seen.append(self.num_timesteps)
        return self.num_timesteps < self._stop_at

    def _on_rollout_end(self):
        self.seen.append("end of rollout")

    def _on_training_end(self):
        self.seen.append("end")


@pytest.fixture(scope="module")
def cartpole():
    return DQN("CartPole-v1", **TINY)


def test_callbacks_see_every_event_and_can_end_the_training(cartpole):
    events = Events(stop_at=2)
    quiet(cartpole, 10, callback=events)
    rollout = ["rollout", 1, "end of rollout"]
    assert events.seen == ["start", *rollout, "rollout", 2, "end of rollout", "end"]
    assert events.n_calls == cartpole.num_timesteps == 2
    quiet(cartpole, 10, callback=lambda model: model.num_timesteps < 3)
    assert cartpole.num_timesteps == 3


def test_evaluation_and_checkpoints_on_the_way(cartpole, tmp_path):
    evaluation = EvalCallback("CartPole-v1", 20, 1, tmp_path / "best", max_steps=30)
    saving = CheckpointCallback(25, tmp_path / "all", "cart")
    watching = {"callback": [evaluation, saving], "n_eval_episodes": 5}  # of which it needs none
    quiet(cartpole, 50, tensorboard_log=tmp_path / "tb", **watching)
    assert cartpole.evaluations == []
    assert [steps for steps, _ in evaluation.evaluations] == [20, 40]
    names = sorted(path.name for path in (tmp_path / "all").iterdir())
    assert names == ["cart_25_steps.isl", "cart_50_steps.isl"]
    best = DQN.load(tmp_path / "best" / "best_model.isl")
    assert best.num_timesteps in (20, 40)
    assert evaluation.best_mean_reward == max(returns[0] for _, returns in evaluation.evaluations)
    rows = tensorboard.read(tmp_path / "tb" / "DQN_1")
    evaluated = {
        row.step: row.values["eval/mean_reward"] for row in rows if "eval/mean_reward" in row.values
    }
    assert list(evaluated) == [20, 40]  # each at its own step
    tags = {tag for row in rows for tag in row.values}
    assert tags >= {
        "return/mean",
        "speed/steps_per_second",
        "q/greedy",
        "q/possible",
        "time/fps",
        "train/td_error",
    }
    about = tensorboard.described(tmp_path / "tb" / "DQN_1")  # for isl doctor
    assert (about["agent"], about["task"]) == ("dqn", "CartPole-v1")
    assert about["hyper"] == cartpole.config.to_dict()
    assert cartpole.logger.values["train/n_updates"] == cartpole._loop.updates
    assert {"rollout/ep_rew_mean", "train/td_error", "eval/mean_reward"} <= set(
        cartpole.logger.values
    )


def test_the_count_of_steps_starts_again_in_a_new_run_or_goes_on_in_the_same(cartpole, tmp_path):
    """As in Stable-Baselines3: so does the x axis of TensorBoard."""

    def logged():
        return {
            path.name: [row.step for row in tensorboard.read(path)]
            for path in sorted((tmp_path / "tb").iterdir())
        }

    options = {"log_interval": 1000, "tensorboard_log": tmp_path / "tb"}
    quiet(cartpole, 20, **options)
    assert (cartpole.num_timesteps, logged()) == (20, {"DQN_1": [20]})
    quiet(cartpole, 30, **options)
    assert (cartpole.num_timesteps, logged()) == (30, {"DQN_1": [20], "DQN_2": [30]})
    quiet(cartpole, 10, reset_num_timesteps=False, **options)
    assert (cartpole.num_timesteps, logged()) == (40, {"DQN_1": [20], "DQN_2": [30, 40]})
    later = max((tmp_path / "tb" / "DQN_2").iterdir())
    assert later.name.endswith("31")  # TensorBoard drops earlier files' rows from there on
    (tmp_path / "tb" / "DQN_3").mkdir()  # of another model: it keeps to its own
    quiet(cartpole, 5, reset_num_timesteps=False, **options)
    assert logged() == {"DQN_1": [20], "DQN_2": [30, 40, 45], "DQN_3": []}
    cartpole.save(tmp_path / "m.isl")
    loaded = DQN.load(tmp_path / "m.isl", env="CartPole-v1")
    quiet(loaded, 5, reset_num_timesteps=False, **options)  # of a model that wrote none: the latest
    assert logged()["DQN_3"] == [50]


def test_num_envs_counts_every_step():
    model = quiet(DQN("FrozenLake-v1", num_envs=3, **TINY), 31)
    assert model.num_timesteps == 33
    with pytest.raises(UsageError, match="num_envs needs the environment's name"):
        DQN(gymnasium.make("FrozenLake-v1"), num_envs=2)


def test_divergence_is_said():
    class Explosive(PixelSea):
        observation_space = Discrete(2)
        action_space = Discrete(2)

        def reset(self, *, seed=None, options=None):
            return 0, {}

        def step(self, action):
            return 1, 1e30, False, False, {}

    with pytest.raises(FloatingPointError, match=r"of Explosive, gave .* not finite; try smaller"):
        quiet(DQN(Explosive(), **TINY), 30)


FRAME = np.zeros((5, 5, 1), np.uint8)


@pytest.mark.parametrize(
    ("space", "given", "line"),
    [
        (
            Box(-1, 1, (4,)),
            np.zeros(5),
            "float32 numbers of shape (4,), or a batch of such; got fl",
        ),
        (Box(-1, 1, (4,)), np.zeros((2, 5)), "got float64 numbers of shape (2, 5): "),
        (Box(-1, 1, (4,)), "north", "got 'north'"),
        (Box(-1, 1, (4,)), [[1], [1, 2]], "got [[1], [1, 2]]"),
        (Box(-1, 1, (4,)), np.full(4, np.nan), "expected the observation to be finite float32"),
        (Box(-1, 1, (4,)), (np.zeros(4), {}), "the info that env.reset() returns: give its first"),
        (Discrete(5, start=1), 6, "be a whole number from 1 to 5, or a batch of such; got 6"),
        (Discrete(5), [1, -1], "got [1, -1]"),
        (Discrete(5), 2.5, "got 2.5"),
        (Discrete(5), np.zeros((2, 2), int), "got int64 numbers of shape (2, 2)"),
        (Box(0, 255, (5, 5, 1), np.uint8), FRAME / 255, "uint8 numbers of shape (5, 5, 1)"),
        (
            Box(0, 255, (5, 5, 1), np.uint8),
            np.full(FRAME.shape, 300),
            "uint8 numbers of shape (5, 5, 1)",
        ),
        (Dict(a=Discrete(3), b=Box(-1, 1, (2,))), {"a": 1}, "be Dict('a': Discrete(3), 'b': Box("),
        (Dict(a=Discrete(3), b=Box(-1, 1, (2,))), {"a": 5, "b": [0, 0]}, "got {'a': 5, 'b': [0, 0"),
        (MultiDiscrete([3, 4]), [1, 4], "be MultiDiscrete([3 4]), or a batch of such; got [1, 4]"),
    ],
)
def test_a_wrong_observation_is_named_with_what_is_expected(space, given, line):
    """Whatever is done with it: it is refused before any program is compiled for it."""
    observations, actions = spaces.observations(space), spaces.actions(Discrete(2))
    config = agents.load("dqn").Config(hidden=(4,))
    agent = make_agent("dqn", config, observations, actions, False, None)
    policy = Policy(agent, observations, actions, "task", 0)
    for asked in (
        lambda: policy.predict(None, given, None, None, True),
        lambda: policy.inspect(None, given),
    ):
        with pytest.raises(UsageError) as error:
            asked()
        assert line in str(error.value)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(("steps", "interval"), [(0, 1), (1, 0)])
def test_senseless_budgets_are_refused(cartpole, steps, interval):
    with pytest.raises(UsageError, match="must be at least 1"):
        cartpole.learn(steps, log_interval=interval)


def test_import_isl_loads_no_jax_and_registers_the_tasks():
    code = (
        "import sys, isl, gymnasium; assert 'jax' not in sys.modules; "
        "assert 'isl/DeepSea-v0' in gymnasium.registry"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_sb3_evaluates_our_models(cartpole):
    evaluation = pytest.importorskip(
        "stable_baselines3.common.evaluation", reason="needs the extra `peers`"
    )
    from stable_baselines3.common.monitor import Monitor

    env = Monitor(gymnasium.make("CartPole-v1"))  # without it they warn
    mean, _ = evaluation.evaluate_policy(cartpole, env, n_eval_episodes=2)
    assert mean >= 1
