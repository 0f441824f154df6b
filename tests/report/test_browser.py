"""The report as a reader meets it: in Chromium, offline, with a mouse."""

import json
import shutil
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from isl.agents import AGENTS
from isl.report import inspection_page, report_page, statistics
from isl.report.beliefs import pack
from isl.storage import run_folder
from isl.theory.exploration import pareto_optimal, uc_policy, uc_value
from tests.support import made_runs

selenium = pytest.importorskip(
    "selenium", reason="selenium is not installed: pip install 'isl[test]'"
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
if not (CHROMIUM and DRIVER):
    pytest.skip(
        "chromium and chromedriver are missing: apt-get install chromium chromium-driver",
        allow_module_level=True,
    )

from selenium import webdriver  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

pytestmark = pytest.mark.slow  # starts a browser

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--window-size=1100,900"),
)
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'" + "long" * 60
WALK = (Path(__file__).parent / "walk.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module", autouse=True)
def few_samples():
    """What is looked at here is how intervals are drawn, not how wide they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics, "REPS", 20)
        patch.setattr(statistics, "IMPROVEMENT_REPS", 5)
        yield


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    saved = str(tmp_path_factory.mktemp("saved"))
    options.add_experimental_option("prefs", {"download.default_directory": saved})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.set_script_timeout(120)
    yield driver
    driver.quit()


def opened(browser, html, folder):
    path = folder / "page.html"
    path.write_text(html, encoding="utf-8")
    browser.get(path.as_uri())
    return browser


@pytest.fixture(scope="module")
def every_kind(tmp_path_factory):
    """The page of every agent, on tasks of every kind, ended in every way."""
    root = tmp_path_factory.mktemp("every-kind")
    for agent in AGENTS:
        for size, solves_at in ((4, 100), (5, None if agent == "dqn" else 200)):
            made_runs.of_agent(root, f"deep_sea/{size}", agent, solves_at=solves_at)
    evaluated = (range(60, 601, 60), [0.0] * 3 + [0.99] * 7)
    made_runs.of_agent(root, "deep_sea/4", "isl", 1, solves_at=150, greedy=evaluated)
    made_runs.of_agent(root, "deep_sea/4", "dqn", 1, solves_at=None)
    lost = {"finite": False, "status": "diverged", "message": "update 7 was not finite"}
    made_runs.of_agent(root, "deep_sea_stochastic/4", "isl", **lost)
    made_runs.of_agent(root, "cartpole_swingup/3", "isl")
    made_runs.of_agent(root, "cartpole_swingup/3", "ube", **lost)
    made_runs.of_agent(root, "lock/3", "seeker")
    made_runs.make(root, "four_rooms", "seeker", solves_at=None)
    made_runs.on_gymnasium(root, greedy=([600], [500.0]))
    made_runs.on_gymnasium(root, "MountainCar-v0", "dqn", episodes=1)
    made_runs.on_gymnasium(root, "Acrobot-v1", "dqn", episodes=0, best_return=None)
    run_folder.fail(made_runs.begin(root, seed=1), "the disk is full")
    made_runs.begin(root, seed=2)
    return report_page(root)


def lone_run(root):
    """One size, one seed, one value: that of every episode."""
    made_runs.add_snapshots(made_runs.make(root, "deep_sea/20", solves_at=1), 20)


def two_equal_runs(root):
    for seed in range(2):
        made_runs.make(root, "deep_sea/20", seed=seed, solves_at=None, episodes=1)


def nothing_finished(root):
    made_runs.begin(root)


def nothing_readable(root):
    (made_runs.begin(root) / run_folder.CONFIG).write_text("{")


def walked(browser):
    found = browser.execute_async_script(WALK)
    assert found["problems"] == []
    errors = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert errors == []  # warnings are the walk's own: it reads pixels often
    return found


def test_every_control_of_every_agent_can_be_used(browser, every_kind, tmp_path):
    found = walked(opened(browser, every_kind, tmp_path))
    looked_into = {name.split(", ")[1] for name in found["runs"]}
    assert looked_into == set(AGENTS)
    assert len(found["runs"]) == 12
    assert found["uses"] > 300


@pytest.mark.parametrize("runs", [lone_run, two_equal_runs, nothing_finished, nothing_readable])
def test_few_runs_or_none_draw_something_sensible(browser, tmp_path, runs):
    runs(tmp_path)
    opened(browser, report_page(tmp_path), tmp_path)
    walked(browser)
    charts = browser.find_elements(By.CSS_SELECTOR, "article.chart")
    assert bool(charts) == (runs in (lone_run, two_equal_runs))
    assert browser.find_element(By.CSS_SELECTOR, ".headline p").text.endswith(".")


@pytest.fixture(scope="module")
def report(browser, tmp_path_factory):
    """The page of a few runs, one of them with a hostile name, opened."""
    root = tmp_path_factory.mktemp("runs")
    for size in (5, 6):
        for seed in range(3):
            made_runs.make(root, f"deep_sea/{size}", "isl", seed, solves_at=50 * (seed + 1))
            made_runs.make(root, f"deep_sea/{size}", "dqn", seed, solves_at=None)
    made_runs.add_snapshots(made_runs.make(root, "deep_sea/5", "isl", 3, solves_at=120), 5)
    made_runs.make(root, "deep_sea/5", "isl", 0, hyper={HOSTILE: HOSTILE})
    browser.get_log("performance")
    return opened(browser, report_page(root), root)


def one(browser, selector):
    return browser.find_element(By.CSS_SELECTOR, selector)


def test_it_opens_without_errors_and_asks_nobody(report):
    requests = []
    for entry in report.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            requests.append((message["params"]["documentURL"], message["params"]["request"]["url"]))
    ours = [url for page, url in requests if page == report.current_url]  # not the first tab's
    assert [url for url in ours if not url.startswith("data:")] == [report.current_url]
    assert [entry["message"] for entry in report.get_log("browser")] == []
    assert len(report.find_elements(By.CSS_SELECTOR, "article.chart svg")) >= 4


def test_pointing_at_a_run_names_it(report):
    chart = one(report, "#charts-scaling article")
    seed = chart.find_element(By.CSS_SELECTOR, ".seed")
    tip, heading = (chart.find_element(By.CSS_SELECTOR, name) for name in (".tip", "h3"))
    assert not tip.is_displayed()
    report.execute_script(
        "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", chart
    )

    def pointed(driver):  # a busy browser may draw late
        ActionChains(driver).move_to_element(heading).move_to_element(seed).perform()
        return tip.is_displayed()

    WebDriverWait(report, 30).until(pointed)
    assert tip.text.startswith("deep_sea/5, isl")


def test_agents_bands_and_axes_toggle(report):
    chart = one(report, "#charts-scaling article")
    count = lambda selector: len(chart.find_elements(By.CSS_SELECTOR, selector))  # noqa: E731
    lines, bands = count("path.line"), count("path.band")
    assert count("path.beyond") == 2  # no seed of dqn solved either size
    buttons = {b.text: b for b in chart.find_elements(By.CSS_SELECTOR, ".controls button")}
    buttons["isl"].click()
    assert count("path.line") == lines - 1
    assert buttons["isl"].get_attribute("aria-pressed") == "false"
    buttons["isl"].click()
    buttons["bands"].click()
    assert (bands > 0, count("path.band")) == (True, 0)
    ticks = lambda: [t.text for t in chart.find_elements(By.CSS_SELECTOR, "text.axis")]  # noqa: E731
    before = ticks()
    buttons["log y"].click()
    assert ticks() != before


def test_tables_sort_by_number_and_back(report):
    column = lambda: [  # noqa: E731
        row.get_attribute("textContent")
        for row in report.find_elements(By.CSS_SELECTOR, "#runs tbody tr td:nth-child(9)")
    ]
    head = one(report, "#runs thead th:nth-child(9) button")
    assert head.text.split() == ["solved", "at", "episode"]
    report.execute_script("arguments[0].click()", head)
    up = [int(text) for text in column() if text]
    assert up == sorted(up)
    assert column()[-1] == ""  # unsolved last
    report.execute_script("arguments[0].click()", head)
    down = [int(text) for text in column() if text]
    assert down == sorted(up, reverse=True)
    assert column()[-1] == ""


def test_maps_open_at_the_first_treasure_and_move_with_time_and_kappa(report):
    assert one(report, ".clock").text == "episode 150 of 250"  # the moment after episode 120
    assert one(report, ".first-goal").text == "first treasure: episode 120"
    script = """
        const set = (selector, value) => {
            const slider = document.querySelector(selector);
            slider.value = value;
            slider.dispatchEvent(new Event("input"));
        };
        const picture = () => document.querySelector("canvas.map-ell").toDataURL();
        const cells = () => [...document.querySelectorAll(".actions .pi")];
        set(".time-slider", 0); const early = picture();
        set(".time-slider", 4); const late = picture();
        const found = [];
        for (const kappa of [-5, 0, 5]) {
            set(".kappa-slider", kappa);
            found.push(cells().map((x) => x.textContent));
        }
        return [early !== late, found];
    """
    moved, policies = report.execute_script(script)
    assert moved
    assert len(report.find_elements(By.CSS_SELECTOR, "canvas.map")) == 4
    assert all(abs(sum(map(float, policy)) - 1) < 2e-3 for policy in policies)


def test_a_cell_is_chosen_by_a_click_and_kappa_moves_its_policy(browser, tmp_path):
    """The safe action, a maybe and a leap in the dark: small κ is greedy, large κ leaps."""
    maps = {
        "q": np.array([[[0.0, -0.2, -1.0]]], np.float32),
        "ell": np.array([[[1.0, 3.0, 9.0]]], np.float32),
        "episode": np.zeros(1, np.int64),
    }
    opened(browser, inspection_page("t", HOSTILE, [pack("one", maps, kappa=1.0)]), tmp_path)
    policy = lambda: [float(x.text) for x in browser.find_elements(By.CSS_SELECTOR, ".pi")]  # noqa: E731
    shown = []
    for power in (-5, 0, 5):
        browser.execute_script(
            "const s = document.querySelector('.kappa-slider'); s.value = arguments[0];"
            "s.dispatchEvent(new Event('input'))",
            power,
        )
        exact = np.asarray(uc_policy(maps["q"][0, 0], maps["ell"][0, 0], 2.0**power))
        np.testing.assert_allclose(policy(), exact, atol=6e-4)
        shown.append(policy())
    assert shown[0][0] > 0.9 > shown[2][0]
    assert shown[2][2] > 0.9


def test_kappa_is_in_the_units_of_the_values_and_a_majorant_only_where_it_explains(
    browser, tmp_path
):
    """Seeker divides rewards by a unit that it learns: its κ is told in the environment's rewards.

    An agent may also have an ℓ and a κ and act otherwise: then there is no majorant.
    """
    draw = np.random.default_rng(0)
    q, ell = draw.normal(size=(2, 30, 3)), np.exp(draw.normal(size=(2, 30, 3)))
    maps = {"q": q, "ell": ell, "episode": np.array([10, 20])}
    units = {
        "policy": np.stack(
            [uc_policy(q[k], ell[k], 5.0 * unit) for k, unit in ((0, 0.01), (1, 0.4))]
        )
    }
    other = {"policy": draw.dirichlet(np.ones(3), (2, 30))}
    items = [pack("units", maps | units, kappa=5.0), pack("other", maps | other, kappa=5.0)]
    opened(browser, inspection_page("t", "s", items), tmp_path)
    kappas = browser.execute_script(
        "return JSON.parse(document.getElementById('data').textContent).beliefs.map("
        "(item) => new Inside(document.createElement('div'), item).kappas)"
    )
    np.testing.assert_allclose(kappas[0], [0.05, 2.0], rtol=1e-2)
    assert kappas[1] is None


def test_the_browser_computes_the_same_policies_as_the_library(browser, tmp_path, x64):
    opened(browser, inspection_page("t", "s", []), tmp_path)
    draw = np.random.default_rng(0)
    for actions in (1, 2, 3, 9):
        q = draw.normal(size=(40, actions)) * 3
        ell = np.exp(draw.normal(size=(40, actions)) * 2)
        if actions > 1:
            ell[:10, 1] = ell[:10, 0]  # ties in ℓ,
            q[:5, 1] = q[:5, 0]  # and equal actions
        for kappa in (0.05, 1.0, 40.0):
            found = browser.execute_script(
                "return arguments[0].map((q, i) => { const s = solveState(q, arguments[1][i],"
                " arguments[2]); return [s.policy, s.value, s.pareto]; })",
                q.tolist(),
                ell.tolist(),
                kappa,
            )
            policy, value, pareto = zip(*found, strict=True)
            q_, ell_ = jnp.asarray(q), jnp.asarray(ell)
            np.testing.assert_allclose(policy, uc_policy(q_, ell_, kappa), atol=1e-9)
            np.testing.assert_allclose(value, uc_value(q_, ell_, kappa), rtol=1e-8, atol=1e-9)
            np.testing.assert_array_equal(pareto, pareto_optimal(q_, ell_))


def test_ticks_are_few_round_and_distinct_whatever_the_values(browser, tmp_path):
    opened(browser, inspection_page("t", "s", []), tmp_path)
    cases = [
        ([], {}),
        ([0], {}),
        ([0.99], {}),
        ([0.99, 0.990001], {}),
        ([20], {"whole": True}),
        ([20], {"whole": True, "ticks": [20]}),
        ([1, 2], {"whole": True}),
        ([0.0123, 0.0124], {}),
        ([1e6, 1.002e6], {}),
        ([-3e-7, 5e-7], {}),
        ([348], {"log": True, "whole": True}),
        ([135, 520], {"log": True, "whole": True}),
        ([1, 1e6], {"log": True, "whole": True}),
        ([0, -1], {"log": True}),
    ]
    for values, options in cases:
        ticks, labels, places = browser.execute_script(
            "const s = makeScale(arguments[0], 0, 500, arguments[1]);"
            "return [s.ticks, s.labels, s.ticks.map(s.scale)]",
            values,
            options,
        )
        shown = (values, options, labels)
        assert (1 if "ticks" in options else 2) <= len(ticks) <= 9, shown
        assert len(set(labels)) == len(labels), shown
        assert all(len(label) <= 10 for label in labels), shown
        assert all(-1 <= place <= 501 for place in places), shown
        assert not options.get("whole") or all(tick == int(tick) for tick in ticks), shown


def test_the_last_column_is_seen_on_a_desk_and_on_a_phone(browser, every_kind, tmp_path):
    boxes = """return [...document.querySelectorAll("main .card > .scroll")].map((box) => {
        box.scrollLeft = 1e6;
        const last = box.querySelector("tbody td:last-child").getBoundingClientRect();
        const frame = box.getBoundingClientRect();
        return [box.firstChild.id, box.scrollLeft, last.right - frame.right, frame.right];
    })"""
    opened(browser, every_kind, tmp_path)
    for width in (1400, 390):
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width == 390}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        try:
            found = browser.execute_script(boxes)
            page = browser.execute_script("return document.documentElement.scrollWidth")
        finally:
            browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        assert page <= width
        assert len(found) == 4
        for name, scrolled, beyond, right in found:
            assert beyond <= 1, name
            assert right <= width, name
            assert scrolled == 0, name


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_in_light_and_dark(browser, tmp_path, scheme):
    made_runs.add_snapshots(made_runs.make(tmp_path, "deep_sea/5", "isl", hyper={HOSTILE: 1}), 5)
    made_runs.make(tmp_path, "deep_sea/5", "isl", hyper={HOSTILE: 2})
    phone = {"width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    try:
        opened(browser, report_page(tmp_path), tmp_path)
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        names = browser.execute_script("return document.querySelector('#runs').textContent")
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert wide <= 380
    brightness = sum(int(part) for part in colour.strip("rgb()").split(",")[:3])
    assert (brightness < 200) == (scheme == "dark")
    assert "<script>alert(1)</script>" in names  # as text: an alert would fail the next command
