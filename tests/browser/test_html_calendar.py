"""The calendar as a page, looked at in a real browser."""

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from accessibility import accessible
from calls import program, spec
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By

pytestmark = pytest.mark.slow  # a browser

DAYS = ("--all-clusters", "--from", "2027-03-08", "--days", "28")
FREEZES = {
    "easter": {"starts": "2027-03-26", "ends": "2027-03-29", "reason": "Easter </script> & more"}
}
OVERRIDES = {
    "cve": {
        "state": "Open",
        "starts": "2027-03-26T09:00",
        "ends": "2027-03-26T18:00",
        "reason": "Patch",
    },
    "audit": {
        "state": "Closed",
        "starts": "2027-03-16",
        "ends": "2027-03-16",
        "reason": "Auditors",
    },
}
CLUSTERS: dict[str, object] = {
    "north": {"interval": "30m"},
    "south": {"interval": "10m"},
    "west": {"timeZone": "America/New_York"},
    "east": {"windows": {"office": None, "nightly": {"opens": "daily 22:00", "closes": "04:00"}}},
}
FLEET = spec(
    freezes=json.dumps(FREEZES), overrides=json.dumps(OVERRIDES), clusters=json.dumps(CLUSTERS)
)
FIRST = "open Mon 2027-03-08 08:00 to Thu 2027-03-11 17:00 (3 d 9 h), by windows.office"
YEAR_END = spec(
    freezes='{"year-end": {"starts": "2026-12-18", "ends": "2027-01-10", "reason": "Year end"}}'
)
TENS = spec(windows='{"tens": {"opens": "0,10,20,30,40,50 * * * *", "duration": "5m"}}')
# Names as long as Kubernetes has them, and words that no line can be broken in.
LONG = spec(
    targets=f"[{{kind: Kustomization, names: [{'t' * 60}]}}]",
    windows=f"{{{'w' * 50}: {{opens: Mon 08:00, closes: Thu 17:00, description: {'d' * 300}}}}}",
    freezes=f"{{{'f' * 60}: {{starts: 2026-12-18, ends: 2027-01-10, reason: {'r' * 300}}}}}",
)
PAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "weeks": (YEAR_END, ("--from", "2026-12-14", "--days", "42")),
    "clusters": (FLEET, DAYS),
    "often": (TENS, ("--from", "2027-03-08", "--days", "28")),
    "today": (FLEET, ("--cluster", "north", "--days", "1")),
    "names": (LONG, ("--from", "2026-12-14", "--days", "42")),
    "policies": (FLEET, ("--all-clusters", "--days", "7")),
}


def calendar(policy: str, form: str, *days: str) -> str:
    """What the command writes."""
    answer = program(policy, "calendar", "-", "-o", form, *(days or DAYS))
    assert answer.code == 0, answer.err
    return answer.out.decode()


@pytest.fixture
def show(browser: Chrome, tmp_path: Path) -> Callable[..., Chrome]:
    """Open the page of a policy."""

    def opened(policy: str = FLEET, *days: str) -> Chrome:
        (tmp_path / "calendar.html").write_text(calendar(policy, "html", *days))
        browser.get((tmp_path / "calendar.html").as_uri())
        return browser

    return opened


def focused(browser: Chrome) -> str:
    """What has the focus, in words."""
    return browser.switch_to.active_element.get_attribute("aria-label") or ""


def press(browser: Chrome, *keys: str) -> str:
    """Press keys, one after the other; return what has the focus then."""
    for key in keys:
        browser.switch_to.active_element.send_keys(key)
    return focused(browser)


def shown(browser: Chrome) -> dict[str, list[tuple[str, ...]]]:
    """What the page says of each cluster: every open interval, and the rules behind it."""
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


@pytest.mark.parametrize(
    "days", [DAYS, ("--all-clusters", "--from", "2026-10-20", "--days", "180")]
)
def test_it_shows_what_json_says(show: Callable[..., Chrome], days: tuple[str, ...]) -> None:
    """Every interval of every cluster, to the second, with its rules, and a bar for each."""
    browser = show(FLEET, *days)
    said = {
        one["cluster"]: [(i["opens"], i["closes"], *i["rules"]) for i in one["intervals"]]
        for one in json.loads(calendar(FLEET, "json", *days))
    }
    assert shown(browser) == said
    pointed = browser.execute_script(
        "return [...document.querySelectorAll('.bar.open')].map((bar) => bar.hash)"
    )
    listed = browser.execute_script(
        "return [...document.querySelectorAll('.words tr.open')].map((row) => `#${row.id}`)"
    )
    assert set(pointed) == set(listed)


