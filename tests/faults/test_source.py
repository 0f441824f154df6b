"""Row 7: what the package never does, read from its source."""

import ast
import importlib
from pathlib import Path

import pytest

import isl

SOURCE = Path(isl.__file__).parent
UNSAFE_MODULES = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
NETWORK_MODULES = {
    *("socket", "ssl", "http", "urllib", "urllib3", "requests", "httpx", "aiohttp", "ftplib"),
    *("smtplib", "telnetlib", "xmlrpc", "asyncio", "websockets", "huggingface_hub", "wandb"),
    "mlflow",
}
UNSAFE_CALLS = {"eval", "exec", "compile", "__import__"}
UNSAFE_METHODS = {("os", "system"), ("os", "popen"), ("yaml", "load"), ("yaml", "unsafe_load")}
# Who imports modules by computed names. Nothing that is read from a file reaches them.
IMPORTING = {
    "agents/__init__.py": "the agent that the user names: the door for their own code",
    "envs/named.py": "the module of the environment that the user names",
    "cli/main.py": "one of our own commands",
    "bench/peers.py": "one of two peers, named in the file itself",
    "analysis/scores.py": "a part of rliable",
    "paper/cases.py": "the wrapper that a case names: written in code, never in a file",
    "envs/families.py": "the module that an entry of TASKS names: written in code, never in a file",
    "envs/packages.py": "the package that an entry of PACKAGES names: written in code likewise",
}
NETWORKING = {
    # Ray is a network of its own: its executor looks whether anybody answers at the address given.
    "experiments/executing/ray.py": {"socket"},
    # Callbacks that a user gives to `learn`, to have the log there.
    "model/trackers.py": {"wandb", "mlflow"},
}
HARMLESS = {"urllib.parse"}


def problems(name: str, source: str) -> list[str]:
    """What a lint forbids, each with its line."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imported = [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom):
                imported = [node.module or ""]
            for module in imported:
                top = module.partition(".")[0]
                allowed = top in NETWORKING.get(name, ()) or module in HARMLESS
                if top in UNSAFE_MODULES or (top in NETWORK_MODULES and not allowed):
                    found.append(f"{name}:{node.lineno}: imports {module}")
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            owner, _, method = called.rpartition(".")
            if called in UNSAFE_CALLS or (owner, method) in UNSAFE_METHODS:
                found.append(f"{name}:{node.lineno}: calls {called}")
            constant = bool(node.args) and isinstance(node.args[0], ast.Constant)
            if method == "import_module" and not constant and name not in IMPORTING:
                found.append(f"{name}:{node.lineno}: imports a module by a name it computes")
            for keyword in node.keywords:
                value = ast.unparse(keyword.value)
                if (keyword.arg, value) in (("shell", "True"), ("allow_pickle", "True")):
                    found.append(f"{name}:{node.lineno}: {keyword.arg}=True")
                if called in ("np.load", "numpy.load"):
                    found.append(f"{name}:{node.lineno}: numpy.load")
    return found


def test_no_dangerous_call_in_the_package(tally):
    paths = sorted(SOURCE.rglob("*.py"))
    found = []
    for path in paths:
        found += problems(str(path.relative_to(SOURCE)), path.read_text())
    assert not found, "\n".join(found)
    tally(7, f"{len(paths)} files read, 0 dangerous calls or imports")


@pytest.mark.parametrize(
    "line",
    [
        "import pickle",
        "from pickle import loads",
        "import marshal",
        "import urllib.request",
        "from http import client",
        "import requests",
        "import socket",
        "eval('1')",
        "exec(text)",
        "compile(text, 'a', 'exec')",
        "__import__('os')",
        "os.system('ls')",
        "os.popen('ls')",
        "yaml.load(text)",
        "subprocess.run('ls', shell=True)",
        "np.load(path, allow_pickle=True)",
        "importlib.import_module(name)",
    ],
)
def test_the_lint_finds_what_it_looks_for(line):
    assert problems("somewhere.py", f"def f():\n    {line}\n")


def test_the_doors_for_a_users_own_code_are_where_they_are_said_to_be():
    for name in IMPORTING:
        assert "importlib.import_module(" in (SOURCE / name).read_text()
    assert importlib.util.find_spec("isl.agents")


def test_no_file_names_the_agent_that_is_imported(tmp_path, monkeypatch):
    """A run's folder that names somebody's module: it is not imported to look inside the run."""
    from isl.errors import UsageError
    from isl.experiments.running.prepared import final_learner
    from isl.storage import checkpoint, files, run_folder, store
    from tests.support.fault_injection import parquet, state_at, summary

    (tmp_path / "stranger.py").write_text("raise SystemExit('executed')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    config = {"task": "deep_sea/3", "agent": "stranger.agent", "hyper": {}, "episodes": 1}
    run_dir = run_folder.run_path(tmp_path / "runs", config, 0)
    with run_folder.lock(run_dir):
        run_folder.start(run_dir, config)
        checkpoint.save_final(run_dir, state_at(1), {})
        files.write_bytes(run_dir / "episodes.parquet", parquet(goal=3))
        run_folder.finish(run_dir, {**summary(0), "task": "deep_sea/3", "agent": "stranger.agent"})
    assert store.read_run(run_dir).status == "done"
    with pytest.raises(UsageError, match=r"only isl, .* are read from a folder"):
        final_learner(run_dir)
