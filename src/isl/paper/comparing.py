"""The work on a comparison: what has a row, what is left, and its doing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from isl.errors import UsageError
from isl.experiments.executing.progress_row import duration
from isl.paper import table, trial_pool, trials
from isl.paper.comparisons import COMPARISONS, Wanted, key_of, name_of
from isl.paper.trial import Trial
from isl.status import ExitCode


class Work:
    """The runs of a comparison that were asked for, and the table of their rows.

    Args:
        name: of the comparison.
        wanted: its runs.
        folder: of the tables.
    """

    def __init__(self, name: str, wanted: Sequence[Wanted], folder: Path) -> None:
        self._name, self._wanted, self._folder = name, wanted, folder
        self._path = folder / f"{name}.csv"
        self.left = trials.missing(wanted, self._rows())
        self._ended, self._bad = 0, 0

    def _rows(self) -> list[Trial]:
        return table.read_kind(self._path, Trial)

    def standing(self) -> str:
        """How much is done, and how long the rest takes."""
        done = len(self._wanted) - len(self.left)
        text = f"{self._name}: {len(self._wanted)} runs, {done} of them in {self._folder}"
        if not self.left:
            return text
        seconds, unknown = trials.seconds_of(self.left, self._known())
        aside = f", and {unknown} runs of unknown length" if unknown else ""
        pace = f"about {duration(seconds)} of a core at the pace of earlier rows{aside}"
        return f"{text}\n{len(self.left)} left: {pace}"

    def _known(self) -> list[Trial]:
        """The rows of all comparisons: a case may be in several of them."""
        paths = [self._folder / f"{name}.csv" for name in COMPARISONS]
        return [row for path in paths for row in table.read_kind(path, Trial)]

    def take_over(self) -> int:
        """Copy rows of the same runs from other comparisons; how many there were."""
        keys = {key_of(*run) for run in self.left}
        found = {row.key: row for row in self._known() if row.key in keys}
        table.add(self._path, found.values())
        self.left = trials.missing(self.left, list(found.values()))
        return len(found)

    def do(self, logs: Path, workers: int | None, most_seconds: float) -> ExitCode:
        """Do what is left, and record each row as soon as it is there.

        Runs that need a package which is not installed are left out and named; if there are no
        others, that is an error.
        """
        if taken := self.take_over():
            print(f"{taken} rows are those of other comparisons")
        able, lacking = self._able()
        if lacking and not able:
            raise UsageError(lacking[0])
        self.left = able
        complete = trial_pool.run_all(able, self, logs, workers, most_seconds)
        for line in dict.fromkeys(lacking):
            print(f"left out: {line}")
        if self._bad or lacking:
            return ExitCode.FAILED
        return ExitCode.OK if complete else ExitCode.INTERRUPTED

    def _able(self) -> tuple[list[Wanted], list[str]]:
        """The runs that can be done here, and what the others lack."""
        able, lacking = [], []
        verdicts: dict[tuple[str, str], str] = {}
        for run in self.left:
            key = run.case.name, run.contestant.agent
            if key not in verdicts:
                verdicts[key] = _lack(run)
            if verdicts[key]:
                lacking.append(verdicts[key])
            else:
                able.append(run)
        return able, lacking

    def needed(self, run: Wanted) -> bool:
        """Whether no other command has done it meanwhile."""
        return bool(trials.missing([run], self._rows()))

    def done(self, run: Wanted, row: Trial) -> None:
        """Record a row."""
        self._tell(run, f"{row.measured}, {duration(row.seconds or 0.0)}")
        if table.add(self._path, [row]):
            print(f"{self._path} has another result of this run, which stays")
            self._bad += 1

    def failed(self, run: Wanted, why: str) -> None:
        """Say so; the other runs go on."""
        self._tell(run, f"failed: {why}")
        self._bad += 1

    def _tell(self, run: Wanted, what: str) -> None:
        self._ended += 1
        who = f"{run.case.name} {name_of(run.contestant)} seed {run.seed}"
        print(f"[{self._ended}/{len(self.left)}] {who}: {what}", flush=True)


def _lack(run: Wanted) -> str:
    """What a run needs and is not installed; "" if it can be done."""
    try:
        run.check_installed()
    except UsageError as error:
        return str(error)
    return ""
