"""The pages of `serve`, used in a real browser as a person does: with scripts and without."""

import base64
import json
import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path
from typing import cast
from urllib.parse import quote, urlsplit

import pytest
import uvicorn
from accessibility import WHITE, assert_accessible, paper, prefer, screen
from calls import APPS
from selenium.common.exceptions import WebDriverException
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support import expected_conditions
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from krm_windows.service import application
from krm_windows.service.access import EVERYTHING, Access, Caller, Ways
from krm_windows.service.settings import Clusters, Settings
from krm_windows.service.windows import Windows
from krm_windows.system.git_branch import Person

pytestmark = pytest.mark.slow  # a browser

PAGE = "/ui/policies/flux-system/week"
PATIENCE = 120  # seconds, at a load of 15
# A Monday, ten in the morning in Berlin.
MONDAY = datetime(2026, 11, 23, 9, tzinfo=UTC)
IMAGE = "<img src=x onerror=window.stolen=1>"
SCRIPT = "<script>window.stolen=1</script><img src=x onerror=window.stolen=1>"
POLICY = f"""\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata: {{name: week, namespace: flux-system}}
spec:
  timeZone: Europe/Berlin
  targets: [{{kind: Kustomization, names: [apps]}}]
  windows:
    week: {{opens: Mon 08:00, closes: Thu 17:00, description: "{SCRIPT}"}}
    nightly: {{opens: daily 22:00, duration: 2h}}
  freezes:
    year-end: {{starts: 2026-11-28, ends: 2026-11-29, reason: "{SCRIPT}"}}
  overrides:
    audit:
      {{state: Closed, starts: 2026-11-27T08:00, ends: 2026-11-27T09:00, reason: "{SCRIPT}"}}
  clusters: {{north: {{}}, south: {{windows: {{week: {{opens: Tue 08:00}}}}}}}}
"""
WRONG = f"""\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata: {{name: "{IMAGE}", namespace: "{IMAGE}"}}
spec: {{windows: {{"{IMAGE}": {{opens: "{IMAGE}"}}}}, clusters: {{"{IMAGE}": {{}}}}}}
"""
# What Flux applies in the cluster whose page says what waits.
APPLIED = APPS.replace("fleet", "flux-system")
SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
# Parts of names in a row of the first page that go on in another line.
BROKEN = """\
const found = [], range = document.createRange();
const rows = document.querySelector(".rows tbody");
const nodes = document.createTreeWalker(rows, NodeFilter.SHOW_TEXT);
while (nodes.nextNode()) for (const part of nodes.currentNode.data.matchAll(/[^-\\/.\\s]+/g)) {
  range.setStart(nodes.currentNode, part.index);
  range.setEnd(nodes.currentNode, part.index + part[0].length);
  if (new Set(Array.from(range.getClientRects(), (each) => each.top)).size > 1) found.push(part[0]);
}
return found;"""
WRONG_PAGE = f"/ui/policies/{quote(IMAGE)}/{quote(IMAGE)}"


class Timed(Windows):
    time = MONDAY

    def now(self) -> datetime:
        return self.time


