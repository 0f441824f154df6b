"""The command line: finds the command's module, turns errors into one line and an exit code."""

from __future__ import annotations

import argparse
import errno
import importlib
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, NoReturn

from isl.agents import sb3_names
from isl.agents.aliases import MOVED
from isl.errors import CannotWrite, DamagedFile, UsageError, closest
from isl.experiments.executing.interruption import leave, on_request, silence
from isl.status import ExitCode
from isl.version import __version__

COMMANDS = {
    "train": "train an agent on a task, one run per seed",
    "eval": "play a saved model or a run: mean return on fixed seeds, videos",
    "sweep": "agents × tasks × sizes × hyper-parameters × seeds",
    "tune": "search for hyper-parameters, by greedy evaluations (Optuna)",
    "reproduce": "the paper's experiments, at its scale or small",
    "gallery": "train a few small models, with a card each",
    "list": "tasks and agents; isl list AGENT: its options",
    "bench": "speed beside peers and beside the machine's limit",
    "status": "what is done, running, diverged or left in a folder of runs",
    "report": "one HTML file of everything in a folder of runs",
    "doctor": "what looks wrong in a run, in plain words",
    "inspect": "look inside a run or a saved model: values, uncertainty, policy",
    "merge": "bring the finished runs of two folders together",
    "export": "bsuite's CSV files of runs, or a policy that runs without JAX",
}

GROUPS = {  # of the overview; a command that is in none of them stands at its end
    "train": ("train", "sweep", "tune", "reproduce"),
    "look": ("status", "report", "inspect", "doctor"),
    "use what was learned": ("eval", "export", "gallery"),
    "more": ("list", "merge", "bench"),
}

EXAMPLES = {
    "train": "isl train deep_sea/20",
    "eval": "isl eval model.isl",
    "sweep": "isl sweep deep_sea --sizes 10 20 --seeds 5 --grid kappa=1,13",
    "tune": "isl tune CartPole-v1 --timesteps 30000",
    "reproduce": "isl reproduce deep_sea --quick",
    "status": "isl status runs",
    "report": "isl report runs",
    "doctor": "isl doctor runs",
    "inspect": "isl inspect model.isl",
    "merge": "isl merge other-runs runs",
    "export": "isl export bsuite runs exported",
}


class Parser(argparse.ArgumentParser):
    """argparse whose errors are `UsageError`s, with a suggestion for a mistyped option."""

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments:"):
            wrong = message.split()[2]
            kind = "unknown option" if wrong.startswith("-") else "unexpected word"
            message = f"{kind} {wrong}; {self._meant(wrong.partition('=')[0])}"
        elif message.startswith("the following arguments are required:"):
            missing, command = message.partition(": ")[2], self.prog.split()[-1]
            message = f"{missing} is missing, as in: {EXAMPLES[command]}"
        raise UsageError(message)

    def _meant(self, option: str) -> str:
        known = [name for name in self._option_string_actions if name.startswith("--")]
        named = {flag.removeprefix("--").replace("-", "_"): flag for flag in known}
        name = option.lstrip("-").replace("-", "_")
        if name in MOVED:
            return f"it is an option of --agent {MOVED[name]}"
        if told := sb3_names.answer(name, named, lambda ours: named[ours]):
            return told
        close = closest(name, named)
        return f"did you mean {named[close]}?" if close else f"see {self.prog} --help"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """One of a few words: the closest of them is suggested."""
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        close = closest(str(value), known)
        what = action.option_strings[0] if action.option_strings else action.dest
        hint = f"did you mean {close}?" if close else f"known: {', '.join(known)}"
        raise UsageError(f"unknown {what} {value!r}; {hint}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; what it returns is the exit code (isl.status)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        # As a program; whoever calls this function keeps their own ways.
        with on_request(leave) if argv is None else nullcontext():
            return int(_run(arguments))
    except UsageError as error:
        print(f"isl: {error}", file=sys.stderr)
        return int(ExitCode.USAGE)
    except (CannotWrite, DamagedFile) as error:
        print(f"isl: {error}", file=sys.stderr)
        return int(ExitCode.FAILED)
    except KeyboardInterrupt:
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:  # the reader of our output has gone, as in `isl list | head`
        sys.stderr.close()
        return int(ExitCode.OK)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        silence()  # the terminal was closed while we wrote to it
        return int(ExitCode.INTERRUPTED)


def _run(arguments: list[str]) -> ExitCode:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_overview())
        return ExitCode.OK if arguments else ExitCode.USAGE
    if arguments[0] == "--version":
        print(f"isl {__version__}")
        return ExitCode.OK
    name, rest = arguments[0], arguments[1:]
    if name not in COMMANDS:
        close = closest(name, COMMANDS)
        hint = f"did you mean {close}?" if close else f"known: {', '.join(COMMANDS)}"
        raise UsageError(f"unknown command {name!r}; {hint}")
    command = importlib.import_module(f"isl.cli.{name}")
    parser = Parser(
        prog=f"isl {name}",
        description=COMMANDS[name],
        allow_abbrev=False,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    command.add_arguments(parser, rest)
    code: ExitCode = command.run(parser.parse_args(rest))
    return code


def _overview() -> str:
    grouped = {name for names in GROUPS.values() for name in names}
    others = tuple(name for name in COMMANDS if name not in grouped)
    lines = ["isl: agents that explore on purpose", "", "  isl train deep_sea/20 --seeds 4"]
    lines += ["  isl report runs"]
    for heading, names in (GROUPS | {"more": GROUPS["more"] + others}).items():
        lines += ["", f"{heading}:"]
        lines += [f"  isl {name:{max(map(len, COMMANDS))}}  {COMMANDS[name]}" for name in names]
    lines += ["", "isl COMMAND --help says what a command takes, isl list which tasks and agents"]
    return "\n".join(lines)
