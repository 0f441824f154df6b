"""A search: generations of trials, whose budgets grow as long as they are among the best.

The runs of a trial are ordinary runs of isl (`isl.experiments`), in a folder of their own. So they
are computed on local cores or on Ray, go on after a kill, and are never made twice.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from isl.errors import DamagedFile, UsageError
from isl.experiments.executing.plan import Job
from isl.experiments.spec import RunSpec
from isl.status import ExitCode
from isl.storage import files, run_folder
from isl.tuning.space import Range
from isl.tuning.study import Journal, Trial, proposals

JOURNAL, REQUEST, LOCK, RUNS = "journal.log", "request.json", "lock", "runs"
FORMAT = 1
WORST = -1e30  # of a trial without a number, which a journal can hold

Execute = Callable[[list[Job], Path], ExitCode]
Resolve = Callable[[dict[str, Any], int], RunSpec]  # hyper-parameters and budget → a run


@dataclass(frozen=True)
class Search:
    """What is searched, on which runs."""

    resolve: Resolve
    usual: dict[str, Any]  # the hyper-parameters of trial 0
    ranges: list[Range]
    budget: int  # steps or episodes of a whole run
    seeds: tuple[int, ...]
    trials: int
    generation: int = 9  # trials that are compared with each other
    rungs: int = 3  # budgets: the whole one, a third of it, a ninth …
    reduction: int = 3  # one in this number goes on to the next budget
    seed: int = 0

    def check(self) -> None:
        """Numbers that make a search."""
        for name in ("trials", "generation", "rungs"):
            if getattr(self, name) < 1:
                raise UsageError(f"--{name} must be at least 1, got {getattr(self, name)}")
        if self.trials % self.generation:
            fitting = math.ceil(self.trials / self.generation) * self.generation
            raise UsageError(
                f"--trials must be a multiple of --generation {self.generation}, got "
                f"{self.trials}; give {fitting}"
            )
        if not self.ranges:
            raise UsageError("nothing is left to search: every option is given; leave one out")

    def budgets(self) -> list[int]:
        """From the first rung to the last."""
        shares = [self.reduction**rung for rung in reversed(range(self.rungs))]
        return sorted({max(1, self.budget // share) for share in shares})

    def hyper(self, drawn: dict[str, Any]) -> dict[str, Any]:
        """The hyper-parameters of a trial."""
        return {each.name: each.value(drawn[each.label]) for each in self.ranges}

    def described(self) -> dict[str, Any]:
        """Everything that the trials depend on."""
        spec = self.resolve({}, self.budget).to_dict()
        own = dataclasses.asdict(self)
        kept = ("budget", "seeds", "generation", "rungs", "reduction", "seed")
        ranges = [list(each) for each in self.ranges]
        return {"spec": spec, "ranges": ranges, **{name: own[name] for name in kept}}


def run_search(search: Search, folder: Path, execute: Execute) -> tuple[ExitCode, list[Trial]]:
    """Do what is left of a search; the trials so far.

    Args:
        search: what is searched.
        folder: of its journal and runs.
        execute: computes runs in a folder.
    """
    search.check()
    files.make_folder(folder)
    with files.lock(folder / LOCK):
        _check_request(search, folder / REQUEST)
        journal = Journal(folder / JOURNAL)
        done = journal.trials()
        for start in range(0, search.trials, search.generation):
            numbers = range(start, start + search.generation)
            if len(done) > numbers[-1]:
                continue
            code, ended = _generation(search, done[:start], numbers, folder, execute)
            if code is ExitCode.INTERRUPTED:
                return code, done
            for trial in ended[
                len(done) - start :
            ]:  # those before were recorded, then it was killed
                journal.add(search.ranges, trial)
            done = journal.trials()
    return ExitCode.OK, done[: search.trials]


def _check_request(search: Search, path: Path) -> None:
    """A folder holds one search; the same one may be continued, and made longer."""
    wanted = files.parse_json(path, files.pretty_json(search.described()))
    if not path.exists():
        files.write_sealed_json(path, wanted | {"format": FORMAT})
        return
    held = files.read_sealed_json(path, FORMAT)
    different = [name for name, value in wanted.items() if held.get(name) != value]
    if different:
        raise UsageError(
            f"{path.parent} holds another search (its {', '.join(different)} differ); "
            "choose another --out"
        )


def _generation(
    search: Search, earlier: list[Trial], numbers: Sequence[int], folder: Path, execute: Execute
) -> tuple[ExitCode, list[Trial]]:
    """Some trials against each other: only the best go on to the next budget."""
    drawn = proposals(search.ranges, earlier, numbers, search.seed, search.usual)
    values: list[dict[int, float]] = [{} for _ in numbers]
    going_on, budgets = list(range(len(drawn))), search.budgets()
    for budget in budgets:
        specs = {i: search.resolve(search.hyper(drawn[i]), budget) for i in going_on}
        jobs = {(job.program, job.seeds): job for i in going_on for job in _jobs(search, specs[i])}
        if execute(list(jobs.values()), folder / RUNS) is ExitCode.INTERRUPTED:
            return ExitCode.INTERRUPTED, []
        for i, spec in specs.items():
            values[i][budget] = value_of(folder / RUNS, spec, search.seeds)
        if budget != budgets[-1]:
            kept = math.ceil(len(going_on) / search.reduction)
            best_first = sorted(going_on, key=lambda i: (-values[i][budget], i))
            going_on = sorted(best_first[:kept])
    return ExitCode.OK, [
        Trial(number, drawn[i], values[i], budgets[-1] in values[i])
        for i, number in enumerate(numbers)
    ]


def _jobs(search: Search, spec: RunSpec) -> list[Job]:
    return [Job(spec, (seed,)) for seed in search.seeds]


def value_of(root: Path, spec: RunSpec, seeds: Sequence[int]) -> float:
    """The mean over seeds of the greedy evaluations in the second half of training.

    A run that failed, or diverged before its first evaluation, makes the trial the worst.
    """
    means = []
    for seed in seeds:
        path = run_folder.run_path(root, spec.to_dict(), seed)
        try:
            found = run_folder.read_evaluations(path)
        except (DamagedFile, FileNotFoundError):
            found = None
        if found is None or not len(found):
            return WORST
        late = found.filter(pl.col("steps") * 2 >= pl.col("steps").max())
        means.append(float(late["return_mean"].to_numpy().mean()))
    return sum(means) / len(means)
