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
    whole = {"policy.yaml": engine.policy(policy), "kustomization.yaml": COMPONENT}
    write(folder / "component", whole)
    listed = kustomization(slot="components", entry="../component", more=layer)
    return write(folder / "layer", {**RESOURCES, "kustomization.yaml": listed})


def verify(function: Path, rendered: str, folder: Path, policy: str = POLICY) -> "tuple[int, str]":
    path = write(folder, {"verified/policy.yaml": policy}) / "verified/policy.yaml"
    done = run(function, "verify", "-", "--policy", path, stdin=rendered)
    return done.returncode, done.stderr


def test_K01_no_network_nobody_read_only_no_home(
    engine_of: Callable[[str], Engine], podman: Path, tmp_path: Path
) -> None:
    """The container that kubectl starts needs neither network, user, writable root nor HOME."""
    engine = engine_of("kubectl-container")
    options = "--read-only --read-only-tmpfs=false --unsetenv HOME"
    hardened = f'shift\nexec {podman} run {options} "$@"\n'
    docker = tmp_path / "bin/docker"
    write(tmp_path, {"bin/docker": f'#!/bin/sh\necho "$@" >{tmp_path}/call\n{hardened}'})
    docker.chmod(0o755)
    path = f"{docker.parent}:{engine.environment['PATH']}"
    own = Engine(engine.command, engine.annotation, {"PATH": path})
    assert kinds(ours(own.built(repository(tmp_path / "r", engine)))) == WINDOWS
    call = (tmp_path / "call").read_text()
    assert "--network none" in call
    assert "--user nobody" in call


def test_K01_as_transformer(engine: Engine, function: Path, tmp_path: Path) -> None:
    built = engine.built(repository(tmp_path, engine))
    found = objects(built)
    assert kinds(ours(built)) == WINDOWS
    infra = found["Kustomization", "flux-system", "infra"]
    assert "suspend" not in infra["spec"]
    note = {"krm-windows.dev/governed-by": "flux-system/office-hours"}
    assert infra["metadata"]["annotations"] == note
    assert "annotations" not in found["Kustomization", "flux-system", "live"]["metadata"]
    assert ("WindowPolicy", "flux-system", "office-hours") not in found
    assert verify(function, built, tmp_path) == (0, FOUND)


def test_K02_failing_policy(engine: Engine, tmp_path: Path) -> None:
    origin = "buildMetadata: [originAnnotations]\n"
    built = engine.build(repository(tmp_path, engine, FAILING, more=origin))
    assert (built.returncode, built.stdout) == (1, "")
    assert "policy.yaml: [error] WindowPolicy flux-system/" in built.stderr
    assert "spec.windows.working-week.opens" in built.stderr
    assert "Fry 08:00" in built.stderr
    assert "Traceback" not in built.stderr


VALIDATE = annotated(POLICY, "krm-windows.dev/mode", "Validate")


def test_K03_validator_passes(engine_of: Callable[[str], Engine], tmp_path: Path, way: str) -> None:
    """As validator with the annotation it prints nothing. kustomize takes that for consent."""
    engine = engine_of(way)
    windows = {"policy.yaml": engine.policy(), "kustomization.yaml": kustomization(), **RESOURCES}
    write(tmp_path / "windows", windows)
    validators = "resources: [windows]\nvalidators: [validate.yaml]\n"
    files = {"validate.yaml": engine.policy(VALIDATE), "kustomization.yaml": validators}
    layer = write(tmp_path, files)
    assert engine.built(layer) == engine.built(layer / "windows")


