"""What agents meet while they learn on an environment of docs/results/untuned.md.

    python docs/tools/what_training_meets.py MountainCar-v0 [--seed 1000]

How often training meets the reward, how many observations it meets, and whether ℓ knows where the
agent has been; beside uniform actions.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np

from isl.model.model import Model
from isl.paper.cases import UNTUNED, Case
from isl.paper.comparisons import CONTROL, OURS
from isl.paper.trials import model_of


class Watched(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Counts what an agent meets while it learns."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.episodes = self.paid = 0  # all, and those that ended with a reward
        self.visits: Counter[bytes] = Counter()
        self.last: Any = None
        self.repeated = 0  # steps with the action of the step before

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self.visits[np.asarray(obs).tobytes()] += 1
        self.repeated += action == self.last
        self.last = action
        self.episodes += terminated or truncated
        self.paid += bool((terminated or truncated) and float(reward) > 0)
        return obs, reward, terminated, truncated, info

    def ell_at(self, model: Model, number: int = 50) -> str:
        """ℓ where the agent was most and least often, and how far one action leads everywhere."""
        space = self.observation_space
        ranked = [np.frombuffer(key, space.dtype) for key, _ in self.visits.most_common()]
        often, seldom = (
            np.array([model.inspect(obs.reshape(space.shape))["ell"] for obs in some])
            for some in (ranked[:number], ranked[-number:])
        )
        leads = Counter(np.concatenate([often, seldom]).argmax(axis=1).tolist()).most_common(1)
        return (
            f"; ℓ {often.mean():.3g} at the {number} met most often, {seldom.mean():.3g} at the "
            f"{number} met least often, and largest for the same action at {leads[0][1]} of them"
        )


def look(case: Case, seed: int) -> Iterator[str]:
    """Lines: how often training met the reward, and whether ℓ knows where the agent has been."""
    for contestant in (None, OURS, CONTROL):
        env = Watched(case.make())
        line = f"{case.name} seed {seed} {contestant[0] if contestant else 'uniform'}:"
        if contestant is None:
            env.reset(seed=seed)
            draw = np.random.default_rng(seed)
            for _ in range(case.steps):
                *_, terminated, truncated, _ = env.step(int(draw.integers(env.action_space.n)))
                if terminated or truncated:
                    env.reset()
        else:
            model = model_of(contestant, seed, env)
            model.learn(case.steps, progress_bar=False)
        met = f"{env.paid} of {env.episodes} episodes paid, {len(env.visits)} observations met"
        again = f"{env.repeated / case.steps:.0%} of the actions repeat the one before"
        yield f"{line} {met}, {again}" + (env.ell_at(model) if contestant == OURS else "")


def main() -> None:
    cases = {case.name: case for case in UNTUNED if not case.compiled}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("env", nargs="+", choices=list(cases))
    parser.add_argument("--seed", type=int, default=1000)
    options = parser.parse_args()
    for name in options.env:
        for line in look(cases[name], options.seed):
            print(line, flush=True)


if __name__ == "__main__":
    main()
