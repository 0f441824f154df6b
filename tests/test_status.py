"""Statuses and exit codes: the values that scripts and files rely on."""

import itertools

import pytest

from isl.status import ExitCode, Status, exit_code


def test_exit_codes_are_those_of_the_contract():
    codes = {code.name: int(code) for code in ExitCode}
    assert codes == {"OK": 0, "FAILED": 1, "USAGE": 2, "INTERRUPTED": 130}


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        ([], 0),
        (["done", "done"], 0),
        (["done", "diverged"], 1),
        (["failed"], 1),
        (["done", "damaged"], 1),
        (["interrupted", "failed"], 130),
        (["pending", "done"], 130),
        (["running"], 130),
    ],
)
def test_exit_code_of_several_runs(statuses, code):
    assert exit_code(map(Status, statuses)) == code


def test_exit_code_does_not_depend_on_the_order():
    for three in itertools.combinations_with_replacement(Status, 3):
        assert len({exit_code(order) for order in itertools.permutations(three)}) == 1


def test_only_a_whole_budget_counts_as_success():
    assert [status for status in Status if exit_code([status]) == ExitCode.OK] == [Status.DONE]


def test_runs_that_repeating_cannot_change_are_final():
    assert {status for status in Status if status.is_final} == {"done", "diverged"}
