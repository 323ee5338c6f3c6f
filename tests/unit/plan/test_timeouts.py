"""How long a target may go on after it is suspended.

That is what `closesEarly: auto` stands for.
"""

from datetime import timedelta

import pytest
from calls import APPS, call, spec, wire

from krm_windows.inventory import take
from krm_windows.krm import KubeObject
from krm_windows.plan import compile_policy, kinds
from krm_windows.plan.timeouts import go_duration
from krm_windows.policy.load import load

SOURCE = (
    "apiVersion: source.toolkit.fluxcd.io/v1\nkind: {}\n"
    "metadata: {{name: {}, namespace: flux-system}}\nspec: {{}}\n"
)
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: web, namespace: {}}}
spec: {}
"""
MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("90s", timedelta(seconds=90)),
        ("1h30m", timedelta(minutes=90)),
        ("1.5h", timedelta(minutes=90)),
        ("500ms", timedelta(milliseconds=500)),
        ("10m0s", 10 * MINUTE),
        ("0s", timedelta(0)),
        ("", None),
        ("10", None),
        ("1d", None),
        ("10m x", None),
        ("m10", None),
    ],
)
def test_go_duration(text: str, want: timedelta | None) -> None:
    """A duration as Go writes it, and nothing else."""
    assert go_duration(text) == want


def early(kind: str, name: str, *items: str) -> str:
    """Return what `auto` comes to for one target, in seconds."""
    config = spec(targets=f"[{{kind: {kind}, names: [{name}]}}]", closesEarly="auto")
    answer = call(wire(*items, config=config))
    if answer.code:
        return ", ".join(answer.rules)
    policy = load(KubeObject.parse(config.encode()).node).policy
    assert policy
    seen = take([KubeObject.parse(item.encode()) for item in items], kinds(policy))
    plan, _ = compile_policy(policy, None, seen)
    return f"PT{plan.timetable.closes_early // timedelta(seconds=1)}S"


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        ("timeout: 3m", "PT180S"),
        ("timeout: 200s", "PT240S"),
        ("interval: 10m", "PT600S"),
        ("interval: 20s", "PT60S"),
        ("interval: 1h\n  timeout: 2m", "PT120S"),
        ("path: ./apps", "timeout-unknown"),
        ("interval: soon", "timeout-unknown"),
    ],
)
def test_a_kustomization(fields: str, want: str) -> None:
    """Its timeout, else its interval less 30 s, at least 30 s; in whole minutes, rounded up."""
    assert (
        early("Kustomization", "apps", f"{APPS.partition('spec:')[0]}spec:\n  {fields}\n") == want
    )


def test_what_cannot_be_known() -> None:
    """A target that is not there, and a kind that has no timeout."""
    assert early("Kustomization", "infra", APPS) == "timeout-unknown, target-missing"
    image = "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageRepository\n"
    item = f"{image}metadata: {{name: web, namespace: flux-system}}\nspec: {{timeout: 3m}}\n"
    assert early("ImageRepository", "web", item) == "timeout-unknown"


@pytest.mark.parametrize(("fields", "want"), [("{}", "PT300S"), ("{timeout: 12m}", "PT720S")])
def test_a_helm_release(fields: str, want: str) -> None:
    """Five minutes unless it says otherwise."""
    assert early("HelmRelease", "web", RELEASE.format("flux-system", fields)) == want


@pytest.mark.parametrize(
    ("kind", "fields", "want"),
    [
        (
            "HelmRepository",
            "{chart: {spec: {sourceRef: {kind: HelmRepository, name: s}}}}",
            "PT300S",
        ),
        ("OCIRepository", "{chartRef: {kind: OCIRepository, name: s}, timeout: 7m}", "PT420S"),
        ("OCIRepository", "{chartRef: {kind: OCIRepository, name: other}}", "timeout-unknown"),
        (
            "OCIRepository",
            "{chartRef: {kind: OCIRepository, name: s, namespace: shop}}",
            "timeout-unknown",
        ),
    ],
)
def test_a_source_has_the_timeout_of_what_it_feeds(kind: str, fields: str, want: str) -> None:
    """It has no work of its own; without a visible consumer its timeout is not known."""
    found = early(kind, "s", SOURCE.format(kind, "s"), RELEASE.format("flux-system", fields))
    assert want in found


def test_a_consumer_in_another_namespace() -> None:
    """Its reference says the namespace of the source."""
    fields = "{chartRef: {kind: OCIRepository, name: s, namespace: flux-system}, timeout: 9m}"
    assert (
        early(
            "OCIRepository",
            "s",
            SOURCE.format("OCIRepository", "s"),
            RELEASE.format("shop", fields),
        )
        == "PT540S"
    )
