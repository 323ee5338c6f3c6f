"""A policy of twelve clusters in twelve time zones, and what `zoneinfo` says of their clocks."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

BASE = "Europe/Berlin"
ZONES = {
    "berlin": BASE,
    # UTC-11, UTC-3:30 and UTC+14: the furthest, and one with half an hour.
    "pago-pago": "Pacific/Pago_Pago",
    "st-johns": "America/St_Johns",
    "kiritimati": "Pacific/Kiritimati",
    # Clocks of three quarters of an hour, one of them with a summer in the south.
    "kathmandu": "Asia/Kathmandu",
    "chatham": "Pacific/Chatham",
    # A summer of half an hour, and one that begins at midnight.
    "lord-howe": "Australia/Lord_Howe",
    "santiago": "America/Santiago",
    "chicago": "America/Chicago",
    "kolkata": "Asia/Kolkata",
    "tokyo": "Asia/Tokyo",
    "auckland": "Pacific/Auckland",
}
POLICY = f"""\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata: {{name: week, namespace: flux-system}}
spec:
  timeZone: {BASE}
  targets: [{{kind: Kustomization, names: [apps]}}]
  windows:
    week: {{opens: Mon 08:00, closes: Thu 17:00}}
  clusters:
""" + "".join(
    f"    {cluster}: {{timeZone: {zone}}}\n" if zone != BASE else f"    {cluster}: {{}}\n"
    for cluster, zone in ZONES.items()
)
INSTANTS = [
    # In the evening of America it is tomorrow in UTC already; the date differs between clusters.
    datetime(2026, 11, 25, 1, 30, tzinfo=UTC),
    datetime(2026, 11, 25, 11, 30, 20, tzinfo=UTC),
    # A year and a month end; midnight in UTC and in Berlin.
    datetime(2026, 12, 31, 23, 30, tzinfo=UTC),
    datetime(2027, 3, 1, 0, 0, tzinfo=UTC),
    datetime(2028, 2, 28, 23, 0, tzinfo=UTC),
    # Clocks go back in Berlin, in both of the hours that it shows; forward in Chicago, in Auckland.
    datetime(2026, 10, 25, 0, 10, tzinfo=UTC),
    datetime(2026, 10, 25, 1, 10, tzinfo=UTC),
    datetime(2027, 3, 14, 7, 59, tzinfo=UTC),
    datetime(2026, 9, 26, 14, 1, tzinfo=UTC),
]


def local(at: datetime, cluster: str) -> datetime:
    return at.astimezone(ZoneInfo(ZONES[cluster]))
