"""The pages of `history`, looked at in a real browser."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from accessibility import accessible
from calls import program, spec
from past import Past
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

pytestmark = pytest.mark.slow  # a browser

PATH = "windows/week.yaml"
SCRIPT = "<script>window.stolen=1</script><img src=x onerror=window.stolen=1>"
OFFICE = "{office: {opens: Mon 08:00, closes: Thu 17:00}}"
WEEK = spec(windows=OFFICE)
CVE = {"state": "Open", "starts": "2026-01-16T10:00", "ends": "2026-01-16T12:00", "reason": SCRIPT}
OVERRIDDEN = spec(windows=OFFICE, overrides=json.dumps({"cve": CVE}))
FLEET = spec(
    windows=OFFICE,
    clusters="{north: {windows: {office: {opens: Tue 08:00}}}, west: {timeZone: Asia/Tokyo}}",
)


@pytest.fixture(scope="module")
def past(
    tool: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Past, Path]:
    """A repository with versions of a policy, and a directory for the pages."""
    place = tmp_path_factory.mktemp("past")
    made = Past(tool("git"), place / "repository")
    made.commit("2026-01-01T00:00Z", {PATH: WEEK}, SCRIPT, who=SCRIPT)
    made.commit("2026-01-16T09:30Z", {PATH: OVERRIDDEN}, "Patch", who="Bo")
    made.commit("2026-01-16T11:30Z", {PATH: "{"}, "A mistake " * 20)
    made.commit("2026-01-14T11:30Z", {PATH: FLEET}, "Two clusters")
    made.commit("2026-02-20T11:30Z", {PATH: None}, "Away with it")
    return made, place


CALLS = {"history": ("history", PATH, "--from", "2026-01-05", "--until", "2026-03-01")}


@pytest.fixture(scope="module")
def pages(past: tuple[Past, Path]) -> dict[str, Path]:
    """The page of each call, in a file."""
    made, place = past
    found = {}
    for name, (command, *words) in CALLS.items():
        arguments = [str(place / word) if (place / word).exists() else word for word in words]
        answer = program("", command, *arguments, "--repo", str(made.top), "-o", "html")
        assert answer.code == 0, answer.err
        found[name] = place / f"{name.replace(' ', '-')}.html"
        found[name].write_bytes(answer.out)
    return found


CUT = """
return [...document.querySelectorAll('.scroll')]
  .filter((each) => each.scrollWidth > each.clientWidth)
  .map((each) => each.getAttribute('aria-label'))"""


def opened(browser: Chrome, pages: dict[str, Path]) -> Iterator[str]:
    """Show one page after the other; yield its name."""
    for name, page in pages.items():
        browser.get(page.as_uri())
        yield name


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_rule_of_accessibility_is_broken(
    browser: Chrome, pages: dict[str, Path], scheme: str, width: int
) -> None:
    """axe-core finds nothing (WCAG 2.2 A and AA, and what it calls best practice)."""
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    for name in opened(browser, pages):
        broken, passes = accessible(browser)
        assert broken == [], name
        assert passes > 15, name


@pytest.mark.parametrize("width", [320, 400, 768, 1280])
def test_pages_fit_the_screen(browser: Chrome, pages: dict[str, Path], width: int) -> None:
    """A table that does not is moved by itself, and the page is not; on a phone none has to be."""
    screen = {"width": width, "height": 640, "deviceScaleFactor": 1, "mobile": width < 800}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    for name in opened(browser, pages):
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width, name
        if width < 700:
            assert browser.execute_script(CUT) == [], name


def test_paper_shows_everything(browser: Chrome, pages: dict[str, Path]) -> None:
    """Nobody can scroll it: on white, and no table is cut off."""
    # A4 without margins, in CSS pixels.
    screen = {"width": 794, "height": 1123, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    dark = {"name": "prefers-color-scheme", "value": "dark"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": [dark]})
    paper = "return getComputedStyle(document.body).backgroundColor"
    for name in opened(browser, pages):
        assert browser.execute_script(paper) == "rgb(255, 255, 255)", name
        assert browser.execute_script(CUT) == [], name


def test_nothing_stored_is_run(browser: Chrome, pages: dict[str, Path]) -> None:
    """Authors, subjects and reasons stay texts; and nothing is loaded."""
    said = ""
    for name in opened(browser, pages):
        assert browser.execute_script("return window.stolen") is None, name
        assert browser.find_elements(By.CSS_SELECTOR, "script, img, link, iframe") == [], name
        loaded = "return performance.getEntriesByType('resource').length"
        assert browser.execute_script(loaded) == 0, name
        said += browser.find_element(By.TAG_NAME, "body").text
    assert SCRIPT in said
