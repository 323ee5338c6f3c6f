"""axe-core, run on the page that a browser shows."""

from pathlib import Path

from conftest import lacking
from selenium.webdriver import Chrome

_ROOT = Path(__file__).resolve().parents[1]
_AXE = _ROOT / ".cache/npm/node_modules/axe-core/axe.min.js"
_RUN = "const done = arguments[0]; axe.run().then((found) => done(found))"


def accessible(browser: Chrome) -> tuple[list[tuple[str, list[str]]], int]:
    """Return the rules that the page breaks, each with the elements, and how many it keeps."""
    if not _AXE.exists():
        lacking("axe-core is not here (.ci/setup fetches it)")
    browser.execute_script(_AXE.read_text())
    found = browser.execute_async_script(_RUN)
    broken = [
        (each["id"], [node["html"] for node in each["nodes"]]) for each in found["violations"]
    ]
    return broken, len(found["passes"])
