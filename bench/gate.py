"""A look at 1,000 targets: closing all, finding nothing to do, opening all; by the program as it is shipped.

The API server is a small one of Python's, over TLS, in a process of its own on the same machine, so the wall time is
that of both. What counts is the processor time and the memory of the gate; an aim that is missed is said.
"""

import json
import shutil
import sys
import sysconfig
import tempfile
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.queues import Queue
from pathlib import Path

from measure import ROOT, measure

sys.path.append(str(ROOT / "tests"))
sys.path.append(str(ROOT / "tests" / "unit" / "gate"))

import zoned
from api_server import TLS, TOKEN, Api, Json, hand, kustomization, serving

from krm_windows.emit import configmap
from krm_windows.gate.timetable import Timetable
from krm_windows.plan.timetable import dump

COUNT = 1000
TARGETS = tuple(kustomization(f"tenant-{number:04}", "v1") for number in range(COUNT))
POLICY = zoned.timetable(policy="flux-system/week", time_zone="Etc/UTC", targets=TARGETS)
AIMS = {
    "closing": (1.0, 10.0),
    "idle": (1.0, 2.0),
    "opening": (1.0, 10.0),
}  # seconds: of processor, in all
MEMORY = 48.0  # MiB


def run() -> None:
    """Measure the looks one after the other."""
    context = get_context("spawn")
    ports: Queue[int] = context.Queue()
    server = context.Process(target=serve, args=[ports], daemon=True)
    server.start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            looks(Path(folder), ports.get(timeout=60))
    finally:
        server.terminate()
        server.join()


def looks(folder: Path, port: int) -> None:
    """Close, look again, open; print what each took."""
    shutil.copy(TLS / "ca.crt", folder)
    (folder / "token").write_text(TOKEN)
    for what, state in (("closing", "Closed"), ("idle", "Closed"), ("opening", "Open")):
        program = lay_out(folder / what, replace(POLICY, state=state))
        server = ["KUBERNETES_SERVICE_HOST=127.0.0.1", f"KUBERNETES_SERVICE_PORT={port}"]
        taken = measure(["env", *server, sys.executable, "-I", program, "--account", folder])
        processor, seconds = AIMS[what]
        is_met = (
            taken.processor <= processor and taken.seconds <= seconds and taken.memory <= MEMORY
        )
        print(
            f"{what:8} {COUNT} targets: {taken.processor:.2f} s of processor (aim {processor}), {taken.seconds:.1f} s "
            f"in all (aim {seconds}), {taken.memory:.0f} MiB (aim {MEMORY:.0f}): {'met' if is_met else 'MISSED'}",
            flush=True,
        )


def lay_out(folder: Path, timetable: Timetable) -> Path:
    """Write the program as the volume of a Pod holds it, with the time zones of this environment."""
    package = folder / "krm_windows" / "gate"
    package.mkdir(parents=True)
    for key, text in configmap.program().items():
        name = key.removeprefix("gate.").removeprefix("package.")
        place = (
            package
            if key.startswith("gate.")
            else package.parent
            if key.startswith("package.")
            else folder
        )
        (place / name).write_text(text, encoding="utf-8")
    zones = Path(sysconfig.get_path("purelib"), "tzdata")
    if zones.is_dir():
        (folder / "tzdata").symlink_to(zones)
    (folder / "timetable.json").write_text(json.dumps(dump(timetable)), encoding="utf-8")
    return folder


def serve(ports: "Queue[int]") -> None:
    """Be an API server with so many Kustomizations, as large as those that Flux keeps."""
    api = Api()
    status: Json = {
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "ReconciliationSucceeded",
                "message": "x" * 80,
            }
        ],
        "inventory": {
            "entries": [
                {"id": f"tenant_app-{number}_apps_Deployment", "v": "v1"} for number in range(20)
            ]
        },
        "lastAppliedRevision": "main@sha1:1",
    }
    for target in TARGETS:
        api.add(
            target.name,
            {"interval": "10m", "path": "./apps"},
            by="kustomize-controller",
            status=status,
        )
        metadata = api.object(target.name)["metadata"]
        if not isinstance(metadata, dict):
            raise TypeError(f"{target} has no metadata")
        metadata["managedFields"].append(hand("kustomize-controller", {"status": status}))
    with serving(api) as port:
        ports.put(port)
        get_context("spawn").Event().wait()
