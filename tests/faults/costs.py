"""What the promises cost: `python -m tests.faults.costs` prints the figures of reliability.md."""

import tempfile
import time
from pathlib import Path

import numpy as np

from isl.storage import checkpoint, files
from isl.training.python_envs.envs import PythonEnvs
from isl.training.python_envs.guard import EnvGuard
from isl.training.python_envs.step_limit import StepLimit
from tests.faults.bad_envs import Walk


def seconds(action, times, clock=time.perf_counter):
    """The least of so many runs: what else the machine does only adds."""
    took = []
    for _ in range(times):
        began = clock()
        action()
        took.append(clock() - began)
    return min(took)


def bare(env, steps):
    env.reset(seed=0)
    for _ in range(steps):
        if env.step(0)[2]:
            env.reset()


class Trusting(EnvGuard):
    """What the loop would do without looking."""

    def observed(self, raw):
        return self._observations.encode(raw)

    def rewarded(self, raw):
        return raw


def trusting(steps):
    envs = PythonEnvs([Walk()], "", 0)
    envs._guard = Trusting("", envs.observations, 1, None)
    guarded(envs, steps)


def guarded(envs, steps):
    envs.reset()
    action = np.zeros(1, np.int32)
    for _ in range(steps):
        envs.step(action)


def main(folder: Path) -> None:
    path = folder / "checkpoint"
    for megabytes in (1, 30):
        state = {"replay": np.random.default_rng(0).random(megabytes << 17)}
        whole = seconds(lambda s=state: checkpoint.save_file(path, s, {}), 15)
        packed = seconds(lambda s=state: checkpoint.pack(checkpoint.flatten(s), {}), 15)
        data = checkpoint.pack(checkpoint.flatten(state), {})
        plain = seconds(lambda d=data: path.write_bytes(d), 15)
        verified = seconds(lambda: checkpoint.verify_file(path), 15)
        print(
            f"checkpoint of {megabytes} MB: {whole * 1e3:.1f} ms, of which packing and checksum "
            f"{packed * 1e3:.1f} ms; a plain write takes {plain * 1e3:.1f} ms; "
            f"--verify reads it in {verified * 1e3:.1f} ms"
        )
    small = {"format": 1, "x": "y" * 500}
    durable = seconds(lambda: files.write_json(folder / "a.json", small), 50)
    plain = seconds(lambda: (folder / "b.json").write_bytes(files.pretty_json(small)), 50)
    print(f"a small JSON file: {durable * 1e3:.2f} ms; a plain write takes {plain * 1e3:.2f} ms")
    steps = 500
    Walk.length = 10**9  # steps alone; beginning an episode hashes its seed
    base = seconds(lambda: bare(Walk(), steps), 40, time.process_time) / steps
    looked_at = (
        seconds(lambda: guarded(PythonEnvs([Walk()], "", 0), steps), 40, time.process_time) / steps
    )
    trusted = seconds(lambda: trusting(steps), 40, time.process_time) / steps
    limit = StepLimit(5.0)
    timed = (
        seconds(lambda: guarded(PythonEnvs([Walk()], "", 0, limit), steps), 40, time.process_time)
        / steps
    )
    print(
        f"a step of a Python environment of {base * 1e6:.1f} µs: looking at its answers adds "
        f"{(looked_at - trusted) * 1e6:.1f} µs, --step-timeout {(timed - looked_at) * 1e6:.1f} µs"
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=".") as folder:
        main(Path(folder))
