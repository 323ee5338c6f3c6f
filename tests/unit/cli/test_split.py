"""`split`: a base comes out as one tree for each class, and as nothing else."""

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from calls import CLASSES, Ended, Run

from krm_windows import rules
from krm_windows.krm import documents
from krm_windows.rules import Rule

FIXTURES = Path(__file__).parents[2] / "fixtures/rules"
# What a split says of itself where nothing is wrong.
SUMMARY = re.compile(r"(?m)^krm-windows: 2 classes, .+\n")
# The comments, the quotes and the order are what nobody may touch.
BASE = """\
# The shop
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: web} # in front of it
spec: {ports: [{port: 80}]}
---
kind: ConfigMap
apiVersion: v1
metadata:
  name: web
  namespace: shop
data:
  on: "1e3"
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
"""
TEMPLATE = """\
# What delivers the apps
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: apps
  namespace: flux-system
spec:
  interval: 10m # as ever
  dependsOn:
  - name: infra-live
  path: ./plant-7/apps
  prune: true
  sourceRef: {kind: GitRepository, name: fleet}
"""
HEADER = "# Split by krm-windows from ChangeClasses classes: edit the base, not this file.\n"


@dataclass(frozen=True)
class Desk:
    path: Path
    run: Run

    @property
    def output(self) -> Path:
        return self.path / "plant-7/apps"

    def put(self, name: str, text: str) -> str:
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_text(text)
        return str(self.path / name)

    def split(self, *arguments: str, classes: str = CLASSES, base: str = "base") -> Ended:
        where = () if "--plan" in arguments else ("--output-dir", "plant-7/apps")
        self.put("classes.yaml", classes)
        return self.run("split", base, "--classes", "classes.yaml", *where, *arguments)

    def written(self) -> dict[str, str]:
        found = (path for path in sorted(self.output.rglob("*")) if path.is_file())
        return {path.relative_to(self.output).as_posix(): path.read_text() for path in found}

    def kustomization(self, name: str) -> Any:  # noqa: ANN401 - what YAML has
        return yaml.load(self.written()[f"kustomization{name}.yaml"], yaml.CSafeLoader)


@pytest.fixture
def desk(tmp_path: Path, run: Run) -> Desk:
    desk = Desk(tmp_path, run)
    desk.put("base/all.yaml", BASE)
    desk.put("apps.yaml", TEMPLATE)
    return desk


FLUX = ("--flux-kustomization", "apps.yaml")


def test_each_class_is_a_tree_of_its_own(desk: Desk) -> None:
    assert desk.split().code == 0
    service, config, namespace = BASE.split("---\n")
    listed = (
        f"{HEADER}apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n"
    )
    assert desk.written() == {
        "live/configmap_shop_web.yaml": HEADER + config,
        "live/kustomization.yaml": f"{listed}- configmap_shop_web.yaml\n- namespace_shop.yaml\n",
        "live/namespace_shop.yaml": HEADER + namespace,
        "window/kustomization.yaml": f"{listed}- service_shop_web.yaml\n",
        "window/service_shop_web.yaml": HEADER + service,
    }


def test_objects_that_use_one_anchor_each_for_itself(desk: Desk) -> None:
    """An alias belongs to the nearest anchor before it, so each can be edited where it is."""
    one = (
        "apiVersion: v1\nkind: {}\nmetadata:\n  name: &app web\n  namespace: shop\n"
        "  labels: {{app: *app}}\n"
    )
    desk.put("base/all.yaml", "---\n".join(map(one.format, ("Service", "ConfigMap"))))
    assert desk.split().code == 0
    assert desk.written()["live/configmap_shop_web.yaml"] == HEADER + one.format("ConfigMap")


def test_each_class_has_its_flux_kustomization(desk: Desk) -> None:
    assert desk.split(*FLUX).code == 0
    live = TEMPLATE.replace("name: apps", "name: apps-live").replace(
        "./plant-7/apps", '"./plant-7/apps/live"'
    )
    marked = "  annotations:\n    krm-windows.dev/change-class: live\n"
    found = desk.written()["kustomization_apps-live.yaml"]
    assert found == HEADER + live.replace("spec:\n", f"{marked}spec:\n")
    window = desk.kustomization("_apps-window")
    assert window["metadata"]["name"] == "apps-window"
    assert window["metadata"]["annotations"] == {
        "krm-windows.dev/change-class": "window",
        "krm-windows.dev/governed-by": "flux-system/week",
    }
    assert window["spec"]["path"] == "./plant-7/apps/window"
    assert window["spec"]["dependsOn"] == [{"name": "infra-live"}, {"name": "apps-live"}]
    root = desk.kustomization("")
    assert root["resources"] == ["kustomization_apps-live.yaml", "kustomization_apps-window.yaml"]


