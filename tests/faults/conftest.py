"""`pytest tests/faults --long` (`make faults`) breaks things as often as docs/reliability.md says.

Without `--long` every test does the same a few times. At the end a table says what was counted.
"""

import pytest

from isl.storage import files

_COUNTS = pytest.StashKey[dict[int, list[str]]]()
ROWS = {
    1: "killed at every write step",
    2: "flipped bits, truncated files",
    3: "full disk, read-only folder",
    4: "bad environments",
    5: "signals",
    6: "hostile files",
    7: "source without dangerous calls",
    8: "soak",
    9: "equal bits",
    10: "formats",
    11: "provenance and merging",
}


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="as often as the documentation says")


def pytest_configure(config):
    config.stash[_COUNTS] = {}


@pytest.fixture(scope="session")
def often(request):
    """`often(short, long)`: how often to do something."""
    long_run = request.config.getoption("--long", default=False)
    return lambda short, long: long if long_run else short


@pytest.fixture(scope="session")
def only_long(often):
    """For tests whose promise has a shorter proof elsewhere."""
    if not often(False, True):
        pytest.skip("takes long: make faults")


@pytest.fixture(scope="session")
def tally(request):
    """`tally(row, "what was counted")`: a line of the table."""
    counts = request.config.stash.setdefault(_COUNTS, {})
    return lambda row, text: counts.setdefault(row, []).append(text)


@pytest.fixture
def fast_disk(monkeypatch):
    """Many files, written without waiting for the disk."""
    monkeypatch.setattr(files.steps, "fsync", lambda fd: None)
    monkeypatch.setattr(files.steps, "fsync_dir", lambda path: None)


def pytest_terminal_summary(terminalreporter, config):
    counts = config.stash.get(_COUNTS, {})
    if counts:
        terminalreporter.section("what was broken, and what came of it")
    for row in sorted(counts):
        terminalreporter.line(f"{row:2} {ROWS[row]}")
        for text in counts[row]:
            terminalreporter.line(f"      {text}")
