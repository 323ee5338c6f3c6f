"""Keeps the log of every container that ran."""

import time
from contextlib import suppress
from pathlib import Path

from lab.settings import LOGS


def keep() -> None:
    kept = LOGS / "jobs"
    kept.mkdir(exist_ok=True)
    while True:
        with suppress(
            FileNotFoundError
        ):  # a Pod went while its folder was read; the others are reached again
            for log in (LOGS / "pods").glob("*/*/*.log"):
                _link(log, kept)
        time.sleep(1)


def _link(log: Path, kept: Path) -> None:
    namespace, pod, _ = log.parts[-3].split("_")
    link = kept / f"{namespace}_{pod}_{log.parts[-2]}_{log.name}"
    if not link.exists():
        link.hardlink_to(log)