def test_no_class_waits_for_one_that_may_be_closed(desk: Desk) -> None:
    """Flux holds back what depends on something suspended."""
    gates = {"first": None, "night": "a/night", "live": None, "week": "a/week", "late": "a/night"}
    classes = yaml.safe_load(CLASSES)
    classes["spec"] = {
        "classes": [{"name": n, **({"policy": p} if p else {})} for n, p in gates.items()],
        "default": "late",
        "rules": [{"class": name, "names": [name]} for name in gates],
    }
    item = "apiVersion: v1\nkind: Secret\nmetadata: {{name: {}}}\n"
    desk.put("base/all.yaml", "---\n".join(map(item.format, gates)))
    assert desk.split(*FLUX, classes=yaml.safe_dump(classes, sort_keys=False)).code == 0
    waits = {
        name: [each["name"] for each in desk.kustomization(f"_apps-{name}")["spec"]["dependsOn"]]
        for name in gates
    }
    assert waits == {
        "first": ["infra-live"],
        "night": ["infra-live", "apps-first"],
        "live": ["infra-live", "apps-first"],
        "week": ["infra-live", "apps-first", "apps-live"],
        "late": ["infra-live", "apps-first", "apps-night", "apps-live"],
    }


def test_a_class_without_objects_has_neither_tree_nor_flux_kustomization(desk: Desk) -> None:
    """Flux fails on a path that is not there."""
    desk.put("base/all.yaml", BASE.partition("---\n")[0])
    assert desk.split(*FLUX).code == 0
    assert sorted(desk.written()) == [
        "kustomization.yaml",
        "kustomization_apps-window.yaml",
        "window/kustomization.yaml",
        "window/service_shop_web.yaml",
    ]
    assert "apps-live" not in desk.written()["kustomization_apps-window.yaml"]


def test_check_says_whether_it_is_stale(desk: Desk) -> None:
    assert desk.split().code == 0
    before = desk.written()
    assert desk.split("--check")[:2] == (0, "")
    desk.put("base/all.yaml", BASE.replace("1e3", "1e4"))
    code, out, _ = desk.split("--check")
    assert (code, '+  on: "1e4"' in out) == (1, True)
    assert desk.written() == before


def test_both_trees_build_to_what_the_base_builds_to(
    desk: Desk, tool: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk.path / "bin").mkdir()
    (desk.path / "bin/kubectl").symlink_to(tool("kubectl"))
    generated = "configMapGenerator:\n- {name: env, namespace: shop, literals: [a=b]}\n"
    desk.put("base/kustomization.yaml", f"resources: [all.yaml]\n{generated}")
    with monkeypatch.context() as alone:
        alone.setenv("PATH", str(desk.path / "bin"))
        assert desk.split(classes=CLASSES.replace("kinds: [ConfigMap]", "names: [env]")).code == 0
    assert "live/configmap_shop_env-4h2mbtbbt6.yaml" in desk.written()

    def objects(*folders: Path) -> list[str]:
        builds = [[tool("kustomize"), "build", folder] for folder in folders]
        built = [subprocess.run(each, capture_output=True, check=True).stdout for each in builds]
        return sorted(
            item.span.decode().removeprefix("---\n") for text in built for item in documents(text)
        )

    assert objects(desk.output / "live", desk.output / "window") == objects(desk.path / "base")


