"""Whatever lies between the rendered windows and the cluster is said at its own line."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from effort import mostly_slow, rows_mostly_slow
from flux_texts import HOME, checked, config_map, kustomization, lay, policy

from krm_windows.cli import main

pytestmark = pytest.mark.usefixtures("kustomize")

Found = list[tuple[str, str, str]]
Judged = Callable[[dict[str, str]], Found]
FLUX = "clusters/north/flux.yaml"
WINDOWS = "clusters/north/windows.yaml"
ROOT = "clusters/north/kustomization.yaml"
LISTED = "resources: [flux.yaml, windows.yaml]\n"
OVERLAY = "overlay/kustomization.yaml"
# As a patch of every CronJob, of one object, and of all that have a label of ours.
SUSPEND = (
    '{target: {kind: CronJob}, patch: \'[{"op": "add", "path": "/spec/suspend", "value": true}]\'}'
)
DELETE = (
    '{target: {kind: RoleBinding}, patch: \'{"apiVersion": "rbac.authorization.k8s.io/v1", '
    '"kind": "RoleBinding", "metadata": {"name": "window-gate"}, "$patch": "delete"}\'}'
)
PLACED = (
    'patches: [{target: {kind: CronJob}, patch: \'[{"op": "add", "path": '
    '"/spec/jobTemplate/spec/template/spec/nodeSelector", "value": {"a": "b"}}]\'}]\n'
)
OF_OTHERS = 'patches: [{target: {name: other.*}, patch: \'[{"op": "remove", "path": "/a"}]\'}]'
IMAGE = "{name: docker.io/library/python, newName: example.com/other}"
NOTE = "kustomize.toolkit.fluxcd.io/"


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("windows")
    (folder / "policy.yaml").write_text(policy())
    assert main(["render", str(folder / "policy.yaml"), "--output-dir", str(folder / "out")]) == 0
    return {f"windows/{path.name}": path.read_text() for path in (folder / "out").iterdir()}


@pytest.fixture
def judged(windows: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Judged:
    def check(files: dict[str, str]) -> Found:
        usual = {
            FLUX: kustomization("windowed"),
            WINDOWS: kustomization("windows"),
            "windowed/w.yaml": config_map("w"),
        }
        lay(tmp_path, usual | windows | files)
        main(["check", "--repo", str(tmp_path), "-o", "json", "--no-cache", "--source", HOME])
        found = []
        for each in json.loads(capsys.readouterr().out)["results"]:
            # The policy itself is elsewhere.
            if each["tags"]["rule"] == "windows-stale":
                continue
            path = Path(each["file"]["path"])
            line = path.read_text().splitlines()[int(each["tags"]["line"]) - 1]
            said = line[int(each["tags"]["column"]) - 1 :]
            found.append((each["tags"]["rule"], path.relative_to(tmp_path).as_posix(), said))
        return found

    return check


# What Flux puts on top, with what the line begins that is to be named.
FIELDS = [
    ("suspend: true", "suspend: true"),
    ("prune: false", "prune: false"),
    ("targetNamespace: shop", "targetNamespace: shop"),
    ("namePrefix: x-", "namePrefix: x-"),
    ("deletionPolicy: Orphan", "deletionPolicy: Orphan"),
    ("kubeConfig: {secretRef: {name: spoke}}", "kubeConfig: "),
    (f"patches: [{SUSPEND}]", "patches: "),
    (f"images: [{IMAGE}]", "images: "),
    ("components: [../component]", "components: "),
    ("commonMetadata: {labels: {krm-windows.dev/policy: other}}", "labels: "),
    (f"commonMetadata: {{annotations: {{{NOTE}reconcile: disabled}}}}", "annotations: "),
    (f"commonMetadata: {{labels: {{{NOTE}prune: disabled}}}}", "labels: "),
    ("ignore: [{paths: [/rules], target: {kind: Ro.e}}]", "{paths: "),
]
COMPONENT = {
    "component/kustomization.yaml": (
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: x-\n"
    )
}


def of_flux(field: str) -> str:
    if field.startswith("prune"):
        return kustomization("windows").replace("prune: true", field)
    return kustomization("windows", f"  {field}\n")


@pytest.mark.parametrize(("field", "line"), rows_mostly_slow(FIELDS, every=4))
def test_a_field_of_the_flux_kustomization(field: str, line: str, judged: Judged) -> None:
    [(rule, file, said)] = judged(COMPONENT | {WINDOWS: of_flux(field)})
    assert (rule, file) == ("delivery-field", WINDOWS)
    assert said.startswith(line)


@pytest.mark.parametrize(
    "field",
    mostly_slow(
        [
            "namespace: shop",
            "namePrefix: x-",
            f"patches: [{SUSPEND}]",
            f"patches: [{DELETE}]",
            f"images: [{IMAGE}]",
            "components: [../component]",
            "labels: [{pairs: {app.kubernetes.io/name: other}}]",
            f"commonAnnotations: {{{NOTE}ssa: IfNotPresent}}",
            "transformers: [prefix.yaml]",
            (
                "replacements: [{source: {kind: Role, fieldPath: metadata.name}, targets: "
                "[{select: {kind: CronJob}, fieldPaths: [spec.timeZone]}]}]"
            ),
        ],
        every=4,
    ),
)
@pytest.mark.parametrize("place", mostly_slow(["overlay", "outer"], every=2))
def test_a_field_of_a_kustomization_above(place: str, field: str, judged: Judged) -> None:
    texts = {"overlay": "resources: [../windows]\n", "outer": "resources: [../overlay]\n"}
    texts[place] += f"{field}\n"
    files = {f"{name}/kustomization.yaml": text for name, text in texts.items()}
    files[f"{place}/prefix.yaml"] = (
        "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: p}\nprefix: x-\n"
        "fieldSpecs: [{path: metadata/name}]\n"
    )
    files[WINDOWS] = kustomization("windows", path="./outer")
    found = judged(COMPONENT | files)
    assert found == [("delivery-field", f"{place}/kustomization.yaml", field)]


@pytest.mark.parametrize(
    ("field", "layer"),
    rows_mostly_slow(
        [
            ("suspend: false", ""),
            ("targetNamespace: flux-system", "namespace: flux-system"),
            ("commonMetadata: {labels: {team: a}, annotations: {b: c}}", ""),
            ("postBuild: {substituteFrom: [{kind: Secret, name: s}]}", PLACED),
            ("images: [{name: nginx, newTag: '1'}]", "labels: [{pairs: {team: a}}]"),
            ("ignore: [{paths: [/spec/suspend]}]", ""),
            ("wait: true", "configMapGenerator: [{name: other, literals: [a=b]}]"),
            ("ignore: [{paths: [/data], target: {kind: Secret}}]", ""),
            ("wait: true", OF_OTHERS),
        ],
        every=4,
    ),
)
def test_what_leaves_the_windows_as_they_are(field: str, layer: str, judged: Judged) -> None:
    files = {OVERLAY: f"resources: [../windows]\n{layer}\n"} if layer else {}
    delivers = of_flux(field).replace("./windows", "./overlay" if layer else "./windows")
    assert judged({WINDOWS: delivers, **files}) == []


def test_a_label_of_kustomize_in_place_of_ours(judged: Judged) -> None:
    """By its name `managedByLabel` changes no object: it is found by what it does."""
    files = {
        OVERLAY: "resources: [../windows]\nbuildMetadata: [managedByLabel]\n",
        WINDOWS: kustomization("windows", path="./overlay"),
    }
    assert judged(files) == [("delivery-field", OVERLAY, "buildMetadata: [managedByLabel]")]


def test_windows_that_are_applied_in_part(judged: Judged, windows: dict[str, str]) -> None:
    listed = [name for name in windows if "rolebinding" not in name and "kustom" not in name]
    [missing] = [name for name in windows if "rolebinding" in name]
    resources = "resources:\n" + "".join(f"- ../{name}\n" for name in listed)
    files = {OVERLAY: resources, WINDOWS: kustomization("windows", path="./overlay")}
    assert judged(files) == [
        ("delivery-changed", missing, "apiVersion: rbac.authorization.k8s.io/v1")
    ]
    whole = {"other/kustomization.yaml": f"resources: [../{missing}]\n"}
    files[WINDOWS] += kustomization("other")
    assert judged(files | whole) == []


def test_of_several_fields_that_may_do_it_each_is_named(
    tmp_path: Path, judged: Judged, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        OVERLAY: f"resources: [../windows]\npatches: [{SUSPEND}]\n",
        WINDOWS: kustomization("windows", f"  images: [{IMAGE}]\n", path="./overlay"),
    }
    [(rule, file, _)] = judged(files)
    assert (rule, file.partition("/")[0]) == ("delivery-changed", "windows")
    main(["check", "--repo", str(tmp_path), "--no-cache", "--source", HOME])
    said = capsys.readouterr().out
    assert "`spec.images` of Kustomization flux-system/windows, `patches` of overlay/kust" in said


@pytest.mark.parametrize(
    ("spec", "line"), [("suspend: true", "suspend: true"), ("suspend: false", None)]
)
def test_what_delivers_the_delivery(spec: str, line: str | None, judged: Judged) -> None:
    files = {
        WINDOWS: kustomization("parent", f"  {spec}\n").replace("prune: true", "prune: false"),
        "parent/windows.yaml": kustomization("windows"),
    }
    assert [said for _, _, said in judged(files)] == ([line] if line else [])


@pytest.mark.parametrize(
    ("note", "fires"), [("reconcile: disabled", True), ("ssa: Ignore", True), ("ssa: Merge", False)]
)
def test_a_kustomization_that_flux_does_not_apply(
    note: str, *, fires: bool, judged: Judged
) -> None:
    noted = kustomization("windows").replace(
        "flux-system}", f"flux-system, annotations: {{{NOTE}{note}}}}}", 1
    )
    found = judged({WINDOWS: noted})
    assert [(rule, file) for rule, file, _ in found] == [("delivery-field", WINDOWS)] * fires


def test_a_suspended_source(judged: Judged) -> None:
    assert judged({"clusters/north/source.yaml": f"{SOURCE}  suspend: true\n"}) == [
        ("delivery-field", "clusters/north/source.yaml", "suspend: true")
    ]


SOURCE = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec:
  url: https://example.com/fleet
"""


