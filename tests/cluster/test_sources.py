"""Sources other than Git, and Helm, with Flux's own controllers."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from environment import CLOSED, INTERVAL, OPEN, SOURCE_INTERVAL, Environment, eventually, throughout
from lab import origins
from lab.api import Object
from when import Spec

SOURCE = "source.toolkit.fluxcd.io/v1"
NAME = "brought"
RELEASE: Spec = {"targets": [{"kind": "HelmRelease", "names": [NAME]}]}


@dataclass(frozen=True)
class Origin:
    """`publish` brings a version of the application to where the source fetches from."""

    kind: str
    plural: str
    spec: Callable[[str], Spec]
    publish: Callable[[str, str], None]


def app(version: str) -> str:
    return (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: app}}\n"
        f"data: {{version: '{version}'}}\n"
    )


ORIGINS = [
    Origin(
        "OCIRepository",
        "ocirepositories",
        lambda name: {
            "url": f"oci://{origins.REGISTRY}/{name}",
            "ref": {"tag": "latest"},
            "insecure": True,
        },
        lambda name, version: origins.push(name, "latest", {"apps/app.yaml": app(version)}),
    ),
    Origin(
        "Bucket",
        "buckets",
        lambda name: {
            "bucketName": name,
            "endpoint": origins.S3,
            "insecure": True,
            "secretRef": {"name": NAME},
        },
        lambda name, version: origins.put(name, {"apps/app.yaml": app(version).encode()}),
    ),
]


@pytest.mark.parametrize("origin", ORIGINS, ids=[origin.kind for origin in ORIGINS])
def test_other_sources_wait(env: Environment, origin: Origin) -> None:
    """A new revision is not fetched, and drift is corrected."""
    origin.publish(env.name, "1")
    keys = {"accesskey": "test", "secretkey": "of-a-test"}
    env.api.create("secrets", env.name, {"metadata": {"name": NAME}, "stringData": keys})
    spec = {"interval": f"{SOURCE_INTERVAL}s", **origin.spec(env.name)}
    env.add("source.yaml", env.object(SOURCE, origin.kind, NAME, spec=spec))
    env.begin(sourceRef={"kind": origin.kind, "name": NAME})
    targets = [{"kind": origin.kind, "names": [NAME]}]
    env.policy({**CLOSED, "targets": targets})
    env.eventually_suspended(NAME, origin.plural, 2 * SOURCE_INTERVAL)
    origin.publish(env.name, "2")
    env.api.delete("configmaps", env.name, "app")
    env.eventually_applied("1")
    throughout(INTERVAL, "version 1 stays", lambda: env.version() == "1")
    env.opens({**OPEN, "targets": targets}, "2")


def test_a_release_waits(env: Environment) -> None:
    """A HelmRelease: its new chart is fetched while closed, and installed when it opens."""
    installed(env)
    close_release(env)
    origins.publish_chart(env.name, "1.0.0", "2.0.0")
    eventually("the new chart is fetched", lambda: fetched(env) == "2.0.0")
    throughout(INTERVAL, "version 1.0.0 stays", lambda: env.version(origins.CHART) == "1.0.0")
    env.policy({**OPEN, **RELEASE})
    env.eventually_applied("2.0.0", origins.CHART)


def test_a_chart_repository_waits(env: Environment) -> None:
    """While it is closed nobody learns of the new chart."""
    installed(env)
    targets = [{"kind": "HelmRepository", "names": [NAME]}]
    env.policy({**CLOSED, "targets": targets})
    env.eventually_suspended(NAME, "helmrepositories", 2 * SOURCE_INTERVAL)
    origins.publish_chart(env.name, "1.0.0", "2.0.0")
    throughout(INTERVAL, "the chart stays", lambda: fetched(env) == "1.0.0")
    assert not env.suspended(NAME, "helmreleases")
    env.policy({**OPEN, "targets": targets})
    env.eventually_applied("2.0.0", origins.CHART)


def installed(env: Environment) -> None:
    origins.publish_chart(env.name, "1.0.0")
    interval = f"{SOURCE_INTERVAL}s"
    where: Spec = {"interval": interval, "url": f"http://{origins.S3}/{env.name}"}
    chart = {
        "chart": origins.CHART,
        "version": ">=1.0.0",
        "interval": interval,
        "sourceRef": {"kind": "HelmRepository", "name": NAME},
    }
    release: Object = {"interval": f"{INTERVAL}s", "chart": {"spec": chart}}
    objects = [
        env.object(SOURCE, "HelmRepository", NAME, spec=where),
        env.object("helm.toolkit.fluxcd.io/v2", "HelmRelease", NAME, spec=release),
    ]
    env.add("release.yaml", objects)
    env.begin()
    env.eventually_applied("1.0.0", origins.CHART)


def close_release(env: Environment, spec: Spec = CLOSED) -> None:
    env.policy({**spec, **RELEASE})
    env.eventually_suspended(NAME, "helmreleases")


def fetched(env: Environment) -> str:
    [chart] = env.api.items("helmcharts", env.name)
    revision: str = chart["status"]["artifact"]["revision"]
    return revision
