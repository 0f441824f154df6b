"""Made-up rows of results for tests."""

import hashlib

from isl.paper.table import Row


def row(seed=0, **changes):
    """A run that solved Deep Sea 10, with some columns changed."""
    values = {
        "task": "deep_sea/10", "agent": "isl", "variant": "", "seed": seed, "config_hash": "",
        "budget": 10_000, "until_solved": True, "status": "done", "solved_episode": 300 + seed,
        "censored_at": None, "best_return": 0.99, "episodes": 310, "steps": 3100,
        "records": "ba9876543210", "seconds": 1.5, "isl": "0.1.0", "commit": "abcdef012345",
        "jax": "0.10.2", "cpu": "AMD, of some kind",
    }  # fmt: skip
    values |= changes
    named = "/".join(str(values[n]) for n in ("task", "agent", "variant", "budget"))
    values["config_hash"] = values["config_hash"] or hashlib.sha256(named.encode()).hexdigest()[:12]
    return Row(**values)


def sea(size, agent, episodes, budget=10_000, **changes):
    """A row per entry of `episodes`, None being a run that ended unsolved."""
    return [
        row(
            seed, task=f"deep_sea/{size}", agent=agent, budget=budget, solved_episode=took,
            censored_at=budget if took is None else None, episodes=took or budget,
            steps=(took or budget) * size, seconds=(took or budget) * size / 1000, **changes,
        )
        for seed, took in enumerate(episodes)
    ]  # fmt: skip


def swingup(difficulty, agent, best, **changes):
    """A row of Cartpole per best return."""
    return [
        row(
            seed, task=f"cartpole_swingup/{difficulty}", agent=agent, budget=1000, episodes=1000,
            until_solved=False, solved_episode=None, best_return=value, **changes,
        )
        for seed, value in enumerate(best)
    ]  # fmt: skip