@pytest.mark.parametrize("policy", [VALIDATE, POLICY], ids=["validates", "transforms"])
def test_K03_validator_finds_what_is_missing(
    engine_of: Callable[[str], Engine], tmp_path: Path, way: str, policy: str
) -> None:
    """Without the annotation it is a transformer wherever it is, which kustomize refuses there."""
    engine = engine_of(way)
    built = engine.build(repository(tmp_path, engine, policy, slot="validators"))
    assert built.returncode == 1
    refusal = "validator shouldn't modify the resource map"
    assert (refusal in built.stderr) is (policy == POLICY)


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
    container = engine_of("kubectl-container")
    by_plugin = legacy.build(repository(tmp_path / "legacy", legacy))
    by_container = container.build(repository(tmp_path / "container", container))
    assert by_plugin.stdout == by_container.stdout
    assert by_plugin.returncode == 0, by_plugin.stderr


@pytest.mark.parametrize("way", ["container", "exec"])
def test_K09_kustomize_alone(engine_of: Callable[[str], Engine], tmp_path: Path, way: str) -> None:
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
MOVES = "namespace: flux-system\n"
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


@pytest.mark.parametrize(
    "case",
    [
        pytest.param((POLICY, MOVES, {"flux-system"}, 0), id="one namespace"),
        pytest.param((ELSEWHERE, "", {"flux-system", "team"}, 0), id="two namespaces"),
        pytest.param((ELSEWHERE, MOVES, {"flux-system"}, 1), id="rights are moved away"),
    ],
)
def test_K10_component_in_a_layer(
    legacy: Engine, function: Path, tmp_path: Path, case: tuple[str, str, set[str], int]
) -> None:
    """A layer's namespace moves what a Component adds, Roles too, from where they are needed."""
    policy, layer, namespaces, code = case
    folder = component(tmp_path, legacy, policy, layer=layer)
    write(folder, {"flux.yaml": f"{RESOURCES['flux.yaml']}---\n{TEAM}"})
    built = legacy.built(folder)
    roles = [(namespace, name) for kind, namespace, name in ours(built) if kind == "Role"]
    assert {namespace for namespace, _ in roles} == namespaces
    assert len({name for _, name in roles}) == (1 if policy == POLICY else 2)
    found, words = verify(function, built, tmp_path, policy)
    assert found == code
    assert "team" in words if code else words == FOUND


def test_T05_prefixes_below_and_above_still_rename_references(
    engine: Engine, tmp_path: Path
) -> None:
    base = {**{f"base/{name}": text for name, text in RESOURCES.items()}}
    base["base/kustomization.yaml"] = f"namePrefix: below-\nresources: [{', '.join(RESOURCES)}]\n"
    policy = engine.policy(POLICY.replace("[infra, apps]", "[below-infra, below-apps]"))
    middle = {"middle/policy.yaml": policy}
    middle["middle/kustomization.yaml"] = "resources: [../base]\ntransformers: [policy.yaml]\n"
    top = {"top/kustomization.yaml": "namePrefix: above-\nresources: [../middle]\n"}
    built = engine.built(write(tmp_path, {**base, **middle, **top}) / "top")
    found = objects(built)
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
    files = {
        "base/policy.yaml": engine.policy(),
        "base/kustomization.yaml": "resources: [policy.yaml]\n",
        "berlin/kustomization.yaml": f"resources: [../base]\npatches:\n{PATCH}",
        "cluster/kustomization.yaml": kustomization(entry="../berlin"),
        **{f"cluster/{name}": text for name, text in RESOURCES.items()},
    }
    built = engine.built(write(tmp_path, files) / "cluster")
    schedules = {
        name: (found["spec"]["schedule"], found["spec"]["timeZone"])
        for (kind, _, name), found in ours(built).items()
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
    built = engine.built(write(tmp_path, files) / "cluster")
    assert ("Year-end change freeze" in built) is is_frozen


def test_G01_generator(engine: Engine, tmp_path: Path) -> None:
    built = engine.built(repository(tmp_path, engine, slot="generators"))
    assert kinds(ours(built)) == WINDOWS
    assert "WindowPolicy" not in kinds(objects(built))


def test_G08_name_prefix_of_the_layer(legacy: Engine, tmp_path: Path) -> None:
    built = legacy.built(repository(tmp_path, legacy, slot="generators", more="namePrefix: eu-\n"))
    found = ours(built)
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
