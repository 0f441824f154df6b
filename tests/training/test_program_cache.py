"""Compiled programs are kept in the user's folder, unless the user says otherwise."""

import os
import subprocess
import sys

import jax
import pytest

from isl.training import program_cache
from isl.training.program_cache import FOLDER_VARIABLE, SECONDS_VARIABLE, keep_programs, variables


@pytest.fixture
def settings(monkeypatch, tmp_path):
    """JAX's own settings, put back afterwards; a home of the test's own."""
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jax.config, name) for name in names}
    for variable in (FOLDER_VARIABLE, SECONDS_VARIABLE):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    jax.config.update("jax_compilation_cache_dir", None)
    yield tmp_path / "isl" / "xla"
    for name, value in before.items():
        jax.config.update(name, value)


def test_commands_and_models_keep_programs_in_the_same_folder(settings):
    keep_programs()
    assert jax.config.jax_compilation_cache_dir == str(settings)
    assert jax.config.jax_persistent_cache_min_compile_time_secs == program_cache.SHORTEST
    told = {FOLDER_VARIABLE: str(settings), SECONDS_VARIABLE: str(program_cache.SHORTEST)}
    assert variables() == told
    assert settings.stat().st_mode & 0o077 == 0  # what lies there is run: it is the user's alone


@pytest.mark.parametrize("chosen", ["", "elsewhere"])
def test_what_the_user_told_jax_counts(settings, monkeypatch, chosen):
    monkeypatch.setenv(FOLDER_VARIABLE, chosen)
    keep_programs()
    assert jax.config.jax_compilation_cache_dir is None  # JAX read the variable when it was loaded
    assert variables() == {}
    monkeypatch.delenv(FOLDER_VARIABLE)
    jax.config.update("jax_compilation_cache_dir", "mine")
    keep_programs()
    assert jax.config.jax_compilation_cache_dir == "mine"
    assert not settings.exists()


def test_a_folder_that_cannot_be_made_is_done_without(settings, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))  # also for root, who may write
    keep_programs()
    assert jax.config.jax_compilation_cache_dir is None
    assert variables() == {}


@pytest.mark.slow
def test_a_second_process_takes_the_programs_of_the_first(tmp_path):
    code = (
        "import isl; isl.DQN('FrozenLake-v1', hidden=(4,), batch_size=4, learning_starts=16)"
        ".learn(30, progress_bar=False, n_eval_episodes=0)"
    )
    env = {k: v for k, v in os.environ.items() if k not in (FOLDER_VARIABLE, SECONDS_VARIABLE)}
    env["XDG_CACHE_HOME"] = str(tmp_path)

    def kept():
        subprocess.run([sys.executable, "-c", code], check=True, env=env)
        return {path.name for path in (tmp_path / "isl" / "xla").iterdir()}

    first = kept()
    assert any(name.startswith("jit_advance") for name in first)
    assert kept() == first
