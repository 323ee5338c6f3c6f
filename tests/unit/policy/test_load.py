"""Loading: text to model, and how what is wrong is said."""

from datetime import datetime, time, timedelta

import pytest
from calls import loaded

from krm_windows.krm import KubeObject
from krm_windows.policy.images import DEFAULTS
from krm_windows.policy.load import load
from krm_windows.policy.model import Spec
from krm_windows.results import File
from krm_windows.schedule.recurrence import Recurrence

HEAD = """
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata:
  name: no-deploy-friday
  namespace: flux-system
  labels: {team: platform}
spec:
"""
SPEC = """
  timeZone: Europe/Berlin
  targets:
    - kind: Kustomization
      names: [infra, apps]
  windows:
    working-week:
      opens: Mon 08:00
      closes: Thu 17:00
"""
SUBJECT = "krm-windows.dev/v1alpha1/WindowPolicy/flux-system/no-deploy-friday"


def spec_of(document: str) -> Spec:
    found = loaded(document)
    assert found.results == ()
    assert found.policy is not None
    return found.policy.spec


def line(document: str) -> str:
    (result,) = loaded(document).results
    return str(result).replace(f"{SUBJECT} ", "")


def test_a_policy_as_in_the_design() -> None:
    spec = spec_of(
        HEAD
        + SPEC
        + """
    nights: {opens: "Mon-Fri 22:00", duration: 4h, cronJobs: {open: night-open}}
  freezes:
    christmas: {starts: "2026-12-20", ends: "2027-01-03", reason: Year-end change freeze}
  overrides:
    cve:
      state: Open
      starts: "2026-12-22T09:00"
      ends: "12:00"
      reason: Patch
      ticket: 4711
      requestedBy: on-call
  closesEarly: 10m
  adoptUntil: "2026-12-31"
  formerNames: [flux-system/old]
"""
    )
    assert isinstance(spec.windows["working-week"].opens.value, Recurrence)
    assert spec.windows["nights"].ends_at == timedelta(hours=4)
    assert spec.windows["nights"].words() == "Mon-Fri 22:00 for 4 hours"
    assert spec.freezes["christmas"].ends_at == datetime(2027, 1, 4)
    assert spec.freezes["christmas"].words() == "2026-12-20 to 2027-01-03"
    assert spec.overrides["cve"].ends_at == time(12)
    assert spec.overrides["cve"].words() == "2026-12-22 09:00 until 12:00"
    assert spec.overrides["cve"].ticket == "4711"
    assert spec.adopt_until is not None
    assert spec.adopt_until.value == datetime(2027, 1, 1)
    assert spec.closes_early == timedelta(minutes=10)


def test_hooks_with_their_paths() -> None:
    hook = "{image: 'registry.example.org/a:1', timeout: 1m"
    opening = f"beforeOpen: {hook}, rollback: {hook}}}}}"
    for text, paths in {
        f"afterClose: {hook}}}": ["afterClose"],
        f"{opening}, afterClose: {hook}}}": ["beforeOpen", "beforeOpen.rollback", "afterClose"],
    }.items():
        found = spec_of(f"{HEAD}{SPEC}  hooks: {{namespace: line, {text}}}\n").hooks
        assert found is not None
        assert [path for path, _ in found.each()] == paths


def test_defaults() -> None:
    spec = spec_of(HEAD + SPEC)
    assert (spec.outside_windows, spec.state, spec.first_apply) == ("Closed", "Scheduled", "Allow")
    assert (spec.closes_early, spec.interval) == (timedelta(0), timedelta(minutes=15))
    assert (spec.actuator.type, spec.actuator.runs_on) == ("Gate", DEFAULTS["Gate"].reference)
    assert spec.actuator.image_pull_policy == "IfNotPresent"
    nulls = SPEC.replace("Thu 17:00", "Thu 17:00\n      duration: ~\n      cronJobs: null")
    assert spec_of(f"{HEAD}{nulls}  freezes:\n  interval: null\n") == spec


def test_a_line_reads_as_documented() -> None:
    document = HEAD + SPEC.replace("Mon 08:00", "Mno 08:00")
    file = File(path="clusters/a/policy.yaml", document=1)
    (result,) = load(KubeObject.parse(document.encode()).node, file=file).results
    assert str(loaded(document).results[0]) == (
        f"[error] {SUBJECT} spec.windows.working-week.opens: "
        'must be a moment such as "Mon 08:00" or "0 8 * * MON", got "Mno 08:00" '
        "(moment-syntax)"
    )
    assert result.field is not None
    assert (result.field.current_value, result.field.proposed_value) == ("Mno 08:00", None)
    assert result.file == file


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("infra,", "'*',", "there are no wildcards: list the names, or use `matchLabels`, got"),
        # `on` is a boolean of YAML 1.1 alone.
        (
            "apps]",
            "apps]\n      mustExist: on",
            'mustExist: must be true or false, got "on" (field-v',
        ),
        # A policy without its annotation would be applied to the cluster.
        ("metadata:", "metadata:\n  annotatiosn: {}", 'unknown field; did you mean "annotations"?'),
        # kustomize's own Kustomization is a file.
        (
            "kind: Kustomization",
            "kind: Kustomization\n      apiVersion: kustomize.config.k8s.io/v1beta1",
            "the kind that can be gated is of kustomize.toolkit.fluxcd.io, got",
        ),
    ],
)
def test_what_must_hold(old: str, new: str, said: str) -> None:
    assert said in line((HEAD + SPEC).replace(old, new, 1))


def test_what_kubernetes_knows_of_metadata_is_passed_over() -> None:
    """As `kubectl get` prints it."""
    more = "  uid: a\n  generation: 1\n  ownerReferences: []\n  managedFields: []\n"
    assert spec_of(HEAD.replace("metadata:\n", f"metadata:\n{more}") + SPEC)


MEANT = {
    "europe/berlin": "Europe/Berlin",
    "Europe/Berln": "Europe/Berlin",
    "America/New York": "America/New_York",
}
# By its letters UTC+1 is near to UTC, and PST to MST; IST is of three countries.
UNKNOWN = ["", "Local", "/etc/localtime", "../UTC", "Berlin", "UTC+1", "IST", "W. Europe Time"]


@pytest.mark.parametrize("zone", [*UNKNOWN, *MEANT])
def test_a_time_zone_is_one_of_the_package(zone: str) -> None:
    said = line(HEAD + SPEC.replace("Europe/Berlin", f'"{zone}"'))
    hint = f'; did you mean "{MEANT[zone]}"?' if zone in MEANT else ""
    assert said.endswith(f'got "{zone}"{hint} (time-zone)')


@pytest.mark.parametrize(
    "image",
    ["python:3.13-alpine", "localhost:5000/python:3", f"r.example/a:latest@sha256:{'a' * 64}"],
)
def test_a_pinned_image(image: str) -> None:
    assert spec_of(f'{HEAD}{SPEC}  actuator: {{image: "{image}"}}\n').actuator.image == image


@pytest.mark.parametrize(
    "image", ["python", "localhost:5000/python", "python:latest", "python@sha256:0", "a b:1", ""]
)
def test_an_image_that_is_not_pinned(image: str) -> None:
    """The port of a registry is no tag, and half a digest is none."""
    assert line(f'{HEAD}{SPEC}  actuator: {{image: "{image}"}}\n').endswith("(image-pinned)")
