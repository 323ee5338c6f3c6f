"""`split`: a base comes out as one tree for each class, and as nothing else."""

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from krm_windows import rules
from krm_windows.cli import main
from krm_windows.krm import documents
from krm_windows.rules import Rule

FIXTURES = Path(__file__).parents[2] / "fixtures/rules"
# What a split says of itself where nothing is wrong.
SUMMARY = re.compile(r"(?m)^krm-windows: 2 classes, .+\n")
CLASSES = """\
apiVersion: krm-windows.dev/v1alpha1
kind: ChangeClasses
metadata: {name: classes}
spec:
  classes:
  - {name: live}
  - {name: window, policy: flux-system/week}
  default: window
  rules:
  - {class: live, kinds: [ConfigMap]}
"""
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
    """A directory with a base and its classes, and a way to split it."""

    path: Path

    @property
    def output(self) -> Path:
        """Where the split is written."""
        return self.path / "plant-7/apps"

    def put(self, name: str, text: str) -> str:
        """Write a file and return its path."""
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_text(text)
        return str(self.path / name)

    def split(self, *arguments: str, classes: str = CLASSES, base: str | None = None) -> int:
        """Run `split`, into `plant-7/apps` where nothing else is asked for."""
        where = () if "--plan" in arguments else ("--output-dir", str(self.output))
        file = self.put("classes.yaml", classes)
        return main(
            ["split", base or str(self.path / "base"), "--classes", file, *where, *arguments]
        )

    def written(self) -> dict[str, str]:
        """Return the files of the split by their paths in it."""
        found = (path for path in sorted(self.output.rglob("*")) if path.is_file())
        return {path.relative_to(self.output).as_posix(): path.read_text() for path in found}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A desk with the base as plain files."""
    desk = Desk(tmp_path)
    desk.put("base/all.yaml", BASE)
    return desk


def test_each_class_is_a_tree_of_its_own(desk: Desk) -> None:
    """Every object is in one file of one class, as it was written.

    The order is that of the base.
    """
    assert desk.split() == 0
    service, config, namespace = BASE.split("---\n")
    listed = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n"
    assert desk.written() == {
        "live/configmap_shop_web.yaml": HEADER + config,
        "live/kustomization.yaml": (
            f"{HEADER}{listed}- configmap_shop_web.yaml\n- namespace_shop.yaml\n"
        ),
        "live/namespace_shop.yaml": HEADER + namespace,
        "window/kustomization.yaml": f"{HEADER}{listed}- service_shop_web.yaml\n",
        "window/service_shop_web.yaml": HEADER + service,
    }


def test_objects_that_use_one_anchor_each_for_itself(desk: Desk) -> None:
    """An alias belongs to the nearest anchor before it, so each can be edited where it is."""
    one = (
        "apiVersion: v1\nkind: {}\nmetadata:\n  name: &app web\n  namespace: shop\n"
        "  labels: {{app: *app}}\n"
    )
    desk.put("base/all.yaml", "---\n".join(map(one.format, ("Service", "ConfigMap"))))
    assert desk.split() == 0
    assert desk.written()["live/configmap_shop_web.yaml"] == HEADER + one.format("ConfigMap")


def test_each_class_has_its_flux_kustomization(desk: Desk) -> None:
    """It is the template, but for name, path, marks and what it waits for.

    The root sees nothing but these.
    """
    assert desk.split("--flux-kustomization", desk.put("apps.yaml", TEMPLATE)) == 0
    live = TEMPLATE.replace("name: apps", "name: apps-live").replace(
        "./plant-7/apps", '"./plant-7/apps/live"'
    )
    marked = "  annotations:\n    krm-windows.dev/change-class: live\n"
    assert desk.written()["kustomization_apps-live.yaml"] == HEADER + live.replace(
        "spec:\n", f"{marked}spec:\n"
    )
    window = yaml.load(desk.written()["kustomization_apps-window.yaml"], yaml.CSafeLoader)
    assert window["metadata"]["name"] == "apps-window"
    assert window["metadata"]["annotations"] == {
        "krm-windows.dev/change-class": "window",
        "krm-windows.dev/governed-by": "flux-system/week",
    }
    assert window["spec"]["path"] == "./plant-7/apps/window"
    assert window["spec"]["dependsOn"] == [{"name": "infra-live"}, {"name": "apps-live"}]
    root = yaml.load(desk.written()["kustomization.yaml"], yaml.CSafeLoader)
    assert root["resources"] == ["kustomization_apps-live.yaml", "kustomization_apps-window.yaml"]


def test_no_class_waits_for_one_that_may_be_closed(desk: Desk) -> None:
    """Flux holds back what depends on something suspended.

    So only what is open whenever the class is counts.
    """
    gates = {"first": None, "night": "a/night", "live": None, "week": "a/week", "late": "a/night"}
    declared = "".join(
        f"  - {{name: {n}{f', policy: {p}' if p else ''}}}\n" for n, p in gates.items()
    )
    rules = "".join(f"  - {{class: {name}, names: [{name}]}}\n" for name in gates)
    classes = CLASSES.partition("  - {name")[0] + declared + "  default: late\n  rules:\n" + rules
    item = "apiVersion: v1\nkind: Secret\nmetadata: {{name: {}}}\n"
    desk.put("base/all.yaml", "---\n".join(map(item.format, gates)))
    assert desk.split("--flux-kustomization", desk.put("apps.yaml", TEMPLATE), classes=classes) == 0
    waits = {
        name: [
            entry["name"].removeprefix("apps-")
            for entry in yaml.load(text, yaml.CSafeLoader)["spec"]["dependsOn"][1:]
        ]
        for name in gates
        for text in [desk.written()[f"kustomization_apps-{name}.yaml"]]
    }
    assert waits == {
        "first": [],
        "night": ["first"],
        "live": ["first"],
        "week": ["first", "live"],
        "late": ["first", "night", "live"],
    }


def test_a_class_without_objects_has_neither_tree_nor_flux_kustomization(desk: Desk) -> None:
    """Flux fails on a path that is not there."""
    desk.put("base/all.yaml", BASE.partition("---\n")[0])
    assert desk.split("--flux-kustomization", desk.put("apps.yaml", TEMPLATE)) == 0
    assert sorted(desk.written()) == [
        "kustomization.yaml",
        "kustomization_apps-window.yaml",
        "window/kustomization.yaml",
        "window/service_shop_web.yaml",
    ]
    assert "apps-live" not in desk.written()["kustomization_apps-window.yaml"]


def test_check_says_whether_it_is_stale(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is written; the difference is shown."""
    assert desk.split() == 0
    before = desk.written()
    assert desk.split("--check") == 0
    assert capsys.readouterr().out == ""
    desk.put("base/all.yaml", BASE.replace("1e3", "1e4"))
    assert desk.split("--check") == 1
    assert '+  on: "1e4"' in capsys.readouterr().out
    assert desk.written() == before