@dataclass
class Served:
    browser: Chrome
    windows: Timed
    address: str
    git: Callable[..., str]

    def open(self, target: str) -> None:
        self.browser.get(f"{self.address}{target}")

    def find(self, selector: str) -> WebElement:
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def type(self, name: str, text: str) -> None:
        field = self.browser.find_element(By.NAME, name)
        field.clear()
        field.send_keys(text)

    def press(self, label: str) -> None:
        buttons = self.browser.find_elements(By.TAG_NAME, "button")
        [button] = [button for button in buttons if button.text == label]
        self.follow(button)

    def follow(self, element: WebElement, key: str = "") -> None:
        """Click or press, and wait for the page that this leads to: a commit takes a moment."""
        main = self.find("main")
        if key:
            element.send_keys(key)
        else:
            element.click()
        # Asked in the middle of a navigation, the driver may say so in other words.
        waiting = WebDriverWait(self.browser, PATIENCE, ignored_exceptions=[WebDriverException])
        waiting.until(expected_conditions.staleness_of(main))
        self.find("main h1")

    def go(self, name: str) -> WebElement:
        """Go on by Tab to a field, a box or a button, by its name or its words."""
        # A preview that arrives meanwhile may take away what has the focus: one script asks all.
        focus = "const here = document.activeElement; return [here, here.name, here.innerText]"
        for _ in range(100):
            ActionChains(self.browser).send_keys(Keys.TAB).perform()
            here, *names = self.browser.execute_script(focus)
            if name in names:
                return cast("WebElement", here)
        raise AssertionError(name)

    def wait(self, selector: str, text: str) -> None:
        # Between that it is found and read, a newer one may be in its place.
        waiting = WebDriverWait(self.browser, PATIENCE, ignored_exceptions=[WebDriverException])
        waiting.until(lambda _: text in self.find(selector).text)

    @property
    def text(self) -> str:
        return self.find("main").text

    @property
    def news(self) -> str:
        """What a screen reader is told."""
        return self.find("#news").get_attribute("textContent") or ""

    @property
    def errors(self) -> list[str]:
        found: list[dict[str, str]] = self.browser.get_log("browser")  # type: ignore[no-untyped-call]
        return [each["message"] for each in found if "status of 4" not in each["message"]]


ADA = Caller("ada", Person("Ada", "ada@example.com"), EVERYTHING)


@pytest.fixture
def served(browser: Chrome, tmp_path: Path, tool: Callable[[str], Path]) -> Iterator[Served]:
    folder = tmp_path / "repository"
    for name, content in (("clusters/south/apps", APPLIED), ("apps/settings", SETTINGS)):
        (folder / name).parent.mkdir(parents=True)
        (folder / f"{name}.yaml").write_text(content)
    (folder / "week.yaml").write_text(POLICY)
    (folder / "bad.yaml").write_text(WRONG)

    def plain(*arguments: str, at: str = "2026-11-23T09:00Z") -> str:
        command = [str(tool("git")), "-C", str(folder), *arguments]
        environment = {**os.environ, "GIT_COMMITTER_DATE": at}
        ended = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        return ended.stdout

    def git(*arguments: str, at: str = "2026-11-23T09:00Z") -> str:
        """Have `main` checked out while a command runs: only then has it files."""
        plain("checkout", "--quiet", "main")
        try:
            return plain(*arguments, at=at)
        finally:
            plain("checkout", "--quiet", "--detach")

    plain("init", "--quiet", "--initial-branch=main")
    plain("config", "user.name", "Mallory <b>")
    plain("config", "user.email", "mallory@example.com")
    plain("add", ".")
    # Before the window of south closed, at the midnight before Monday.
    plain("commit", "--quiet", f"--message={SCRIPT}", at="2026-11-20T08:00Z")
    plain("checkout", "--quiet", "--detach")
    commits = "https://forge.test/{commit}"
    windows = Timed(
        Settings(repo=folder, branch="main", clusters=Clusters("clusters/*"), commitUrl=commits)
    )
    # Whoever signs in is asked for a token; nobody has to.
    (tmp_path / "tokens").touch()
    made = application.make(windows, Access(Ways(anonymous=ADA, tokens=tmp_path / "tokens")))
    config = uvicorn.Config(made, port=0, log_level="critical", ws="none", http="h11")
    server = uvicorn.Server(config)
    socket = config.bind_socket()
    # Before the thread comes to it: a browser that is quicker waits, and is not refused.
    socket.listen()
    thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]})
    thread.start()
    # What other pages had to complain of is no matter here.
    browser.get_log("browser")  # type: ignore[no-untyped-call]
    try:
        yield Served(browser, windows, f"http://127.0.0.1:{socket.getsockname()[1]}", git)
    finally:
        server.should_exit = True
        browser.get("about:blank")
        thread.join(20)
        socket.close()


@pytest.fixture
def no_scripts(browser: Chrome) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})


