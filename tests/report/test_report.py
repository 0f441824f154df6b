"""The report's tables, charts and page, from made-up runs; test_browser looks at it live."""

import csv
import json
import math
import re
import subprocess
import sys
import time
from html.parser import HTMLParser

import numpy as np
import pytest

from isl.cli.main import main
from isl.report import collect, curves, page, scaling, statistics, tables, write_report
from isl.report.charts import CROSS, DOT, SQUARE
from isl.report.palette import styles
from isl.storage import run_folder, snapshots
from tests.support import made_runs

HOSTILE = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    for size, dqn in ((6, 80), (8, None)):
        for seed in range(4):
            made_runs.make(root, f"deep_sea/{size}", "isl", seed, solves_at=100 * (seed + 1))
            late = dqn if seed == 0 else None
            made_runs.make(root, f"deep_sea/{size}", "dqn", seed, solves_at=late)
    made_runs.add_snapshots(made_runs.make(root, "deep_sea/5", "isl"), 5)
    return root


@pytest.fixture(scope="module")
def found(runs):
    return collect.collect_runs(runs)


def looks(found):
    return styles(sorted({group.who for group in found.groups}))


def test_scaling_shows_medians_quartiles_and_who_solved_it(found):
    chart = scaling.charts(found.groups, looks(found))[0]
    isl, dqn = chart.series
    assert (isl.name, isl.x) == ("isl", [5, 6, 8])
    # Solved at the tenth treasure: nine episodes after the first, which was at 100 … 400.
    assert isl.y[1] == np.median([109, 209, 309, 409])
    assert (isl.low[1], isl.high[1]) == tuple(np.quantile([109, 209, 309, 409], (0.25, 0.75)))
    assert isl.mark == [DOT, DOT, DOT]
    assert dqn.mark == [SQUARE, CROSS]
    assert dqn.y == [600, 600] == [chart.ceiling] * 2  # censored: drawn at the budget
    assert "more than 600" in dqn.text[1]
    assert len(isl.runs) == 9
    assert "seed 2: solved at episode 309" in isl.runs[7][2]


def test_learning_curves_are_medians_of_binned_returns(found):
    charts = {chart.id: chart for chart in curves.charts(found, looks(found))}
    isl = charts["curve-deep_sea/6"].series[0]
    assert isl.x[0] == 4  # 600 episodes in 150 bins
    returns = [
        np.where(np.arange(1, 601) >= first, 0.99, -0.001 * (np.arange(1, 601) % 7))
        for first in (100, 200, 300, 400)
    ]
    binned = np.stack(returns).reshape(4, 150, 4).mean(-1)
    np.testing.assert_allclose(isl.y, np.median(binned, 0), rtol=1e-4, atol=1e-9)
    np.testing.assert_allclose(isl.high, np.quantile(binned, 0.75, 0), rtol=1e-4, atol=1e-9)


def test_a_curve_ends_where_half_of_its_runs_have_ended(tmp_path):
    for seed, episodes in enumerate((10, 10, 20, 40)):
        made_runs.make(tmp_path, seed=seed, episodes=episodes, solves_at=None)
    found = collect.collect_runs(tmp_path)
    (chart,) = curves.charts(found, looks(found))
    assert chart.series[0].x[-1] == 20


def test_a_curve_never_goes_past_the_last_episode(tmp_path):
    made_runs.make(tmp_path, episodes=399, solves_at=None)  # bins of three, the last of which
    made_runs.make(tmp_path, seed=1, episodes=398, solves_at=None)  # is not full
    found = collect.collect_runs(tmp_path)
    (chart,) = curves.charts(found, looks(found))
    assert chart.series[0].x[-2:] == [396, 399]
    made_runs.make(tmp_path / "one", episodes=1)
    found = collect.collect_runs(tmp_path / "one")
    (chart,) = curves.charts(found, looks(found))
    assert chart.series[0].x == [1]


