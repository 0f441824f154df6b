"""The arrows of docs/architecture.md hold, imports make no circle, and functions stay readable."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import isl

SOURCE = Path(isl.__file__).parent
MODULES = {
    ".".join(("isl", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): path
    for path in SOURCE.rglob("*.py")
}
# Modules for everybody.
SHARED = {"errors", "garbage", "status", "templates", "threefry", "version"}
# What each folder may import beside itself and those.
ARROWS = {
    "theory": "",
    "envs": "",
    "nn": "envs",
    "agents": "envs nn theory",
    "training": "agents envs nn",
    "storage": "",
    "analysis": "agents envs storage",
    "report": "agents analysis envs storage",
    "experiments": "agents analysis envs nn report storage training",
    "export": "agents envs storage",
    "model": "agents envs experiments export nn storage training",
    "tuning": "agents experiments storage",
    "paper": "agents analysis envs experiments model report storage",
    "bench": "agents analysis envs experiments model nn paper report storage theory training",
    "cli": "agents analysis bench envs experiments model nn paper report storage training tuning",
}
WITHOUT_JAX = ("storage", "analysis", "report")
LONGEST, MOST_PARAMETERS = 80, 7


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imports(tree: ast.AST) -> set[str]:
    """All modules that the code imports, lazily or not; what only type checkers see is left out."""
    found: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if is_type_checking(node):
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in MODULES else node.module)
        found |= imports(node)
    return found


@cache
def graph() -> dict[str, set[str]]:
    parsed = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}
    return {name: imports(tree) for name, tree in parsed.items()}


def folder(module: str) -> str:
    return module.split(".")[1] if module.count(".") else ""


def test_every_folder_is_in_the_table():
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert packages == set(ARROWS)


@pytest.mark.parametrize("name", ARROWS)
def test_imports_follow_the_arrows(name):
    allowed = {
        name,
        "",
        "errors",
        "garbage",
        "status",
        "templates",
        "threefry",
        "version",
        *ARROWS[name].split(),
    }
    wrong = {
        (module, other)
        for module, others in graph().items()
        for other in others
        if folder(module) == name and other.split(".")[0] == "isl" and folder(other) not in allowed
    }
    assert not wrong


def test_public_modules_at_the_top_only_hand_on_names():
    thin = {"exploration", "mdp", "planning", "tabular", "callbacks"}
    top = {path.stem for path in SOURCE.glob("*.py")}
    assert top == thin | {
        "__init__",
        "__main__",
        "errors",
        "garbage",
        "status",
        "templates",
        "threefry",
        "version",
    }
    for name in thin:
        tree = ast.parse((SOURCE / f"{name}.py").read_text(encoding="utf-8"))
        kinds = [type(node) for node in tree.body]
        assert (kinds[0], kinds[-1]) == (ast.Expr, ast.Assign), name
        assert set(kinds[1:-1]) == {ast.ImportFrom}, name


def test_there_is_no_circle_of_imports():
    """Lazy imports counted. A package's `__init__` stands for itself alone."""
    edges = {name: {o for o in others if o in MODULES} for name, others in graph().items()}
    seen: dict[str, bool] = {}  # True while on the path

    def visit(name: str, path: tuple[str, ...]) -> None:
        if seen.get(name):
            pytest.fail(" → ".join((*path[path.index(name) :], name)))
        if name in seen:
            return
        seen[name] = True
        for other in sorted(edges[name]):
            visit(other, (*path, name))
        seen[name] = False

    for name in edges:
        visit(name, ())


@pytest.mark.parametrize("name", WITHOUT_JAX)
def test_reading_needs_no_jax(name):
    own = sorted(module for module in MODULES if folder(module) == name)
    lazy = [m for m in own for o in graph()[m] if o.split(".")[0] in ("jax", "flax", "optax")]
    assert not lazy
    code = f"import sys\n{''.join(f'import {m}{chr(10)}' for m in own)}print('jax' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


def functions() -> list[tuple[str, ast.FunctionDef, list[str]]]:
    found = []
    for name, path in sorted(MODULES.items()):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                found.append((name, node, text.splitlines()))
    return found


def test_functions_are_short_or_say_why_not():
    """A comment `# Long: …` or `# Many parameters: …` right above the function is a reason."""
    wrong = []
    for name, node, lines in functions():
        above = lines[node.lineno - 2 - len(node.decorator_list)].strip()
        length = node.end_lineno - node.lineno + 1
        own = node.args
        names = [a.arg for a in (*own.posonlyargs, *own.args, *own.kwonlyargs) if a.arg != "self"]
        if length > LONGEST and not above.startswith("# Long: "):
            wrong.append(f"{name}.{node.name}: {length} lines")
        if len(names) > MOST_PARAMETERS and not above.startswith("# Many parameters: "):
            wrong.append(f"{name}.{node.name}: {len(names)} parameters")
    assert not wrong


def test_the_papers_agent_reads_in_one_sitting():
    assert len((SOURCE / "agents" / "isl.py").read_text(encoding="utf-8").splitlines()) <= 200