def test_a_window_is_changed_with_a_live_preview(served: Served) -> None:
    served.open("/")
    served.follow(served.find(f'a[href="{PAGE}?cluster=north"]'))
    served.find(f'a[href="{PAGE}/window?window=week&cluster=north"]')
    served.open(PAGE)
    served.follow(served.find(f'a[href="{PAGE}/window?window=week"]'))
    # A choice shows what belongs to it, and hides the rest.
    assert served.find("#until").is_displayed()
    Select(served.find('[name="ends-on"]')).select_by_value("other")
    assert not served.find("#until").is_displayed()
    served.type("ends", "Xri 12:00")
    served.wait("#ends-found", "must be a moment")
    field = served.find("#ends")
    assert field.get_attribute("aria-invalid") == "true"
    assert "ends-found" in (field.get_attribute("aria-describedby") or "").split()
    # Whoever types is not interrupted.
    assert served.browser.switch_to.active_element == field
    served.type("ends", "Fri 12:00")
    served.wait("#preview", "opens Thu 2026-11-26 17:00")
    assert field.get_attribute("aria-invalid") is None
    assert served.find("#preview-status").get_attribute("role") == "status"
    served.type("reason", "Later on Fridays")
    served.press("Save")
    assert served.git("rev-parse", "main")[:10] in served.find("#summary").text
    assert served.browser.switch_to.active_element == served.find("#summary")
    assert "Fri 12:00" in served.git("show", "main:week.yaml")
    assert served.errors == []


@pytest.mark.usefixtures("no_scripts")
def test_the_form_is_whole(served: Served) -> None:
    served.open(f"{PAGE}/window?window=week")
    Select(served.find("[name=weekday]")).select_by_visible_text("Friday")
    served.find("#until").send_keys("1200PM")
    served.press("Preview")
    assert "Opens" in served.find("#preview-status").text
    assert "opens Thu 2026-11-26 17:00" in served.find("#preview").text
    served.press("Save")
    assert served.browser.title.startswith("Error: ")
    assert served.browser.switch_to.active_element == served.find("#summary")
    served.find('#summary a[href="#reason"]').click()
    served.type("reason", "Later")
    served.press("Save")
    assert served.git("log", "-1", "--format=%s").strip() == "Later"
    assert served.git("rev-parse", "main")[:10] in served.find("#summary").text


@pytest.mark.usefixtures("no_scripts")
def test_an_override_is_made_and_is_over_by_itself(served: Served) -> None:
    served.windows.time = MONDAY - timedelta(hours=8)  # in the middle of the night
    served.open(PAGE)
    assert "Closed until Mon 08:00" in served.text
    served.follow(served.browser.find_element(By.LINK_TEXT, "Open for a while…"))
    served.type("reason", "CVE-2026-1")
    served.type("ticket", "OPS-7")
    served.find('[name="for"][value="2h"]').click()
    served.press("Preview")
    assert served.git("rev-list", "--count", "main").strip() == "1"
    assert "Kustomization flux-system/apps" in served.text
    assert "until Mon 2026-11-23 04:00" in served.text
    served.press("Save")
    assert served.git("log", "-1", "--format=%an: %s").strip() == "Ada: CVE-2026-1"
    assert "Open until Mon 04:00" in served.find(".answer").text
    assert "in 2 h" in served.find(".overrides .active").text.replace("\N{NO-BREAK SPACE}", " ")
    served.windows.time += timedelta(hours=2)
    served.browser.refresh()
    assert "was open until Mon 2026-11-23 04:00" in served.find(".overrides .over").text
    assert "Closed" in served.find(".answer").text
    served.follow(served.find(".overrides .over button"))
    assert served.find("h1").text == "Remove: CVE-2026-1"
    served.press("Remove")
    assert not served.browser.find_elements(By.CSS_SELECTOR, ".overrides .over")
    assert "CVE-2026-1" not in served.git("show", "main:week.yaml")


def override(served: Served, reason: str, until: str = "2026-11-23T06:00Z", **more: str) -> None:
    """Have another client open for a while."""
    body = {"state": "open", "until": until, "reason": reason, **more}
    connection = HTTPConnection(served.address.removeprefix("http://"))
    path = "/policies/flux-system/week/overrides"
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    assert connection.getresponse().status == 201
    connection.close()


