"""How long a target may go on after it is suspended: what `closesEarly: auto` stands for."""

from datetime import timedelta

import pytest
from calls import APPS, loaded, spec

from krm_windows.inventory import take
from krm_windows.krm import KubeObject
from krm_windows.plan import compile_policy, kinds
from krm_windows.plan.timeouts import go_duration

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
        ("500ms", timedelta(milliseconds=500)),
        ("0s", timedelta(0)),
        ("", None),
        ("1d", None),
        ("10m x", None),
        ("m10", None),
    ],
)
def test_go_duration(text: str, want: timedelta | None) -> None:
    assert go_duration(text) == want


def early(kind: str, name: str, *items: str) -> str:
    config = spec(targets=f"[{{kind: {kind}, names: [{name}]}}]", closesEarly="auto")
    policy = loaded(config).policy
    assert policy
    seen = take([KubeObject.parse(item.encode()) for item in items], kinds(policy))
    plan, results = compile_policy(policy, None, seen)
    rules = [result.rule for result in results if result.severity == "error"]
    return ", ".join(rules) or f"PT{plan.timetable.closes_early // timedelta(seconds=1)}S"


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
        ("interval: 10m\n  timeout: ${long}", "timeout-unknown"),
    ],
)
def test_a_kustomization(fields: str, want: str) -> None:
    """Its timeout, else its interval less 30 s, at least 30 s; in whole minutes, rounded up."""
    assert (
        early("Kustomization", "apps", f"{APPS.partition('spec:')[0]}spec:\n  {fields}\n") == want
    )


def test_what_cannot_be_known() -> None:
    assert early("Kustomization", "infra", APPS) == "timeout-unknown, target-missing"
    image = "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageRepository\n"
    item = f"{image}metadata: {{name: web, namespace: flux-system}}\nspec: {{timeout: 3m}}\n"
    assert early("ImageRepository", "web", item) == "timeout-unknown"


def test_one_of_those_that_a_source_feeds_is_not_known() -> None:
    source = SOURCE.format("OCIRepository", "s")
    known, unknown = (
        RELEASE.format("flux-system", f"{{{OCI}}}, timeout: {timeout}}}").replace("web", name)
        for name, timeout in (("web", "7m"), ("shop", "'${long}'"))
    )
    assert early("OCIRepository", "s", source, known) == "PT420S"
    assert early("OCIRepository", "s", source, known, unknown) == "timeout-unknown"


OCI = "chartRef: {kind: OCIRepository, name: s"


@pytest.mark.parametrize(
    ("kind", "name", "fields", "namespace", "want"),
    [
        # Five minutes unless it says otherwise.
        ("HelmRelease", "web", "{}", "flux-system", "PT300S"),
        ("HelmRelease", "web", "{timeout: 12m}", "flux-system", "PT720S"),
        # A source has the timeout of what it feeds, as it has no work of its own; without a visible
        # consumer its timeout is not known.
        (
            "HelmRepository",
            "s",
            "{chart: {spec: {sourceRef: {kind: HelmRepository, name: s}}}}",
            "flux-system",
            "PT300S",
        ),
        ("OCIRepository", "s", f"{{{OCI}}}, timeout: 7m}}", "flux-system", "PT420S"),
        ("OCIRepository", "other", f"{{{OCI}}}}}", "flux-system", "timeout-unknown"),
        ("OCIRepository", "s", f"{{{OCI}, namespace: shop}}}}", "flux-system", "timeout-unknown"),
        # A reference from another namespace says the namespace of the source.
        (
            "OCIRepository",
            "s",
            f"{{{OCI}, namespace: flux-system}}, timeout: 9m}}",
            "shop",
            "PT540S",
        ),
    ],
)
def test_a_helm_release_and_its_sources(
    kind: str, name: str, fields: str, namespace: str, want: str
) -> None:
    found = early(kind, name, SOURCE.format(kind, name), RELEASE.format(namespace, fields))
    assert want in found
