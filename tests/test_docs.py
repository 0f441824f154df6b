"""What the documentation says works: its Python runs, its commands are understood, files exist.

Python blocks are run page by page, in order, with `learn` cut to 100 steps. `isl train` and `sweep`
are carried out up to the list of runs they would compute; other commands are only parsed.
"""

import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from isl.cli import main, options, train
from isl.model.model import Model
from tests.support import made_runs

pytestmark = pytest.mark.slow  # runs the examples of the documentation

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"^    (isl .*)$", re.MULTILINE)
COMMAND = re.compile(r"^(?:PYTHONPATH=\S+ |\.venv/bin/)?(isl .*)$", re.MULTILINE)


def python(page):
    """The page's Python as one script, files that it shows included."""
    blocks = [body for kind, body in BLOCK.findall(page.read_text()) if kind == "python"]
    shown = re.compile(r'^--8<-- "(.*)"$', re.MULTILINE)
    return "\n".join(shown.sub(lambda m: (ROOT / m[1]).read_text(), body) for body in blocks)


def commands(page):
    text = page.read_text()
    fenced = [body for kind, body in BLOCK.findall(text) if kind in ("", "bash")]
    joined = "\n".join(fenced).replace("\\\n", " ")
    return [*COMMAND.findall(joined), *INDENTED.findall(BLOCK.sub("", text))]


WITH_PYTHON = [page for page in PAGES if python(page)]
COMMANDS = sorted({command for page in PAGES for command in commands(page)})


def named(paths):
    return pytest.mark.parametrize("page", paths, ids=lambda p: str(p.relative_to(ROOT)))


def test_there_is_something_to_check():
    assert len(WITH_PYTHON) >= 5
    assert len(COMMANDS) >= 25


@named(WITH_PYTHON)
def test_python_blocks_run(page, tmp_path, monkeypatch, capsys):
    whole = Model.learn

    def short(self, total_timesteps, *more, **options):
        return whole(self, min(total_timesteps, 100), *more, progress_bar=False, **options)

    monkeypatch.setattr(Model, "learn", short)
    monkeypatch.chdir(tmp_path)
    made_runs.make(tmp_path / "runs")
    script = tmp_path / "page.py"
    script.write_text(python(page))
    runpy.run_path(str(script))
    expected = re.findall(r"^print\(.*\)\s+# (.*)$", python(page), re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == expected


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_understood(command, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(train, "run_locally", lambda jobs, out, **_: asked.extend(jobs) or 0)
    monkeypatch.setattr(options, "execute", lambda jobs, *_: asked.extend(jobs) or 0)
    monkeypatch.syspath_prepend(ROOT / "docs")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "experiments.md").read_text()
    (toml,) = [body for kind, body in BLOCK.findall(page) if kind == "toml"]
    Path("sweep.toml").write_text(toml)
    command = command.replace("my_pkg.my_agent", "examples.my_agent")
    name, *rest = shlex.split(command, comments=True)[1:]
    if name in ("train", "sweep"):
        assert main.main([name, *rest]) == 0
        assert asked
    elif name == "COMMAND":  # a placeholder
        pytest.skip("not a command")
    else:
        assert name in main.COMMANDS
        parser = main.Parser(prog=name, allow_abbrev=False)
        module = __import__(f"isl.cli.{name}", fromlist=[name])
        module.add_arguments(parser, rest)
        parser.parse_args(rest)


@named(PAGES)
def test_files_and_targets_exist(page):
    text = page.read_text()
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in link:
            assert (page.parent / link).exists(), link
    for path in re.findall(r"(?:docs|scripts|tests|src)/[\w/.-]+\.(?:py|md|json|js)\b", text):
        assert (ROOT / path).exists(), path
    targets = re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for target in re.findall(r"`make ([a-z]+)`|^make ([a-z]+)", text, re.MULTILINE):
        assert "".join(target) in targets


def test_the_newcomer_begins_with_demo_and_test():
    first = BLOCK.search((ROOT / "README.md").read_text())[2].splitlines()
    assert [line.split("#")[0].strip() for line in first] == ["make demo", "make test"]
    assert (ROOT / "docs/figures/exploration.gif").stat().st_size < 1.5e6


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
