"""What the documentation says is true: its Python runs, its commands and names exist.

Python is shortened by one rule: `learn` takes at most 250 steps, evaluations come every 200 steps
or sooner and have one episode. A block of Python that is followed by its output (a block of kind
text) is run in full. `isl train` and `isl sweep` are carried out up to the list of runs they would
compute; of the other commands of `isl` the arguments are parsed. tests/test_prose.py has the links
and the wording.
"""

import argparse
import ast
import dataclasses
import functools
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from isl import agents
from isl.agents.config import Config
from isl.cli import main, options, train
from isl.errors import UsageError
from isl.experiments import presets
from isl.model import evaluation
from isl.model.callbacks import EvalCallback
from isl.model.model import Model
from tests.support import made_runs

pytestmark = pytest.mark.slow  # runs the examples of the documentation

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SHOWN = re.compile(
    r"^```python\n((?:(?!^```).)*?)^```\n\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE
)
SPAN = re.compile(r"`([^`]+)`")
PREFIX = re.compile(r"^(?:[A-Z_]+=\S+ |\.venv/bin/|nohup )*")
FOREIGN = ("ray ", "scp ", "srun ", "export ", "sleep ", "head=", "#", "tensorboard ", "source ")
PLACEHOLDERS = {"TASK": "deep_sea/4", "ENV": "FrozenLake-v1", "AGENT": "dqn", "HASH": "0123"}
TARGETS = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def named(paths):
    return pytest.mark.parametrize("page", paths, ids=lambda p: str(p.relative_to(ROOT)))


def python(page):
    """The page's Python as one script, with the files it shows, without what is run in full."""
    text = SHOWN.sub("", page.read_text())
    blocks = [body for kind, body in BLOCK.findall(text) if kind == "python"]
    shown = re.compile(r'^--8<-- "(.*)"$', re.MULTILINE)
    return "\n".join(shown.sub(lambda m: (ROOT / m[1]).read_text(), body) for body in blocks)


def shell_lines(page, kinds=("", "bash")):
    """The lines of the page's shell blocks; continued ones are joined, prefixes removed."""
    blocks = [body for kind, body in BLOCK.findall(page.read_text()) if kind in kinds]
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    parts = [part for line in lines for part in line.split(" && ")]
    return [PREFIX.sub("", part.strip()) for part in parts if part.strip()]


def spans(page):
    """What the page has in code font."""
    return [" ".join(span.split()) for span in SPAN.findall(BLOCK.sub("", page.read_text()))]


def commands(page):
    """Every command of isl on a page, in blocks and in code font."""
    inline = [PREFIX.sub("", span) for span in spans(page)]
    found = [text for text in shell_lines(page) + inline if re.match(r"isl \S", text)]
    return [text for text in found if "…" not in text and "COMMAND" not in text]


WITH_PYTHON = [page for page in PAGES if python(page)]
WITH_OUTPUT = [page for page in PAGES if SHOWN.search(page.read_text())]
COMMANDS = sorted({command for page in PAGES for command in commands(page)})


def test_there_is_something_to_check():
    assert len(WITH_PYTHON) >= 5
    assert len(COMMANDS) >= 40
    assert len(EXAMPLES) == 7
    assert [page.name for page in WITH_OUTPUT] == ["README.md"]


@pytest.fixture
def shortened(monkeypatch):
    learn, init, evaluate = Model.learn, EvalCallback.__init__, evaluation.evaluate

    def short(self, total_timesteps, *more, **options):
        options["progress_bar"] = False
        return learn(self, min(total_timesteps, 250), *more, **options)

    def soon(self, *more, eval_freq, **options):
        options["n_eval_episodes"] = 1
        init(self, *more, eval_freq=min(eval_freq, 200), **options)

    def once(model, env, episodes, *more):
        return evaluate(model, env, 1, *more)

    monkeypatch.setattr(evaluation, "evaluate", once)
    monkeypatch.setattr(Model, "learn", short)
    monkeypatch.setattr(EvalCallback, "__init__", soon)


