"""Break the disk on purpose: fail, or die at, any step of `isl.storage.files`.

Run as a program it forks one child per step, lets the child kill itself there, and checks what
the dead child left behind: `python -m tests.support.fault_injection checkpoint FOLDER`.
"""

import contextlib
import functools
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from isl.storage import files

Step = Callable[..., object]


@contextlib.contextmanager
def wrapped_steps(wrap: Callable[[str, Step], Step]) -> Iterator[None]:
    """Every step of every write passes through `wrap`."""
    original = vars(files.steps).copy()
    try:
        files.steps.__dict__.update({name: wrap(name, step) for name, step in original.items()})
        yield
    finally:
        files.steps.__dict__.update(original)


@contextlib.contextmanager
def recorded_steps() -> Iterator[list[str]]:
    """The names of the steps taken, in order."""
    taken: list[str] = []

    def wrap(name: str, step: Step) -> Step:
        def recorded(*arguments: object) -> object:
            taken.append(name)
            return step(*arguments)

        return recorded

    with wrapped_steps(wrap):
        yield taken


@contextlib.contextmanager
def failing_steps(first: int, last: int, number: int) -> Iterator[None]:
    """Steps `first` to `last`, counted from 0, fail with the error of this `errno`."""
    count = iter(range(10**9))

    def wrap(name: str, step: Step) -> Step:
        def failing(*arguments: object) -> object:
            if first <= next(count) <= last:
                raise OSError(number, os.strerror(number))
            return step(*arguments)

        return failing

    with wrapped_steps(wrap):
        yield