def test_without_an_engine_it_says_what_is_lacking(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kustomization cannot be taken for plain files."""
    desk.put("base/kustomization.yaml", "resources: [all.yaml]\n")
    monkeypatch.setenv("PATH", str(desk.path))
    ended = desk.split()
    assert (ended.code, "install kustomize or kubectl" in ended.err) == (1, True)


@pytest.mark.usefixtures("tool")
@pytest.mark.parametrize(
    ("files", "arguments", "said"),
    [
        ({"base/kustomization.yaml": "resources: [gone.yaml]\n"}, [], "gone.yaml"),
        (
            {"base/web/kustomization.yml": "resources: [web.yaml]\n"},
            [],
            "web/kustomization.yml, which must be built",
        ),
        (
            {"a.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"},
            ["--flux-kustomization", "a.yaml"],
            "must be a Kustomization of kustomize.toolkit.fluxcd.io",
        ),
        ({"base/all.yaml": BASE.replace("name: web}", "generateName: w}")}, [], "(field-required)"),
    ],
)
def test_on_an_error_nothing_is_written(
    desk: Desk, files: dict[str, str], arguments: list[str], said: str
) -> None:
    for name, text in files.items():
        desk.put(name, text)
    ended = desk.split(*arguments)
    assert (ended.code, said in ended.err) == (1, True), ended.err
    assert desk.written() == {}


def test_classes_that_are_wrong(desk: Desk) -> None:
    for text, rule in (
        (CLASSES.replace("default: window", "default: windows"), "class-unknown"),
        (f"{CLASSES}  keep: live\n", "field-value"),
    ):
        ended = desk.split(classes=text)
        assert (ended.code, f"({rule})" in ended.err) == (1, True), ended.err
    assert desk.written() == {}


def test_it_does_not_write_where_it_reads(desk: Desk) -> None:
    """The next run would split its own output again."""
    ended = desk.split(base=".")
    assert (ended.code, "must not be inside" in ended.err) == (1, True)


def test_names_that_no_file_can_have(desk: Desk) -> None:
    role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: %s}\n"
    names = ('"system:a"', '"system-a"', "x" * 253)
    desk.put("base/all.yaml", "---\n".join(role % name for name in names))
    assert desk.split().code == 0
    files = [path.name for path in (desk.output / "window").glob("clusterrole*")]
    assert len(files) == 3
    assert all(len(name) < 250 and ":" not in name for name in files)


def test_the_plan_says_what_goes_where_and_why(desk: Desk) -> None:
    own = (
        "metadata: {name: own, namespace: shop, annotations: {krm-windows.dev/change-class: live}}"
    )
    desk.put("base/own.yaml", f"apiVersion: v1\nkind: Secret\n{own}\n")
    ended = desk.split("--plan", "--check")
    assert ended.code == 0
    assert ended.out == (
        "live, never gated: 3 objects\n"
        "  ConfigMap shop/web  spec.rules[0]\n"
        "  Namespace shop      needed by ConfigMap shop/web\n"
        "  Secret shop/own     annotation, over default\n"
        "\n"
        "window, gated by flux-system/week: 1 object\n"
        "  Service shop/web  default\n"
    )
    assert desk.written() == {}


def fired(desk: Desk, rule: Rule, name: str) -> str:
    found: dict[str, list[str]] = {"ChangeClasses": [], "Kustomization": []}
    for item in documents((FIXTURES / rule.id / f"{name}.yaml").read_bytes()):
        found.setdefault(item.kind if item.kind in found else "", []).append(item.span.decode())
    desk.put("base/all.yaml", "".join(found.get("", [BASE])))
    for text in found["Kustomization"]:
        desk.put("apps.yaml", text)
    template = FLUX if found["Kustomization"] else ()
    return "".join(desk.split(*template, classes=text).err for text in found["ChangeClasses"])


@pytest.mark.parametrize(
    "rule", [rules.CLASS_MOVED, rules.PATH_ELSEWHERE], ids=lambda rule: rule.id
)
def test_its_own_rules(rule: Rule, desk: Desk) -> None:
    assert fired(desk, rule, "fires").count(f"({rule.id})\n") == 1
    shutil.rmtree(desk.output)
    assert SUMMARY.sub("", fired(desk, rule, "nearly")) == ""


def test_what_must_not_move_is_not_written(desk: Desk) -> None:
    assert desk.split().code == 0
    before = desk.written()
    moved = CLASSES.replace("kinds: [ConfigMap]", "kinds: [Service, ConfigMap]")
    assert desk.split(classes=moved).code == 1
    assert desk.written() == before
    (desk.output / "window/service_shop_web.yaml").unlink()
    assert desk.split(classes=moved).code == 0


def test_where_nothing_is_pruned_a_move_loses_nothing(desk: Desk) -> None:
    desk.put("apps.yaml", TEMPLATE.replace("prune: true", "prune: false"))
    assert desk.split(*FLUX).code == 0
    moved = CLASSES.replace("kinds: [ConfigMap]", "kinds: [Service]")
    ended = desk.split(*FLUX, classes=moved)
    assert (ended.code, "class-moved" in ended.err) == (0, False)
