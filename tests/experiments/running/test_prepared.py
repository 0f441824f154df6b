"""What a configuration is made into, and what is refused before anything is computed."""

import dataclasses

import pytest

from isl.envs import TASKS, Fact
from isl.errors import UsageError
from isl.experiments.running import prepared
from isl.experiments.spec import resolve


@pytest.mark.parametrize("facts", [(), (Fact("goal", "goals"), Fact("cheese", "cheeses"))])
def test_facts_of_a_task_are_those_that_its_family_declares(monkeypatch, facts):
    """One that is given but not declared would be lost, one that is not given cannot be summed."""
    spec = resolve("deep_sea/3", "tests.support.counting_agent", {}, episodes=5)
    family = dataclasses.replace(TASKS["deep_sea"], facts=facts, goal=None)
    monkeypatch.setitem(TASKS, "deep_sea", family)
    prepared._prepare.cache_clear()
    with pytest.raises(UsageError, match="deep_sea/3 gives the facts goal in TimeStep"):
        prepared.prepare(spec.to_dict())
