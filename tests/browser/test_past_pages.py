"""The pages of `history`, looked at in a real browser."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from accessibility import WHITE, assert_accessible, paper, prefer, screen
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
def page(tool: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("past")
    made = Past(tool("git"), place / "repository")
    made.commit("2026-01-01T00:00Z", {PATH: WEEK}, SCRIPT, who=SCRIPT)
    made.commit("2026-01-16T09:30Z", {PATH: OVERRIDDEN}, "Patch", who="Bo")
    made.commit("2026-01-16T11:30Z", {PATH: "{"}, "A mistake " * 20)
    made.commit("2026-01-14T11:30Z", {PATH: FLEET}, "Two clusters")
    made.commit("2026-02-20T11:30Z", {PATH: None}, "Away with it")
    words = ("--from", "2026-01-05", "--until", "2026-03-01", "--repo", str(made.top))
    answer = program("", "history", PATH, *words, "-o", "html")
    assert answer.code == 0, answer.err
    (place / "history.html").write_bytes(answer.out)
    return (place / "history.html").as_uri()


CUT = """
return [...document.querySelectorAll('.scroll')]
  .filter((each) => each.scrollWidth > each.clientWidth)
  .map((each) => each.getAttribute('aria-label'))"""


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (768, "dark"), (1280, "dark")])
def test_it_is_accessible(browser: Chrome, page: str, width: int, scheme: str) -> None:
    screen(browser, width)
    prefer(browser, scheme)
    browser.get(page)
    assert_accessible(browser, width)
    assert width > 700 or browser.execute_script(CUT) == []


def test_paper_shows_everything(browser: Chrome, page: str) -> None:
    """Nobody can scroll it: on white, and no table is cut off."""
    # A4 without margins, in CSS pixels.
    screen(browser, 794)
    prefer(browser, "dark", "print")
    browser.get(page)
    assert paper(browser) == WHITE
    assert browser.execute_script(CUT) == []


def test_nothing_stored_is_run(browser: Chrome, page: str) -> None:
    browser.get(page)
    assert browser.execute_script("return window.stolen") is None
    assert browser.find_elements(By.CSS_SELECTOR, "script, img, link, iframe") == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert SCRIPT in browser.find_element(By.TAG_NAME, "body").text
