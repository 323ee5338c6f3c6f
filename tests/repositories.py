"""Repositories with hand-written windows.

Those under fixtures/migrate, and small ones that a test writes itself. `python
tests/repositories.py` writes what each of fixtures/migrate comes to again: the files, and the
report. Read the diff before it is committed.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterable
from datetime import date
from functools import cache
from pathlib import Path

import yaml

from krm_windows.flux import Hints
from krm_windows.flux.builds import Builds
from krm_windows.migrate import Migration, Step, migrate, text
from krm_windows.system.checkout import Checkout
from krm_windows.system.kustomize import Builder

FIXTURES = Path(__file__).resolve().parent / "fixtures/migrate"
ADOPT_UNTIL = "2026-12-31"
DAY = date.fromisoformat(ADOPT_UNTIL)

JOB = """\
apiVersion: batch/v1
kind: CronJob
metadata:
  name: {name}
  namespace: flux-system
spec:
  schedule: "{schedule}"
  timeZone: Etc/UTC
  jobTemplate:
    spec:
      template:
        spec:
          serviceAccountName: keeper
          restartPolicy: Never
          containers:
          - name: flux
            image: ghcr.io/fluxcd/flux-cli:v2.9.5
            command: [/bin/sh, -c]
            args:
            - {line}
"""


RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: shop
  namespace: flux-system
spec:
  interval: 10m
  chartRef:
    kind: OCIRepository
    name: shop
"""


def job(name: str, schedule: str, line: str) -> str:
    return JOB.format(name=name, schedule=schedule, line=line)


def pair(opens: str, closes: str, targets: str = "helmrelease shop") -> dict[str, str]:
    return {
        "open.yaml": job("open-shop", opens, f"flux resume {targets}"),
        "close.yaml": job("close-shop", closes, f"flux suspend {targets}"),
        "shop.yaml": RELEASE,
    }


def at(folder: str, files: dict[str, str]) -> dict[str, str]:
    return {f"{folder}/{name}": text for name, text in files.items()}


def write(folder: Path, files: dict[str, str]) -> None:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)


def run(
    files: dict[str, str], clusters: str | None = None, hints: Hints | None = None
) -> Migration:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), files)
        return read(Path(folder), clusters, hints)


def read(folder: Path, clusters: str | None = None, hints: Hints | None = None) -> Migration:
    return migrate(Builds(Checkout.at(folder), builder(), 2), DAY, clusters, hints)


@cache
def builder() -> Builder | None:
    return Builder.find()


def rules(found: Migration) -> list[str]:
    fired = [result.tags["rule"] for result in found.results]
    return [rule for rule in fired if rule != "source-assumed"]


def expected(case: Path) -> dict[str, bytes]:
    folder = case / "expected"
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def outcome(case: Path) -> dict[str, bytes]:
    found = read(case / "repository")
    return {**found.files, "report.txt": text(found).encode()}


def carry_out(folder: Path, steps: Iterable[Step]) -> None:
    every = set(steps)
    named = {step for step in every if step.text.startswith("take out ")}
    # From the last line to the first, so that no number changes before it is used.
    for step in sorted(every - named, reverse=True):
        path = folder / step.file
        if not step.line:
            path.unlink()
            continue
        lines = path.read_text().splitlines(keepends=True)
        first = last = step.line - 1
        # An object is removed to its end, a field is one line.
        while "`" not in step.text and last + 1 < len(lines) and lines[last + 1] != "---\n":
            last += 1
        del lines[first : last + 1]
        path.write_text("".join(lines))
    for path in {folder / step.file for step in named}:
        _take_out(path, {step.text.split()[-1] for step in named if folder / step.file == path})


def _take_out(path: Path, words: Iterable[str]) -> None:
    documents = list(yaml.safe_load_all(path.read_text()))
    for document in documents:
        for part in (document, document.get("spec", {})):
            for key in {"resources", "patches", "patchesStrategicMerge"} & part.keys():
                part[key] = [each for each in part[key] if not any(w in str(each) for w in words)]
    path.write_text(yaml.safe_dump_all(documents))


def main() -> int:
    for case in sorted(FIXTURES.iterdir()):
        shutil.rmtree(case / "expected", ignore_errors=True)
        for name, content in outcome(case).items():
            path = case / "expected" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
