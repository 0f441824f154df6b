"""Do runs of Cartpole again and count the steps that were rewarded: a best return hides them.

    python scripts/count_rewards.py RUN [RUN …]

A pole that is up for ten steps earns 1 each, but hundreds of moves on the way cost 0.1 each. A run
records returns alone; the same seed takes the same steps again, and these are counted.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from isl import agents
from isl.errors import UsageError
from isl.experiments.executing.worker import prepare_process
from isl.experiments.running.prepared import prepare
from isl.experiments.running.recording.records import EpisodeRecorder
from isl.storage import store


def main() -> int:
    if len(sys.argv) < 2:
        print("usage: count_rewards.py RUN [RUN …]", file=sys.stderr)
        return 2
    prepare_process(None)  # one XLA thread, as the run had: the same bits
    same = True
    for folder in map(Path, sys.argv[1:]):
        run = store.read_run(folder)
        if run.summary is None or not run.task.startswith("cartpole_swingup/"):
            print(
                f"{folder} is no finished run of cartpole_swingup: {run.problem}", file=sys.stderr
            )
            return 2
        if run.agent not in agents.AGENTS:
            print(f"{folder} is of {run.agent!r}: only our own agents are run", file=sys.stderr)
            return 2
        rewards, last, returns = _again(run)
        ends = np.flatnonzero(last)[: run.summary["episodes"]]
        episodes = np.split(rewards[: ends[-1] + 1], ends[:-1] + 1)
        rewarded = np.array([np.sum(episode > 0) for episode in episodes])
        as_before = np.array_equal(returns, store.read_episodes(folder)["return"].to_numpy())
        same &= as_before
        print(
            f"{run.task} {run.agent} seed {run.seed}: {rewarded.sum():,} of {ends[-1] + 1:,} steps "
            f"rewarded, in {np.sum(rewarded > 0):,} of {len(ends):,} episodes, at most "
            f"{rewarded.max()} in one; {'the same' if as_before else 'OTHER'} returns as recorded",
            flush=True,
        )
    return 0 if same else 1


def _again(run: store.Run) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every step's reward, and whether it was an episode's last; the episodes' returns."""
    episodes, program = run.summary["episodes"], prepare(run.config).program
    state = program.init([run.seed] * run.config["cohort_width"])
    recorder, rewards, last = EpisodeRecorder(), [], []
    while recorder.episodes < episodes:
        advance = program.chunk if rewards else program.warm_up
        state, steps, *_ = advance(state)
        rewards.append(np.asarray(steps.reward[0]))
        last.append(np.asarray(steps.last[0]))
        recorder.add(rewards[-1], last[-1], {})
    returns = recorder.frame(episodes)["return"].to_numpy()
    return np.concatenate(rewards), np.concatenate(last), returns


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UsageError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
