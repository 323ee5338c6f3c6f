"""The site that `make site` builds, looked at in a real browser."""

import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from conftest import lacking
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

pytestmark = pytest.mark.slow  # a browser

ROOT = Path(__file__).resolve().parents[2]
BUILDER = ROOT / ".cache/site-tools/bin/sphinx-build"
AXE = ROOT / ".cache/npm/node_modules/axe-core/axe.min.js"
PAGES = (
    "/",
    "/how-to/see-what-opens-when.html",
    "/reference/commands.html",
    "/reference/moments.html",
    "/decisions/README.html",
    "/search.html?q=freeze",
)


class Handler(SimpleHTTPRequestHandler):
    """Serves files, and says nothing."""

    def log_message(self, *_: object) -> None:
        """Write no line for each request."""


@dataclass
class Site:
    """The site on this machine, and the browser that looks at it."""

    browser: Chrome
    folder: Path
    address: str

    def open(self, page: str, width: int = 1280, scheme: str = "light") -> None:
        """Load a page on a screen of some width, with a colour scheme."""
        screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.browser.get(self.address + page)

    def run(self, script: str) -> Any:  # noqa: ANN401 - whatever the script returns
        """Run a script in the page."""
        return self.browser.execute_script(script)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, from the pages as they are; any warning of Sphinx fails it."""
    if not BUILDER.exists():
        lacking("the programs of the site are not here (make site installs them)")
    folder = tmp_path_factory.mktemp("site")
    options = ["--quiet", "--fail-on-warning", "--nitpicky", "--doctree-dir", folder / "doctrees"]
    subprocess.run([BUILDER, *options, ROOT / "docs", folder / "html"], check=True)
    return folder / "html"


@pytest.fixture
def site(built: Path, browser: Chrome) -> Iterator[Site]:
    """The site, served on loopback."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=built)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield Site(browser, built, f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_rule_of_accessibility_is_broken(site: Site, scheme: str, width: int) -> None:
    """axe-core finds nothing (WCAG 2.2 A and AA, and what it calls best practice)."""
    if not AXE.exists():
        lacking("axe-core is not here (.ci/setup fetches it)")
    axe = AXE.read_text()
    for page in PAGES:
        site.open(page, width, scheme)
        site.run(axe)
        found = site.browser.execute_async_script(
            "const done = arguments[0]; axe.run().then((found) => done(found))"
        )
        broken = [
            (each["id"], [node["html"] for node in each["nodes"]]) for each in found["violations"]
        ]
        assert broken == [], page
        assert len(found["passes"]) > 15, page


def test_pages_load_nothing_from_elsewhere(site: Site) -> None:
    """No font, script, picture or count of visitors; nothing that a page asks for is missing."""
    site.browser.get_log("browser")  # what earlier pages said
    for page in PAGES:
        site.open(page)
        loaded = site.run(
            "return performance.getEntriesByType('resource').map((each) => each.name)"
        )
        assert len(loaded) > 0
        assert {name for name in loaded if not name.startswith(site.address)} == set(), page
        errors = [each["message"] for each in site.browser.get_log("browser")]
        assert errors == [], page


@pytest.mark.parametrize("width", [320, 400, 768])
def test_pages_fit_a_phone(site: Site, width: int) -> None:
    """Nothing is wider than the screen: tables and blocks scroll by themselves."""
    for page in PAGES:
        site.open(page, width)
        assert site.run("return document.documentElement.scrollWidth") <= width, page


def test_search_finds_a_page(site: Site) -> None:
    """By a word of its title, and the link leads there."""
    site.open("/search.html?q=glass")
    results = "#search-results a"
    WebDriverWait(site.browser, 20).until(
        lambda browser: len(browser.find_elements(By.CSS_SELECTOR, results)) > 0
    )
    links = [
        str(each.get_attribute("href"))
        for each in site.browser.find_elements(By.CSS_SELECTOR, results)
    ]
    assert f"{site.address}/how-to/break-glass.html" in {link.partition("?")[0] for link in links}


def test_the_first_page_is_where_servers_look_for_it(site: Site) -> None:
    """And the navigation has every page of the index."""
    site.open("/")
    assert site.browser.find_element(By.TAG_NAME, "h1").text.startswith("krm-windows")
    navigation = site.browser.find_elements(By.CSS_SELECTOR, "nav.bd-links a")
    linked = {str(each.get_attribute("href")).partition("#")[0] for each in navigation}
    pages = {
        f"{site.address}/{path.relative_to(ROOT / 'docs').with_suffix('.html')}"
        for path in (ROOT / "docs").rglob("*.md")
        if not path.name.startswith("0") and path != ROOT / "docs/README.md"
    }
    assert pages <= linked


def test_what_lies_beside_the_pages_is_a_link_to_the_repository(site: Site) -> None:
    """No page of the site leads to a file that the site does not have."""
    missing = []
    for page in sorted(site.folder.rglob("*.html")):
        site.open(f"/{page.relative_to(site.folder)}")
        for link in site.run("return [...document.links].map((link) => link.href)"):
            path = link.partition("#")[0].partition("?")[0].removeprefix(site.address)
            is_here = link.startswith(site.address)
            if is_here and path != "/" and not (site.folder / path.lstrip("/")).is_file():
                missing.append((page.name, link))
    assert missing == []