def test_what_is_split_no_more_goes(desk: Desk) -> None:
    """Files of ours go with their class.

    Those of others stay, and so does the directory they are in.
    """
    assert desk.split() == 0
    desk.put("plant-7/apps/window/notes.txt", "mine")
    desk.put("plant-7/apps/own/other.yaml", "a: 1")
    desk.put("base/all.yaml", BASE.split("---\n")[1].replace("kind: ConfigMap", "kind: Secret"))
    assert desk.split() == 0
    assert sorted(desk.written()) == [
        "own/other.yaml",
        "window/kustomization.yaml",
        "window/notes.txt",
        "window/secret_shop_web.yaml",
    ]
    assert not (desk.output / "live").exists()


@pytest.mark.parametrize("engine", ["kubectl", "kustomize"])
def test_a_kustomization_is_built(
    engine: str,
    desk: Desk,
    tool: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Whichever of the two is there; a generated ConfigMap is matched without its hash."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / engine).symlink_to(tool(engine))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    generated = "configMapGenerator:\n- {name: env, namespace: shop, literals: [a=b]}\n"
    desk.put("base/kustomization.yaml", f"resources: [all.yaml, also]\n{generated}")
    desk.put("base/also/kustomization.yaml", "secretGenerator:\n- {name: key, literals: [a=b]}\n")
    classes = CLASSES.replace("kinds: [ConfigMap]", "names: [env]")
    assert desk.split(classes=classes) == 0
    assert sorted(desk.written())[:2] == [
        "live/configmap_shop_env-4h2mbtbbt6.yaml",
        "live/kustomization.yaml",
    ]


def test_both_trees_build_to_what_the_base_builds_to(
    desk: Desk, tool: Callable[[str], Path]
) -> None:
    """Nothing is lost, nothing doubled, nothing changed."""
    desk.put("base/kustomization.yaml", "resources: [all.yaml]\nnamePrefix: a-\n")
    assert desk.split() == 0

    def objects(*folders: Path) -> list[str]:
        command = [tool("kustomize"), "build"]
        built = [
            subprocess.run([*command, folder], capture_output=True, check=True).stdout
            for folder in folders
        ]
        return sorted(
            item.span.decode().removeprefix("---\n") for text in built for item in documents(text)
        )

    assert objects(desk.output / "live", desk.output / "window") == objects(desk.path / "base")


def test_without_an_engine_it_says_what_is_lacking(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A kustomization cannot be taken for plain files."""
    desk.put("base/kustomization.yaml", "resources: [all.yaml]\n")
    monkeypatch.setenv("PATH", str(desk.path))
    assert desk.split() == 1
    assert "install kustomize or kubectl" in capsys.readouterr().err


def test_a_kustomization_that_does_not_build_is_said(
    desk: Desk, tool: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """With the words of the program that tried."""
    assert tool("kustomize")
    desk.put("base/kustomization.yaml", "resources: [gone.yaml]\n")
    assert desk.split() == 1
    assert "gone.yaml" in capsys.readouterr().err


def test_a_kustomization_inside_plain_files_is_refused(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its files are not what would be applied."""
    desk.put("base/web/kustomization.yml", "resources: [web.yaml]\n")
    assert desk.split() == 1
    assert "web/kustomization.yml, which must be built" in capsys.readouterr().err


def test_it_does_not_write_where_it_reads(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """The next run would split its own output again."""
    assert desk.split(base=str(desk.path)) == 1
    assert "must not be inside" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--flux-kustomization", "{}/classes.yaml"],
            "must contain exactly one Kustomization, found ChangeClasses",
        ),
        (
            ["--flux-kustomization", "{}/kustomize.yaml"],
            "must be a Kustomization of kustomize.toolkit.fluxcd.io",
        ),
        (["--plan", "--check"], ""),
    ],
)
def test_files_of_another_kind_are_refused(
    arguments: list[str], said: str, desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    """And nothing is written."""
    desk.put("kustomize.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n")
    assert desk.split(*(argument.format(desk.path) for argument in arguments)) == (1 if said else 0)
    assert said in capsys.readouterr().err
    assert desk.written() == {}


@pytest.mark.parametrize(
    ("classes", "base", "rule"),
    [
        (CLASSES + "  keep: live\n", BASE, "field-value"),
        (CLASSES, BASE.replace("name: web}", "generateName: web-}"), "field-required"),
        (CLASSES.replace("default: window", "default: windows"), BASE, "class-unknown"),
    ],
)
def test_on_an_error_nothing_is_written(
    classes: str, base: str, rule: str, desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names its rule."""
    desk.put("base/all.yaml", base)
    assert desk.split(classes=classes) == 1
    assert f"({rule})" in capsys.readouterr().err
    assert desk.written() == {}


def test_names_that_no_file_can_have(desk: Desk) -> None:
    """A sign that means something to a file system is replaced, and two such names stay two."""
    role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: %s}\n"
    desk.put(
        "base/all.yaml",
        "---\n".join(role % name for name in ('"system:a"', '"system-a"', f'"{"x" * 253}"')),
    )
    assert desk.split() == 0
    names = sorted(path.name for path in (desk.output / "window").glob("clusterrole*"))
    assert len(names) == 3
    assert all(len(name) < 250 and ":" not in name for name in names)


def test_the_plan_says_what_goes_where_and_why(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    """For each class its objects, and what decided; nothing is written."""
    base = BASE.replace(
        "namespace: shop, name: web}", "namespace: shop, name: web, annotations: {a: b}}"
    )
    annotated = (
        "metadata: {name: own, namespace: shop, "
        "annotations: {krm-windows.dev/change-class: live}}\n"
    )
    desk.put("base/all.yaml", f"{base}---\napiVersion: v1\nkind: Secret\n{annotated}")
    assert desk.split("--plan") == 0
    assert capsys.readouterr().out == (
        "live, never gated: 3 objects\n"
        "  ConfigMap shop/web  spec.rules[0]\n"
        "  Namespace shop      needed by ConfigMap shop/web\n"
        "  Secret shop/own     annotation, over default\n"
        "\n"
        "window, gated by flux-system/week: 1 object\n"
        "  Service shop/web  default\n"
    )
    assert desk.written() == {}


def fired(desk: Desk, rule: Rule, name: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Split what a document of a rule holds.

    Classes (older and newer), objects, and perhaps a template.
    """
    found = documents((FIXTURES / rule.id / f"{name}.yaml").read_bytes())
    classes = [item.span.decode() for item in found if item.kind == "ChangeClasses"]
    flux = [item.span.decode() for item in found if item.kind == "Kustomization"]
    objects = [
        item.span.decode() for item in found if item.kind not in ("ChangeClasses", "Kustomization")
    ]
    desk.put("base/all.yaml", "".join(objects) or BASE)
    template = ["--flux-kustomization", desk.put("apps.yaml", flux[0])] if flux else []
    for text in classes:
        desk.split(*template, classes=text)
    return capsys.readouterr().err


@pytest.mark.parametrize(
    "rule", [rules.CLASS_MOVED, rules.PATH_ELSEWHERE], ids=lambda rule: rule.id
)
def test_its_own_rules(rule: Rule, desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """Each has a document that fires it alone, and one that nearly does."""
    assert fired(desk, rule, "fires", capsys).count(f"({rule.id})\n") == 1
    shutil.rmtree(desk.output)
    assert SUMMARY.sub("", fired(desk, rule, "nearly", capsys)) == ""


def test_what_must_not_move_is_not_written(desk: Desk) -> None:
    """The older split stays until the object is handed over, or somebody has removed its file."""
    assert desk.split() == 0
    before = desk.written()
    moved = CLASSES.replace("kinds: [ConfigMap]", "kinds: [Service, ConfigMap]")
    assert desk.split(classes=moved) == 1
    assert desk.written() == before
    (desk.output / "window/service_shop_web.yaml").unlink()
    assert desk.split(classes=moved) == 0


def test_where_nothing_is_pruned_a_move_loses_nothing(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    """The template says so."""
    template = desk.put("apps.yaml", TEMPLATE.replace("prune: true", "prune: false"))
    assert desk.split("--flux-kustomization", template) == 0
    moved = CLASSES.replace("kinds: [ConfigMap]", "kinds: [Service]")
    assert desk.split("--flux-kustomization", template, classes=moved) == 0
    assert "class-moved" not in capsys.readouterr().err
