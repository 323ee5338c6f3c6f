"""A run of the gate for 1,000 targets, by the program as it is shipped.

It closes all of them, finds nothing to do, and opens all of them. The API server is a small one of
Python's, over TLS, in a process of its own on the same machine (tenants.py), so the wall time is
that of both. What counts is the processor time and the memory of the gate; a missed aim is
reported.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from measure import ROOT, measure

COUNT = 1000
# Seconds: of processor, in all.
AIMS = {
    "closing": (1.0, 10.0),
    "idle": (1.0, 2.0),
    "opening": (1.0, 10.0),
}
MEMORY = 48.0  # MiB


def run() -> None:
    """Close all, run again, open all; print what each took."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = subprocess.Popen(
            [sys.executable, ROOT / "bench/tenants.py", folder], stdout=subprocess.PIPE, text=True
        )
        try:
            port = next(iter(server.stdout or ())).strip()  # never None: it is a pipe
            for what in AIMS:
                judge(what, folder, port)
        finally:
            server.terminate()
            server.wait()


def judge(what: str, folder: Path, port: str) -> None:
    """Run the gate once; print what it took, and whether the aims are reached."""
    server = ["KUBERNETES_SERVICE_HOST=127.0.0.1", f"KUBERNETES_SERVICE_PORT={port}"]
    taken = measure(["env", *server, sys.executable, "-I", folder / what, "--account", folder])
    processor, seconds = AIMS[what]
    in_time = taken.processor <= processor and taken.seconds <= seconds
    verdict = "met" if in_time and taken.memory <= MEMORY else "MISSED"
    print(
        f"{what:8} {COUNT} targets: {taken.processor:.2f} s of processor (aim {processor}), "
        f"{taken.seconds:.1f} s in all (aim {seconds}), "
        f"{taken.memory:.0f} MiB (aim {MEMORY:.0f}): {verdict}",
        flush=True,
    )
