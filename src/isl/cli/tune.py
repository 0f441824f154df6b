"""`isl tune TASK`: search for hyper-parameters, with Optuna."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isl import agents
from isl.cli import options as shared
from isl.errors import UsageError
from isl.experiments.executing.plan import Job
from isl.experiments.spec import RunSpec, observations_of, resolve
from isl.status import ExitCode
from isl.tuning.report import PRESET, REPORT, write_results
from isl.tuning.search import Search, run_search
from isl.tuning.space import search_space

FIRST_SEED = 1000  # results are reported on the seeds from 0 on


def add_arguments(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    agent = shared.chosen_agent(argv)
    parser.add_argument("task", help="a Gymnasium id, or deep_sea/20, cartpole_swingup/10 …")
    parser.add_argument("--agent", default=agent, help="whose hyper-parameters; see `isl list`")
    parser.add_argument(
        "--trials", type=shared.whole_number, default=36, metavar="N", help="settings to try"
    )
    parser.add_argument(
        "--generation",
        type=shared.whole_number,
        default=9,
        metavar="G",
        help="settings that are compared with each other; a third of them gets the next budget",
    )
    parser.add_argument(
        "--rungs",
        type=shared.whole_number,
        default=3,
        metavar="R",
        help="budgets: the whole one, a third of it, a ninth …; 1: nothing is pruned",
    )
    parser.add_argument(
        "--search",
        nargs="+",
        default=[],
        metavar="NAME=RANGE",
        help="what to search beside or instead of the usual: lr=1e-4:1e-2 hidden=64x64,128x128",
    )
    parser.add_argument(
        "--sampler-seed", type=shared.whole_number, default=0, metavar="S", help="of the search"
    )
    shared.add_run_options(parser)
    parser.set_defaults(out=None, seeds=2, first_seed=FIRST_SEED)
    shared.add_executor_options(parser)
    shared.add_hyper_parameters(parser, agents.load(agent).Config, agent)


def run(options: argparse.Namespace) -> ExitCode:
    if options.no_eval:
        raise UsageError("--no-eval leaves nothing to tune by: leave it out")
    if options.until_solved:
        raise UsageError("--until-solved is for isl train: runs of a search have the same length")
    fixed = shared.hyper_parameters(options)
    search = _search(options, fixed)
    folder = options.out or Path("tune") / f"{options.task.replace('/', '-')}-{options.agent}"

    def execute(jobs: list[Job], root: Path) -> ExitCode:
        return shared.execute(jobs, argparse.Namespace(**{**vars(options), "out": root}))

    code, trials = run_search(search, folder, execute)
    if code is ExitCode.INTERRUPTED:
        print(f"{len(trials)} of {search.trials} trials are done; the same command goes on")
        return code
    command = f"isl tune {shlex.quote(options.task)} --agent {options.agent}"
    best = write_results(search, trials, folder, options.agent, command)
    if best is None:
        print(f"no trial of {folder} has an evaluation: `isl status {folder}` says why")
        return ExitCode.FAILED
    print(f"best of {len(trials)}: trial {best.number}, {best.values[max(best.values)]:.6g}")
    print(
        f"{folder / REPORT}\n{folder / PRESET}: isl train {options.task} --preset {folder / PRESET}"
    )
    return ExitCode.OK


def _search(options: argparse.Namespace, fixed: dict[str, Any]) -> Search:
    def resolved(hyper: dict[str, Any], budget: int | None) -> RunSpec:
        limit = {"episodes": options.episodes, "timesteps": options.timesteps}
        if budget is not None:
            limit = {name: budget if name == unit else None for name in limit}
        return resolve(
            options.task,
            options.agent,
            {**fixed, **hyper},
            mapping_seed=options.mapping_seed,
            cohort_width=options.cohort_width,
            preset=options.preset,
            observations=options.observations,
            **limit,
        )

    whole = resolved({}, None)
    unit = "episodes" if whole.timesteps is None else "timesteps"
    budget = whole.episodes if whole.timesteps is None else whole.timesteps
    assert budget is not None
    config = whole.config()
    return Search(
        resolved,
        {name: getattr(config, name) for name in config.to_dict()},
        search_space(config, _seen(whole, options.observations), fixed, options.search),
        budget,
        tuple(shared.seeds(options)),
        options.trials,
        options.generation,
        options.rungs,
        seed=options.sampler_seed,
    )


def _seen(spec: RunSpec, kind: str) -> Any:
    """What the agent sees of the task."""
    if spec.timesteps is not None:
        return observations_of(spec.task, kind, spec.agent_name).seen
    return spec.reading(spec.environment().observation_space).seen
