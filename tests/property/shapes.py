"""Policies of every shape, as one writes them; what is dated lies around a change of the clock.

Beside the texts there are dates: `$eve`, `$day` and `$morrow` of the change; instants: `$before`,
`$at` and `$since`; and `$gone`, a date and time in the middle of what the clock left out or showed
twice.
"""

from datetime import timedelta
from functools import cache
from string import Template

from changes import Change
from hypothesis import strategies

from krm_windows.inventory import Inventory
from krm_windows.krm import KubeObject
from krm_windows.plan import compile_policy
from krm_windows.plan.model import Plan
from krm_windows.policy.load import load

POLICY = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata: {name: shape, namespace: flux-system}
spec: {timeZone: $zone, targets: [{kind: Kustomization, names: [apps]}], interval: 10m, %s}
"""

RECURRING = {
    "office hours": "windows: {w: {opens: Mon-Fri 08:00, closes: '17:00'}}",
    "working week": "windows: {w: {opens: Mon 08:00, closes: Thu 17:00}}",
    "nights": "windows: {w: {opens: Mon-Fri 22:00, closes: '04:00'}}",
    "days that wrap": "windows: {w: {opens: 'Fri-Mon 20:15', closes: '06:45'}}",
    "listed days": "windows: {w: {opens: 'Sun,Wed 00:45', closes: '02:15'}}",
    "small hours": "windows: {w: {opens: daily 01:00, duration: 4h}}",
    "half of a missing hour": "windows: {w: {opens: daily 02:00, closes: '02:30'}}",
    "from half past two": "windows: {w: {opens: daily 02:30, closes: '03:30'}}",
    "until half past one": "windows: {w: {opens: daily 00:30, closes: '01:30'}}",
    "all day": "windows: {w: {opens: daily 00:00, closes: '24:00'}}",
    "first half hour": "windows: {w: {opens: daily 00:00, closes: '00:30'}}",
    "across midnight": "windows: {w: {opens: daily 23:30, closes: '00:30'}}",
    "until midnight": (
        "windows: {w: {opens: Sat 22:00, closes: '24:00'},"
        " v: {opens: daily 23:15, closes: '24:00'}}"
    ),
    "a day around": "windows: {w: {opens: Sat 03:00, closes: '03:00'}}",
    "longer than a day": "windows: {w: {opens: Fri-Sun 23:00, duration: 1d1h}}",
    "short and often": "windows: {w: {opens: '*/20 0-4 * * *', duration: 10m}}",
    "a minute": (
        "windows: {w: {opens: '59 1 * * *', duration: 1m}, v: {opens: '0 3 * * *', duration: 1m}}"
    ),
    "every hour": "windows: {w: {opens: '@hourly', duration: 20m}}",
    "both crons": "windows: {w: {opens: '0 8 * * MON', closes: '0 17 * * THU'}}",
    "two ends a day": "windows: {w: {opens: '15 0,2 * * *', closes: '45 1,3,12 * * *'}}",
    "either day": "windows: {w: {opens: '0 2 1,15 * 0', closes: '30 3 * * *'}}",
    "every other day": "windows: {w: {opens: '30 1 */2 * *', duration: 26h}}",
    "monthly": "windows: {w: {opens: '@monthly', duration: 1d}}",
    "some weeks a year": "windows: {w: {opens: '0 0 20 3,10 *', closes: '0 0 4 4,11 *'}}",
    "leap years": "windows: {w: {opens: '0 2 29 2 *', closes: '0 2 31 3 *'}}",
    "second Tuesday": "windows: {w: {opens: 2nd Tue 22:00, duration: 6h}}",
    "days after it": "windows: {w: {opens: 2nd Sat +1d 01:30, closes: '03:15'}}",
    "into the next month": "windows: {w: {opens: last Sun +7d 00:00, closes: '05:00'}}",
    "last Sunday": "windows: {w: {opens: last Sun 00:00, closes: '06:00'}}",
    "last Sunday's hour": "windows: {w: {opens: last Sun 01:00, closes: last Sun 02:00}}",
    "first Sunday": "windows: {w: {opens: 1st Sun 02:00, closes: 1st Sun 03:00}}",
    "last day": "windows: {w: {opens: last day 18:00, duration: 8h}}",
    "last workday": "windows: {w: {opens: last workday 22:00, closes: '04:00'}}",
    "first workday": "windows: {w: {opens: 1st workday 02:30, closes: 1st workday 24:00}}",
    "end of month": (
        "outsideWindows: Open, freezes: {f: {starts: 3rd last day 00:00, ends: 2nd day 06:00,"
        " reason: r}}"
    ),
    "a fifth Sunday": "windows: {w: {opens: 5th Sun 00:30, duration: 2d}}",
    "second Sunday on": "windows: {w: {opens: 2nd Sun 02:15, closes: Tue 02:15}}",
    "windows that touch": (
        "windows: {w: {opens: daily 00:30, closes: '02:30'},"
        " v: {opens: daily 2:30, closes: '5:00'}}"
    ),
    "windows that overlap": (
        "windows: {w: {opens: Sat 12:00, closes: Mon 02:30}, v: {opens: Sun 1:30, closes: '8:00'}}"
    ),
    "freezes only": (
        "outsideWindows: Open, freezes: {f: {starts: Sun 01:30, ends: '02:30', reason: r}}"
    ),
    "nth freeze": (
        "outsideWindows: Open, freezes: {f: {starts: last Sun 00:00, ends: last Sun 03:00,"
        " reason: r}}"
    ),
    "freeze in windows": "windows: {w: {opens: daily 00:00, closes: '06:00'}},"
    " freezes: {f: {starts: Sat 02:00, ends: Sun 02:30, reason: r},"
    " g: {starts: '@monthly', duration: 3h, reason: r}}",
    "closes early": "closesEarly: 30m, windows: {w: {opens: Mon-Fri 08:00, closes: '17:00'}}",
    "closes early at night": (
        "closesEarly: 45m, windows: {w: {opens: daily 22:00, closes: '02:30'}}"
    ),
    "closes hours early": "closesEarly: 3h, windows: {w: {opens: daily 00:00, closes: '04:00'}}",
    "closes too early": "closesEarly: 90m, windows: {w: {opens: daily 02:00, closes: '03:00'}}",
    "closes early where windows touch": "closesEarly: 40m, windows:"
    " {w: {opens: daily 00:30, closes: '02:30'}, v: {opens: daily 02:30, closes: '03:00'}}",
    "closes early before freezes": "closesEarly: 20m, outsideWindows: Open,"
    " freezes: {f: {starts: daily 02:30, ends: '03:00', reason: r}}",
    "held open": "state: Open, windows: {w: {opens: Mon 08:00, closes: Thu 17:00}}",
    "held shut": "state: Closed, windows: {w: {opens: daily 08:00, closes: '17:00'}}",
}
DATED = {
    "frozen days": "windows: {w: {opens: daily 01:00, closes: '23:00'}},"
    " freezes: {f: {starts: $eve, ends: $day, reason: r}}",
    "frozen from nowhere": (
        "outsideWindows: Open, freezes: {f: {starts: $gone, ends: $morrow, reason: r}}"
    ),
    "frozen until nowhere": (
        "outsideWindows: Open, freezes: {f: {starts: $eve, ends: $gone, reason: r}}"
    ),
    "frozen by instants": (
        "outsideWindows: Open, freezes: {f: {starts: $before, ends: $since, reason: r}}"
    ),
    "frozen until it recurs": "outsideWindows: Open,"
    " freezes: {f: {starts: $before, ends: 'daily 03:00', reason: r},"
    " g: {starts: ${eve}T12:00, ends: '0 13 * * *', reason: r}}",
    "opened over it": "windows: {w: {opens: Mon-Fri 08:00, closes: '17:00'}}, overrides:"
    " {o: {state: Open, starts: $before, ends: $gone, reason: r}}",
    "shut since ever": "windows: {w: {opens: daily 00:00, closes: '24:00'}}, overrides:"
    " {c: {state: Closed, ends: $gone, reason: r},"
    " o: {state: Open, starts: $at, ends: ${morrow}T12:00, reason: r}}",
    "shut after opened": "windows: {w: {opens: Sat 10:00, closes: Mon 10:00}}, overrides:"
    " {c: {state: Closed, starts: $gone, ends: $since, reason: r},"
    " o: {state: Open, ends: ${day}T23:00, reason: r}}",
    "dated windows": "windows: {w: {opens: $eve, closes: '24:00'},"
    " v: {opens: '${day}T01:00', closes: '${day}T03:30'},"
    " u: {opens: $morrow, duration: 90m}}",
    "windows at instants": (
        "windows: {w: {opens: $before, duration: 3h}, v: {opens: $eve, duration: 90m}}"
    ),
    "windows from nowhere": (
        "windows: {w: {opens: $gone, closes: '4:00'}, v: {opens: '${eve}T20:00', duration: 3h30m}}"
    ),
    "windows of one moment": (
        "windows: {w: {opens: $gone, duration: 10m}, v: {opens: $gone, closes: $since}}"
    ),
    "closes early, dated": "closesEarly: 45m, windows: {w: {opens: $eve, closes: $gone}}",
    "closes early over all": "closesEarly: 25m,"
    " windows: {w: {opens: daily 00:00, closes: '24:00'}},"
    " freezes: {f: {starts: $gone, ends: $since, reason: r}},"
    " overrides: {o: {state: Open, starts: $at, ends: ${morrow}T01:00, reason: r},"
    " c: {state: Closed, starts: ${day}T12:00, ends: ${day}T12:30, reason: r}}",
    "opened where it closes early": "closesEarly: 1h,"
    " windows: {w: {opens: daily 08:00, closes: '17:00'}},"
    " overrides: {o: {state: Open, starts: ${day}T17:00, ends: ${day}T17:20, reason: r}}",
    "every rank": "closesEarly: 15m,"
    " windows: {w: {opens: Sat 00:00, closes: Tue 00:00}, v: {opens: '@daily', duration: 3h}},"
    " freezes: {f: {starts: '${eve}T23:30', ends: $since, reason: r},"
    " g: {starts: last Sun 01:00, ends: '02:30', reason: r}},"
    " overrides: {o: {state: Open, starts: $gone, ends: ${morrow}T00:30, reason: r},"
    " c: {state: Closed, starts: $at, ends: $since, reason: r}}",
}
SHAPES = RECURRING | DATED
SHAPE = strategies.sampled_from(sorted(SHAPES))
INSTANTS = {"before": -150, "at": 0, "since": 105}


def plan(shape: str, change: Change) -> Plan:
    """Compile a policy of this shape for the zone of a change, dated around it."""
    return compiled(Template(POLICY % SHAPES[shape]).substitute(dates(change)))


@cache
def compiled(text: str) -> Plan:
    loaded = load(KubeObject.parse(text.encode()).node)
    assert loaded.policy, loaded.results
    made, _ = compile_policy(loaded.policy, None, Inventory((), visible=False))
    return made


def dates(change: Change) -> dict[str, str]:
    day = change.wall.date()
    days = {"eve": day - timedelta(days=1), "day": day, "morrow": day + timedelta(days=1)}
    instants = {name: change.utc + timedelta(minutes=later) for name, later in INSTANTS.items()}
    gone = change.wall + timedelta(minutes=change.after - change.before) / 2
    return {
        "zone": change.zone,
        "gone": f"{gone:%Y-%m-%dT%H:%M}",
        **{name: f"{each:%Y-%m-%d}" for name, each in days.items()},
        **{name: f"{each:%Y-%m-%dT%H:%MZ}" for name, each in instants.items()},
    }
