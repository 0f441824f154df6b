"""From a finished run to its row in the tables of results, and from a row to its command."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from isl.envs import TASKS, has_goal
from isl.experiments.spec import RunSpec, resolve
from isl.paper.table import Row, settings_of
from isl.storage import files, run_folder, store
from isl.storage.provenance import provenance

# Settings beside the hyper-parameters that are part of a variant, with their usual values.
_USUAL = {"mapping_seed": 42, "cohort_width": 1}


def row_of(run: store.Run) -> Row:
    """The row of a finished run of a compiled task."""
    assert run.summary is not None
    spec, summary = RunSpec(**run.config), run.summary
    made = run.provenance[-1]
    unsolved = has_goal(spec.task) and summary["solved_episode"] is None
    # A run that was continued by other code may repeat with neither: both are named.
    commits = dict.fromkeys(_commit(place) for place in run.provenance)
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
        records=_digest(run.path),
        seconds=round(summary["wall_seconds"], 3),
        isl=made["isl"],
        commit="/".join(commits),
        jax=made["jax"] or "",
        cpu=made["cpu"],
    )


def _commit(place: Mapping[str, Any]) -> str:
    return (place["git_sha"] or "")[:12] + ("+" if place["git_dirty"] else "")


def _digest(run_dir: Path) -> str:
    """Of the values, not of the file: a new version of Parquet's writer changes nothing.

    Facts that are recorded since a later version than the first rows are left out.
    """
    total = hashlib.sha256()
    table = run_folder.read_episodes(run_dir)
    later = {
        f.column for family in TASKS.values() for f in family.facts if f.recorded_since > "0.1"
    }
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


def made_here(rows: Iterable[Row]) -> list[Row]:
    """Those of this JAX on this kind of processor: here they repeat to the bit."""
    here = provenance()
    return [row for row in rows if (row.jax, row.cpu) == (here["jax"], here["cpu"])]


def command_of(row: Row) -> list[str]:
    """The arguments of `isl` that do the row's run: `train deep_sea/10 --agent isl …`."""
    words = ["train", row.task, "--agent", row.agent, "--first-seed", str(row.seed)]
    words += ["--episodes", str(row.budget)]
    if row.until_solved:
        words.append("--until-solved")
    for name, value in settings_of(row.variant).items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            values = value if isinstance(value, list) else [value]
            words += [f"--{flag}", *map(str, values)]
    return words