def test_the_greedy_policy_has_a_curve_beside_the_behaviour(tmp_path):
    for seed, (after, returns) in enumerate(
        [([10, 20, 33], [0.0, 1.0, 0.0]), ([12, 20, 30], [1.0, 1.0, 1.0]), ([10], [-1.0])]
    ):
        greedy = (after, returns)
        made_runs.make(tmp_path, seed=seed, episodes=30, solves_at=None, greedy=greedy)
    made_runs.make(tmp_path, agent="dqn", episodes=30, solves_at=None)
    found = collect.collect_runs(tmp_path)
    behaviour, greedy = curves.charts(found, looks(found))
    assert [line.name for line in behaviour.series] == ["isl", "dqn"]
    assert [line.name for line in greedy.series] == ["isl"]
    # After 10, 12, 20 and 30 episodes: each run's latest evaluation, while half of the runs last.
    line = greedy.series[0]
    assert (line.x, line.y) == ([10, 12, 20, 30], [-0.5, 0.5, 1, 0.5])  # 33 is past the end
    assert (line.low[3], line.high[3]) == (0.25, 0.75)
    assert "Mean of 5 episodes" in greedy.caption
    assert behaviour.panel == greedy.panel == "deep_sea/8"
    assert behaviour.range_y == greedy.range_y  # to be compared
    table = tables.configurations(found)
    rows = {row[1]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert rows["isl"]["greedy return, last"] == 0
    assert rows["isl"]["greedy return, best"] == 1
    assert rows["dqn"]["greedy return, last"] is None


def test_evaluations_that_cannot_be_read_are_said(tmp_path):
    path = made_runs.make(tmp_path, greedy=([600], [1.0]))
    (path / run_folder.EVALUATIONS).write_bytes(b"gone")
    found = collect.collect_runs(tmp_path)
    assert found.evaluations == {}
    assert "evaluations.parquet" in found.problems[0]


def test_agents_of_one_size_and_of_no_size_stand_side_by_side(tmp_path):
    for task in ("deep_sea/20", "four_rooms"):
        for agent in ("dqn", "isl"):
            made_runs.make(tmp_path, task, agent)
    made = scaling.charts((found := collect.collect_runs(tmp_path)).groups, looks(found))
    assert [chart.title.partition(":")[0] for chart in made] == ["deep_sea/20", "four_rooms"] * 2
    for chart in made:
        assert chart.categories == ["isl", "dqn"]  # as in the legend
        assert [line.x for line in chart.series] == [[0], [1]]
        assert (chart.x_label, chart.ticks_x) == ("agent", [])


def test_variants_that_are_recorded_as_isl_have_names_and_looks_of_their_own(tmp_path):
    from isl.agents import AGENTS

    for agent in ("isl", "isl_tables", "isl_authors"):
        made_runs.of_agent(tmp_path, "deep_sea/4", agent)
    groups = collect.collect_runs(tmp_path).groups
    assert [group.who for group in groups] == ["isl", "isl_authors", "isl_tables"]
    found = styles(group.who for group in groups)
    assert found == {name: AGENTS[name].style for name in found}


def test_scores_compare_what_happened_within_the_smallest_budget(tmp_path, monkeypatch):
    """A share of a large budget is not better for being one of a large budget."""
    pytest.importorskip("rliable")
    monkeypatch.setattr(statistics, "REPS", 20)
    monkeypatch.setattr(statistics, "IMPROVEMENT_REPS", 5)
    for seed in range(2):
        large = made_runs.config("deep_sea/8", "isl") | {"episodes": 10_000}
        made_runs.make(tmp_path, "deep_sea/8", "isl", seed, solves_at=300, config=large)
        made_runs.make(tmp_path, "deep_sea/8", "dqn", seed, solves_at=200)
    made_runs.make(tmp_path, "deep_sea/8", "ube", solves_at=200)
    found = collect.collect_runs(tmp_path)
    made = {chart.id: chart for chart in statistics.charts(found.groups, looks(found))}
    scores = {line.name: line for line in made["iqm-deep_sea"].series}
    assert scores["isl"].x == [pytest.approx(1 - 309 / 600)]
    assert scores["dqn"].x == [pytest.approx(1 - 209 / 600, abs=1e-5)]
    assert "Budgets differ" in made["iqm-deep_sea"].caption
    # The bootstrap of one seed has no width, which would look like certainty.
    assert math.isnan(scores["ube"].low[0])
    assert "ube: 1 seed." in made["iqm-deep_sea"].caption
    over = {line.name: line.x for line in made["improvement-deep_sea"].series}
    assert over == {"over dqn": [0], "over ube": [0]}


def test_a_run_that_no_command_repeats_is_shown_all_the_same(tmp_path):
    made_runs.make(tmp_path, hyper={"sound": True})
    (row,) = tables.commands(collect.collect_runs(tmp_path)).rows
    assert str(row[-1]).startswith("no command of this version: ")


def test_a_run_that_lies_below_the_root_twice_counts_once(tmp_path):
    for root in (tmp_path, tmp_path / "demo"):
        made_runs.make(root, seed=0)
    made_runs.make(tmp_path / "demo", seed=1)
    found = collect.collect_runs(tmp_path)
    assert [[run.seed for run in group.runs] for group in found.groups] == [[0, 1]]
    assert len(found.problems) == 1
    assert "the same run as" in found.problems[0]


def test_numbers_have_the_digits_that_mean_something(tmp_path):
    made_runs.make(tmp_path, wall_seconds=12.3456, env_steps_per_second=1234567.8, steps=1234567)
    table = tables.runs(collect.collect_runs(tmp_path))
    row = dict(zip(table.columns, table.rows[0], strict=True))
    assert (row["seconds"], row["steps/s"], row["steps"]) == (12.3, 1234568, 1234567)
    assert (row["best return"], row["updates/s"]) == (0.99, 5000)
    html = page.table_html(table)
    for shown in ("12.3", "1,234,568", "1,234,567", "0.99", "5,000"):
        assert f">{shown}</td>" in html


def test_statistics_are_on_common_tasks(found):
    pytest.importorskip("rliable")
    made = {chart.id: chart for chart in statistics.charts(found.groups, looks(found))}
    assert "2 tasks, 4 seeds of each agent." in made["iqm-deep_sea"].caption
    scores = [1 - s / 600 for s in (109, 209, 309, 409)] * 2
    middle = sorted(scores)[2:-2]
    isl = made["iqm-deep_sea"].series[0]
    assert math.isclose(isl.x[0], np.mean(middle), abs_tol=1e-4)
    assert isl.low[0] <= isl.x[0] <= isl.high[0]
    over = made["improvement-deep_sea"].series[0]
    assert over.name == "over dqn"
    assert (
        over.x[0] == 0.875
    )  # 12 of 16 pairs at size 6, where one dqn was the first; all at size 8
    profile = made["profile-deep_sea"].series[0]
    assert profile.y[0] == 1.0
    assert profile.y[-1] == 0.0


def test_every_number_of_a_command_leads_back_to_the_same_run(tmp_path, monkeypatch):
    from isl.cli import train
    from isl.experiments.spec import resolve

    changes = {"kappa": 0.3, "double_ell": False}
    spec = resolve("deep_sea/8", "isl_authors", changes, episodes=50)
    made_runs.make(tmp_path, "deep_sea/8", "isl", 3, config=spec.to_dict())
    (group,) = collect.collect_runs(tmp_path).groups
    asked = []
    monkeypatch.setattr(train, "run_locally", lambda jobs, out, **_: asked.extend(jobs) or 0)
    assert main(tables.command(group).split()[1:]) == 0
    (job,) = asked
    assert (job.spec, job.seeds) == (spec, (3,))


def test_tables_sort_what_is_missing_and_save_what_is_shown(found, runs):
    table = tables.configurations(found)
    rows = {(row[0], row[1]): dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert rows["deep_sea/6", "isl"]["episodes"] == 259
    assert rows["deep_sea/8", "dqn"]["episodes"] == "∞"
    assert rows["deep_sea/8", "dqn"]["solved"] == 0
    assert rows["deep_sea/6", "isl"]["not done"] == ""
    read = list(csv.DictReader(tables.runs(found).csv().splitlines()))
    assert len(read) == 17
    assert {row["task"] for row in read} == {"deep_sea/5", "deep_sea/6", "deep_sea/8"}
    formula = tables.Table("t", "t", ["x"], [["=cmd()"], [-1.0]])
    assert formula.csv() == "x\n'=cmd()\n-1.0\n"


class Elements(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.links, self.handlers = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [v for k, v in attrs if k in ("src", "href")]
        self.handlers += [k for k, _ in attrs if k.startswith("on")]


def elements(html):
    parser = Elements()
    parser.feed(html)
    return parser


def test_hostile_names_stay_text(tmp_path):
    made_runs.make(tmp_path, f"deep_sea{HOSTILE[:9]}x", HOSTILE, hyper={HOSTILE: HOSTILE * 9})
    made_runs.make(tmp_path, f"deep_sea{HOSTILE[:9]}x", HOSTILE, hyper={HOSTILE: "$x_{$ \n\x00"})
    html = write_report(tmp_path, tmp_path / "report").read_text()
    found = elements(html)
    assert found.tags.count("script") == 2  # the data and ours
    assert "img" not in found.tags
    assert found.handlers == []
    assert all(link.startswith(("#", "data:")) for link in found.links)
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)[1]
    assert HOSTILE in json.dumps(json.loads(data), ensure_ascii=False).replace('\\"', '"')


def test_the_page_admits_only_its_own_script():
    html = page.html_page("t", "s", [], {})
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    assert "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy
    assert "unsafe-eval" not in policy
    namespace = "http://www.w3.org/2000/svg"  # a name, not an address
    assert re.findall(r"https?://[^\"'\s]*", html.replace(namespace, "")) == []


def test_missing_damaged_and_diverged_runs_are_said(tmp_path):
    made_runs.make(tmp_path, seed=0)
    broken = made_runs.make(tmp_path, seed=1)
    (broken / "episodes.parquet").write_bytes(b"gone")
    odd = made_runs.make(tmp_path, seed=2, status="diverged", message="update 7 was not finite")
    (odd / snapshots.FILE).write_bytes(b"nonsense")
    html = write_report(tmp_path, tmp_path / "report").read_text()
    assert "update 7 was not finite" in html
    assert "does not match its checksum" in html
    assert "is not a checkpoint or model file" in html
    assert '<div class="tile bad"><b>1</b><span>diverged</span></div>' in html


def test_the_command_writes_page_figures_and_tables_without_jax(runs):
    code = (
        "import sys; from isl.cli.main import main; assert main(sys.argv[1:]) == 0; "
        "assert 'jax' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "report", str(runs)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    out = runs / "report"
    assert {path.name for path in (out / "tables").iterdir()} == {
        *("configurations.csv", "runs.csv", "provenance.csv", "commands.csv")
    }
    for form, magic in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
        assert (out / "figures" / f"solved-deep_sea.{form}").read_bytes().startswith(magic)


def test_wrong_folders_are_answered_in_one_line(tmp_path, capsys):
    assert main(["report", str(tmp_path)]) == 2
    assert main(["report", str(tmp_path / "nothing")]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert (
        lines[0] == f"isl: {tmp_path} holds no runs: expected the --out of isl train or isl sweep"
    )
    assert len(lines) == 2


def test_many_runs_make_a_small_page_soon(tmp_path):
    """The cost per run of what grows with runs; a whole report of 600 is measured in the docs."""
    config = made_runs.config("deep_sea/8", "isl")
    for seed in range(60):
        made_runs.make(tmp_path, seed=seed, solves_at=50 + seed, config=config)
    began = time.process_time()
    html = write_report(tmp_path, tmp_path / "report").read_text()
    assert time.process_time() - began < 30
    assert len(html) < 400_000


def test_inspect_of_a_run_with_snapshots(runs, tmp_path, capsys):
    (run,) = (path.parent for path in runs.rglob(snapshots.FILE))
    out = tmp_path / "inside.html"
    assert main(["inspect", str(run), "-o", str(out)]) == 0
    assert elements(out.read_text()).tags.count("script") == 2
    assert "deep_sea/5, isl, seed 0" in out.read_text()


def test_inspect_says_what_it_needs(runs, tmp_path, capsys):
    (run,) = (path.parent for path in runs.rglob(snapshots.FILE))
    assert main(["inspect", str(tmp_path / "none")]) == 2
    assert main(["inspect", str(runs)]) == 2
    assert main(["inspect", str(run), "--obs", "[1,"]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert "neither a run's folder nor a model file" in errors[0]
    assert "expected its folder, such as …/seed-0" in errors[1]
    assert "JSON list" in errors[2]


def test_inspect_of_models(tmp_path, capsys):
    from isl import DQN, ISL

    path, out = tmp_path / "m.isl", tmp_path / "m.html"
    ISL("deep_sea/4", hidden=[8]).save(path, replay=False)
    assert main(["inspect", str(path), "-o", str(out)]) == 0
    DQN("CartPole-v1", hidden=[8]).save(path, replay=False)
    assert main(["inspect", str(path)]) == 2  # which observation?
    for obs in ("[0, 0, 0]", "[[0], [0, 0]]", '["x"]', '{"x": 1}', "3"):
        assert main(["inspect", str(path), "--obs", obs]) == 2
    assert main(["inspect", str(path), "--obs", "[0, 0, 0, 0.1]", "-o", str(out)]) == 0
    errors = capsys.readouterr().err.splitlines()
    assert "give one of Box" in errors[0]
    assert all("is not in the model's space" in error for error in errors[1:])
    assert len(errors) == 6


def test_a_run_is_looked_into_at_its_end_without_snapshots(tmp_path, capsys):
    from isl.experiments.running.runner import run_cohort
    from isl.experiments.spec import resolve

    small = {"batch_size": 8, "learning_starts": 32, "replay_capacity": 128, "hidden": [8]}
    spec = resolve("deep_sea/3", "isl", small, episodes=20)
    run_cohort(spec, [0], tmp_path)
    run = run_folder.run_path(tmp_path, spec.to_dict(), 0)
    assert main(["inspect", str(run), "-o", str(tmp_path / "i.html")]) == 0
    assert "at the end" in (tmp_path / "i.html").read_text()


def test_names_of_columns_are_css_strings_that_end_nowhere_else():
    shown = page._css_string('κ "×" </style>\\')
    assert shown == '"κ \\22 ×\\22  \\3c /style\\3e \\5c "'
    assert "<" not in shown
