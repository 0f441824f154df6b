"""Every transition is MiniGrid's: observation, reward, termination and truncation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isl.envs.minigrid import cells
from tests.envs.minigrid.worlds import FULL, PAIRS, both, copied, stacked

SEQUENCES = 300 if FULL else 60
LENGTH = 120
# Left, right, forward, pick up, drop, toggle, done: half of the sequences walk more than they turn.
WALKING = np.array([2, 2, 6, 2, 1, 3, 1]) / 17


def disturb(theirs, rng):
    """Another state of the same world: agent anywhere, some doors open, perhaps a key in hand.

    Random actions from the start hardly ever reach a goal; from such states they do.
    """
    width = theirs.grid.width
    for i, thing in enumerate(list(theirs.grid.grid)):
        if thing is None:
            continue
        if thing.type == "door" and rng.random() < 0.5:
            thing.is_open, thing.is_locked = True, False
        if thing.type == "key" and rng.random() < 0.4:
            theirs.carrying = thing
            theirs.grid.set(i % width, i // width, None)
    free = [i for i, thing in enumerate(theirs.grid.grid) if thing is None]
    inside = [i for i in free if _inside(theirs, i % width, i // width)]
    place = int(rng.choice(inside))
    theirs.agent_pos = (place % width, place // width)
    theirs.agent_dir = int(rng.integers(4))


def _inside(theirs, x, y):
    """Not in the emptiness around MultiRoom's rooms, where nobody can get to."""
    rooms = getattr(theirs, "rooms", None)
    if rooms is None:
        return True
    return any(
        room.top[0] < x < room.top[0] + room.size[0] - 1
        and room.top[1] < y < room.top[1] + room.size[1] - 1
        for room in rooms
    )


def play(theirs, actions):
    """(observations, rewards, terminations, truncations) until the end of the episode."""
    steps = []
    for action in actions:
        obs, reward, terminated, truncated, _ = theirs.step(int(action))
        steps.append((obs["image"], reward, terminated, truncated))
        if terminated or truncated:
            break
    return [np.array(values) for values in zip(*steps, strict=True)]


@pytest.mark.parametrize("name", PAIRS)
def test_every_transition_is_minigrids(name):
    task, theirs = both(name)
    assert task.max_episode_steps == theirs.max_steps
    rng = np.random.default_rng(sum(map(ord, name)))
    actions = rng.integers(0, 7, (SEQUENCES, LENGTH))
    actions[1::2] = rng.choice(7, (SEQUENCES // 2, LENGTH), p=WALKING)
    starts, firsts, episodes = [], [], []
    for number, sequence in enumerate(actions):
        first, _ = theirs.reset(seed=number)
        if number % 4:
            disturb(theirs, rng)
            first = theirs.gen_obs()
        if number % 3 == 0:  # the limit of steps is within reach
            theirs.step_count = theirs.max_steps - int(rng.integers(1, LENGTH))
            theirs.step_count = max(theirs.step_count, 0)
        starts.append(copied(theirs))
        firsts.append(first["image"])
        episodes.append(play(theirs, sequence))

    def run(state, actions):
        def body(state, action):
            timestep = task.step(state, action, jax.random.key(0))
            return timestep.state, timestep

        return task.observe(state), jax.lax.scan(body, state, actions)[1]

    first, ours = jax.jit(jax.vmap(run))(stacked(starts), jnp.asarray(actions))
    np.testing.assert_array_equal(first, np.stack(firsts))
    ends = {"terminated": 0, "truncated": 0}
    for number, (obs, reward, terminated, truncated) in enumerate(episodes):
        n = len(reward)
        np.testing.assert_array_equal(ours.obs[number, :n], obs)
        np.testing.assert_allclose(ours.reward[number, :n], reward, rtol=0, atol=1e-6)
        np.testing.assert_array_equal(ours.discount[number, :n] == 0, terminated)
        np.testing.assert_array_equal(ours.last[number, :n], terminated | truncated)
        np.testing.assert_array_equal(ours.info["goal"][number, :n], terminated)
        ends["terminated"] += int(terminated[-1])
        ends["truncated"] += int(truncated[-1] and not terminated[-1])
    assert all(ends.values()), f"the sequences saw too little: {ends}"


def test_random_play_carries_drops_unlocks_and_closes():
    """What the sequences above are made of, so that their agreement says something."""
    _, theirs = both("door_key/5")
    rng = np.random.default_rng(0)
    seen = set()
    for seed in range(60):
        theirs.reset(seed=seed)
        disturb(theirs, rng)
        door = next(t for t in theirs.grid.grid if t is not None and t.type == "door")
        before = None
        for action in rng.choice(7, LENGTH, p=WALKING):
            now = theirs.carrying is not None, door.encode()[2]
            seen.add((before, now))
            before = now
            if any(theirs.step(int(action))[2:4]):
                break
    seen = {(a, b) for a, b in seen if a is not None}
    assert any(not a[0] and b[0] for a, b in seen), "no key was picked up"
    assert any(a[0] and not b[0] for a, b in seen), "no key was dropped"
    moved = {(a[1], b[1]) for a, b in seen}
    assert {
        (cells.LOCKED, cells.OPEN),
        (cells.OPEN, cells.CLOSED),
        (cells.CLOSED, cells.OPEN),
    } <= moved