def test_a_page_follows_what_is_changed_elsewhere(served: Served) -> None:
    served.windows.time = MONDAY - timedelta(hours=8)
    served.open("/")
    assert served.find(".counts .closed").text.split() == ["2", "closed"]
    served.type("q", "nor")
    served.browser.execute_script("window.loaded = 'once'")
    override(served, SCRIPT)
    served.wait(".counts .open", "2")
    assert "2 open" in served.news
    # What somebody types in stays, and where they are.
    assert served.find("#q").get_attribute("value") == "nor"
    assert served.browser.switch_to.active_element == served.find("#q")
    served.browser.switch_to.active_element.send_keys("th", Keys.ENTER)
    # It is the only one of that name.
    served.wait("h1", "week on north")
    assert served.find(".verdict").text == "Open until Mon 07:00 in Berlin"
    served.open(f"{PAGE}?cluster=south")
    assert served.find(".verdict").text == "Open until Mon 07:00 in Berlin"
    served.find("#in-words summary").click()
    is_open = served.find("#in-words").get_attribute("open")
    served.browser.execute_script("window.loaded = 'once'")
    # An instant passes at which something turns: nobody has changed anything.
    served.windows.time = MONDAY - timedelta(hours=2)
    served.wait(".verdict", "Closed until Mon 22:00 in Berlin")
    assert served.browser.execute_script("return window.loaded") == "once"
    assert served.news == "Now: Closed until Mon 22:00 in Berlin"
    # As somebody left it.
    assert served.find("#in-words").get_attribute("open") == is_open
    assert served.browser.switch_to.active_element == served.find("#in-words summary")
    override(served, "Later", "2026-11-24T08:00Z", **{"from": "2026-11-24T06:00Z"})
    served.wait(".coming .yours", "Tue 06:00 to Tue 08:00 for you")
    assert served.browser.execute_script("return window.stolen") is None
    assert served.errors == []


@pytest.mark.usefixtures("no_scripts")
def test_a_page_is_loaded_again_each_minute_without_scripts(served: Served) -> None:
    for target, expected in (("/", 1), (PAGE, 1), (f"{PAGE}/override", 0)):
        served.open(target)
        found = served.browser.find_elements(By.CSS_SELECTOR, 'meta[http-equiv="refresh"]')
        assert len(found) == expected, target


@pytest.mark.usefixtures("no_scripts")
def test_who_opened_it_on_a_tuesday_is_found(served: Served) -> None:
    entry = "{state: Open, starts: 2026-11-24T20:00Z, ends: 2026-11-24T21:00Z, reason: Fix, "
    entry += "requestedBy: Grace Hopper, ticket: INC-1}"
    versions = {
        "2026-11-24T19:50Z": POLICY.replace("    audit:\n", f"    inc-1: {entry}\n    audit:\n"),
        "2026-11-24T20:30Z": POLICY,
        "2026-11-25T09:00Z": POLICY.replace("Thu 17:00", "Fri 12:00"),
    }
    for at, text in versions.items():
        (served.windows.settings.repo / "week.yaml").write_text(text)
        served.git("commit", "--quiet", "--all", f"--message=At {at}", at=at)
    served.windows.refresh()
    served.open("/")
    served.follow(served.browser.find_element(By.LINK_TEXT, "History of all policies"))
    assert [each.text for each in served.browser.find_elements(By.CSS_SELECTOR, "h3")][:2] == [
        "At 2026-11-25T09:00Z",
        "At 2026-11-24T20:30Z",
    ]
    served.find("#on").send_keys("11242026")
    served.press("Go to the day")
    first, second, *_ = served.browser.find_elements(By.CSS_SELECTOR, ".changes > li")
    assert "Override ended" in first.text
    assert "to open for 1 h on north, south, requested by Grace Hopper, INC-1" in second.text
    assert "ended at Tue 2026-11-24 21:30 by Mallory" in second.text
    name = served.git("rev-parse", "main~2").strip()
    link = second.find_element(By.TAG_NAME, "a")
    assert link.get_attribute("href") == f"https://forge.test/{name}"
    served.follow(served.browser.find_element(By.LINK_TEXT, "week"))
    assert served.browser.current_url.endswith(f"{PAGE}/history")


