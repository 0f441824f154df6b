"""A sweep is data: what is asked for, in words or in a file, becomes runs, each once."""

import pytest

from isl.cli.main import main
from isl.errors import UsageError
from isl.experiments import sweep

AGENT = "tests.support.counting_agent"


def specs(jobs):
    return [(job.spec.task, job.spec.agent, job.spec.hyper, job.seeds) for job in jobs]


def test_every_combination_once_in_a_fixed_order():
    jobs = sweep.jobs_of(
        ["deep_sea/3", "deep_sea/4"],
        ["isl", AGENT],
        {"batch_size": [4, 8], "kappa": [1, 13]},
        range(3),
        cohort_width=2,
    )
    found = [(j.spec.task, j.spec.agent, j.spec.hyper["batch_size"], j.seeds) for j in jobs]
    kappas = [job.spec.hyper["kappa"] for job in jobs if job.spec.agent == "isl"]
    assert len(found) == 2 * (4 + 2) * 2  # the counting agent has no kappa and does not vary it
    assert found[:2] == [("deep_sea/3", "isl", 4, (0, 1)), ("deep_sea/3", "isl", 4, (2,))]
    assert found[-1] == ("deep_sea/4", AGENT, 8, (2,))
    assert kappas == [1, 1, 13, 13] * 4


def test_the_same_configuration_twice_is_one_run():
    jobs = sweep.jobs_of(["deep_sea/3"], [AGENT], {"batch_size": [4, 4.0]}, [0])
    assert len(jobs) == 1


def test_an_existing_result_keeps_its_folder_when_the_sweep_grows():
    small = sweep.jobs_of(["deep_sea/3"], [AGENT], {"batch_size": [8]}, [0])
    large = sweep.jobs_of(["deep_sea/4", "deep_sea/3"], [AGENT], {"batch_size": [4, 8]}, [1, 0])
    assert small[0].program in {job.program for job in large}


def test_grid_values():
    assert sweep.parse_grid(
        ["kappa=1,13", "eta1=0,0.5", "ell_bias=true,false", "hidden=50x50,9"]
    ) == {
        "kappa": [1, 13],
        "eta1": [0, 0.5],
        "ell_bias": [True, False],
        "hidden": [[50, 50], 9],
    }
    assert sweep.parse_grid(["batch-size=4"]) == {"batch_size": [4]}


FILE = """
task = "deep_sea"
agents = ["isl", "tests.support.counting_agent"]
sizes = [3, 4]
seeds = 2
episodes = 30
[grid]
kappa = [1, 13]
batch_size = 8
hidden = [16, 16]
"""


def test_a_file_says_the_same_as_options(tmp_path, monkeypatch):
    """And an option beside it counts more."""
    asked = []

    def record(jobs, root, **settings):
        asked.append(specs(jobs))
        return 0

    monkeypatch.setattr("isl.experiments.executing.local.run_locally", record)
    path = tmp_path / "sweep.toml"
    path.write_text(FILE)
    assert main(["sweep", str(path)]) == 0
    options = f"sweep deep_sea --agents isl {AGENT} --sizes 3 4 --seeds 2 --episodes 30"
    grid = "--grid kappa=1,13 batch_size=8 hidden=16x16"
    assert main(f"{options} {grid}".split()) == 0
    assert asked[0] == asked[1]
    assert len(asked[0]) == 2 * (2 + 1) * 2
    assert main(["sweep", str(path), "--sizes", "5", "--seeds", "1"]) == 0
    assert {task for task, *_ in asked[2]} == {"deep_sea/5"}
    single = "sweep deep_sea --agents isl --sizes 3 --kappa 2 --grid eta1=0,0.5"
    assert main(single.split()) == 0
    assert [(h["kappa"], h["eta1"]) for _, _, h, _ in asked[3]] == [(2.0, 0.0), (2.0, 0.5)]


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("sweep deep_sea", "deep_sea needs a size: deep_sea/20, or --sizes with several"),
        ("sweep deep_sea/3 --sizes 4", "deep_sea/3 has a number already"),
        ("sweep deep_see --sizes 4", "did you mean"),
        ("sweep deep_sea --sizes 1", "must be a whole number ≥ 2"),
        ("sweep deep_sea --sizes x", "expected a whole number, got 'x'"),
        ("sweep deep_sea --sizes 3 --grid kappa", "--grid takes NAME=VALUE,VALUE…"),
        ("sweep deep_sea --sizes 3 --grid kappa=a", "--grid kappa: expected numbers"),
        ("sweep deep_sea --sizes 3 --grid kappa=1 kappa=2", "--grid names kappa twice"),
        ("sweep deep_sea --sizes 3 --grid kapa=1", "has no hyper-parameter 'kapa'; did you mean"),
        ("sweep deep_sea --sizes 3 --grid ell_gamma=1", "it is an option of the agent seeker"),
        ("sweep FrozenLake-v1 --grid hidden=8x8", "hidden has no effect here: a table has"),
        ("sweep deep_sea --sizes 3 --grid kappa=-1", "kappa must be > 0, got -1"),
        ("sweep deep_sea --sizes 3 --kappa 1 --grid kappa=2", "given both in --grid and as"),
        ("sweep deep_sea --sizes 3 --agents isl dqn --kappa 1", "with several give --grid kappa=1"),
        ("sweep deep_sea --sizes 3 --agents dqm", "did you mean dqn?"),
        ("sweep deep_sea --sizes 3 --ray-address a:1", "need --executor ray"),
        ("sweep deep_sea --sizes 3 --checkpoint-seconds -1", "must be at least 0, got -1"),
        (
            "sweep deep_sea --sizes 3 --executor slurm",
            "unknown --executor 'slurm'; known: local, ray",
        ),
        ("sweep no.toml", "cannot read the sweep no.toml: No such file"),
        ("sweep deep_sea --sizes 3 --seeds 0", "--seeds must be at least 1"),
    ],
)
def test_bad_sweeps_are_one_line_and_code_2(command, line, capsys):
    assert main(command.split()) == 2
    printed = capsys.readouterr()
    assert line in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("sizes = [3]", "says no task"),
        ("task = 'deep_sea'\nsize = [3]", "unknown key 'size'; did you mean sizes?"),
        ("task = 'deep_sea'\nseeds = true", "seeds must be a whole number, got True"),
        ("task = 'deep_sea'\nsizes = ['a']", "sizes must be a list of whole numbers"),
        ("task = 'deep_sea'\nagents = []", "agents must be a list of names"),
        ("task = ", "cannot read the sweep"),
    ],
)
def test_bad_files_are_one_line(tmp_path, text, line):
    path = tmp_path / "sweep.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"sweep\.toml") as error:
        sweep.read_file(path)
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_a_task_without_a_number_is_swept_as_it_is():
    assert sweep.tasks_of(["four_rooms", "lock"], [3]) == ["four_rooms", "lock/3"]
    assert sweep.tasks_of(["four_rooms"], []) == ["four_rooms"]
