"""Photographs pages of `serve` for the docs: a demonstration, at a time that stands still.

`make screenshots` writes them. The same sources, browser and fonts make the same pictures.
"""

import base64
import os
import subprocess
import tempfile
import threading
from datetime import UTC, datetime
from pathlib import Path
from shutil import which

import uvicorn
from accessibility import prefer, screen
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from krm_windows.service import application
from krm_windows.service.access import EVERYTHING, Access, Caller, Ways
from krm_windows.service.settings import Settings
from krm_windows.service.windows import Windows
from krm_windows.system.git_branch import Person

PICTURES = Path(__file__).resolve().parents[1] / "docs/assets"
# A Wednesday, half past ten in Berlin.
NOW = datetime(2026, 12, 9, 9, 30, tzinfo=UTC)
HEAD = "apiVersion: krm-windows.dev/v1alpha1\nkind: WindowPolicy\n"
AUDIT = """
      overrides:
        audit:
          {state: Closed, starts: 2026-12-09T09:00, ends: 2026-12-09T14:00, reason: Audit}"""
PLANTS = f"""\
{HEAD}metadata: {{name: plants, namespace: flux-system}}
spec:
  timeZone: Europe/Berlin
  targets: [{{kind: Kustomization, names: [apps, firmware]}}]
  windows:
    working-week: {{opens: Mon 08:00, closes: Thu 17:00, description: Somebody of IT is there}}
    sunday-maintenance: {{opens: first Sun 06:00, closes: first Sun 10:00}}
  freezes:
    stocktaking: {{starts: 2026-12-12, ends: 2026-12-13, reason: Stocktaking}}
    christmas: {{starts: 2026-12-23, ends: 2027-01-03, reason: Christmas}}
  clusters:
    berlin: {{}}
    nuremberg: {{}}
    munich:
      windows: {{working-week: {{opens: Mon 06:00}}}}{AUDIT}
    austin: {{timeZone: America/Chicago}}
"""
SHOP = f"""\
{HEAD}metadata: {{name: shop, namespace: flux-system}}
spec:
  timeZone: Europe/Berlin
  targets: [{{kind: Kustomization, names: [shop]}}]
  windows: {{office: {{opens: weekdays 09:00, closes: weekdays 17:00}}}}
"""
EDGE = f"""\
{HEAD}metadata: {{name: edge, namespace: flux-system}}
spec:
  timeZone: Europe/Berlin
  targets: [{{kind: Kustomization, names: [system]}}]
  windows: {{day: {{opens: daily 06:00, closes: daily 18:00}}}}
  clusters:
"""
SITES = [
    f"    site-{n:03}: {{{'timeZone: America/New_York' * (n % 7 == 0)}}}\n" for n in range(420)
]
OLD = PLANTS.replace(AUDIT, "")
COMMITS = (
    ("2026-03-02", "Ada", "The windows of the plants", OLD.replace("Thu 17:00", "Thu 16:00")),
    ("2026-10-12", "Ada", "Longer on Thursdays, agreed with production", OLD),
    ("2026-12-09", "Grace", "Close munich while line 3 is audited", PLANTS),
)
PAGE = "/ui/policies/flux-system/plants"


class Still(Windows):
    """What there is, at one time."""

    def now(self) -> datetime:
        """Return that time."""
        return NOW


def repository(folder: Path) -> Path:
    """Make the demonstration, whose commits have the same names each time."""

    def git(*arguments: str, who: str = "Ada", at: str = COMMITS[0][0]) -> None:
        names = {"NAME": who, "EMAIL": f"{who.lower()}@example.com", "DATE": f"{at}T07:00Z"}
        made = {
            f"GIT_{role}_{each}": names[each] for role in ("AUTHOR", "COMMITTER") for each in names
        }
        subprocess.run(["git", "-C", folder, *arguments], check=True, env={**os.environ, **made})

    folder.mkdir()
    git("init", "--quiet", "--initial-branch=main")
    for name, text in (("shop", SHOP), ("edge", EDGE + "".join(SITES))):
        (folder / f"{name}.yaml").write_text(text)
    for at, who, why, plants in COMMITS:
        (folder / "plants.yaml").write_text(plants)
        git("add", ".")
        git("commit", "--quiet", f"--message={why}", who=who, at=at)
    # Else files would stay behind where the service writes.
    git("checkout", "--quiet", "--detach")
    return folder


def photograph(
    browser: Chrome, name: str, address: str, height: int, scheme: str = "light"
) -> None:
    """Write a picture of a page, or of the page that there is where no address is given."""
    prefer(browser, scheme)
    if address:
        browser.get(address)
    clip = {"x": 0, "y": 0, "width": 1200, "height": height, "scale": 1}
    taken = browser.execute_cdp_cmd(
        "Page.captureScreenshot",
        {"format": "webp", "quality": 80, "captureBeyondViewport": True, "clip": clip},
    )
    (PICTURES / f"page-{name}.webp").write_bytes(base64.b64decode(taken["data"]))


def main(top: Path) -> None:
    """Serve the demonstration, and photograph it."""
    ada = Caller("Ada", Person("Ada", "ada@example.com"), EVERYTHING)
    windows = Still(Settings(repo=repository(top / "fleet"), branch="main"))
    made = application.make(windows, Access(Ways(anonymous=ada)))
    server = uvicorn.Server(uvicorn.Config(made, port=0, log_level="critical", ws="none"))
    socket = server.config.bind_socket()
    socket.listen()
    threading.Thread(target=server.run, kwargs={"sockets": [socket]}, daemon=True).start()
    address = f"http://127.0.0.1:{socket.getsockname()[1]}"

    options = ChromeOptions()
    options.binary_location = which("chromium") or ""
    for flag in (
        "--headless",
        "--no-sandbox",
        "--hide-scrollbars",
        f"--user-data-dir={top}/chromium",
    ):
        options.add_argument(flag)
    browser = Chrome(options, Service(which("chromedriver")))
    try:
        screen(browser, 1200)
        # Whoever looks is where the plants are.
        browser.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Europe/Berlin"})
        photograph(browser, "overview", f"{address}/", 760)
        photograph(browser, "policy", f"{address}{PAGE}", 1180)
        photograph(browser, "policy-dark", f"{address}{PAGE}", 1180, "dark")
        photograph(browser, "month", f"{address}{PAGE}/month?month=2026-12&cluster=berlin", 820)
        browser.get(f"{address}/ui/policies/flux-system/shop/override?state=closed")
        browser.find_element(By.CSS_SELECTOR, '[name="for"][value="2h"]').click()
        browser.find_element(By.NAME, "reason").send_keys("Sales are on")
        status = browser.find_element(By.ID, "preview-status")
        WebDriverWait(browser, 30).until(lambda _: "Closes" in status.text)
        browser.execute_script("document.activeElement.blur()")
        photograph(browser, "override", "", 900)
    finally:
        browser.quit()
        server.should_exit = True


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        main(Path(directory))
