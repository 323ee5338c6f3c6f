"""What a policy must not say, field by field: the rule, and the field that it is about."""

import pytest
from calls import call, spec, wire

from krm_windows.policy import schedules
from krm_windows.schedule.recurrence import Recurrence

HOOKS = "{namespace: h, beforeOpen: {image: 'a:1', timeout: 1m, env: [%s]}}"
CHECK = "{namespace: h, afterApply: {image: 'a:1', %s}}"
WINDOW = "{w: {opens: %s, duration: 1h}}"
LENGTH = "{w: {opens: Mon 08:00, duration: %s}}"
TARGET = (
    "[{kind: Foo, resource: foos, names: [x], mustExist: false, apiVersion: %s, "
    "suspendField: %s, trueMeans: Closed}]"
)
FROM_SECRET = "secretKeyRef: {name: a, key: b}"  # noqa: S105 - a reference
FROM_CONFIG = "configMapKeyRef: {name: a, key: b}"
COMMAND = "{namespace: h, beforeOpen: {image: 'a:1', timeout: 1m, command: %s}}"
API = "{apiServer: [{cidr: %s, port: %s}]}"
API_PATH = "spec.networkPolicy.apiServer[0]"
WINDOW_OPENS, WINDOW_LENGTH = "spec.windows.w.opens", "spec.windows.w.duration"


def said(field: str, text: str) -> list[tuple[str, str, str | None]]:
    """Return rule, path and proposal of what is said of a field."""
    results = call(wire(config=spec(**{field: text}))).results
    return [
        (found["tags"]["rule"], found["field"]["path"], found["field"].get("proposedValue"))
        for found in results
        if found["tags"]["rule"] != "target-unseen"
    ]


@pytest.mark.parametrize(
    ("field", "text", "rule", "path"),
    [
        ("timeZone", "[a]", "field-type", "spec.timeZone"),
        ("timeZone", "{a: b}", "field-type", "spec.timeZone"),
        ("timeZone", "X", "time-zone", "spec.timeZone"),
        ("windows", LENGTH % "0m", "duration-syntax", WINDOW_LENGTH),
        ("windows", LENGTH % ("9" * 200), "duration-syntax", WINDOW_LENGTH),
        ("interval", "never", "interval", "spec.interval"),
        (
            "targets",
            TARGET % ("a b", "spec.suspend"),
            "field-value",
            "spec.targets[0].apiVersion",
        ),
        ("targets", TARGET % ("a/v1", "a"), "field-value", "spec.targets[0].suspendField"),
        ("extras", "[AdmissionPolicy]", "field-value", "spec.extras[0]"),
        (
            "actuator",
            "{resources: {limits: {memory: 1Mi}}}",
            "resources",
            "spec.actuator.resources.limits.memory",
        ),
        ("actuator", "{image: 'python:latest'}", "image-pinned", "spec.actuator.image"),
        ("actuator", "{program: Image}", "program-image", "spec.actuator.image"),
        (
            "actuator",
            "{program: Image, image: 'krm-windows:v1'}",
            "program-image",
            "spec.actuator.image",
        ),
        (
            "actuator",
            "{type: Kubectl, program: ConfigMap}",
            "kubectl-field",
            "spec.actuator.program",
        ),
        (
            "hooks",
            HOOKS % f"{{name: A, value: x, valueFrom: {{{FROM_SECRET}}}}}",
            "hook-value",
            "spec.hooks.beforeOpen.env[0]",
        ),
        ("hooks", HOOKS % "{name: A}", "hook-value", "spec.hooks.beforeOpen.env[0]"),
        (
            "hooks",
            CHECK % "rollback: {image: 'a:1', env: [{name: A}]}",
            "hook-value",
            "spec.hooks.afterApply.rollback.env[0]",
        ),
        (
            "hooks",
            CHECK % "onFailure: Continue, rollback: {image: 'a:1'}",
            "hook-rollback",
            "spec.hooks.afterApply.rollback",
        ),
        ("hooks", CHECK % "onFailure: Abort", "field-value", "spec.hooks.afterApply.onFailure"),
        ("hooks", "{namespace: h, onlyIf: Pending}", "hook-none", "spec.hooks"),
        (
            "hooks",
            "{namespace: h, onlyIf: Never, afterClose: {image: 'a:1'}}",
            "field-value",
            "spec.hooks.onlyIf",
        ),
        (
            "hooks",
            HOOKS % f"{{name: A, valueFrom: {{{FROM_SECRET}, {FROM_CONFIG}}}}}",
            "hook-value",
            "spec.hooks.beforeOpen.env[0].valueFrom",
        ),
        (
            "hooks",
            HOOKS % "{name: A, valueFrom: {}}",
            "hook-value",
            "spec.hooks.beforeOpen.env[0].valueFrom",
        ),
        (
            "hooks",
            HOOKS % "{name: A, valueFrom: secret}",
            "field-type",
            "spec.hooks.beforeOpen.env[0].valueFrom",
        ),
        ("hooks", COMMAND % "[null]", "field-type", "spec.hooks.beforeOpen.command[0]"),
        ("hooks", COMMAND % "[{a: b}]", "field-type", "spec.hooks.beforeOpen.command[0]"),
        ("hooks", COMMAND % "[[a]]", "field-type", "spec.hooks.beforeOpen.command[0]"),
        ("extras", "Events", "field-type", "spec.extras"),
        (
            "actuator",
            "{resources: {requests: {cpu: 0.1m}}}",
            "quantity-syntax",
            "spec.actuator.resources.requests.cpu",
        ),
        ("windows", WINDOW % "'0 8 30 2 *'", "cron-never", WINDOW_OPENS),
        ("windows", WINDOW % "'0 22-99 * * 1'", "cron-syntax", WINDOW_OPENS),
        (
            "overrides",
            "{f: {state: Open, starts: '2027-01-01T10:00', ends: '2027-01-01T09:00', reason: r}}",
            "end-order",
            "spec.overrides.f.ends",
        ),
        (
            "freezes",
            "{f: {starts: '2027-01-01T10:00Z', ends: '2027-01-01T09:00', reason: r}}",
            "end-order",
            "spec.freezes.f.ends",
        ),
    ],
)
def test_what_is_refused(field: str, text: str, rule: str, path: str) -> None:
    """Alone, without a guess where there is none to make."""
    assert said(field, text) == [(rule, path, None)]


