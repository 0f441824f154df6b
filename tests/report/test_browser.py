"""The report as a reader meets it: in Chromium, offline, with a mouse."""

import json
import shutil

import jax.numpy as jnp
import numpy as np
import pytest

from isl.report import inspection_page, write_report
from isl.report.beliefs import pack
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


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def report(browser, tmp_path_factory):
    """The page of a few runs, one of them with a hostile name, opened."""
    root = tmp_path_factory.mktemp("runs")
    for size in (5, 6):
        for seed in range(3):
            made_runs.make(root, f"deep_sea/{size}", "isl", seed, solves_at=50 * (seed + 1))
            made_runs.make(root, f"deep_sea/{size}", "dqn", seed, solves_at=None)
    made_runs.add_snapshots(made_runs.make(root, "deep_sea/5", "isl", 3), 5)
    made_runs.make(root, "deep_sea/5", "isl", 0, hyper={HOSTILE: HOSTILE})
    index = write_report(root, root / "report")
    browser.get(index.as_uri())
    return browser


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
    seed = chart.find_element(By.CSS_SELECTOR, "circle.seed")
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
    assert head.text == "solved episode"
    report.execute_script("arguments[0].click()", head)
    up = [int(text) for text in column() if text]
    assert up == sorted(up)
    assert column()[-1] == ""  # unsolved last
    report.execute_script("arguments[0].click()", head)
    down = [int(text) for text in column() if text]
    assert down == sorted(up, reverse=True)
    assert column()[-1] == ""


def test_time_and_kappa_move_maps_and_policy(report):
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
    path = tmp_path / "inside.html"
    path.write_text(inspection_page("t", HOSTILE, [pack("one", maps, kappa=1.0)]))
    browser.get(path.as_uri())
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


def test_the_browser_computes_the_same_policies_as_the_library(browser, tmp_path, x64):
    path = tmp_path / "inside.html"
    path.write_text(inspection_page("t", "s", []))
    browser.get(path.as_uri())
    draw = np.random.default_rng(0)
    for actions in (1, 2, 3, 5, 9):
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_in_light_and_dark(browser, tmp_path, scheme):
    made_runs.add_snapshots(made_runs.make(tmp_path, "deep_sea/5", "isl", hyper={HOSTILE: 1}), 5)
    made_runs.make(tmp_path, "deep_sea/5", "isl", hyper={HOSTILE: 2})
    index = write_report(tmp_path, tmp_path / "report")
    phone = {"width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    try:
        browser.get(index.as_uri())
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
