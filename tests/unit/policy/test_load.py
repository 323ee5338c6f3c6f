"""Loading: text to model, and everything that is wrong, in words, at once."""

from datetime import datetime, time, timedelta

import pytest

from krm_windows.krm import KubeObject
from krm_windows.policy.images import DEFAULTS, Image
from krm_windows.policy.load import Loaded, load
from krm_windows.policy.model import WindowPolicy
from krm_windows.results import File, Result
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


def loaded(document: str) -> Loaded:
    """Load a document from its text."""
    return load(KubeObject.parse(document.encode()).node)


def lines(document: str) -> list[str]:
    """Give the lines of all results, without the object they are about."""
    return [str(result).replace(f"{SUBJECT} ", "") for result in loaded(document).results]


def policy(document: str) -> WindowPolicy:
    """Load a document that is right."""
    found = loaded(document)
    assert found.results == ()
    assert found.policy is not None
    return found.policy


def test_a_policy_as_in_the_design() -> None:
    """Every part arrives as what the gate takes."""
    spec = policy(
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
    ).spec
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
    """Those that there are, in the order in which they run."""
    hook = "{image: 'registry.example.org/a:1', timeout: 1m"
    opening = f"beforeOpen: {hook}, rollback: {hook}}}}}"
    hooks = {
        f"afterClose: {hook}}}": ["afterClose"],
        f"beforeOpen: {hook}}}": ["beforeOpen"],
        f"{opening}, afterClose: {hook}}}": ["beforeOpen", "beforeOpen.rollback", "afterClose"],
    }
    for text, paths in hooks.items():
        found = policy(f"{HEAD}{SPEC}  hooks: {{namespace: line, {text}}}\n").spec.hooks
        assert found is not None
        assert [path for path, _ in found.each()] == paths


def test_an_image_with_its_digest() -> None:
    """Which is what counts; before a registry was asked, the tag stands alone."""
    digest = f"sha256:{'0' * 64}"
    assert Image("example.org/a:1", digest).reference == f"example.org/a:1@{digest}"
    assert Image("example.org/a:1", "").reference == "example.org/a:1"


def test_defaults() -> None:
    """What is left out has the documented default."""
    spec = policy(HEAD + SPEC).spec
    assert (spec.outside_windows, spec.state, spec.first_apply) == ("Closed", "Scheduled", "Allow")
    assert (spec.closes_early, spec.interval) == (timedelta(0), timedelta(minutes=15))
    assert (spec.actuator.type, spec.actuator.runs_on) == ("Gate", DEFAULTS["Gate"].reference)
    assert spec.actuator.image_pull_policy == "IfNotPresent"


def test_a_boolean_of_yaml_1_1_is_no_boolean() -> None:
    """`on` is a text, and what it must be is said."""
    document = HEAD + SPEC.replace("names: [infra, apps]", "names: [infra]\n      mustExist: on")
    assert lines(document) == [
        ('[error] spec.targets[0].mustExist: must be true or false, got "on" (field-value)')
    ]


def test_null_is_absent() -> None:
    """A null at any field that may be absent is the field left out."""
    nothing = SPEC.replace(
        "closes: Thu 17:00", "closes: Thu 17:00\n      duration: ~\n      cronJobs: null"
    )
    assert policy(HEAD + nothing + "  freezes:\n  interval: null\n") == policy(HEAD + SPEC)


def test_a_line_reads_as_documented() -> None:
    """Object, path, what must hold, what is there, the fix, the rule."""
    (result,) = loaded(HEAD + SPEC.replace("Mon 08:00", "Mno 08:00")).results
    assert str(result) == (
        f"[error] {SUBJECT} spec.windows.working-week.opens: "
        'must be a moment such as "Mon 08:00" or "0 8 * * MON", got "Mno 08:00" '
        "(moment-syntax)"
    )
    assert result.field is not None
    assert (result.field.current_value, result.field.proposed_value) == ("Mno 08:00", None)


def test_a_wildcard_is_no_name() -> None:
    """With what is possible instead."""
    (said,) = lines(HEAD + SPEC.replace("[infra, apps]", "['*']", 1))
    assert "there are no wildcards: list the names, or use `matchLabels`, got" in said