@named(WITH_PYTHON)
@pytest.mark.usefixtures("shortened")
def test_python_blocks_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    made_runs.make(tmp_path / "runs")
    script = tmp_path / "page.py"
    script.write_text(python(page))
    runpy.run_path(str(script))
    expected = re.findall(r"^print\(.*\)\s+# (.*)$", python(page), re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == expected


@pytest.mark.slow
@named(WITH_OUTPUT)
def test_python_prints_what_is_shown_below_it(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for number, (code, output) in enumerate(SHOWN.findall(page.read_text())):
        script = tmp_path / f"block_{number}.py"
        script.write_text(code.replace(".learn(", ".learn(progress_bar=False, total_timesteps="))
        runpy.run_path(str(script))
        assert capsys.readouterr().out == output


@named(EXAMPLES)
@pytest.mark.usefixtures("shortened")
def test_examples_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(page)])
    runpy.run_path(str(page), run_name="__main__")
    promised = ast.get_docstring(ast.parse(page.read_text())).partition("Expected output")[2]
    expected = [line for line in promised.splitlines()[1:] if line.startswith("    ")]
    assert len(capsys.readouterr().out.splitlines()) == len(expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "reached"),
    [
        ("custom_environment", r"after: return 1 in 10 steps"),
        ("frozen_lake", r"greedy return 1 in 14 steps"),
        ("mountain_car", r"greedy return -(\d\d|1[0-4]\d),"),
    ],
)
def test_examples_reach_what_they_promise(name, reached, tmp_path, monkeypatch, capsys):
    page = ROOT / "docs" / "examples" / f"{name}.py"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(page)])
    assert re.search(reached, page.read_text())
    runpy.run_path(str(page), run_name="__main__")
    assert re.search(reached, capsys.readouterr().out)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_understood(command, tmp_path, monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(train, "run_locally", lambda jobs, out, **_: asked.extend(jobs) or 0)
    monkeypatch.setattr(options, "execute", lambda jobs, *_: asked.extend(jobs) or 0)
    monkeypatch.syspath_prepend(ROOT / "docs")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "experiments.md").read_text()
    (toml,) = [body for kind, body in BLOCK.findall(page) if kind == "toml"]
    Path("sweep.toml").write_text(toml)
    Path("kappa.toml").write_text(toml)
    Path("my_envs.py").write_text("from tests.support.masked_envs import Corridor as Maze\n")
    Path("tuned").mkdir()
    Path("tuned", "best.toml").write_text("[seeker]\nlr = 0.001\n")
    command = command.replace("my_pkg.my_agent", "examples.my_agent")
    words = shlex.split(command, comments=True)[1:]
    name, *rest = [PLACEHOLDERS.get(word, word) for word in words]
    if name in ("train", "sweep") and rest:
        code, told = main.main([name, *rest]), capsys.readouterr().err
        if " need the package " in told:  # an optional one: the message names its extra
            assert (code, told.count("\n")) == (2, 1)
            pytest.skip(told.strip())
        assert code == 0, told
        assert asked
    elif name in ("--version", "--help"):
        assert main.main([name]) == 0
    elif rest:
        parsed(name, rest)
    else:
        assert name in main.COMMANDS


def parser_of(name, rest=()):
    assert name in main.COMMANDS
    parser = main.Parser(prog=name, allow_abbrev=False)
    module = __import__(f"isl.cli.{name}", fromlist=[name])
    module.add_arguments(parser, rest)
    return parser


def parsed(name, rest):
    """The arguments of a command; those that prose leaves out are filled in."""
    parser = parser_of(name, rest)
    given = [word for word in rest if not word.startswith("-")]
    if len(given) == len(rest) - 1 and name in ("status", "report") and not given:
        rest = ["runs", *rest]
    return parser.parse_args(rest)


@named(PAGES)
def test_other_shell_lines_work(page):
    """Makefile targets, files to run and extras to install exist; nothing else is unknown."""
    for line in shell_lines(page, kinds=("bash",)):  # other blocks may hold output, too
        words = shlex.split(line, comments=True)
        if not words or words[0] == "isl" or line.startswith(FOREIGN):
            continue
        if words[0] == "make":
            assert words[1] in TARGETS
        elif words[0] == "python" and words[1] != "-m":
            assert (ROOT / words[1]).is_file()
        elif words[:2] == ["pip", "install"]:
            for extra in re.findall(r"(?:isl|\.)\[([\w,]+)\]", line):
                assert set(extra.split(",")) <= set(PROJECT["optional-dependencies"])
        else:
            assert words[0] in ("python", "python3"), f"what is {line!r}?"


@functools.cache
def flags():
    """Every option of every command, with the options of every agent."""
    parsers = [parser_of(name) for name in main.COMMANDS if name != "train"]
    parsers += [parser_of("train", ["deep_sea/4", "--agent", agent]) for agent in agents.AGENTS]
    return {flag for parser in parsers for flag in parser._option_string_actions}


@functools.cache
def configs():
    """Each agent's Config, and the fields that it has."""
    return {
        name: {field.name for field in dataclasses.fields(agents.load(name).Config)}
        for name in agents.AGENTS
    }


class Names(ast.NodeVisitor):
    """Names that the code defines or takes, and strings that could be names."""

    def __init__(self):
        self.parameters, self.others = set(), set()

    def visit_arg(self, node):
        self.parameters.add(node.arg)

    def visit_AnnAssign(self, node):
        self.others.add(getattr(node.target, "id", ""))
        self.generic_visit(node)

    def visit_FunctionDef(self, node):
        self.others.add(node.name)
        self.generic_visit(node)

    def visit_ClassDef(self, node):
        self.others.add(node.name)
        self.generic_visit(node)

    def visit_Constant(self, node):
        if isinstance(node.value, str):
            self.others.add(node.value)