def something_waits(served: Served) -> None:
    file = served.windows.settings.repo / "apps/settings.yaml"
    file.write_text(f"{SETTINGS}data: {{a: b}}\n")
    served.git("commit", "--quiet", "--all", f"--message={SCRIPT}", at="2026-11-23T08:00Z")
    served.windows.refresh()
    served.open(f"{PAGE}?cluster=south")
    served.follow(served.browser.find_element(By.PARTIAL_LINK_TEXT, "Which of them"))
    assert "waits: 1 commit" in served.text


def pages(served: Served) -> Iterator[str]:
    for name, target in {
        "first page": "/",
        "history of all": "/ui/history",
        "nothing found": "/?q=nothing",
        "policy": PAGE,
        "cluster": f"{PAGE}?cluster=south&days=90",
        "policy with errors": WRONG_PAGE,
        "window with errors": f"{WRONG_PAGE}/window?window={quote(IMAGE)}",
        "window": f"{PAGE}/window?window=week",
        "new window": f"{PAGE}/window",
        "hours": f"{PAGE}/hours",
        "override": f"{PAGE}/override",
        "freeze": f"{PAGE}/freeze?freeze=year-end",
        "new freeze": f"{PAGE}/freeze",
        "holidays": f"{PAGE}/holidays?country=DE&region=BY",
        "month": f"{PAGE}/month?month=2026-11&cluster=south",
        "sign in": "/ui/login",
        "no such page": "/ui/policies/flux-system/none",
    }.items():
        served.open(target)
        yield name
    something_waits(served)
    yield "what waits"
    served.open("/")
    yield "first page with what waits"
    served.open(PAGE)
    served.press("Make a calendar address")
    yield "calendar address"
    served.open(f"{PAGE}/window?window=week")
    Select(served.find('[name="ends-on"]')).select_by_value("other")
    served.type("ends", "Xri 12:00")
    served.press("Save")
    yield "wrong window"
    served.type("ends", "Wed 12:00")
    served.press("Preview")
    yield "preview"
    served.open(f"{PAGE}/override")
    served.press("Save")
    yield "wrong override"
    served.type("reason", SCRIPT)
    served.find('[name="for"][value="2h"]').click()
    served.press("Preview")
    yield "preview of an override"
    served.press("Save")
    yield "made"
    served.follow(served.find('.overrides .active [name="end"]'))
    yield "end of an override"
    served.open(f"{PAGE}/freeze")
    served.press("Save")
    yield "wrong freeze"
    served.open(f"{PAGE}/history")
    yield "history"


def test_nothing_stored_is_run(served: Served) -> None:
    for name in pages(served):
        assert served.browser.execute_script("return window.stolen") is None, name
        assert served.errors == [], name
    served.open(PAGE)
    served.browser.find_element(By.TAG_NAME, "summary").click()
    assert "<script>window.stolen=1</script>" in served.text


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (400, "dark"), (1280, "dark")])
def test_no_rule_of_accessibility_is_broken(served: Served, scheme: str, width: int) -> None:
    screen(served.browser, width)
    prefer(served.browser, scheme)
    for name in pages(served):
        assert_accessible(served.browser, width, name)


def asked(address: str) -> bytes:
    parts = urlsplit(address)
    with closing(HTTPConnection(parts.netloc)) as connection:
        connection.request("GET", parts.path)
        return connection.getresponse().read()


