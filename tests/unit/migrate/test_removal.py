"""The steps by which the old windows go: what a person is told to remove, and what stays."""

import pytest
from repositories import RELEASE, at, job, pair, rules, run

WINDOW = pair("0 8 * * 1", "0 17 * * 4")
OTHER = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other, namespace: default}\n"
BACKUP = job("backup", "0 3 * * *", "backup now")


def kustomization(*resources: str, rest: str = "") -> str:
    listed = "".join(f"- {each}\n" for each in resources)
    return f"resources:\n{listed}{rest}"


def steps(files: dict[str, str]) -> list[str]:
    """Return what is to be done in a repository of one policy that nothing speaks against."""
    found = run(files)
    assert len(found.policies) == 1
    assert rules(found) == []
    return list(map(str, found.steps))


JOBS = {name: text for name, text in WINDOW.items() if text != RELEASE}


def test_what_names_a_file_that_goes_is_said() -> None:
    assert steps({**WINDOW, "open.yaml": f"{OTHER}---\n{WINDOW['open.yaml']}"}) == [
        "close.yaml: delete it",
        "open.yaml:5: remove CronJob flux-system/open-shop",
    ]
    files = {
        **at("clusters/north", {"kustomization.yaml": kustomization("../../infra", "../../apps")}),
        **at("infra", {**JOBS, "kustomization.yaml": kustomization(*JOBS, "other.yaml")}),
        **at("apps", {"shop.yaml": RELEASE, "kustomization.yaml": kustomization("shop.yaml")}),
        "infra/other.yaml": OTHER,
    }
    assert steps(files) == [
        "infra/close.yaml: delete it",
        "infra/kustomization.yaml:2: take out what names open.yaml",
        "infra/kustomization.yaml:3: take out what names close.yaml",
        "infra/open.yaml: delete it",
    ]


PATCH = (
    "{apiVersion: batch/v1, kind: CronJob, metadata: {name: open-shop, namespace: flux-system}, "
    "spec: {suspend: false}}"
)
TAKEN = "kustomization.yaml:6: take out what names "
PATCHES = {
    "a file": ("- path: times.yaml\n", [f"{TAKEN}times.yaml"]),
    "a target": (
        "- target: {kind: CronJob, name: open-shop}\n  patch: '- {op: add, path: /a, value: b}'\n",
        [f"{TAKEN}open-shop"],
    ),
    "another CronJob": ("- target: {kind: CronJob, name: backup}\n  path: other.yaml\n", []),
    "its own text": (f"- patch: '{PATCH}'\n", [f"{TAKEN}open-shop"]),
}


@pytest.mark.parametrize(("patch", "wanted"), PATCHES.values(), ids=PATCHES)
def test_a_patch_of_the_cronjobs_goes(patch: str, wanted: list[str]) -> None:
    files = {**WINDOW, "backup.yaml": BACKUP, "times.yaml": PATCH, "other.yaml": "[]\n"}
    listed = ("open.yaml", "close.yaml", "shop.yaml")
    files["kustomization.yaml"] = kustomization(*listed, rest=f"patches:\n{patch}")
    found = steps(files)
    assert [each for each in found if ":6:" in each] == wanted
    assert "times.yaml: delete it" in found


def test_windows_of_a_cluster_that_was_not_found_stay() -> None:
    found = run({**at("clusters/north", WINDOW), **at("plants/one", WINDOW)})
    assert set(rules(found)) == {"migrate-cluster-unknown"}
    assert [each.file for each in found.steps] == [
        "clusters/north/close.yaml",
        "clusters/north/open.yaml",
    ]


def test_a_cronjob_of_the_same_name_elsewhere_stays() -> None:
    backup = job("open-shop", "0 3 * * *", "backup now").replace(
        "namespace: flux-system", "namespace: default"
    )
    assert steps(at("clusters/north", {**WINDOW, "other.yaml": backup})) == [
        "clusters/north/close.yaml: delete it",
        "clusters/north/open.yaml: delete it",
    ]


def test_a_patch_of_a_flux_kustomization_is_said() -> None:
    own = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: infra, namespace: flux-system}
spec:
  path: ./infra
  sourceRef: {kind: GitRepository, name: flux-system}
  patches:
  - target: {kind: CronJob, name: open-shop}
    patch: '- {op: add, path: /metadata/labels, value: {a: b}}'
  - target: {kind: CronJob, name: backup}
    patch: '- {op: add, path: /metadata/labels, value: {c: d}}'
"""
    files = {"clusters/north/infra.yaml": own, "clusters/north/shop.yaml": RELEASE}
    assert steps({**files, **at("infra", {**JOBS, "backup.yaml": BACKUP})}) == [
        "clusters/north/infra.yaml:8: take out what names open-shop",
        "infra/close.yaml: delete it",
        "infra/open.yaml: delete it",
    ]
