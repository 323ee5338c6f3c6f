"""A law of fleets: patches of a base build to what each cluster has by itself."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import yaml
from effort import examples
from fleets import built, window
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shapes import RECURRING

from krm_windows.fleet.rendering import Fleet, FleetPolicy, planned
from krm_windows.function import window_policy
from krm_windows.krm import KubeObject
from krm_windows.render import flat

HEAD = {
    "apiVersion": "krm-windows.dev/v1alpha1",
    "kind": "WindowPolicy",
    "metadata": {"name": "shape", "namespace": "flux-system"},
}
TARGETS = (
    {"kind": "Kustomization", "names": ["apps"]},
    {"kind": "Kustomization", "names": ["infra", "db"]},
    {"kind": "HelmRelease", "namespace": "shop", "names": ["shop"]},
    {"kind": "GitRepository", "namespace": "teams", "names": ["fleet"]},
    {"kind": "CronJob", "namespace": "shop", "names": ["report"]},
)
ACTUATORS = (
    {"image": "registry.example/python:3.13"},
    {"imagePullPolicy": "Always"},
    {"imagePullSecrets": ["a"]},
    {"imagePullSecrets": ["b", "a"]},
    {"type": "Kubectl"},
)
IMAGE = "registry.example/mode"
HOOKS = (
    {"namespace": "hooks", "beforeOpen": {"image": f"{IMAGE}:1", "command": ["mode", "on"]}},
    {"namespace": "jobs", "afterClose": {"image": f"{IMAGE}:2", "args": ["off"]}},
)
EXTRAS = ("AlertmanagerTimeIntervals", "NetworkPolicy", "PrometheusRule", "StateMetrics")
NAMED = "windows: {w: {opens: Mon 08:00, closes: Thu 17:00, cronJobs: {open: o, close: c}}}"

windows = st.sampled_from(
    [yaml.load(f"{{{text}}}", yaml.CSafeLoader) for text in (*RECURRING.values(), *8 * [NAMED])]
)
fields = st.fixed_dictionaries(
    {
        "timeZone": st.sampled_from(["Etc/UTC", "Europe/Berlin"]),
        "crossNamespaceTargets": st.just("Allow"),
        "targets": st.lists(st.sampled_from(TARGETS), min_size=1, max_size=3, unique_by=str),
        "extras": st.lists(st.sampled_from(EXTRAS), unique=True, max_size=2),
        "admissionPolicy": st.sampled_from(["Enabled", "Disabled"]),
    },
    optional={"actuator": st.sampled_from(ACTUATORS), "hooks": st.sampled_from(HOOKS)},
)
specs = st.builds(lambda shape, others: {**others, **shape}, windows, fields)


def policy(every: list[dict[str, object]]) -> KubeObject:
    clusters = {f"c{number}": spec for number, spec in enumerate(every)}
    text = yaml.dump({**HEAD, "spec": {"clusters": clusters}}, Dumper=yaml.CSafeDumper)
    return KubeObject.parse(text.encode())


def written(files: Mapping[str, bytes], tree: Path) -> None:
    for name, content in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(content)


def complete(config: KubeObject, cluster: str) -> dict[tuple[str, str, str], object]:
    compiled = window_policy.compile_onto(config, [], cluster)
    made, _ = planned(compiled, uninstalls=False, is_blind=True)
    assert made
    files = flat.objects("", made[1]).values()
    manifests = [yaml.load(content, yaml.CSafeLoader) for content in files]
    return {
        (one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]): one
        for one in manifests
    }


@settings(max_examples=examples(5), suppress_health_check=list(HealthCheck))
@given(every=st.lists(specs, min_size=2, max_size=5))
def test_patches_build_to_the_whole(
    every: list[dict[str, object]], tool: Callable[[str], Path]
) -> None:
    kustomize, config = tool("kustomize"), policy(every)
    clusters = tuple(f"c{number}" for number in range(len(every)))
    ours = Fleet((FleetPolicy.of(config),), clusters, lambda _: [])
    base = ours.base()[0]
    if base is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        written(base, tree)
        for cluster in ours.clusters:
            files = ours.render(cluster, {})[0]
            if files is not None:
                written(files, tree)
                assert built(kustomize, window(tree, cluster)) == complete(config, cluster)