def test_bars_lie_where_their_times_are(show: Callable[..., Chrome]) -> None:
    """A bar's place and width are its share of the days, to half a pixel."""
    browser = show(spec(), "--from", "2027-03-08", "--days", "7")
    track = browser.find_element(By.CSS_SELECTOR, ".track").rect
    bar = browser.find_element(By.CSS_SELECTOR, ".bar.open").rect
    assert bar["x"] == pytest.approx(track["x"] + track["width"] * 8 / 168, abs=0.5)
    assert bar["width"] == pytest.approx(track["width"] * 81 / 168, abs=0.5)


def test_it_is_used_by_keyboard(show: Callable[..., Chrome]) -> None:
    """The picture is one stop of Tab, and arrows move in it.

    Every fact is reported where the focus is.
    """
    browser = show()
    search = browser.find_element(By.ID, "search")
    search.click()
    first = press(browser, Keys.TAB, Keys.TAB)
    assert first == FIRST
    strip = "return getComputedStyle(document.activeElement, '::after')"
    assert browser.execute_script(f"{strip}.content") == f'"{first}"'
    assert browser.execute_script(f"{strip}.position") == "fixed"
    assert press(browser, Keys.ARROW_RIGHT).startswith("open Mon 2027-03-15 08:00")
    assert press(browser, Keys.ARROW_DOWN).startswith("open Mon 2027-03-15 08:00")
    assert press(browser, Keys.HOME).startswith("open Mon 2027-03-08 08:00")
    kinds = Counter(press(browser, Keys.ARROW_RIGHT).split(" ")[0] for _ in range(20))
    assert {"open", "freeze", "override", "+1"} <= kinds.keys()
    assert press(browser, Keys.ARROW_UP, Keys.HOME).startswith("open Mon 2027-03-08 08:00")
    press(browser, Keys.ENTER)
    target = browser.find_element(By.CSS_SELECTOR, ":target")
    assert target.text.startswith("open Mon 2027-03-08 08:00 Thu 2027-03-11 17:00")


def test_freezes_and_overrides_differ_in_more_than_color(show: Callable[..., Chrome]) -> None:
    """Each kind has a pattern of its own."""
    browser = show()
    kinds = ("open", "freeze", "override-open", "override-closed")
    look = "return getComputedStyle(document.querySelector(arguments[0])).backgroundImage"
    patterns = [browser.execute_script(look, f".bar.{kind}") for kind in kinds]
    assert [pattern.count("gradient") for pattern in patterns] == [0, 1, 1, 2]
    assert len({pattern.split("(")[0] for pattern in patterns}) == 3
    assert "more" in browser.find_element(By.CSS_SELECTOR, ".bar.freeze").get_attribute(
        "aria-label"
    )


def test_clock_changes_are_marked(show: Callable[..., Chrome]) -> None:
    """Each row shows those of its own zone; what they say is on paper, where a window is open."""
    browser = show()
    paper = "return getComputedStyle(document.querySelector(arguments[0])).backgroundColor"
    assert browser.execute_script(paper, ".bar.clock span") == "rgb(255, 255, 255)"
    marks = browser.find_elements(By.CSS_SELECTOR, ".bar.clock")
    assert [mark.get_attribute("aria-label") for mark in marks] == [
        "+1 h: Sun 2027-03-14 02:00: clocks go forward to 03:00 (America/New_York)",
        "+1 h: Sun 2027-03-28 02:00: clocks go forward to 03:00 (Europe/Berlin)",
        "+1 h: Sun 2027-03-28 02:00: clocks go forward to 03:00 (Europe/Berlin)",
    ]


@pytest.mark.parametrize("width", [320, 360, 768])
def test_it_fits_a_phone(show: Callable[..., Chrome], browser: Chrome, width: int) -> None:
    """Nothing is wider than the screen."""
    screen = {"width": width, "height": 640, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    show()
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_on_a_phone_every_fact_has_the_same_lines(
    show: Callable[..., Chrome], browser: Chrome
) -> None:
    """What, from when, until when, and by which rule: whatever is as short as to fit beside."""
    screen = {"width": 400, "height": 640, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    tops = """return [...document.querySelectorAll('.facts tr.open')].map((row) =>
      [...row.cells].map((cell) => cell.getBoundingClientRect().top))"""
    for what, begins, ends, length, rule in show(FLEET).execute_script(tops):
        assert what < begins < ends < rule
        assert ends == pytest.approx(length, abs=4)


def test_it_follows_dark_mode_and_prints_on_white(
    show: Callable[..., Chrome], browser: Chrome
) -> None:
    """Whoever prints at night does not print black."""

    def paper(media: str) -> str:
        features = [{"name": "prefers-color-scheme", "value": "dark"}]
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"media": media, "features": features}
        )
        return str(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))

    show()
    assert (paper("screen"), paper("print")) == ("rgb(13, 17, 23)", "rgb(255, 255, 255)")