def test_a_calendar_is_subscribed_to(served: Served) -> None:
    served.open(f"{PAGE}?cluster=south")
    served.press("Make a calendar address of south")
    address = served.find("#address").get_attribute("value") or ""
    assert served.browser.switch_to.active_element == served.find("#address")
    served.find("[data-copy]").click()
    assert served.find("[data-copy]").text == "Copied"
    assert b"NAME:flux-system/week on south" in asked(address)
    served.follow(served.browser.find_element(By.PARTIAL_LINK_TEXT, "Back to"))
    assert "read on 20" in served.text
    assert address not in served.browser.page_source
    served.follow(served.find(".programs .quiet"))
    assert b"calendar not found" in asked(address)
    served.open("/")
    served.find("#q").send_keys(Keys.CONTROL, "v")
    assert served.find("#q").get_attribute("value") == address
    assert served.errors == []


@pytest.mark.parametrize("width", [400, 1040, 1280])
def test_a_name_goes_on_behind_a_hyphen_or_a_slash(served: Served, width: int) -> None:
    text = POLICY.replace("Europe/Berlin", "America/Argentina/Buenos_Aires")
    text = text.replace("week, namespace: flux-system", "firmware, namespace: platform-networking")
    text = text.replace("nightly:", "maintenance-of-devices:").replace("north:", "edge-munich-042:")
    (served.windows.settings.repo / "firmware.yaml").write_text(text)
    served.git("add", ".")
    served.git("commit", "--quiet", f"--message={'A long reason ' * 20}")
    served.windows.refresh()
    screen(served.browser, width)
    served.open("/?q=platform")
    assert "edge-munich-042" in served.text
    assert served.browser.execute_script(BROKEN) == []


def test_pages_are_used_by_keyboard(served: Served) -> None:
    served.open(f"{PAGE}/window?window=week")
    switch = served.browser.switch_to
    switch.active_element.send_keys(Keys.TAB)
    assert switch.active_element.text == "Skip to content"
    switch.active_element.send_keys(Keys.ENTER)
    names = [""]
    while names[-1] != "Preview":
        switch.active_element.send_keys(Keys.TAB)
        name = switch.active_element.get_attribute("name") or switch.active_element.text
        names += [name] if name != names[-1] else []
    assert names[1:4] == ["repeats", "Mon", "Tue"]
    assert names[8:13] == ["Sun", "at", "ends-on", "weekday", "until"]
    assert names[13:16] == ["scope", "on:north", "on:south"]
    assert names[16:] == ["description", "remove", "reason", "Save", "Preview"]


def test_what_repeats_ends_on_no_date(served: Served) -> None:
    served.open(f"{PAGE}/freeze")
    ends = Select(served.find("[name=ends-on]"))
    assert ends.first_selected_option.text == "On a date"
    served.find("[name=repeats]").send_keys(Keys.ARROW_UP)
    assert ends.first_selected_option.text == "The same day"


def test_to_find_clusters_saves_nothing_and_hides_none_that_is_ticked(served: Served) -> None:
    plants = "".join(f"plant-{number}: {{timeZone: Asia/Tokyo}}, " for number in range(12))
    file = served.windows.settings.repo / "week.yaml"
    file.write_text(POLICY.replace("{north: {},", f"{{{plants}north: {{}},"))
    served.git("commit", "--quiet", "--all", "--message=Many plants")
    served.windows.refresh()
    served.open(f"{PAGE}/override?cluster=north")
    served.find('[name="for"][value="1h"]').click()
    served.type("reason", "Fix")
    sought = served.find("[data-filter]")
    sought.send_keys("plant-1", Keys.ENTER)
    assert served.find("h1").text == "Open or close for a while"
    assert served.find(".scope [role=status]").text == "1 of 14 ticked"
    boxes = served.browser.find_elements(By.CSS_SELECTOR, "[name^='on:']")
    shown = [box.get_attribute("name") for box in boxes if box.is_displayed()]
    assert shown == ["on:north", "on:plant-1", "on:plant-10", "on:plant-11"]
    served.find("[data-tick]").click()
    served.wait(".scope [role=status]", "4 of 14 ticked")
    sought.send_keys("99")
    served.wait(".scope [role=status]", "No cluster has that in its name; 4 of 14 ticked")
    served.find("[name=scope][value=all]").click()
    served.find("[name=scope][value=some]").click()
    served.wait(".scope [role=status]", "0 of 14 ticked")
    served.find("[data-tick*=Tokyo]").click()
    served.wait(".scope [role=status]", "12 of 14 ticked")
    assert served.git("rev-list", "--count", "main").strip() == "2"
    assert served.errors == []


