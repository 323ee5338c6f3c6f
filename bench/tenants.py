"""1,000 Kustomizations behind a small API server, and the gate that closes and opens them.

This is what gate.py runs. Usage: tenants.py FOLDER. Writes into the folder, for each measured run,
the program as a Pod's volume holds it, and the account that it reads. Then serves until it is
ended; the only line that it prints is its port.
"""

import json
import shutil
import sys
import sysconfig
import threading
from pathlib import Path

from measure import ROOT

sys.path.append(str(ROOT / "tests"))
sys.path.append(str(ROOT / "tests" / "unit" / "gate"))

import zoned
from api_server import TLS, TOKEN, Api, Json, kustomization, managed, serving

from krm_windows.emit import configmap
from krm_windows.plan.timetable import dump
from krm_windows.schedule.timetable import Timetable

COUNT = 1000
TARGETS = tuple(kustomization(f"tenant-{number:04}", "v1") for number in range(COUNT))
POLICY = zoned.timetable(policy="flux-system/week", time_zone="Etc/UTC", targets=TARGETS)
STATES = {"closing": "Closed", "idle": "Closed", "opening": "Open"}
"""What is measured, in this order, and the policy's `state` then."""


def lay_out(folder: Path, timetable: Timetable) -> None:
    """Write the program as a Pod's volume holds it, with the time zones of this environment."""
    package = folder / "krm_windows" / "gate"
    package.mkdir(parents=True)
    folders = {"gate": package, "package": package.parent}
    for key, text in configmap.program().items():
        prefix, _, name = key.partition(".")
        if prefix in folders:
            (folders[prefix] / name).write_text(text, encoding="utf-8")
        else:
            (folder / key).write_text(text, encoding="utf-8")
    zones = Path(sysconfig.get_path("purelib"), "tzdata")
    if zones.is_dir():
        (folder / "tzdata").symlink_to(zones)
    (folder / "timetable.json").write_text(json.dumps(dump(timetable)), encoding="utf-8")


def api() -> Api:
    """Return an API server with so many Kustomizations, as large as those that Flux keeps."""
    made = Api()
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "ReconciliationSucceeded",
        "message": "x" * 80,
    }
    entries = [{"id": f"tenant_app-{number}_apps_Deployment", "v": "v1"} for number in range(20)]
    status: Json = {
        "conditions": [ready],
        "inventory": {"entries": entries},
        "lastAppliedRevision": "main@sha1:1",
    }
    spec: Json = {"interval": "10m", "path": "./apps"}
    for target in TARGETS:
        made.add(target.name, spec, by="kustomize-controller", status=status)
        metadata = made.object(target.name)["metadata"]
        if not isinstance(metadata, dict):
            raise TypeError(f"{target} has no metadata")
        metadata["managedFields"].append(managed("kustomize-controller", {"status": status}))
    return made


def main() -> None:
    """Write the files, print the port, serve."""
    folder = Path(sys.argv[1])
    shutil.copy(TLS / "ca.crt", folder)
    (folder / "token").write_text(TOKEN)
    for what, state in STATES.items():
        lay_out(folder / what, POLICY._replace(state=state))
    with serving(api()) as port:
        print(port, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