@pytest.mark.parametrize("namespace", ["flux-system", "kube-system", "tenants", "line"])
def test_the_namespace_of_hooks_is_nobody_elses(namespace: str) -> None:
    """Not the policy's, a target's, Flux's or Kubernetes': with Jobs, their accounts are used."""
    targets = "[{kind: Kustomization, names: [apps], namespace: tenants, mustExist: false}]"
    hooks = f"{{namespace: {namespace}, afterClose: {{image: 'a:1'}}}}"
    fields = {"targets": targets, "hooks": hooks, "crossNamespaceTargets": "Allow"}
    results = call(wire(config=spec(**fields))).results
    paths = [each["field"]["path"] for each in results if each["tags"]["rule"] == "hook-namespace"]
    assert paths == ([] if namespace == "line" else ["spec.hooks.namespace"])


@pytest.mark.parametrize(
    "env",
    [
        f"{{name: A, valueFrom: {{{FROM_SECRET}}}}}, {{name: B, valueFrom: {{{FROM_CONFIG}}}}}",
        "{name: A, value: x}, {name: B, value: ''}",
    ],
)
def test_a_variable_has_one_value(env: str) -> None:
    """From one place."""
    assert said("hooks", HOOKS % env) == []


@pytest.mark.parametrize(
    ("cidr", "port", "field"),
    [
        ("10.0.0.1/8", "443", "cidr"),
        ("api.example.org", "443", "cidr"),
        *(
            ("10.0.0.1/32", port, "port")
            for port in ("0", "65536", "-1", "http", "'4 43'", "'\u0661'", f"'{'9' * 5000}'")
        ),
        ("10.0.0.1", "'443'", None),
        ("2001:db8::/64", "65535", None),
    ],
)
def test_where_the_api_server_is(cidr: str, port: str, field: str | None) -> None:
    """A block of addresses without bits behind its length, and a port in ASCII digits."""
    fields = {"extras": "[NetworkPolicy]", "networkPolicy": API % (cidr, port)}
    results = call(wire(config=spec(**fields))).results
    found = [
        (each["tags"]["rule"], each["field"]["path"])
        for each in results
        if each["tags"]["rule"] != "target-unseen"
    ]
    assert found == ([("field-value", f"{API_PATH}.{field}")] if field else [])


def test_an_unknown_time_zone_alone_is_refused() -> None:
    """An instant and a wall clock cannot be compared in it, which is no error of theirs."""
    freeze = "{f: {starts: '2027-01-01T10:00Z', ends: '2027-01-01T09:00', reason: r}}"
    results = call(wire(config=spec(timeZone="X", freezes=freeze))).results
    assert [each["tags"]["rule"] for each in results if each["severity"] == "error"] == [
        "time-zone"
    ]


@pytest.mark.parametrize(
    ("recurrence", "fires"),
    [
        (Recurrence(), True),
        (Recurrence(minutes=frozenset()), False),
        (Recurrence(hours=frozenset()), False),
        (Recurrence(months=frozenset()), False),
        (Recurrence(days=frozenset()), False),
        (Recurrence(weekdays=frozenset()), False),
        (Recurrence(days=frozenset(), either=True), True),
        (Recurrence(days=frozenset({30, 31}), months=frozenset({2})), False),
        (Recurrence(days=frozenset({29, 31}), months=frozenset({2})), True),
        (Recurrence(days=frozenset({31}), months=frozenset({2, 4, 6, 9, 11})), False),
        (Recurrence(days=frozenset({31}), months=frozenset({4, 5})), True),
        (Recurrence(days=frozenset({30}), months=frozenset({2}), either=True), True),
    ],
)
def test_a_schedule_that_fires(recurrence: Recurrence, *, fires: bool) -> None:
    """At some time: a field of no values, or a date that never comes, keeps it from that."""
    assert schedules.fires(recurrence) == fires