def test_a_plant_manager_adds_a_window_for_two_of_three_plants(served: Served) -> None:
    """With the keyboard alone."""
    file = served.windows.settings.repo / "week.yaml"
    text = POLICY.replace("{north: {},", "{north: {}, west: {},")
    file.write_text(text.replace("Mon 08:00, closes: Thu", "Fri 08:00, closes: Fri"))
    served.git("commit", "--quiet", "--all", "--message=Three plants")
    served.windows.refresh()
    served.open(PAGE)
    go = served.go
    served.follow(go("Add a window…"), Keys.ENTER)
    go("Tue").send_keys(" ")
    go("Thu").send_keys(" ")
    go("at").send_keys("0600AM")
    go("until").send_keys("0500AM")
    go("on:north").send_keys(" ")
    go("on:west").send_keys(" ")
    go("name").send_keys("Early Shift")
    served.wait("#until-found", "must be after the beginning")
    served.follow(go("Save"), Keys.ENTER)
    for field, said in (("name", "small letters"), ("until", "after")):
        assert said in served.find(f"#{field}-found").text
    assert_accessible(served.browser, 1280, "errors of a window")
    go("Use early-shift").send_keys(Keys.ENTER)
    assert served.find("#name").get_attribute("value") == "early-shift"
    banner = served.find("#summary")
    WebDriverWait(served.browser, PATIENCE).until(lambda _: "small letters" not in banner.text)
    assert "Closes at" in banner.text
    assert "correct the errors first" in served.find("#preview-status").text
    go("until").send_keys("0800AM")
    served.wait("#preview", "opens Tue 2026-11-24 06:00")
    assert not served.browser.find_elements(By.ID, "summary")
    served.follow(go("Save"), Keys.ENTER)
    made = served.git("show", "main:week.yaml")
    assert made.count('early-shift: {opens: "Tue,Thu 06:00", closes: "08:00"}') == 2
    assert served.errors == []


def three_plants(served: Served) -> None:
    text = POLICY.replace("{north: {},", "{north: {}, west: {}, east: {},")
    (served.windows.settings.repo / "week.yaml").write_text(text)
    served.git("commit", "--quiet", "--all", "--message=Plants")
    served.windows.refresh()
    served.open(PAGE)


def test_another_region_leaves_what_was_ticked(served: Served) -> None:
    three_plants(served)
    served.open(f"{PAGE}/holidays?country=DE")
    for name in ("2026-12-25/2026-12-25", "on:west"):
        served.find(f'[name="{name}"]').click()
    Select(served.find("#region")).select_by_visible_text("Bayern")
    served.press("Show holidays")
    assert "Epiphany" in served.text
    ticked = served.browser.find_elements(By.CSS_SELECTOR, "[type=checkbox]:checked")
    names = [each.get_attribute("name") for each in ticked]
    assert names == ["2026-12-25/2026-12-25", "on:west"]
    # Another country has other clusters.
    Select(served.find("#country")).select_by_visible_text("France")
    served.press("Show holidays")
    assert not served.browser.find_elements(By.CSS_SELECTOR, "[type=checkbox]:checked")
    assert served.errors == []


@pytest.mark.usefixtures("no_scripts")
def test_christmas_in_bavaria_is_frozen_for_three_plants(served: Served) -> None:
    three_plants(served)
    served.follow(served.browser.find_element(By.LINK_TEXT, "Freeze public holidays…"))
    Select(served.find("#region")).select_by_visible_text("Bayern")
    served.press("Show holidays")
    served.browser.find_element(By.XPATH, "//label[contains(., 'Christmas to New Year')]").click()
    served.find('[name="scope"][value="some"]').click()
    for name in ("north", "west", "east"):
        served.find(f'[name="on:{name}"]').click()
    served.press("Freeze these days")
    assert "Freeze Christmas to New Year" in served.find("#summary").text
    made = served.git("show", "main:week.yaml")
    assert made.count('starts: "2026-12-24", ends: "2027-01-01"') == 3
    assert served.git("rev-list", "--count", "main").strip() == "3"