def test_it_is_whole_without_scripts(show: Callable[..., Chrome], browser: Chrome) -> None:
    """Every fact is there, and every bar can be reached by Tab."""
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    show()
    assert not browser.find_element(By.ID, "search").is_displayed()
    assert press(browser, *[Keys.TAB] * 2).startswith("open Mon 2027-03-08 08:00")
    bars = browser.find_elements(By.CSS_SELECTOR, ".bar")
    assert all(bar.get_attribute("href") and bar.get_attribute("title") for bar in bars)


def test_it_loads_nothing(show: Callable[..., Chrome]) -> None:
    """One file, and a policy of the page that allows no other."""
    browser = show()
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    refused = "return fetch('data:,x').then(() => 'loaded', () => 'refused')"
    assert browser.execute_script(refused) == "refused"


def test_a_thousand_clusters_stay_usable(show: Callable[..., Chrome]) -> None:
    """Equal ones share a row, names are all there, and a search leaves what was asked for."""
    kinds = ({"interval": "30m"}, {"windows": {"office": {"opens": "Tue 08:00"}}})
    clusters = {f"plant-{i}": kinds[i % 2] for i in range(1000)}
    browser = show(spec(clusters=yaml.safe_dump(clusters, sort_keys=False)), *DAYS)
    rows = browser.find_elements(By.CSS_SELECTOR, "tr[data-row]")
    titles = [row.find_element(By.TAG_NAME, "th").text for row in rows]
    assert titles == ["plant-0 and 499 more", "plant-1 and 499 more"] * 4  # weeks
    assert len(shown(browser)) == 1000
    browser.find_element(By.ID, "search").send_keys("plant-993")
    assert [row.is_displayed() for row in rows] == [False, True] * 4


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("name", PAGES)
def test_it_is_accessible(
    show: Callable[..., Chrome], browser: Chrome, name: str, width: int, scheme: str
) -> None:
    """No rule of axe-core is broken, and the page is no wider than the screen."""
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
    policy, days = PAGES[name]
    show(policy, *days)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    broken, kept = accessible(browser)
    assert (broken, kept > 20) == ([], True)


def test_a_screen_reader_meets_tables_with_headings(show: Callable[..., Chrome]) -> None:
    """Of a week, its days head the column and its cluster the row; each bar is a link in words."""
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


def test_days_of_rest_and_now_are_marked(show: Callable[..., Chrome]) -> None:
    """Both lie where their days do: today's mark is in the column of today."""
    browser = show(spec(timeZone="UTC"), "--days", "7")
    rests = browser.find_elements(By.CSS_SELECTOR, ".scale .weekend")
    ticks = browser.find_elements(By.CSS_SELECTOR, ".scale .tick")
    named = {round(tick.rect["x"]): tick.text.split("\n")[0] for tick in ticks}
    assert {named[round(rest.rect["x"])] for rest in rests} == {"Sat", "Sun"}
    now = browser.find_element(By.CSS_SELECTOR, ".stretch .line-of-now").rect["x"]
    assert ticks[0].rect["x"] <= now + 2 < ticks[1].rect["x"] + 2
    # Days that are asked for may be kept and compared: no mark of now is among them.
    browser = show(spec(timeZone="UTC"), "--from", f"{datetime.now(UTC):%Y-%m-%d}")
    assert not browser.find_elements(By.CSS_SELECTOR, ".line-of-now")


def test_no_script_of_somebody_else_runs(show: Callable[..., Chrome]) -> None:
    """The policy of the page names its own script by its hash."""
    browser = show()
    inject = """
    const made = document.createElement('script');
    made.textContent = 'window.injected = true';
    document.body.append(made);
    return window.injected === true;"""
    assert browser.execute_script(inject) is False


def test_what_is_printed_is_not_cut(show: Callable[..., Chrome], browser: Chrome) -> None:
    """No week and no row of a table lies on two sheets, and names stay beside their tracks."""
    screen = {"width": 720, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    show()
    inside = "return getComputedStyle(document.querySelector(arguments[0])).breakInside"
    whole = (".stretch", ".facts tr")
    assert [browser.execute_script(inside, each) for each in whole] == ["avoid"] * len(whole)
    # What is above a table is on the sheet of its first lines.
    after = "return getComputedStyle(document.querySelector(arguments[0])).breakAfter"
    above = ("h3", ".gates")
    assert [browser.execute_script(after, each) for each in above] == ["avoid"] * len(above)
    name = browser.find_element(By.CSS_SELECTOR, ".band tbody th").rect
    track = browser.find_element(By.CSS_SELECTOR, ".track").rect
    assert name["x"] + name["width"] <= track["x"] + 0.5
