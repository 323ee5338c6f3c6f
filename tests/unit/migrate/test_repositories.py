"""Whole repositories: what is written, and what is said of them."""

from pathlib import Path

import pytest
import yaml
from calls import POLICY, call, wire
from differences import assert_same_files
from repositories import FIXTURES, at, expected, job, outcome, pair, read, rules, run

from krm_windows.krm import KubeObject
from krm_windows.policy.load import load

SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
WINDOW = pair("0 8 * * 1", "0 17 * * 4")
CASES = sorted(FIXTURES.iterdir())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_repository_comes_to_what_is_expected(case: Path) -> None:
    """`make generate` writes it again."""
    found = {f"{case.name}/{path}": content for path, content in outcome(case).items()}
    wanted = {f"{case.name}/{path}": content for path, content in expected(case).items()}
    assert_same_files(found, wanted, "python tests/repositories.py")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_its_policies_are_right_for_every_cluster(case: Path) -> None:
    found = read(case / "repository")
    assert found.policies
    for policy in found.policies:
        loaded = load(KubeObject.from_value(policy.content).node)
        assert loaded.results == ()
        assert loaded.policy
        assert all(loaded.clusters.values())


def test_nothing_to_migrate_is_said() -> None:
    found = run({"apps.yaml": SETTINGS})
    assert (found.policies, found.files, found.results) == ((), {}, ())


def test_one_cluster_without_a_name_needs_no_clusters() -> None:
    [policy] = run(WINDOW).policies
    assert "clusters" not in policy.text


def test_steps_are_there_only_if_all_was_understood() -> None:
    """Taking the old windows out before there are new ones would leave a cluster without any."""
    files = {}
    for cluster, line in {"a": "helmrelease shop", "b": "helmrelease $APPS"}.items():
        made = pair("0 8 * * 1", "0 17 * * 4", line) | {"other.yaml": SETTINGS}
        made["kustomization.yaml"] = f"resources: [{', '.join(made)}]\n"
        files |= at(f"clusters/{cluster}", made)
    found = run(files)
    assert (set(found.files), found.steps) == ({"shop.yaml"}, ())
    assert set(rules(found)) == {"migrate-unsupported"}
    assert set(found.policies[0].clusters) == {"a"}


def test_clusters_of_one_name_in_two_places_stay_two() -> None:
    files = {**at("north/clusters/one", WINDOW), **at("south/clusters/one", WINDOW)}
    assert set(run(files).policies[0].clusters) == {"north-clusters-one", "south-clusters-one"}


def test_a_script_of_an_image_is_left_out() -> None:
    other = job("other", "0 1 * * *", "x").replace("[/bin/sh, -c]", "[/bin/sh, /scripts/close.sh]")
    assert rules(run({**WINDOW, "other.yaml": other})) == ["migrate-left-out"]


def test_files_that_are_no_yaml_are_named_if_they_may_hold_windows() -> None:
    """A template of a chart may be one; most are of no concern."""
    template = "{{- if .Values.windows }}\nkind: CronJob\nargs: [flux, suspend, {{ .x }}]\n"
    files = at("clusters/a", WINDOW)
    assert rules(run({**files, "charts/t.yaml": template})) == ["migrate-unsupported"]
    other = template.replace("args: [flux, suspend", "suspend: [a")
    assert rules(run({**files, "charts/t.yaml": other})) == []


PATCH = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [open.yaml, close.yaml, shop.yaml]
patches:
- target:
    kind: CronJob
    name: {name}
  patch: |
    - op: replace
      path: /spec/timeZone
      value: Europe/Berlin
"""


@pytest.mark.parametrize("name", ["'a('", "'(?=a)open.*'"])
def test_a_pattern_that_kustomize_refuses_is_a_finding(name: str) -> None:
    found = run({**WINDOW, "kustomization.yaml": PATCH.format(name=name)})
    assert set(rules(found)) == {"migrate-untranslated"}
    [result] = found.results
    assert result.file
    assert result.file.path == "kustomization.yaml"
    assert "error parsing regexp: " in result.message
    assert found.policies == ()


def test_a_pattern_that_python_does_not_know_is_understood() -> None:
    """It is kustomize that reads it: the two zones become one."""
    patched = PATCH.format(name=r"'(?-i)[[:alpha:]-]+\z'")
    found = run({**WINDOW, "kustomization.yaml": patched})
    assert "Europe/Berlin" in found.policies[0].text


def layers(count: int, times: int) -> dict[str, str]:
    last = {**WINDOW, "kustomization.yaml": "resources: [open.yaml, close.yaml, shop.yaml]\n"}
    files = at(f"l{count}", last)
    for number in range(count):
        entries = ", ".join([f"../l{number + 1}"] * times)
        files[f"l{number}/kustomization.yaml"] = f"namePrefix: a-\nresources: [{entries}]\n"
    return files


@pytest.mark.parametrize(("count", "times"), [(40, 2), (300, 1)])
def test_kustomizations_that_multiply_are_refused(count: int, times: int) -> None:
    found = run(layers(count, times))
    assert set(rules(found)) <= {
        "migrate-untranslated",
        "migrate-not-followed",
        "migrate-cluster-unknown",
    }
    assert found.policies == ()


@pytest.mark.parametrize("actuator", ["", "  actuator: {type: Kubectl}\n  interval: null\n"])
def test_what_was_rendered_is_not_hand_written(actuator: str) -> None:
    items = call(wire(config=POLICY + actuator)).objects
    rendered = [item for item in items if item["kind"] != "WindowPolicy"]
    assert any(item["kind"] == "CronJob" for item in rendered)
    files = at("clusters/north", WINDOW)
    listed = f"resources: [{', '.join(WINDOW)}]\n"
    alone = run({**files, "clusters/north/kustomization.yaml": listed})
    files["clusters/north/kustomization.yaml"] = listed.replace("]", ", ../../windows]")
    files["windows/kustomization.yaml"] = "resources: [ours.yaml]\n"
    beside = run({**files, "windows/ours.yaml": yaml.dump_all(rendered, Dumper=yaml.CSafeDumper)})
    assert alone.policies
    assert [each.content for each in beside.policies] == [each.content for each in alone.policies]
    assert list(map(str, beside.results)) == list(map(str, alone.results))
