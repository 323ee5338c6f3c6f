"""A real browser, headless and cut off from the network."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from accessibility import screen
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
    # Nothing but this machine, whose service is looked at.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


@pytest.fixture(scope="session")
def chromium(
    tool: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Chrome]:
    options = ChromeOptions()
    options.binary_location = str(tool("chromium"))
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    driver = Chrome(options, Service(str(tool("chromedriver"))))
    # A long page takes axe-core half a minute on a machine with a load of 15.
    driver.set_script_timeout(600)
    yield driver
    driver.quit()


@pytest.fixture
def browser(chromium: Chrome) -> Iterator[Chrome]:
    screen(chromium, 1280)
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    yield chromium
    chromium.get("about:blank")
