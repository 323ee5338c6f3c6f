"""Real inputs, from the fixtures and the examples: what is changed at random."""

from functools import cache
from pathlib import Path

from calls import APPS, POLICY, wire

ROOT = Path(__file__).resolve().parents[2]
LARGEST = 60_000

CLASSES = """\
apiVersion: krm-windows.dev/v1alpha1
kind: ChangeClasses
metadata:
  name: classes
spec:
  classes: [live, windowed]
  default: windowed
  rules:
  - change: live
    match: [{kind: ConfigMap}]
"""
CALENDAR = """\
BEGIN:VCALENDAR\r
VERSION:2.0\r
PRODID:-//example//calendar//EN\r
BEGIN:VEVENT\r
UID:1@example.org\r
DTSTAMP:20260101T000000Z\r
DTSTART;VALUE=DATE:20261224\r
DTEND;VALUE=DATE:20261227\r
RRULE:FREQ=YEARLY;COUNT=3\r
SUMMARY:Christmas, nobody\r
 is here\r
END:VEVENT\r
BEGIN:VEVENT\r
UID:2@example.org\r
DTSTAMP:20260101T000000Z\r
DTSTART;TZID=Europe/Berlin:20261231T180000\r
DURATION:PT6H\r
EXDATE:20261231T180000\r
SUMMARY:Stocktaking\r
END:VEVENT\r
END:VCALENDAR\r
"""
SHELL = """\
apiVersion: batch/v1
kind: CronJob
metadata: {name: open, namespace: flux-system}
spec:
  schedule: "0 8 * * 1-5"
  timeZone: Europe/Berlin
  jobTemplate:
    spec:
      template:
        spec:
          containers:
          - name: kubectl
            image: bitnami/kubectl:1.30
            command: ["/bin/sh", "-c"]
            args:
            - |
              set -e; NS=flux-system
              for k in apps infra; do
                flux resume kustomization "$k" -n $NS ||
                  kubectl patch ks $k -p '{"spec":{"suspend":false}}'
              done
"""


@cache
def manifests() -> tuple[bytes, ...]:
    """Return every small YAML or JSON file of the fixtures and the examples."""
    folders = (ROOT / "tests/fixtures", ROOT / "examples")
    files = sorted(
        file
        for folder in folders
        for file in folder.rglob("*")
        if file.suffix in {".yaml", ".yml", ".json"}
    )
    return tuple(
        {
            file.read_bytes(): None
            for file in files
            if file.is_file() and file.stat().st_size < LARGEST
        }
    )


@cache
def policies() -> tuple[bytes, ...]:
    """Return the files that hold a policy, or classes."""
    own = (POLICY.encode(), CLASSES.encode())
    return (
        *own,
        *(
            text
            for text in manifests()
            if b"kind: WindowPolicy" in text or b"kind: ChangeClasses" in text
        ),
    )


@cache
def resource_lists() -> tuple[bytes, ...]:
    """Return ResourceLists: those of the fixtures, and policies and resources put together."""
    found = [text for text in manifests() if b"kind: ResourceList" in text]
    for config in policies():
        documents = [part.strip("-\n") + "\n" for part in config.decode().split("\n---")]
        found += [
            wire(APPS, CLASSES, config=part).encode() for part in documents if "\nspec:" in part
        ]
    return tuple(found)


@cache
def jobs() -> tuple[bytes, ...]:
    """Return files with CronJobs written by hand."""
    return (SHELL.encode(), *(text for text in manifests() if b"kind: CronJob" in text))


def calendars() -> tuple[bytes, ...]:
    """Return calendars."""
    return (CALENDAR.encode(),)


@cache
def answers() -> tuple[bytes, ...]:
    """Return what kubectl prints."""
    return tuple(
        text for text in manifests() if text.lstrip().startswith(b"{") and b'"kind"' in text
    )


def for_target(name: str) -> tuple[bytes, ...]:
    """Return the seeds of a target of `targets`."""
    streams = tuple(
        config + b"\x00" + stream
        for config in policies()[:20]
        for stream in (APPS.encode(), *jobs()[:2])
    )
    known = {
        "function": resource_lists(),
        "plugin": streams,
        "policy": policies(),
        "resources": (*manifests(), *jobs(), *answers()),
        "calendar": calendars(),
    }
    return known.get(name) or tuple(text for texts in known.values() for text in texts)