def test_a_plant_is_opened_for_an_hour_with_the_keyboard(served: Served) -> None:
    served.windows.time = MONDAY - timedelta(hours=8)
    three_plants(served)
    served.open(f"{PAGE}?cluster=north")
    go = served.go
    served.follow(go("Open for a while…"), Keys.ENTER)
    go("for").send_keys(Keys.ARROW_RIGHT)
    go("reason").send_keys("Fix the press")
    served.wait("#preview", "until Mon 2026-11-23 03:00")
    assert_accessible(served.browser, 1280, "override")
    served.follow(go("Save"), Keys.ENTER)
    assert "Open until Mon 03:00" in served.find(".answer").text
    assert "on north" in served.find(".overrides .active").text.lower()
    assert served.git("log", "-1", "--format=%s").strip() == "Fix the press"
    assert served.errors == []


def test_from_the_end_of_an_override_one_comes_back_to_the_policy(served: Served) -> None:
    served.open(f"{PAGE}/override?state=closed")
    served.find('[name="for"][value="2h"]').click()
    served.type("reason", "Audit")
    served.press("Save")
    served.follow(served.find('.overrides .active [value="End now"]'))
    served.press("End now")
    served.browser.back()
    # Or to the form as it was left, where the browser has kept that.
    served.browser.refresh()
    assert served.find("h1").text.endswith("week")
    assert not served.browser.find_elements(By.CSS_SELECTOR, ".overrides .active")
    assert served.errors == []


@pytest.mark.usefixtures("no_scripts")
def test_an_opening_that_cannot_win_leads_to_what_has_to_end(served: Served) -> None:
    three_plants(served)
    served.follow(served.browser.find_element(By.LINK_TEXT, "Close for a while…"))
    served.find('[name="for"][value="2h"]').click()
    served.find("[name='on:west']").click()
    served.find("[name=scope][value=some]").click()
    served.type("reason", "Audit")
    served.press("Save")
    served.open(f"{PAGE}?cluster=west")
    served.follow(served.browser.find_element(By.LINK_TEXT, "Open for a while…"))
    served.find('[name="for"][value="1h"]').click()
    served.type("reason", "Fix")
    served.press("Save")
    served.follow(served.browser.find_element(By.LINK_TEXT, "End it…"))
    assert "Audit" in served.find(".overrides .active").text
    served.press("End the closing now…")
    assert served.find("h1").text == "End now: Audit"
    assert "Applies to west" in served.text
    served.press("End now")
    assert not served.browser.find_elements(By.CSS_SELECTOR, ".overrides .active")


def test_pages_are_printed_on_white(served: Served) -> None:
    browser = served.browser
    served.open(PAGE)
    prefer(browser, "dark", "print")
    assert paper(browser) == WHITE
    assert not served.find(".actions").is_displayed()
    assert served.find(".picture").is_displayed()
    # A week is on one sheet, which is as narrow as a phone's screen, and has a desk's layout.
    inside = "return getComputedStyle(document.querySelector('.picture')).breakInside"
    assert browser.execute_script(inside) == "avoid"
    screen(browser, 717)
    served.open("/")
    assert served.find(".rows thead").rect["width"] > 600
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 717


@pytest.mark.parametrize("month", ["2027-02", "2026-11", "2026-08"])
def test_a_month_is_one_sheet(served: Served, month: str) -> None:
    """However many weeks it has, and however long what is written in its days."""
    served.open(f"{PAGE}/month?month={month}")
    assert served.find("[data-print]").is_displayed()
    printed = served.browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    sheets = re.findall(rb"/MediaBox \[0 0 (\d+)\S* (\d+)", base64.b64decode(printed["data"]))
    assert sheets == [(b"841", b"594")]
    prefer(served.browser, "dark", "print")
    assert paper(served.browser) == WHITE
    assert not served.find(".segments").is_displayed()
