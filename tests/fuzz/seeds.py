"""Real inputs, from the fixtures and the examples: what is changed at random."""

from functools import cache
from pathlib import Path

from calls import APPS, CLASSES, POLICY, wire
from repositories import job

ROOT = Path(__file__).resolve().parents[2]
LARGEST = 60_000

# A company's calendar.
EVENTS = """\
BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//tests//EN
BEGIN:VEVENT
UID:1
DTSTAMP:20260101T000000Z
DTSTART;VALUE=DATE:20261224
DTEND;VALUE=DATE:20270102
SUMMARY:Betriebsferien\\, Straße
RRULE:FREQ=YEARLY
END:VEVENT
BEGIN:VEVENT
UID:2
DTSTAMP:20260101T000000Z
DTSTART;TZID=Europe/Berlin:20270301T200000
DTEND;TZID=Europe/Berlin:20270302T060030
SUMMARY:Inventory: "all"
END:VEVENT
BEGIN:VEVENT
UID:3
DTSTAMP:20260101T000000Z
DTSTART:20270401T200000
DURATION:PT2H
END:VEVENT
BEGIN:VEVENT
UID:4
DTSTAMP:20260101T000000Z
DTSTART;VALUE=DATE:20270501
SUMMARY:Called off
STATUS:CANCELLED
END:VEVENT
BEGIN:VEVENT
UID:5
DTSTAMP:20260101T000000Z
DTSTART:20270601T120000Z
SUMMARY:A reminder without a length
END:VEVENT
END:VCALENDAR
"""
LOOP = """
            - |
              set -e; NS=flux-system
              for k in apps infra; do
                flux resume kustomization "$k" -n $NS ||
                  kubectl patch ks $k -p '{"spec":{"suspend":false}}'
              done"""
SHELL = job("open", "0 8 * * 1-5", "x").replace("\n            - x", LOOP)


@cache
def manifests() -> tuple[bytes, ...]:
    folders = (ROOT / "tests/fixtures", ROOT / "examples")
    files = sorted(file for folder in folders for file in folder.rglob("*") if file.is_file())
    read = {
        file.read_bytes(): None
        for file in files
        if file.suffix in {".yaml", ".yml", ".json"} and file.stat().st_size < LARGEST
    }
    return tuple(read)


@cache
def policies() -> tuple[bytes, ...]:
    kinds = (b"kind: WindowPolicy", b"kind: ChangeClasses")
    found = (text for text in manifests() if any(kind in text for kind in kinds))
    return (POLICY.encode(), CLASSES.encode(), *found)


@cache
def resource_lists() -> tuple[bytes, ...]:
    found = [text for text in manifests() if b"kind: ResourceList" in text]
    for config in policies():
        documents = [part.strip("-\n") + "\n" for part in config.decode().split("\n---")]
        found += [
            wire(APPS, CLASSES, config=part).encode() for part in documents if "\nspec:" in part
        ]
    return tuple(found)


@cache
def jobs() -> tuple[bytes, ...]:
    return (SHELL.encode(), *(text for text in manifests() if b"kind: CronJob" in text))


@cache
def answers() -> tuple[bytes, ...]:
    return tuple(
        text for text in manifests() if text.lstrip().startswith(b"{") and b'"kind"' in text
    )


def for_target(name: str) -> tuple[bytes, ...]:
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
        "calendar": (EVENTS.replace("\n", "\r\n").encode(),),
    }
    return known.get(name) or tuple(text for texts in known.values() for text in texts)