@pytest.mark.parametrize(
    ("field", "rule"),
    [
        ("ignore: clusters/north/windows.yaml", "windows-unapplied"),
        ("sparseCheckout: [clusters, windowed]", "build-failed"),
        ('ignore: "/*\\n!/clusters\\n!/windowed\\n!/windows"', None),
        ("ignore: README.md", None),
    ],
)
def test_what_a_source_leaves_out(field: str, rule: str | None, judged: Judged) -> None:
    place = "clusters/north/source.yaml"
    sync = kustomization("flux-system", path="./clusters/north")
    files = {place: f"{SOURCE}  {field}\n", "clusters/north/sync.yaml": sync}
    found = [each for each, _, _ in judged(files) if each != "policy-file-alone"]
    assert found == ([rule] if rule else [])


def test_a_target_that_a_layer_above_suspends(judged: Judged) -> None:
    patch = "- {op: add, path: /spec/suspend, value: true}"
    listed = LISTED + f"patches:\n- target: {{name: windowed}}\n  patch: '{patch}'\n"
    [(rule, file, _)] = judged({ROOT: listed})
    assert (rule, file) == ("target-suspend", FLUX)
    assert judged({ROOT: LISTED}) == []


def test_what_has_no_label_of_ours_is_no_window(judged: Judged) -> None:
    """Whatever else is in its text, such as a backslash, which may hide any."""
    again = kustomization("again").replace("prune: true", "prune: false")
    text = config_map("again").replace("---", 'data: {a: "\\\\"}')
    assert judged({"clusters/north/again.yaml": again, "again/a.yaml": text}) == []


