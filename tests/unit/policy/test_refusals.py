"""What a policy must not say, field by field: the rule, and the field that it is about.

Each rule alone has its documents in tests/fixtures/rules; here are its other ways to be broken.
"""

import pytest
from calls import broken, loaded, spec

from krm_windows.policy import schedules
from krm_windows.schedule.recurrence import Recurrence

ENV = "{namespace: h, beforeOpen: {image: 'a:1', timeout: 1m, env: [%s]}}"
COMMAND = "{namespace: h, beforeOpen: {image: 'a:1', timeout: 1m, command: %s}}"
CHECK = "{namespace: h, afterApply: {image: 'a:1', %s}}"
WINDOW = "{w: {opens: %s, duration: 1h}}"
LENGTH = "{w: {opens: Mon 08:00, duration: %s}}"
FREEZE = "{f: {starts: '2027-01-01T10:00Z', ends: '2027-01-01T09:00', reason: r}}"
OVERRIDE = "{f: {state: Open, starts: '2027-01-01T10:00', ends: '2027-01-01T09:00', reason: r}}"
TARGET = (
    "[{kind: Foo, resource: foos, names: [x], mustExist: false, apiVersion: %s, "
    "suspendField: %s, trueMeans: Closed}]"
)
SECRET = "secretKeyRef: {name: a, key: b}"  # noqa: S105 - a reference
CONFIG = "configMapKeyRef: {name: a, key: b}"
VARIABLE = "beforeOpen.env[0]"


@pytest.mark.parametrize(
    ("field", "text", "rule", "path"),
    [
        ("timeZone", "{a: b}", "field-type", ""),
        ("windows", LENGTH % "0m", "duration-syntax", "w.duration"),
        ("windows", LENGTH % ("9" * 200), "duration-syntax", "w.duration"),
        ("windows", WINDOW % "'0 8 30 2 *'", "cron-never", "w.opens"),
        ("windows", WINDOW % "'0 22-99 * * 1'", "cron-syntax", "w.opens"),
        ("interval", "never", "interval", ""),
        ("targets", TARGET % ("a b", "spec.suspend"), "field-value", "[0].apiVersion"),
        ("targets", TARGET % ("a/v1", "a"), "field-value", "[0].suspendField"),
        ("extras", "[AdmissionPolicy]", "field-value", "[0]"),
        ("extras", "Events", "field-type", ""),
        (
            "actuator",
            "{resources: {limits: {memory: 1Mi}}}",
            "resources",
            "resources.limits.memory",
        ),
        (
            "actuator",
            "{resources: {requests: {cpu: 0.1m}}}",
            "quantity-syntax",
            "resources.requests.cpu",
        ),
        ("actuator", "{program: Image}", "program-image", "image"),
        ("actuator", "{program: Image, image: 'krm-windows:v1'}", "program-image", "image"),
        ("actuator", "{type: Kubectl, program: ConfigMap}", "kubectl-field", "program"),
        ("hooks", ENV % f"{{name: A, value: x, valueFrom: {{{SECRET}}}}}", "hook-value", VARIABLE),
        ("hooks", ENV % "{name: A}", "hook-value", VARIABLE),
        (
            "hooks",
            ENV % f"{{name: A, valueFrom: {{{SECRET}, {CONFIG}}}}}",
            "hook-value",
            f"{VARIABLE}.valueFrom",
        ),
        ("hooks", ENV % "{name: A, valueFrom: {}}", "hook-value", f"{VARIABLE}.valueFrom"),
        (
            "hooks",
            CHECK % "rollback: {image: 'a:1', env: [{name: A}]}",
            "hook-value",
            "afterApply.rollback.env[0]",
        ),
        (
            "hooks",
            CHECK % "onFailure: Continue, rollback: {image: 'a:1'}",
            "hook-rollback",
            "afterApply.rollback",
        ),
        ("hooks", CHECK % "onFailure: Abort", "field-value", "afterApply.onFailure"),
        ("hooks", "{namespace: h, onlyIf: Pending}", "hook-none", ""),
        ("hooks", COMMAND % "[null]", "field-type", "beforeOpen.command[0]"),
        ("hooks", COMMAND % "[{a: b}]", "field-type", "beforeOpen.command[0]"),
        ("overrides", OVERRIDE, "end-order", "f.ends"),
        ("freezes", FREEZE, "end-order", "f.ends"),
    ],
)
def test_what_is_refused(field: str, text: str, rule: str, path: str) -> None:
    found = [
        (each.rule, each.path, each.field and each.field.proposed_value)
        for each in loaded(spec(**{field: text})).results
    ]
    at = f"spec.{field}{path}" if path.startswith("[") else f"spec.{field}.{path}".rstrip(".")
    assert found == [(rule, at, None)]


@pytest.mark.parametrize("namespace", ["flux-system", "kube-system", "tenants", "line"])
def test_the_namespace_of_hooks_is_nobody_elses(namespace: str) -> None:
    """Not the policy's, a target's, Flux's or Kubernetes': with Jobs, their accounts are used."""
    targets = "[{kind: Kustomization, names: [apps], namespace: tenants, mustExist: false}]"
    hooks = f"{{namespace: {namespace}, afterClose: {{image: 'a:1'}}}}"
    found = broken(spec(targets=targets, hooks=hooks, crossNamespaceTargets="Allow"))
    assert found == ([] if namespace == "line" else ["hook-namespace"])


@pytest.mark.parametrize(
    "env",
    [
        f"{{name: A, valueFrom: {{{SECRET}}}}}, {{name: B, valueFrom: {{{CONFIG}}}}}",
        "{name: A, value: x}, {name: B, value: ''}",
    ],
)
def test_a_variable_has_one_value(env: str) -> None:
    assert broken(spec(hooks=ENV % env)) == []


PORTS = ("0", "65536", "-1", "http", "'4 43'", "'\u0661'", f"'{'9' * 5000}'")


@pytest.mark.parametrize(
    ("cidr", "port", "field"),
    [
        ("10.0.0.1/8", "443", "cidr"),
        ("api.example.org", "443", "cidr"),
        *(("10.0.0.1/32", port, "port") for port in PORTS),
        ("10.0.0.1", "'443'", None),
        ("2001:db8::/64", "65535", None),
    ],
)
def test_where_the_api_server_is(cidr: str, port: str, field: str | None) -> None:
    policy = f"{{apiServer: [{{cidr: {cidr}, port: {port}}}]}}"
    found = loaded(spec(extras="[NetworkPolicy]", networkPolicy=policy)).results
    wanted = [("field-value", f"spec.networkPolicy.apiServer[0].{field}")]
    assert [(each.rule, each.path) for each in found] == (wanted if field else [])


def test_an_unknown_time_zone_alone_is_refused() -> None:
    """An instant and a wall clock cannot be compared in it, which is no error of theirs."""
    assert broken(spec(timeZone="X", freezes=FREEZE)) == ["time-zone"]


@pytest.mark.parametrize(
    ("fields", "fires"),
    [
        ({}, True),
        ({"minutes": ()}, False),
        ({"weekdays": ()}, False),
        ({"days": (), "either": True}, True),
        ({"days": (30, 31), "months": (2,)}, False),
        ({"days": (29, 31), "months": (2,)}, True),
        ({"days": (31,), "months": (2, 4, 6, 9, 11)}, False),
        ({"days": (31,), "months": (4, 5)}, True),
    ],
)
def test_a_schedule_that_fires(fields: dict[str, tuple[int, ...]], *, fires: bool) -> None:
    """At some time: a field of no values, or a date that never comes, keeps it from that."""
    assert schedules.fires(Recurrence(**fields)) == fires
