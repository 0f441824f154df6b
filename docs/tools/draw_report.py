"""Photograph a report for the README, on light and on dark, with Chromium.

    isl sweep deep_sea --agents isl boot_dqn dqn --sizes 10 14 20 \\
        --seeds 4 --until-solved --episodes 800 --snapshots --out runs/sizes
    isl report runs/sizes
    python docs/tools/draw_report.py runs/sizes/report/index.html docs/figures

It needs the extra `test` and Debian's packages chromium and chromium-driver.
"""

from __future__ import annotations

import base64
import io
import shutil
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image
from selenium import webdriver

SHOWN = ["overview", "scaling", "inside"]
WIDTH = 1180
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
    "--disable-background-networking",
)
KEEP = """
for (const section of document.querySelectorAll("section"))
  if (!arguments[0].includes(section.id)) section.remove();
document.querySelector("nav").style.position = "static";
document.querySelector("footer").remove();
"""


def main() -> int:
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if len(sys.argv) != 3 or not (browser and driver):
        print("usage: draw_report.py REPORT FOLDER, with Chromium installed", file=sys.stderr)
        return 2
    report, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    with tempfile.TemporaryDirectory() as own:
        for flag in (*FLAGS, f"--user-data-dir={own}"):
            options.add_argument(flag)
        page = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
        try:
            for scheme, suffix in (("light", ""), ("dark", "-dark")):
                (folder / f"report{suffix}.png").write_bytes(photograph(page, report, scheme))
        finally:
            page.quit()
    return 0


def photograph(page: webdriver.Chrome, report: Path, scheme: str) -> bytes:
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    screen = {"width": WIDTH, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    page.get(report.as_uri())
    page.execute_script(KEEP, SHOWN)
    time.sleep(1)  # until it is laid out anew
    screen["height"] = page.execute_script("return document.body.scrollHeight")
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    time.sleep(1)
    shot = page.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    packed = io.BytesIO()
    Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB").quantize(256).save(
        packed, "PNG", optimize=True
    )
    return packed.getvalue()


if __name__ == "__main__":
    sys.exit(main())