@pytest.mark.parametrize(
    "zone", ["", "Local", "Europe/Berln", "europe/berlin", "/etc/localtime", "../UTC", "CEST"]
)
def test_a_time_zone_is_one_of_the_package(zone: str) -> None:
    """The host's zones do not count, nor does any other spelling."""
    document = HEAD + SPEC.replace("Europe/Berlin", f'"{zone}"')
    assert [result.tags["rule"] for result in loaded(document).results] == ["time-zone"]


@pytest.mark.parametrize(
    ("zone", "proposed"),
    [
        ("Berlin", None),
        ("Europe/Berln", "Europe/Berlin"),
        ("America/New York", "America/New_York"),
        ("UTC+1", None),
        ("IST", None),
        ("W. Europe Standard Time", None),
    ],
)
def test_no_other_time_is_proposed_for_a_zone(zone: str, proposed: str | None) -> None:
    """By its letters UTC+1 is near to UTC, and PST to MST; IST is of three countries."""
    document = HEAD + SPEC.replace("Europe/Berlin", f'"{zone}"')
    (line,) = lines(document)
    expected = ""
    if proposed:
        expected = f'; did you mean "{proposed}"?'
    assert line.partition(f'got "{zone}"')[2] == f"{expected} (time-zone)"


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("annotatiosn", "annotations"),
        ("label", "labels"),
        ("nmae", "name"),
        ("namespaces", "namespace"),
    ],
)
def test_a_mistyped_key_of_the_metadata_is_refused(key: str, meant: str) -> None:
    """A policy without its annotation would be applied to the cluster."""
    document = HEAD.replace("metadata:\n", f"metadata:\n  {key}: {{}}\n") + SPEC
    (line,) = lines(document)
    assert line.startswith(f"[error] metadata.{key}: ")
    assert f'did you mean "{meant}"?' in line


def test_what_kubernetes_knows_of_metadata_is_passed_over() -> None:
    """As `kubectl get` prints it."""
    more = "  uid: a\n  generation: 1\n  ownerReferences: []\n  managedFields: []\n"
    assert not lines(HEAD.replace("metadata:\n", f"metadata:\n{more}") + SPEC)


def test_a_kind_of_another_group_is_not_proposed_again() -> None:
    """kustomize's own Kustomization is a file."""
    target = "apiVersion: kustomize.config.k8s.io/v1beta1\n      kind: Kustomization"
    document = HEAD + SPEC.replace("kind: Kustomization", target)
    (line,) = lines(document)
    assert "spec.targets[0].apiVersion: must not be kustomize.config.k8s.io/v1beta1" in line
    assert "kustomize.toolkit.fluxcd.io" in line
    assert "did you mean" not in line


@pytest.mark.parametrize(
    "image",
    [
        "python:3.13-alpine",
        "docker.io/library/python:3.13",
        "localhost:5000/python:3",
        f"python@sha256:{'0' * 64}",
        f"r.example/a/b:latest@sha256:{'a' * 64}",
    ],
)
def test_a_pinned_image(image: str) -> None:
    """A tag that is not latest, or a digest."""
    assert policy(f'{HEAD}{SPEC}  actuator: {{image: "{image}"}}\n').spec.actuator.image == image


@pytest.mark.parametrize(
    "image", ["python", "localhost:5000/python", "python:latest", "python@sha256:0", "a b:1", ""]
)
def test_an_image_that_is_not_pinned(image: str) -> None:
    """The port of a registry is no tag, and half a digest is none."""
    found = loaded(f'{HEAD}{SPEC}  actuator: {{image: "{image}"}}\n').results
    assert [result.tags["rule"] for result in found] == ["image-pinned"]


@pytest.mark.parametrize(
    "document", ["{}", "spec: 1", "spec: []", "metadata: x\nspec: {windows: [], targets: {}}"]
)
def test_any_document_gives_results(document: str) -> None:
    """Whatever is there, loading says what is wrong and raises nothing."""
    found = loaded(document)
    assert found.policy is None
    assert all(isinstance(result, Result) for result in found.results)


def test_results_name_the_file() -> None:
    """The file and the index that the orchestrator wrote down are in every result."""
    file = File(path="clusters/a/policy.yaml", document=1)
    found = load(KubeObject.parse((HEAD + SPEC + "  interval: 7m\n").encode()).node, file=file)
    assert [result.file for result in found.results] == [file]
