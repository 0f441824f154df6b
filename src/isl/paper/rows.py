"""From a finished run to its row in the tables of results, and from a row to its command."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from isl.agents import aliases
from isl.envs.registry import Fact, family_of, has_goal
from isl.experiments.spec import RunSpec, resolve
from isl.paper.table import Row, settings_of
from isl.paper.trial import Trial
from isl.storage import files, run_folder, store
from isl.storage.provenance import provenance

Made = TypeVar("Made", Row, Trial)

# Settings beside the hyper-parameters that are part of a variant, with their usual values.
_USUAL = {"mapping_seed": 42, "cohort_width": 1}


def row_of(run: store.Run) -> Row:
    """The row of a finished run of a compiled task."""
    assert run.summary is not None
    spec, summary = RunSpec(**run.config), run.summary
    made = run.provenance[-1]
    unsolved = has_goal(spec.task) and summary["solved_episode"] is None
    # A run that was continued by other code may repeat with neither: both are named.
    commits = dict.fromkeys(commit_of(place) for place in run.provenance)
    return Row(
        task=spec.task,
        agent=spec.agent,
        variant=variant_of(spec),
        seed=run.seed,
        config_hash=run.config_hash,
        budget=spec.episodes or 0,
        until_solved=spec.until_solved,
        status=run.status.value,
        solved_episode=summary["solved_episode"],
        censored_at=summary["episodes"] if unsolved else None,
        best_return=summary["best_return"],
        episodes=summary["episodes"],
        steps=summary["steps"],
        records=_digest(spec.task, run.path),
        seconds=round(summary["wall_seconds"], 3),
        isl=made["isl"],
        commit="/".join(commits),
        jax=made["jax"] or "",
        cpu=made["cpu"],
    )


def commit_of(place: Mapping[str, Any]) -> str:
    """The commit that a provenance names, with a + if the code was changed since."""
    return (place["git_sha"] or "")[:12] + ("+" if place["git_dirty"] else "")


def _digest(task: str, run_dir: Path) -> str:
    """Of the values, not of the file: a new version of Parquet's writer changes nothing.

    Facts that only later versions record are left out, so that earlier rows still compare.
    """
    family = family_of(task)
    facts = () if family is None else family.facts
    later = {fact.column for fact in facts if fact.recorded_since != Fact.recorded_since}
    total = hashlib.sha256()
    table = run_folder.read_episodes(run_dir)
    for name in sorted(set(table.columns) - later):
        total.update(name.encode() + table[name].to_numpy().tobytes())
    return total.hexdigest()[:12]


def variant_of(spec: RunSpec) -> str:
    """What a spec has that the task's preset has not, e.g. `eta1=0.5 kappa=26.0`."""
    usual = resolve(
        spec.task, spec.agent, {}, episodes=spec.episodes, until_solved=spec.until_solved
    )
    changed = {k: v for k, v in spec.hyper.items() if v != usual.hyper.get(k)}
    for name, value in _USUAL.items():
        if getattr(spec, name) not in (value, None):
            changed[name] = getattr(spec, name)
    return " ".join(f"{k}={files.canonical_json(changed[k]).decode()}" for k in sorted(changed))


def made_here(rows: Iterable[Made]) -> list[Made]:
    """Those of this JAX on this kind of processor: here they repeat to the bit."""
    here = provenance()
    return [row for row in rows if (row.jax, row.cpu) == (here["jax"], here["cpu"])]


def spec_of(row: Row) -> RunSpec:
    """The configuration of the row's run."""
    agent, settings = aliases.meant(row.agent, settings_of(row.variant))
    usual = {name: settings.pop(name) for name in _USUAL if name in settings}
    return resolve(
        row.task,
        agent,
        settings,
        episodes=row.budget,
        until_solved=row.until_solved,
        mapping_seed=usual.get("mapping_seed"),
        cohort_width=usual.get("cohort_width", _USUAL["cohort_width"]),
    )


def command_of(row: Row) -> list[str]:
    """The arguments of `isl` that do the row's run: `train deep_sea/10 --agent isl …`."""
    agent, settings = aliases.meant(row.agent, settings_of(row.variant))
    words = ["train", row.task, "--agent", agent, "--first-seed", str(row.seed)]
    words += ["--episodes", str(row.budget)]
    if row.until_solved:
        words.append("--until-solved")
    for name, value in settings.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            values = value if isinstance(value, list) else [value]
            words += [f"--{flag}", *map(str, values)]
    return words