@pytest.mark.parametrize(
    ("waits", "fires"), [("wait: true", True), ("healthChecks: [%s]", True), ("wait: false", False)]
)
def test_a_delivery_whose_dependency_needs_a_target_to_be_ready(
    waits: str, *, fires: bool, judged: Judged
) -> None:
    """A target that is closed before it is ready would keep every change of the windows out."""
    check = "{kind: Kustomization, name: windowed, namespace: flux-system}"
    files = {
        FLUX: kustomization("platform", f"  {waits.replace('%s', check)}\n"),
        "platform/windowed.yaml": kustomization("windowed"),
        WINDOWS: kustomization("windows", "  dependsOn: [{name: platform}]\n"),
    }
    assert judged(files) == [("self-lock", WINDOWS, "{name: platform}]")] * fires


@pytest.mark.parametrize(
    ("spec", "inner"),
    [("", "windows"), ("  firstApply: Wait\n", "windows"), ("  firstApply: Wait\n", "infra")],
)
def test_a_target_that_delivers_the_delivery(
    spec: str, inner: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Under `Wait` it is never opened, for only the windows would, and they come by it."""
    (tmp_path / "policy.yaml").write_text(policy(spec=spec))
    render = ["render", str(tmp_path / "policy.yaml"), "--output-dir", str(tmp_path / "windows")]
    assert main(render) == 0
    wait = "  suspend: true\n" if spec else ""
    ignore = "  ignore: [{paths: [/spec/suspend], target: {kind: Kustomization}}]\n"
    root = kustomization("flux-system", ignore, path="./clusters/north")
    depends = "  dependsOn: [{name: infra}]\n" if inner == "infra" else ""
    files = {"windows": kustomization("windows", depends), "infra": kustomization("infra")}
    lay(
        tmp_path,
        {
            FLUX: root + kustomization("windowed", wait),
            "windowed/inner.yaml": files.pop(inner),
            WINDOWS: "".join(files.values()),
            "infra/c.yaml": config_map("c"),
        },
    )
    capsys.readouterr()
    found = [each["tags"]["rule"] for each in checked(tmp_path, capsys)]
    # That what a target applies does not wait with it is another matter.
    assert [rule for rule in found if rule != "child-live"] == ["self-lock"] * bool(spec)


@pytest.mark.parametrize(
    ("place", "rule"), [("chart", "policy-file-alone"), ("", "windows-unapplied")]
)
def test_windows_in_a_chart(place: str, rule: str, judged: Judged, windows: dict[str, str]) -> None:
    chart = {"chart/Chart.yaml": "name: chart\n"} if place else {"chart/other.yaml": "a: b\n"}
    moved = {name.replace("windows/", "chart/templates/"): text for name, text in windows.items()}
    unlisted = {WINDOWS: config_map("nothing"), **dict.fromkeys(windows, "")}
    found = judged(moved | unlisted | chart)
    assert {each for each, file, _ in found if "configmap" in file} == {rule}


INSTANCE = """\
apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
metadata: {name: flux, namespace: flux-system}
spec:
  sync: {kind: GitRepository, url: https://example.com/fleet, path: clusters/north}
  kustomize:
    patches:
    - target: {kind: Deployment}
      patch: '- {op: add, path: /spec/replicas, value: 1}'
    - target: {kind: KIND}
      patch: '- {op: add, path: PATH, value: VALUE}'
"""


@pytest.mark.parametrize(
    ("patch", "fires"),
    [
        ("Kustomization /spec/suspend true", True),
        ("Kustomization /spec/commonMetadata {annotations: {NOTE: disabled}}", True),
        ("GitRepository /spec/ignore docs/", False),
    ],
)
def test_a_patch_of_a_flux_instance(patch: str, *, fires: bool, judged: Judged) -> None:
    kind, path, value = patch.replace("NOTE", f"{NOTE}reconcile").split(maxsplit=2)
    place = "clusters/north/instance.yaml"
    files = {
        place: INSTANCE.replace("KIND", kind).replace("PATH", path).replace("VALUE", value),
        ROOT: "resources: [flux.yaml, instance.yaml, ../../windows]",
    }
    found = [(rule, file) for rule, file, _ in judged(files) if rule != "policy-file-alone"]
    assert found == [("delivery-field", place)] * fires


@pytest.mark.parametrize("chain", ["windowed", "middle"])
def test_a_delivery_that_waits_for_what_its_windows_close(chain: str, judged: Judged) -> None:
    middle = kustomization("middle", "  dependsOn: [{name: windowed}]\n", source="other")
    files = {WINDOWS: kustomization("windows", f"  dependsOn: [{{name: {chain}}}]\n") + middle}
    found = judged(files)
    assert ("self-lock", WINDOWS, f"{{name: {chain}}}]") in found


@pytest.mark.parametrize("target", ["kubeConfig: {secretRef: {name: spoke}}", "interval: 1m"])
def test_windows_for_another_cluster(target: str, judged: Judged) -> None:
    files = {
        FLUX: kustomization("spoke", f"  {target}\n"),
        "spoke/windowed.yaml": kustomization("windowed"),
        WINDOWS: kustomization("windows", "  kubeConfig: {secretRef: {name: spoke}}\n"),
    }
    expected = [] if target.startswith("kube") else ["delivery-field"]
    assert [rule for rule, _, _ in judged(files)] == expected


def test_what_was_edited_after_it_was_rendered(judged: Judged, windows: dict[str, str]) -> None:
    file = next(name for name in windows if name.startswith("windows/configmap"))
    edited = windows[file].replace(
        f"{NOTE}substitute: disabled", f"{NOTE}substitute: disabled\n    {NOTE}ssa: Ignore"
    )
    assert judged({file: edited}) == [("delivery-changed", file, "annotations:")]


@pytest.mark.slow
def test_a_fleet_of_overlays_is_as_it_was_rendered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lay(
        tmp_path,
        {
            "policy.yaml": policy(spec="  clusters: {north: {}, south: {timeZone: Asia/Tokyo}}\n"),
            "clusters/north/flux.yaml": kustomization("windowed")
            + kustomization("windows", path="./fleet/clusters/north/reconciliation-window"),
            "clusters/south/flux.yaml": kustomization("windowed")
            + kustomization("windows", path="./south"),
            "south/kustomization.yaml": (
                "resources: [../fleet/clusters/south/reconciliation-window]\n"
                "labels: [{pairs: {team: a}}]\n"
            ),
            "windowed/w.yaml": config_map("w"),
        },
    )
    render = ["render", str(tmp_path / "policy.yaml"), "--all-clusters"]
    assert main([*render, "--output-dir", str(tmp_path / "fleet")]) == 0
    capsys.readouterr()
    check = ["check", "--repo", str(tmp_path), "--no-cache", "--source", HOME]
    assert main(check) == 0, capsys.readouterr().out
    flux = tmp_path / "clusters/north/flux.yaml"
    right = flux.read_text()
    # Those of another cluster, or what all have in common, in place of its own.
    for wrong in ("clusters/south/reconciliation-window", "reconciliation-window/window"):
        flux.write_text(right.replace("clusters/north/reconciliation-window", wrong))
        assert main(check) == 1
        assert "north/flux.yaml:13:3: [error] Kustomization flux" in capsys.readouterr().out
