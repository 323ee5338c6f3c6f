"""Whatever is in a policy or in an item: it is never a failure of ours, and twice is once."""

from copy import deepcopy

import yaml
from calls import APPS, call, wire
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

FULL = yaml.load(
    """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata: {name: week, namespace: flux-system, annotations: {a: b}, labels: {c: d}}
spec:
  crossNamespaceTargets: Allow
  timeZone: Europe/Berlin
  targets:
  - {kind: Kustomization, names: [apps], mustExist: true}
  - kind: GitRepository
    matchLabels: {class: windowed}
    apiVersion: source.toolkit.fluxcd.io/v1
    namespace: flux
  - {kind: Thing, names: [t], apiVersion: example.org/v1, resource: things, suspendField: spec.off,
     trueMeans: Closed}
  windows:
    office: {opens: Mon 08:00, closes: Thu 17:00, description: d, cronJobs: {open: o, close: c}}
    cron: {opens: 0 8 * * *, duration: 4h}
    nth: {opens: 2nd Tue +2d 22:00, closes: "02:00"}
  freezes:
    year: {starts: "2026-12-20", ends: "2027-01-03", reason: r}
  overrides:
    cve:
      state: Open
      starts: "2026-12-22T09:00"
      ends: "12:00"
      reason: r
      requestedBy: me
      ticket: T-1
  closesEarly: 10m
  interval: 15m
  firstApply: Allow
  state: Scheduled
  outsideWindows: Closed
  actuator: {type: Gate, image: "python:3.13", imagePullPolicy: IfNotPresent, imagePullSecrets: [s]}
  formerNames: [a/b]
  adoptUntil: "2026-12-01"
  released:
  - {kind: Kustomization, names: [old]}
  clusters:
    north: {windows: {office: {opens: Tue 08:00}, cron: null}, closesEarly: 5m}
  buildFor: north
""",
    yaml.CSafeLoader,
)
SOURCE = {
    "apiVersion": "source.toolkit.fluxcd.io/v1",
    "kind": "GitRepository",
    "metadata": {"name": "fleet", "namespace": "flux", "labels": {"class": "windowed"}},
    "spec": {"suspend": False, "interval": "1m"},
}
TARGET = yaml.load(APPS, yaml.CSafeLoader)
OURS = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {
        "name": "week-gate",
        "namespace": "flux-system",
        "labels": {"krm-windows.dev/policy": "flux-system.week"},
        "annotations": {"internal.config.kubernetes.io/path": "a.yaml"},
    },
    "data": {"timetable.json": "{}"},
}
STRANGE = st.sampled_from(
    [
        *(
            None,
            True,
            0,
            -1,
            7,
            1.5,
            10**30,
            "",
            " ",
            "~",
            "x",
            "-",
            "\n",
            "é",
            "🚀",
            "a" * 300,
            "a: b",
            "{",
            "*a",
            "&a",
        ),
        *(
            "24:00",
            "Mon 25:00",
            "2026-02-30",
            "@daily",
            "* * * * *",
            "9999-12-31",
            "0001-01-01",
            "366d",
            "auto",
            "30m",
        ),
        *(
            [],
            {},
            [None],
            [[]],
            {"": ""},
            {"a": None},
            ["apps", "apps"],
            {"opens": "Mon 08:00"},
            [{"kind": "Alert"}],
        ),
    ]
)


def places(value: object, above: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """Return the path of everything in a document."""
    entries = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [
        path for key, below in entries for path in [(*above, key), *places(below, (*above, key))]
    ]


def changed(document: object, path: tuple[object, ...], to: object) -> object:
    """Return a document with another value, or none at all, at a path.

    Returns it as it is if the path is gone.
    """
    copy = place = deepcopy(document)
    try:
        for step in path[:-1]:
            place = place[step]
        if to == "remove":
            del place[path[-1]]
        else:
            place[path[-1]] = deepcopy(to)
    except (TypeError, KeyError, IndexError):
        return document
    return copy


def spoiled(document: object, most: int) -> st.SearchStrategy[object]:
    """Draw the document with some of its values replaced or removed."""
    change = st.tuples(st.sampled_from(places(document)), STRANGE | st.just("remove"))

    def apply(changes: list[tuple[tuple[object, ...], object]]) -> object:
        result = document
        for path, to in changes:
            result = changed(result, path, to)
        return result

    return st.lists(change, max_size=most).map(apply)


def test_the_document_is_right() -> None:
    """What is spoiled below has every field, and nothing wrong with it."""
    texts = [yaml.dump(item, Dumper=yaml.CSafeDumper) for item in (TARGET, SOURCE, OURS)]
    assert call(wire(*texts, config=yaml.dump(FULL, Dumper=yaml.CSafeDumper))).code == 0


@settings(max_examples=examples(40), suppress_health_check=list(HealthCheck))
@given(spoiled(FULL, 2), st.tuples(spoiled(TARGET, 1), spoiled(SOURCE, 1), spoiled(OURS, 1)))
def test_never_our_failure(policy: object, items: tuple[object, ...]) -> None:
    """An odd policy or item is the user's, and is said so.

    What works is stable and loses nobody's item.
    """
    texts = [
        yaml.dump(item, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)
        for item in items
    ]
    config = yaml.dump(policy, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)
    answer = call(wire(*texts, config=config))
    assert answer.code in (0, 1, 3), answer.err
    assert (answer.code == 0) == (answer.err == "")
    if answer.code == 0:
        listed = answer.out.decode().partition("items:\n")[2].partition("functionConfig:\n")[0]
        again = call(wire(config=config).replace("items: []\n", f"items:\n{listed}"))
        assert again.code == 0, again.err
        assert again.out.decode().partition("items:\n")[2].startswith(f"{listed}functionConfig:")
    else:
        assert answer.out.startswith(wire(*texts, config=config).encode())