@pytest.fixture(scope="module")
def names():
    """Of the package and the examples, without the table of names that are gone."""
    found = Names()
    for path in [*(ROOT / "src").rglob("*.py"), *EXAMPLES]:
        if path.name != "aliases.py":
            found.visit(ast.parse(path.read_text()))
    for toml in presets.names():
        found.others.add(toml)
    found.others |= set(PROJECT["optional-dependencies"]) | set(main.COMMANDS)
    found.others |= set().union(*configs().values())
    return found


TESTS = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
ELSEWHERE = {  # names of other projects and of the format of a run
    *("softmax", "logsumexp", "flock", "nolock", "bsuite", "total_upright", "uint8", "vmap"),
    *("allow_pickle", "check_env", "evaluate_policy", "inf", "e", "shell"),
}
OF_0_1 = {"auto"}  # what the rows of docs/results were made with


@named(PAGES)
def test_options_in_code_font_exist(page, names):
    known = flags()
    every_name = names.parameters | names.others | ELSEWHERE
    every_name |= OF_0_1 if page.parent.name == "results" else set()
    for span in spans(page):
        if not span.startswith(FOREIGN):
            unknown = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", span)) - known
            assert not unknown, f"{span}: no command has {unknown}"
        if given := re.match(r"([a-z]\w*)=(?!=)\S*$", span):
            assert given[1] in every_name, span
        elif re.fullmatch(r"test_\w+", span):
            assert f"def {span}(" in TESTS, span
        elif re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", span):
            assert span in every_name, f"nothing is called {span}"


SECTIONS = {
    "ISL": ("isl", Config),
    "Seeker": ("seeker", Config),
    "BSP": ("boot_dqn", Config),
    "UBE": ("ube", Config),
    "SBEED": ("sbeed", Config),
    "DQN": ("dqn", Config),
    "Stable DQN": ("stable_dqn", agents.load("dqn").Exploring),
}


AGENT_PAGES = ("agents", "agents-compared")


@pytest.mark.parametrize("heading", SECTIONS)
def test_the_options_of_an_agent_are_those_it_has(heading):
    """All that it has beyond its base class, and none that it has not."""
    name, base = SECTIONS[heading]
    page = "".join((ROOT / "docs" / f"{name}.md").read_text() for name in AGENT_PAGES)
    section = re.search(rf"^## {heading}$(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)[1]
    paragraph = re.search(r"^\*\*Options\.\*\*(.*?)(?=\n\n)", section, re.DOTALL | re.MULTILINE)[1]
    told = {span for span in SPAN.findall(paragraph) if re.fullmatch(r"\w+", span)}
    has = configs()[name]
    assert told <= has
    assert has - {field.name for field in dataclasses.fields(base)} <= told


def test_removed_names_are_found(names):
    """The test above must be able to fail."""
    known = names.parameters | names.others
    for gone in ("ell_ratio", "greedy_value", "ell_baise", "lr_code"):
        assert gone not in known
    assert {"--kappa", "--bonus", "--grid"} - flags() == {"--bonus"}
    with pytest.raises(UsageError):
        parsed("bench", ["--what", "nothing"])
    assert isinstance(parsed("list", ["dqn"]), argparse.Namespace)


@named([*PAGES, *EXAMPLES, ROOT / "mkdocs.yml", ROOT / "CONTRIBUTING.md"])
def test_files_and_targets_exist(page):
    text = page.read_text()
    assert not re.search(r"(?<![\w/])(scripts|benchmarks)/", text)
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in link:
            assert (page.parent / link).exists(), link
    for path in re.findall(r"(?:docs|tests|src)/[\w/.-]+\.(?:py|md|json|js)\b", text):
        assert (ROOT / path).exists() or path.endswith("/my_task.py"), path
    for path in re.findall(r"`((?:\w+/)*test_\w+\.py)`", text):
        assert (ROOT / path).exists() or (ROOT / "tests" / path).exists(), path
    for target in re.findall(r"`make ([a-z-]+)`", text):
        assert target in TARGETS


def test_the_newcomer_begins_with_demo_and_test():
    first = BLOCK.search((ROOT / "README.md").read_text())[2].splitlines()
    assert [line.split("#")[0].strip() for line in first] == ["make demo", "make test"]
    assert (ROOT / "docs/figures/exploration.gif").stat().st_size < 1.5e6


@pytest.mark.slow
def test_the_site_builds_and_loads_nothing_from_elsewhere(tmp_path):
    pytest.importorskip("mkdocs", reason="the site needs the extra docs: pip install 'isl[docs]'")
    pytest.importorskip("latex2mathml", reason="the site needs the extra docs")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 12
    for page in pages:
        loaded = re.findall(r'<(?:script|img|iframe)[^>]*src="([^"]*)"', page.read_text())
        loaded += re.findall(r'<link[^>]*rel="stylesheet"[^>]*href="([^"]*)"', page.read_text())
        assert [url for url in loaded if "//" in url] == []
    assert "<math" in (tmp_path / "site" / "theory.html").read_text()
