"""The calendar as a page, looked at in a real browser."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from accessibility import WHITE, assert_accessible, paper, prefer, screen
from calls import program, spec
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By

pytestmark = pytest.mark.slow  # a browser

Show = Callable[..., Chrome]
DAYS = ("--all-clusters", "--from", "2027-03-08", "--days", "28")
FLEET = spec(
    freezes='{easter: {starts: 2027-03-26, ends: 2027-03-29, reason: "Easter </script> & more"}}',
    overrides="""
cve: {state: Open, starts: 2027-03-26T09:00, ends: 2027-03-26T18:00, reason: Patch}
audit: {state: Closed, starts: 2027-03-16, ends: 2027-03-16, reason: Auditors}
""",
    clusters="""
north: {interval: 30m}
south: {interval: 10m}
west: {timeZone: America/New_York}
east: {windows: {office: null, nightly: {opens: daily 22:00, closes: "04:00"}}}
""",
)
FIRST = (
    "Mon 08\N{EN DASH}Thu 17 office: "
    "open Mon 2027-03-08 08:00 to Thu 2027-03-11 17:00 (3 d 9 h), by windows.office"
)
YEAR_END = spec(freezes="{year-end: {starts: 2026-12-18, ends: 2027-01-10, reason: Year end}}")
# Names as long as Kubernetes has them, words that no line can be broken in, and many windows.
LONG = spec(
    targets=f"[{{kind: Kustomization, names: [{'t' * 60}]}}]",
    windows=f"""
{"w" * 50}: {{opens: Mon 08:00, closes: Thu 17:00, description: {"d" * 300}}}
tens: {{opens: "0,10,20,30,40,50 * * * *", duration: 5m}}
""",
    freezes=f"{{{'f' * 60}: {{starts: 2026-12-18, ends: 2027-01-10, reason: {'r' * 300}}}}}",
)
PAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "weeks": (YEAR_END, ("--from", "2026-12-14", "--days", "42")),
    "clusters": (FLEET, DAYS),
    "today": (FLEET, ("--cluster", "north", "--days", "1")),
    "names": (LONG, ("--from", "2026-12-14", "--days", "42")),
    "policies": (FLEET, ("--all-clusters", "--days", "7")),
}


def calendar(policy: str, form: str, days: tuple[str, ...]) -> str:
    answer = program(policy, "calendar", "-", "-o", form, *(days or DAYS))
    assert answer.code == 0, answer.err
    return answer.out.decode()


@pytest.fixture
def show(browser: Chrome, tmp_path: Path) -> Show:
    def opened(policy: str = FLEET, *days: str) -> Chrome:
        (tmp_path / "calendar.html").write_text(calendar(policy, "html", days))
        browser.get((tmp_path / "calendar.html").as_uri())
        return browser

    return opened


def press(browser: Chrome, *keys: str) -> str:
    """Press keys, one after the other; return what has the focus then, in words."""
    for key in keys:
        browser.switch_to.active_element.send_keys(key)
    return browser.switch_to.active_element.get_attribute("aria-label") or ""


def shown(browser: Chrome) -> dict[str, list[tuple[str, ...]]]:
    script = """
    return [...document.querySelectorAll('.words')].flatMap((section) => {
      const listed = [...section.querySelectorAll('.names li')].map((item) => item.textContent);
      const title = section.querySelector('h3').firstChild.textContent.trim();
      const names = listed.length ? listed : title.split(', ');
      const facts = [...section.querySelectorAll('tr.open')].map((row) => [
        ...[1, 2].map((cell) => row.cells[cell].querySelector('time')?.dateTime ?? null),
        ...[...row.querySelectorAll('code')].map((rule) => rule.textContent)]);
      return names.map((name) => [name, facts]);
    });"""
    return {name: [tuple(fact) for fact in facts] for name, facts in browser.execute_script(script)}


def test_it_shows_what_json_says(show: Show) -> None:
    days = ("--all-clusters", "--from", "2026-10-20", "--days", "180")
    browser = show(FLEET, *days)
    said = {
        one["cluster"]: [(i["opens"], i["closes"], *i["rules"]) for i in one["intervals"]]
        for one in json.loads(calendar(FLEET, "json", days))
    }
    assert shown(browser) == said
    each = "return [...document.querySelectorAll(arguments[0])].map((found) => found.{})"
    pointed = browser.execute_script(each.format("hash"), ".bar.open")
    listed = browser.execute_script(each.format("id"), ".words tr.open")
    assert set(pointed) == {f"#{place}" for place in listed}


def test_bars_lie_where_their_times_are(show: Show) -> None:
    browser = show(spec(), "--from", "2027-03-08", "--days", "7")
    track = browser.find_element(By.CSS_SELECTOR, ".track").rect
    bar = browser.find_element(By.CSS_SELECTOR, ".bar.open").rect
    assert bar["x"] == pytest.approx(track["x"] + track["width"] * 8 / 168, abs=0.5)
    assert bar["width"] == pytest.approx(track["width"] * 81 / 168, abs=0.5)


def test_it_is_used_by_keyboard(show: Show) -> None:
    """The picture is one stop of Tab; arrows move in it, and each fact is reported at the focus."""
    browser = show()
    search = browser.find_element(By.ID, "search")
    search.click()
    first = press(browser, Keys.TAB, Keys.TAB)
    assert first == FIRST
    strip = "return getComputedStyle(document.activeElement, '::after')"
    assert browser.execute_script(f"{strip}.content") == f'"{first}"'
    assert browser.execute_script(f"{strip}.position") == "fixed"
    assert ": open Mon 2027-03-15 08:00" in press(browser, Keys.ARROW_RIGHT)
    assert ": open Mon 2027-03-15 08:00" in press(browser, Keys.ARROW_DOWN)
    assert ": open Mon 2027-03-08 08:00" in press(browser, Keys.HOME)
    kinds = Counter(press(browser, Keys.ARROW_RIGHT).split(": ")[1][:4] for _ in range(20))
    assert {"open", "free", "over", "Sun "} <= kinds.keys()
    assert ": open Mon 2027-03-08 08:00" in press(browser, Keys.ARROW_UP, Keys.HOME)
    press(browser, Keys.ENTER)
    target = browser.find_element(By.CSS_SELECTOR, ":target")
    assert target.text.startswith("open Mon 2027-03-08 08:00 Thu 2027-03-11 17:00")


def test_freezes_and_overrides_differ_in_more_than_color(show: Show) -> None:
    browser = show()
    look = "return getComputedStyle(document.querySelector(arguments[0])).backgroundImage"
    kinds = ("open", "freeze", "override-open", "override-closed")
    patterns = [browser.execute_script(look, f".bar.{kind}") for kind in kinds]
    assert [pattern.count("gradient") for pattern in patterns] == [0, 1, 1, 2]
    assert len({pattern.split("(")[0] for pattern in patterns}) == 3


def test_on_a_phone_every_fact_has_the_same_lines(show: Show, browser: Chrome) -> None:
    screen(browser, 400)
    tops = """return [...document.querySelectorAll('.facts tr.open')].map((row) =>
      [...row.cells].map((cell) => cell.getBoundingClientRect().top))"""
    for what, begins, ends, length, rule in show(FLEET).execute_script(tops):
        assert what < begins < ends < rule
        assert ends == pytest.approx(length, abs=4)


def test_it_is_whole_without_scripts(show: Show, browser: Chrome) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    show()
    assert not browser.find_element(By.ID, "search").is_displayed()
    assert ": open Mon 2027-03-08 08:00" in press(browser, *[Keys.TAB] * 2)
    bars = browser.find_elements(By.CSS_SELECTOR, ".bar")
    assert all(bar.get_attribute("href") and bar.get_attribute("title") for bar in bars)


def test_it_loads_nothing(show: Show) -> None:
    browser = show()
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    refused = "return fetch('data:,x').then(() => 'loaded', () => 'refused')"
    assert browser.execute_script(refused) == "refused"
    inject = """
    const made = document.createElement('script');
    made.textContent = 'window.injected = true';
    document.body.append(made);
    return window.injected === true;"""
    assert browser.execute_script(inject) is False


def test_a_thousand_clusters_stay_usable(show: Show) -> None:
    kinds = ({"interval": "30m"}, {"windows": {"office": {"opens": "Tue 08:00"}}})
    clusters = {f"plant-{i}": kinds[i % 2] for i in range(1000)}
    browser = show(spec(clusters=yaml.safe_dump(clusters, sort_keys=False)), *DAYS)
    rows = browser.find_elements(By.CSS_SELECTOR, "tr[data-row]")
    titles = [row.find_element(By.TAG_NAME, "th").text for row in rows]
    assert titles == ["500 like plant-0", "500 like plant-1"] * 4  # weeks
    assert len(shown(browser)) == 1000
    browser.find_element(By.ID, "search").send_keys("plant-993")
    assert [row.is_displayed() for row in rows] == [False, True] * 4


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (400, "dark"), (1280, "dark")])
@pytest.mark.parametrize("name", PAGES)
def test_it_is_accessible(show: Show, browser: Chrome, name: str, width: int, scheme: str) -> None:
    screen(browser, width)
    prefer(browser, scheme)
    policy, days = PAGES[name]
    show(policy, *days)
    assert_accessible(browser, width)
    assert (paper(browser) == WHITE) is (scheme == "light")


def test_a_screen_reader_meets_tables_with_headings(show: Show) -> None:
    browser = show()
    browser.execute_cdp_cmd("Accessibility.enable", {})
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    said: dict[str, list[str]] = {}
    for node in nodes:
        if not node["ignored"]:
            role = node["role"]["value"]
            said.setdefault(role, []).append(node.get("name", {}).get("value", ""))
    assert said["heading"][0] == "flux-system/week, 2027-03-08 to 2027-04-04"
    week = "Mon 2027-03-08 to Sun 2027-03-14"
    assert said["table"][0] == f"flux-system/week, {week}"
    assert said["columnheader"][:2] == ["Cluster", week]
    assert said["rowheader"][:2] == ["north, south Europe/Berlin", "west America/New_York"]
    assert FIRST in said["link"]


def test_what_is_printed_is_not_cut(show: Show, browser: Chrome) -> None:
    screen(browser, 720)
    prefer(browser, "dark", "print")
    show()
    assert paper(browser) == WHITE
    style = "return getComputedStyle(document.querySelector(arguments[0]))."
    # What is above a table is on the sheet of its first lines.
    for place, rule in (
        (".stretch", "breakInside"),
        (".facts tr", "breakInside"),
        ("h3", "breakAfter"),
        (".gates", "breakAfter"),
    ):
        assert browser.execute_script(style + rule, place) == "avoid", place
    name = browser.find_element(By.CSS_SELECTOR, ".band tbody th").rect
    track = browser.find_element(By.CSS_SELECTOR, ".track").rect
    assert name["x"] + name["width"] <= track["x"] + 0.5
