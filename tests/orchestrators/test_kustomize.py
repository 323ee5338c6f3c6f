"""kubectl and kustomize, for real: every slot, every way to start the function."""

from collections.abc import Callable
from pathlib import Path

import pytest
from engines import (
    POLICY,
    RESOURCES,
    Engine,
    Objects,
    annotated,
    kinds,
    kustomization,
    objects,
    ours,
    run,
    write,
)

pytestmark = pytest.mark.slow  # kustomize, kpt and containers

HELD = {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
WINDOWS = {"ConfigMap", "CronJob", "Job", "Role", "RoleBinding", "ServiceAccount", *HELD}
FAILING = POLICY.replace("Mon 08:00", "Fry 08:00")
COMPONENT = (
    "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ntransformers: [policy.yaml]\n"
)


def repository(folder: Path, engine: Engine, policy: str = POLICY, **options: str) -> Path:
    files = {"policy.yaml": engine.policy(policy), "kustomization.yaml": kustomization(**options)}
    return write(folder, {**RESOURCES, **files})


def component(folder: Path, engine: Engine, policy: str = POLICY, layer: str = "") -> Path:
    write(
        folder,
        {"component/policy.yaml": engine.policy(policy), "component/kustomization.yaml": COMPONENT},
    )
    return write(
        folder / "layer",
        {**RESOURCES, "kustomization.yaml": kustomization_of("../component", layer)},
    )


def kustomization_of(entry: str, layer: str) -> str:
    return kustomization(slot="components", entry=entry, more=layer)


def verify(function: Path, rendered: str, folder: Path, policy: str = POLICY) -> "tuple[int, str]":
    path = write(folder, {"verified/policy.yaml": policy}) / "verified/policy.yaml"
    done = run(function, "verify", "-", "--policy", path, stdin=rendered)
    return done.returncode, done.stderr


def test_K01_no_network_nobody_read_only_no_home(
    engine_of: Callable[[str], Engine], podman: Path, tmp_path: Path
) -> None:
    """The container that kubectl starts needs neither network, user, writable root nor HOME."""
    engine = engine_of("kubectl-container")
    hardened = (
        f'shift\nexec {podman} run --read-only --read-only-tmpfs=false --unsetenv HOME "$@"\n'
    )
    docker = tmp_path / "bin/docker"
    write(tmp_path, {"bin/docker": f'#!/bin/sh\necho "$@" >{tmp_path}/call\n{hardened}'})
    docker.chmod(0o755)
    path = f"{docker.parent}:{engine.environment['PATH']}"
    built = Engine(engine.command, engine.annotation, {"PATH": path}).build(
        repository(tmp_path / "r", engine)
    )
    assert built.returncode == 0, built.stderr
    assert kinds(ours(built.stdout)) == WINDOWS
    call = (tmp_path / "call").read_text()
    assert "--network none" in call
    assert "--user nobody" in call


def test_K01_as_transformer(engine: Engine, function: Path, tmp_path: Path) -> None:
    """The function adds windows, edits targets and keeps the rest, however it is started."""
    built = engine.build(repository(tmp_path, engine))
    assert built.returncode == 0, built.stderr
    found = objects(built.stdout)
    assert kinds(ours(built.stdout)) == WINDOWS
    infra = found["Kustomization", "flux-system", "infra"]
    assert "suspend" not in infra["spec"]
    assert infra["metadata"]["annotations"] == {
        "krm-windows.dev/governed-by": "flux-system/office-hours"
    }
    assert "annotations" not in found["Kustomization", "flux-system", "live"]["metadata"]
    assert ("WindowPolicy", "flux-system", "office-hours") not in found
    assert verify(function, built.stdout, tmp_path) == (0, FOUND)


def test_K02_failing_policy(engine: Engine, tmp_path: Path) -> None:
    """A policy that fails fails the build, and the person who runs it reads why."""
    built = engine.build(repository(tmp_path, engine, FAILING))
    assert built.returncode == 1
    assert built.stdout == ""
    assert "spec.windows.working-week.opens" in built.stderr
    assert "Fry 08:00" in built.stderr
    assert "Traceback" not in built.stderr


def test_K02_the_file_of_a_policy_that_fails(engine: Engine, tmp_path: Path) -> None:
    """It is named where the kustomization asks kustomize to note it."""
    place = repository(tmp_path, engine, FAILING)
    with (place / "kustomization.yaml").open("a") as file:
        file.write("buildMetadata: [originAnnotations]\n")
    assert "policy.yaml: [error] WindowPolicy flux-system/" in engine.build(place).stderr


VALIDATE = annotated(POLICY, "krm-windows.dev/mode", "Validate")


def test_K03_validator_passes(engine_of: Callable[[str], Engine], tmp_path: Path, way: str) -> None:
    """As validator with the annotation it prints nothing. kustomize takes that for consent."""
    engine = engine_of(way)
    layer = write(
        tmp_path,
        {
            "windows/policy.yaml": engine.policy(),
            "windows/kustomization.yaml": kustomization(),
            **{f"windows/{name}": text for name, text in RESOURCES.items()},
            "validate.yaml": engine.policy(VALIDATE),
            "kustomization.yaml": "resources: [windows]\nvalidators: [validate.yaml]\n",
        },
    )
    validated, plain = engine.build(layer), engine.build(layer / "windows")
    assert validated.returncode == 0, validated.stderr
    assert validated.stdout == plain.stdout


def test_K03_validator_finds_what_is_missing(
    engine_of: Callable[[str], Engine], tmp_path: Path, way: str
) -> None:
    """As validator it fails a build that lacks the windows."""
    engine = engine_of(way)
    built = engine.build(repository(tmp_path, engine, VALIDATE, slot="validators"))
    assert built.returncode == 1
    assert "shouldn't modify" not in built.stderr


def test_K03_without_the_annotation_it_echoes(
    engine_of: Callable[[str], Engine], tmp_path: Path, way: str
) -> None:
    """Without the annotation it is a transformer, wherever it is."""
    engine = engine_of(way)
    built = engine.build(repository(tmp_path, engine, slot="validators"))
    assert built.returncode == 1
    assert "validator shouldn't modify the resource map" in built.stderr


@pytest.fixture(
    params=["kubectl-container", "kustomize-container", "kustomize-exec", "kubectl-legacy"]
)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("program", ["kubectl", "kustomize"])
def test_K04_exec_that_is_not_enabled_is_skipped(
    engine_of: Callable[[str], Engine], function: Path, tmp_path: Path, program: str
) -> None:
    """kustomize skips an exec function that it was not asked to run, with exit 0."""
    silent = Engine(engine_of(f"{program}-legacy").command, f"exec: {{path: {function}}}")
    built = silent.build(repository(tmp_path, silent))
    assert built.returncode == 0
    assert ours(built.stdout) == {}
    code, words = verify(function, built.stdout, tmp_path)
    assert code == 1
    assert "office-hours" in words


def test_K05_legacy_protocol(
    legacy: Engine, engine_of: Callable[[str], Engine], tmp_path: Path
) -> None:
    """The legacy plugin yields what the container yields."""
    container = engine_of("kubectl-container")
    by_plugin = legacy.build(repository(tmp_path / "legacy", legacy))
    by_container = container.build(repository(tmp_path / "container", container))
    assert by_plugin.stdout == by_container.stdout
    assert by_plugin.returncode == 0, by_plugin.stderr


@pytest.mark.parametrize("way", ["container", "exec"])
def test_K09_kustomize_alone(engine_of: Callable[[str], Engine], tmp_path: Path, way: str) -> None:
    """kustomize runs it as container, as exec and from a Component, with one result."""
    engine = engine_of(f"kustomize-{way}")
    directly = engine.build(repository(tmp_path / "direct", engine))
    through = engine.build(component(tmp_path, engine))
    assert through.returncode == 0, through.stderr
    assert through.stdout == directly.stdout


# What `verify` says where it finds nothing wrong.
FOUND = "krm-windows: no findings\n"
ELSEWHERE = POLICY.replace(
    "names: [infra, apps]",
    "names: [infra]\n  - kind: Kustomization\n    names: [team]\n    namespace: team",
).replace("\nspec:\n", "\nspec:\n  crossNamespaceTargets: Allow\n")
TEAM = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: team
  namespace: team
spec:
  interval: 10m
  path: ./team
  prune: true
  sourceRef:
    kind: GitRepository
    name: fleet
"""


def test_K10_component_in_a_layer_with_a_namespace(
    legacy: Engine, function: Path, tmp_path: Path
) -> None:
    """A layer's namespace moves what a Component adds."""
    built = legacy.build(component(tmp_path, legacy, layer="namespace: flux-system\n"))
    assert built.returncode == 0, built.stderr
    assert {namespace for _, namespace, _ in ours(built.stdout)} == {"flux-system"}
    assert verify(function, built.stdout, tmp_path) == (0, FOUND)


def test_K10_component_with_two_target_namespaces(
    legacy: Engine, function: Path, tmp_path: Path
) -> None:
    """Rights for two namespaces stay two, and lie with their targets."""
    folder = component(tmp_path, legacy, ELSEWHERE)
    write(folder, {"flux.yaml": f"{RESOURCES['flux.yaml']}---\n{TEAM}"})
    built = legacy.build(folder)
    assert built.returncode == 0, built.stderr
    roles = {(namespace, name) for kind, namespace, name in ours(built.stdout) if kind == "Role"}
    assert {namespace for namespace, _ in roles} == {"flux-system", "team"}
    assert len({name for _, name in roles}) == 2
    assert verify(function, built.stdout, tmp_path, ELSEWHERE) == (0, FOUND)


def test_K10_component_whose_rights_are_moved_away(
    legacy: Engine, function: Path, tmp_path: Path
) -> None:
    """A layer's namespace moves both Roles into it, exit 0."""
    folder = component(tmp_path, legacy, ELSEWHERE, layer="namespace: flux-system\n")
    write(folder, {"flux.yaml": f"{RESOURCES['flux.yaml']}---\n{TEAM}"})
    built = legacy.build(folder)
    assert built.returncode == 0, built.stderr
    code, words = verify(function, built.stdout, tmp_path, ELSEWHERE)
    assert code == 1
    assert "team" in words


def test_T05_prefixes_below_and_above_still_rename_references(
    engine: Engine, tmp_path: Path
) -> None:
    """References follow renamed objects through the function as they do without it."""
    base = {**{f"base/{name}": text for name, text in RESOURCES.items()}}
    base["base/kustomization.yaml"] = f"namePrefix: below-\nresources: [{', '.join(RESOURCES)}]\n"
    middle = {
        "middle/policy.yaml": engine.policy(
            POLICY.replace("[infra, apps]", "[below-infra, below-apps]")
        )
    }
    middle["middle/kustomization.yaml"] = "resources: [../base]\ntransformers: [policy.yaml]\n"
    top = {"top/kustomization.yaml": "namePrefix: above-\nresources: [../middle]\n"}
    built = engine.build(write(tmp_path, {**base, **middle, **top}) / "top")
    assert built.returncode == 0, built.stderr
    found = objects(built.stdout)
    deployment = found["Deployment", "web", "above-below-web"]
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    assert container["envFrom"] == [{"configMapRef": {"name": "above-below-settings"}}]


PATCH = """\
- target: {kind: WindowPolicy}
  patch: |
    apiVersion: krm-windows.dev/v1alpha1
    kind: WindowPolicy
    metadata: {name: office-hours}
    spec:
      timeZone: America/New_York
      windows:
        working-week: {closes: Wed 12:00}
        sunday: {opens: Sun 01:00, duration: 2h}
"""


def test_C06_policy_patched_by_kustomize(engine: Engine, tmp_path: Path) -> None:
    """A folder in the transformer slot may patch a policy."""
    files = {
        "base/policy.yaml": engine.policy(),
        "base/kustomization.yaml": "resources: [policy.yaml]\n",
        "berlin/kustomization.yaml": f"resources: [../base]\npatches:\n{PATCH}",
        "cluster/kustomization.yaml": kustomization(entry="../berlin"),
        **{f"cluster/{name}": text for name, text in RESOURCES.items()},
    }
    built = engine.build(write(tmp_path, files) / "cluster")
    assert built.returncode == 0, built.stderr
    schedules = {
        name: (found["spec"]["schedule"], found["spec"]["timeZone"])
        for (kind, _, name), found in ours(built.stdout).items()
        if kind == "CronJob"
    }
    assert schedules["office-hours-open-working-week"] == ("0 8 * * 1", "America/New_York")
    assert schedules["office-hours-close-working-week"] == ("0 12 * * 3", "America/New_York")
    assert schedules["office-hours-open-sunday"] == ("0 1 * * 0", "America/New_York")


CLUSTERS = "  clusters:\n    west: {freezes: null}\n    east: {}\n"
OTHER = """\
patches:
- patch: |
    apiVersion: krm-windows.dev/v1alpha1
    kind: WindowPolicy
    metadata: {name: office-hours, namespace: flux-system}
    spec: {interval: 5m}
"""


@pytest.mark.parametrize("slot", ["file", "folder", "patched"])
@pytest.mark.parametrize(("cluster", "is_frozen"), [("west", False), ("east", True)])
def test_what_a_cluster_removes_in_the_own_file_is_gone(
    engine: Engine, tmp_path: Path, slot: str, cluster: str, *, is_frozen: bool
) -> None:
    """kustomize keeps a null of the policy's file where it patches another part of it."""
    text = f"{engine.policy()}{CLUSTERS}  buildFor: {cluster}\n"
    patch = OTHER if slot == "patched" else ""
    files = {
        "base/policy.yaml": text,
        "base/kustomization.yaml": "resources: [policy.yaml]\n",
        "above/kustomization.yaml": f"resources: [../base]\ncommonAnnotations: {{a: b}}\n{patch}",
        "cluster/policy.yaml": text,
        "cluster/kustomization.yaml": kustomization(
            entry="policy.yaml" if slot == "file" else "../above"
        ),
        **{f"cluster/{name}": content for name, content in RESOURCES.items()},
    }
    built = engine.build(write(tmp_path, files) / "cluster")
    assert built.returncode == 0, built.stderr
    assert ("Year-end change freeze" in built.stdout) is is_frozen


def test_G01_generator(engine: Engine, tmp_path: Path) -> None:
    """In the generator slot it sees no resources and emits the windows, not its own policy."""
    built = engine.build(repository(tmp_path, engine, slot="generators"))
    assert built.returncode == 0, built.stderr
    assert kinds(ours(built.stdout)) == WINDOWS
    assert "WindowPolicy" not in kinds(objects(built.stdout))


def test_G08_name_prefix_of_the_layer(legacy: Engine, tmp_path: Path) -> None:
    """Under the layer's namePrefix our objects still refer to each other by their new names."""
    built = legacy.build(repository(tmp_path, legacy, slot="generators", more="namePrefix: eu-\n"))
    assert built.returncode == 0, built.stderr
    found = ours(built.stdout)
    assert all(name.startswith("eu-") for _, _, name in found)
    binding = next(item for (kind, _, _), item in found.items() if kind == "RoleBinding")
    account = binding["subjects"][0]
    assert ("ServiceAccount", account["namespace"], account["name"]) in found
    assert ("Role", binding["metadata"]["namespace"], binding["roleRef"]["name"]) in found
    for pod in pods(found):
        assert pod["serviceAccountName"] == account["name"]
        maps = [volume["configMap"]["name"] for volume in pod["volumes"] if "configMap" in volume]
        assert maps
        assert all(("ConfigMap", account["namespace"], name) in found for name in maps)


def pods(found: Objects) -> "list[dict[str, object]]":
    jobs = [item["spec"] for (kind, _, _), item in found.items() if kind == "Job"]
    jobs += [
        item["spec"]["jobTemplate"]["spec"]
        for (kind, _, _), item in found.items()
        if kind == "CronJob"
    ]
    return [job["template"]["spec"] for job in jobs]


def test_G09_one_result_in_every_slot(legacy: Engine, function: Path, tmp_path: Path) -> None:
    """Transformer, generator, Component and `render` yield the same objects."""
    transformer = legacy.build(repository(tmp_path / "transformer", legacy))
    generator = legacy.build(repository(tmp_path / "generator", legacy, slot="generators"))
    from_component = legacy.build(component(tmp_path, legacy))
    policy = write(tmp_path, {"policy.yaml": POLICY}) / "policy.yaml"
    rendered = run(function, "render", policy, "--output-dir", tmp_path / "rendered")
    assert rendered.returncode == 0, rendered.stderr
    from_render = legacy.build(tmp_path / "rendered")
    wanted = ours(transformer.stdout)
    assert wanted
    assert ours(generator.stdout) == wanted
    assert ours(from_component.stdout) == wanted
    assert ours(from_render.stdout) == wanted


def moved(engine: Engine, folder: Path, gated: dict[str, str], more: str = "") -> Path:
    files = dict(RESOURCES)
    for name, targets in gated.items():
        text = POLICY.replace("office-hours", name).replace("[infra, apps]", f"[{targets}]")
        files[f"{name}.yaml"] = engine.policy(text + more)
    entries = "\n- ".join(f"{name}.yaml" for name in gated)
    return write(folder, {**files, "kustomization.yaml": kustomization(entry=entries)})


@pytest.mark.parametrize("order", ["one two", "two one"])
@pytest.mark.parametrize(
    "after",
    [
        pytest.param({"one": "infra", "two": "live, apps"}, id="moves"),
        pytest.param({"one": "live", "two": "infra, apps"}, id="change places"),
        pytest.param({"two": "live, infra, apps"}, id="all of it moves"),
    ],
)
def test_a_target_moves_to_another_policy(
    legacy: Engine, function: Path, tmp_path: Path, order: str, after: dict[str, str]
) -> None:
    """A build yields the same whatever was built before, so no build is of a move."""
    before = {"one": "infra, apps", "two": "live"}
    assert legacy.build(moved(legacy, tmp_path, before)).returncode == 0
    gated = {name: after[name] for name in order.split() if name in after}
    built = legacy.build(moved(legacy, tmp_path, gated))
    assert built.returncode == 0, built.stderr
    found = objects(built.stdout)
    for name, targets in gated.items():
        [(_, role)] = [
            (key, each) for key, each in found.items() if key[::2] == ("Role", f"{name}-gate")
        ]
        assert role["rules"][0]["resourceNames"] == sorted(targets.split(", "))
        for target in targets.split(", "):
            note = found["Kustomization", "flux-system", target]["metadata"]["annotations"]
            assert note == {"krm-windows.dev/governed-by": f"flux-system/{name}"}
        policy = (tmp_path / f"{name}.yaml").read_text()
        assert verify(function, built.stdout, tmp_path, policy) == (0, FOUND)


def test_two_policies_on_one_target_fail_the_build(legacy: Engine, tmp_path: Path) -> None:
    """As after half of a move."""
    built = legacy.build(moved(legacy, tmp_path, {"one": "infra, apps", "two": "live, apps"}))
    assert built.returncode == 1
    assert "(two-policies)" in built.stderr


def test_what_one_policy_releases_and_another_gates_is_found(
    legacy: Engine, function: Path, tmp_path: Path
) -> None:
    """By `verify`, of either policy: one could be opened while the other is closed."""
    released = "  released: [{kind: Kustomization, names: [apps]}]\n"
    moved(legacy, tmp_path, {"one": "infra"}, released)
    one = (tmp_path / "one.yaml").read_text()
    moved(legacy, tmp_path, {"one": "infra", "two": "live, apps"})
    (tmp_path / "one.yaml").write_text(one)
    built = legacy.build(tmp_path)
    for name in ("one", "two"):
        code, said = verify(
            function, built.stdout, tmp_path, (tmp_path / f"{name}.yaml").read_text()
        )
        assert (code, "(two-policies)" in said) == (1, True)
