"""The trials of a search: what was tried, what came of it, and what to try next.

Trials come in generations. What a generation tries depends on the generations before it and on the
numbers of its trials alone, never on when a trial ended or on how often the search was killed. The
journal is Optuna's, and holds trials that have ended, in the order of their numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from isl.errors import UsageError
from isl.storage import files
from isl.tuning.space import Range

NAME = "isl"
STARTUP = 2  # generations that are drawn at random


class Trial(NamedTuple):
    """One setting, and its mean greedy return by the budget it was given."""

    number: int
    drawn: dict[str, Any]  # by `Range.label`
    values: dict[int, float]  # budget → value; of the budgets that it was allowed
    complete: bool  # whether it got the whole budget


def optuna_package() -> Any:
    """Optuna, or a line that says how to get it."""
    try:
        import optuna
    except ModuleNotFoundError:
        raise UsageError("isl tune needs Optuna: pip install 'isl[tune]'") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


class Journal:
    """The trials on the disk. Whoever has one holds the lock of its folder."""

    def __init__(self, path: Path) -> None:
        self._optuna = optuna_package()
        _cut_torn_line(path)
        journal = self._optuna.storages.journal
        backend = journal.JournalFileBackend(str(path), lock_obj=_NoLock())
        storage = self._optuna.storages.JournalStorage(backend)
        self._study = self._optuna.create_study(
            storage=storage, study_name=NAME, direction="maximize", load_if_exists=True
        )

    def trials(self) -> list[Trial]:
        """Those that have ended."""
        complete = self._optuna.trial.TrialState.COMPLETE
        return [
            Trial(t.number, t.params, dict(t.intermediate_values), t.state == complete)
            for t in self._study.trials
        ]

    def add(self, ranges: Sequence[Range], trial: Trial) -> None:
        """One more: a single line of the file."""
        self._study.add_trial(_frozen(self._optuna, ranges, trial))


class _NoLock:
    """Optuna's own lock would outlive a process that is killed; ours does not."""

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        pass


def _cut_torn_line(path: Path) -> None:
    """A machine that stops while it writes leaves half a line: that trial is recorded again."""
    if path.exists():
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if whole != content:
            files.write_bytes(path, whole)


def _frozen(optuna: Any, ranges: Sequence[Range], trial: Trial) -> Any:
    states = optuna.trial.TrialState
    whole = trial.values[max(trial.values)] if trial.complete else None
    return optuna.trial.create_trial(
        state=states.COMPLETE if trial.complete else states.PRUNED,
        value=whole,
        params=trial.drawn,
        distributions=distributions(optuna, ranges),
        intermediate_values=trial.values,
    )


def distributions(optuna: Any, ranges: Sequence[Range]) -> dict[str, Any]:
    """The ranges as Optuna has them."""
    kinds, found = optuna.distributions, {}
    for each in ranges:
        if each.choices:
            from isl.tuning.space import written

            found[each.label] = kinds.CategoricalDistribution([written(x) for x in each.choices])
        elif each.whole:
            found[each.label] = kinds.IntDistribution(int(each.low), int(each.high), log=each.log)
        else:
            found[each.label] = kinds.FloatDistribution(each.low, each.high, log=each.log)
    return found


def proposals(
    ranges: Sequence[Range],
    earlier: Sequence[Trial],
    numbers: Sequence[int],
    seed: int,
    usual: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """What the trials of a generation try, by `Range.label`.

    Args:
        ranges: what is searched.
        earlier: the trials of all generations before.
        numbers: of the trials.
        seed: of the search.
        usual: the agent's own setting, which trial 0 tries.
    """
    optuna, found = optuna_package(), []
    history = [_frozen(optuna, ranges, trial) for trial in earlier]
    for number in numbers:
        own = {each.label: each.drawn(usual[each.name]) for each in ranges}
        if number == 0 and None not in own.values():
            found.append(own)
            continue
        sampler = optuna.samplers.TPESampler(
            seed=(seed * 1_000_003 + number) % 2**32, n_startup_trials=STARTUP * len(numbers)
        )
        study = optuna.create_study(direction="maximize", sampler=sampler)
        study.add_trials(history)
        found.append(dict(study.ask(distributions(optuna, ranges)).params))
    return found


def importances(ranges: Sequence[Range], trials: Sequence[Trial]) -> dict[str, float]:
    """How much each hyper-parameter matters to a trial's first value: shares of 1.

    By Optuna's PED-ANOVA. The first value is the one that every trial has.
    """
    optuna = optuna_package()
    first = [trial._replace(values={0: _first(trial)}, complete=True) for trial in trials]
    study = optuna.create_study(direction="maximize")
    study.add_trials([_frozen(optuna, ranges, trial) for trial in first])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluator = optuna.importance.PedAnovaImportanceEvaluator()
        found = optuna.importance.get_param_importances(study, evaluator=evaluator)
    return dict(found)


def _first(trial: Trial) -> float:
    return trial.values[min(trial.values)]


def best(trials: Sequence[Trial]) -> Trial | None:
    """The best of those that got the whole budget; of equal ones the first."""
    whole = [trial for trial in trials if trial.complete]
    return max(whole, key=lambda t: (t.values[max(t.values)], -t.number), default=None)
