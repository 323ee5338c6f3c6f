"""Screens that a page is looked at on, and axe-core, run on the page that a browser shows."""

from pathlib import Path

from conftest import lacking
from selenium.webdriver import Chrome

_AXE = Path(__file__).resolve().parents[1] / ".cache/npm/node_modules/axe-core/axe.min.js"
_RUN = "const done = arguments[0]; axe.run().then((found) => done(found))"
WHITE = "rgb(255, 255, 255)"


def screen(browser: Chrome, width: int) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 700}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def prefer(browser: Chrome, scheme: str, media: str = "screen") -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})


def paper(browser: Chrome) -> str:
    return str(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))


def assert_accessible(browser: Chrome, width: int, name: str = "") -> None:
    """Say that no rule of axe-core is broken (WCAG 2.2 A and AA), and nothing wider than that."""
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width, name
    if not _AXE.exists():
        lacking("axe-core is not here (.ci/setup fetches it)")
    browser.execute_script(_AXE.read_text())
    found = browser.execute_async_script(_RUN)
    broken = [
        (each["id"], [node["html"] for node in each["nodes"]]) for each in found["violations"]
    ]
    assert (broken, len(found["passes"]) > 15) == ([], True), name