@contextlib.contextmanager
def dying_at(deadly: int) -> Iterator[None]:
    """This process dies by SIGKILL before the given step; in the middle of it if it is a write."""
    count = iter(range(10**9))

    def wrap(name: str, step: Step) -> Step:
        def dying(*arguments: object) -> object:
            if next(count) == deadly:
                if name == "write":
                    descriptor, data = arguments
                    os.write(descriptor, data[: len(data) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return step(*arguments)

        return dying

    with wrapped_steps(wrap):
        yield


def state_at(step: int) -> dict[str, object]:
    return {"w": np.full((5, 7), step, np.float32), "n": np.int32(step)}


def checkpoint_scenario() -> SimpleNamespace:
    from isl.storage import checkpoint

    def prepare(folder: Path) -> None:
        for step in (1, 2):
            checkpoint.save(folder, step, state_at(step), {"step": step})

    def act(folder: Path) -> None:
        checkpoint.save(folder, 3, state_at(3), {"step": 3})

    def check(folder: Path, died: bool) -> None:
        for path in checkpoint.generations(folder):
            checkpoint.verify_file(path)
        found = checkpoint.latest(folder, state_at(0))
        assert found is not None
        state, meta = found
        assert meta["step"] in ((2, 3) if died else (3,))
        np.testing.assert_array_equal(state["w"], state_at(meta["step"])["w"])
        checkpoint.save(folder, 4, state_at(4), {"step": 4})
        left = sorted(path.name for path in (folder / "checkpoint").iterdir())
        assert left == [f"step-{meta['step']:012d}.safetensors", "step-000000000004.safetensors"]

    return SimpleNamespace(prepare=prepare, act=act, check=check)


def model_scenario() -> SimpleNamespace:
    """A model saved over an older one, as `Model.save` does it (isl.model.file.write_model)."""
    from isl.model import file
    from isl.storage import checkpoint

    def meta(steps: int) -> dict[str, object]:
        made: dict[str, object] = {name: kind() for name, kind in file._FIELDS.items()}
        return {**made, "type": "model", "num_timesteps": steps}

    def save(folder: Path, step: int) -> None:
        checkpoint.save_file(folder / "m.isl", {"learner": state_at(step)}, meta(step))

    def check(folder: Path, died: bool) -> None:
        found = file.read_model(folder / "m.isl")
        assert found.num_timesteps in ((2, 3) if died else (3,))
        save(folder, 4)
        assert file.read_model(folder / "m.isl").num_timesteps == 4

    return SimpleNamespace(
        prepare=lambda folder: save(folder, 2), act=lambda folder: save(folder, 3), check=check
    )


CONFIG = {"task": "deep_sea/4", "agent": "isl", "kappa": 1.0}


@functools.cache
def parquet(goal: int) -> bytes:
    """Made once per process: a forked child must not start the threads of polars again."""
    import polars as pl

    from isl.storage import episodes

    table = {"episode": range(6), "return": [0.25 * episode for episode in range(6)]}
    return episodes.to_parquet(pl.DataFrame({**table, "goal_visits": [goal] * 6}))


def write_run(root: Path, seed: int = 0, wall_seconds: float = 1.0, goal: int = 3) -> Path:
    """A small finished run with a checkpoint."""
    from isl.storage import checkpoint, run_folder

    run_dir = run_folder.run_path(root, CONFIG, seed)
    with run_folder.lock(run_dir):
        run_folder.start(run_dir, CONFIG)
        checkpoint.save(run_dir, 7, state_at(7), {"step": 7})
        files.write_bytes(run_dir / "episodes.parquet", parquet(goal))
        run_folder.finish(run_dir, summary(seed, wall_seconds))
    return run_dir


def summary(seed: int, wall_seconds: float = 1.0) -> dict[str, object]:
    return {
        **{"task": CONFIG["task"], "agent": CONFIG["agent"], "seed": seed, "status": "done"},
        **{"episodes": 6, "steps": 24, "best_return": 1.25, "goal_visits": 3},
        **{"solved_episode": None, "wall_seconds": wall_seconds},
        **{"env_steps_per_second": 24.0, "updates_per_second": 12.0},
    }


def results(root: Path) -> dict[str, bytes]:
    """The committed files under `root`: all but locks and leftovers."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }


def run_scenario() -> SimpleNamespace:
    from isl.storage import run_folder, store

    def check(folder: Path, died: bool) -> None:
        run_dir = run_folder.run_path(folder, CONFIG, 0)
        if run_dir.exists():
            assert run_folder.verify(run_dir) == []
        if not (run_dir.exists() and run_folder.is_done(run_dir)):
            assert died
            write_run(folder)
        assert store.read_run(run_dir).status == "done"
        assert len(results(folder)) == 5
        assert not list(folder.rglob(".tmp-*"))

    return SimpleNamespace(prepare=lambda folder: parquet(goal=3), act=write_run, check=check)


def finish_scenario() -> SimpleNamespace:
    """The end of a run: results, final parameters, manifest, and the generations pruned."""
    from isl.storage import checkpoint, run_folder, store

    def prepare(folder: Path) -> None:
        run_dir = run_folder.run_path(folder, CONFIG, 0)
        with run_folder.lock(run_dir):
            run_folder.start(run_dir, CONFIG)
        for step in (7, 8):
            checkpoint.save(run_dir, step, state_at(step), {"step": step})
        parquet(goal=3)

    def act(folder: Path) -> None:
        run_dir = run_folder.run_path(folder, CONFIG, 0)
        files.write_bytes(run_dir / "episodes.parquet", parquet(goal=3))
        checkpoint.save_final(run_dir, state_at(9), {"kind": "final"})
        run_folder.finish(run_dir, summary(0))

    def check(folder: Path, died: bool) -> None:
        run_dir = run_folder.run_path(folder, CONFIG, 0)
        assert run_folder.verify(run_dir) == []
        if not run_folder.is_done(run_dir):
            assert died
            found = checkpoint.latest(run_dir, state_at(0))
            assert found is not None, "the run lost what it would continue from"
            assert found[1] == {"step": 8}
            act(folder)
        assert store.read_run(run_dir).status == "done"
        assert run_folder.verify(run_dir) == []

    return SimpleNamespace(prepare=prepare, act=act, check=check)


def merge_scenario() -> SimpleNamespace:
    """The target holds the same result with another timing, which the merge replaces."""
    from isl.storage import merge, run_folder

    def prepare(folder: Path) -> None:
        write_run(folder / "a", wall_seconds=1.0)
        write_run(folder / "b", wall_seconds=2.0)
        first, second = sorted("ab", key=lambda name: done_bytes(folder / name))
        (folder / first).rename(folder / "source")
        (folder / second).rename(folder / "target")

    def done_bytes(root: Path) -> bytes:
        return (run_folder.run_path(root, CONFIG, 0) / "DONE.json").read_bytes()

    def act(folder: Path) -> None:
        merge.merge(folder / "source", folder / "target")

    def check(folder: Path, died: bool) -> None:
        run_dir = run_folder.run_path(folder / "target", CONFIG, 0)
        assert run_folder.verify(run_dir) == []
        if not died:
            assert run_folder.is_done(run_dir)
        act(folder)
        assert results(folder / "target") == results(folder / "source")

    return SimpleNamespace(prepare=prepare, act=act, check=check)


def in_child(act: Callable[[], object]) -> int:
    """The wait status of a forked child that does `act`."""
    child = os.fork()
    if child == 0:
        try:
            act()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return os.waitpid(child, 0)[1]


def kill_at_every_step(scenario: SimpleNamespace, folder: Path) -> int:
    """Kill at step 0, 1, … until the act survives; returns how many times it was killed."""
    for deadly in range(10**6):
        trial = folder / str(deadly)
        trial.mkdir()
        scenario.prepare(trial)

        def act(trial: Path = trial, deadly: int = deadly) -> None:
            with dying_at(deadly):
                scenario.act(trial)

        status = in_child(act)
        died = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        assert died or os.waitstatus_to_exitcode(status) == 0, f"step {deadly}: status {status}"
        scenario.check(trial, died)
        shutil.rmtree(trial)
        if not died:
            return deadly
    raise AssertionError("unreachable")


if __name__ == "__main__":
    import jax  # noqa: F401  # once, instead of in every child

    # Still steps to die at, but a kill spares the page cache: the real ones would only cost time.
    files.steps.fsync = files.steps.fsync_dir = lambda where: None
    chosen = {
        "checkpoint": checkpoint_scenario,
        "model": model_scenario,
        "run": run_scenario,
        "finish": finish_scenario,
        "merge": merge_scenario,
    }
    print(kill_at_every_step(chosen[sys.argv[1]](), Path(sys.argv[2])))
