"""`isl train TASK`: one configuration, some seeds."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from isl import agents
from isl.cli import options as shared
from isl.experiments import presets
from isl.experiments.executing.local import run_locally
from isl.experiments.executing.plan import Job
from isl.experiments.spec import observations_of, resolve
from isl.experiments.sweep import cohorts
from isl.status import ExitCode


def add_arguments(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    agent = shared.chosen_agent(argv)
    parser.add_argument("task", help="deep_sea/20, cartpole_swingup/10 … or a Gymnasium id")
    parser.add_argument(
        "--agent",
        default=agent,
        help="a name from `isl list`, or the path of your module; default: isl on the paper's "
        "tasks, seeker elsewhere",
    )
    shared.add_run_options(parser)
    shared.add_hyper_parameters(parser, agents.load(agent).Config, agent)


def run(options: argparse.Namespace) -> ExitCode:
    spec = resolve(
        options.task,
        options.agent,
        shared.hyper_parameters(options),
        episodes=options.episodes,
        until_solved=options.until_solved,
        mapping_seed=options.mapping_seed,
        cohort_width=options.cohort_width,
        timesteps=options.timesteps,
        preset=options.preset,
        observations=options.observations,
    )
    beyond_paper = options.preset is None and spec.timesteps is not None
    if beyond_paper:
        seen = observations_of(spec.task, options.observations, options.agent).seen
        if note := presets.note(spec.task, options.agent, seen):
            print(note, file=sys.stderr)
    jobs = [Job(spec, some) for some in cohorts(shared.seeds(options), spec.cohort_width)]
    shared.check_step_timeout(options, jobs)
    conduct = shared.settings(options)
    return run_locally(jobs, options.out, workers=options.workers, settings=conduct)
