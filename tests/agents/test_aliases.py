"""Records of 0.1 mean today's agents, and today's runs are recorded as they were."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from isl import agents
from isl.agents import aliases
from isl.errors import UsageError
from isl.experiments.spec import resolve
from isl.storage.run_folder import config_hash

RESULTS = Path(__file__).parents[2] / "docs" / "results"
PAPER = {"kappa": 1.0, "lr_q": 2e-4, "ell_ensemble": 1, "double_ell": False, "sound": False}
AUTO = {
    "lr_codes": 0.01,
    "ell_gamma": 0.95,
    "ell_features": 128,
    "scale_rewards": True,
    "scale_observations": True,
    "ell_relative": True,
    "greedy_values": True,
}
RECORDS = {
    "paper": (PAPER, "isl"),
    "tables": (PAPER | {"lr_codes": 1e-3}, "isl_tables"),
    "two sets of ℓ": (PAPER | {"ell_ensemble": 2}, "isl_authors"),
    "double ℓ": (PAPER | {"double_ell": True}, "isl_authors"),
    "both": (PAPER | {"ell_ensemble": 3, "double_ell": True}, "isl_authors"),
}


@pytest.mark.parametrize(("record", "agent"), RECORDS.values(), ids=RECORDS)
def test_a_record_of_isl_is_an_agent_of_today_and_is_recorded_as_it_was(record, agent):
    name, hyper = aliases.meant("isl", record)
    assert name == agent
    config = agents.load(name).Config().replace(hyper)
    recorded_as, recorded = aliases.recorded(name, config.to_dict())
    assert recorded_as == "isl"
    assert {option: recorded[option] for option in record} == record
    assert aliases.recorded(name, hyper) == ("isl", record)


@pytest.mark.parametrize("agent", [name for name in agents.AGENTS if name != "isl"])
def test_todays_names_mean_themselves(agent):
    hyper = agents.load(agent).Config().to_dict()
    assert aliases.meant(agent, hyper) == (agent, hyper)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sound": True}, "the option 'sound'"),
        (AUTO, "the preset 'auto' of isl 0.1"),
        ({"scale_rewards": True}, "the preset 'auto' of isl 0.1"),
    ],
)
def test_what_cannot_be_read_says_so_in_one_line(changes, said):
    with pytest.raises(UsageError, match=said) as error:
        aliases.meant("isl", PAPER | changes)
    assert "use isl 0.1" in str(error.value)
    assert "\n" not in str(error.value)


def test_every_recorded_row_keeps_its_hash():
    """Each configuration of docs/results once: what it means today has the folder it had."""
    names = ("task", "agent", "variant", "budget", "until_solved", "config_hash")
    rows = set()
    for path in RESULTS.glob("*.csv"):
        with path.open(encoding="utf-8") as file:
            rows |= {tuple(map(row.get, names)) for row in csv.DictReader(file)}
    rows = {row for row in rows if None not in row}  # tables of results that are not of runs
    met = set()
    for task, recorded_as, variant, budget, until_solved, expected in sorted(rows):
        words = (word.partition("=") for word in variant.split())
        agent, hyper = aliases.meant(recorded_as, {k: json.loads(v) for k, _, v in words})
        other = {k: hyper.pop(k) for k in ("mapping_seed", "cohort_width") if k in hyper}
        spec = resolve(
            task,
            agent,
            hyper,
            episodes=int(budget),
            until_solved=until_solved == "true",
            **other,
        )
        assert config_hash(spec.to_dict()) == expected, (task, recorded_as, variant)
        assert (spec.agent, spec.agent_name) == (recorded_as, agent)
        met.add(agent)
    assert met == {"isl", "isl_tables", "isl_authors", "boot_dqn", "ube", "sbeed", "dqn", "seeker"}


def test_the_hash_of_recorded_runs_is_what_it_was():
    spec = resolve("deep_sea/10", "isl", {}, until_solved=True)
    assert config_hash(spec.to_dict()) == "59fc16c3d656"  # docs/results/deep_sea.csv
