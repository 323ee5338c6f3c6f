"""The steps by which the old windows go: what a person is told to remove, and what stays."""

import pytest
from repositories import RELEASE, job, pair, rules, run

from krm_windows.krm import KubeObject

WINDOW = pair("0 8 * * 1", "0 17 * * 4")
OTHER = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other, namespace: default}\n"
BACKUP = job("backup", "0 3 * * *", "backup now")


def kustomization(*resources: str, rest: str = "") -> str:
    """Write a kustomization."""
    listed = "".join(f"- {each}\n" for each in resources)
    return f"resources:\n{listed}{rest}"


def at(folder: str, files: dict[str, str]) -> dict[str, str]:
    """Put files below a directory."""
    return {f"{folder}/{name}": text for name, text in files.items()}


def steps(files: dict[str, str]) -> list[str]:
    """Return what is to be done in a repository of one policy that nothing speaks against."""
    found = run(files)
    assert len(found.policies) == 1
    assert rules(found) == []
    return list(map(str, found.steps))


FLUX = "".join(
    "---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
    f"metadata: {{name: {name}, namespace: flux-system}}\n"
    f"spec: {{path: ./{path}, sourceRef: {{kind: GitRepository, name: {source}}}}}\n"
    for name, path, source in (
        ("infra", "infra", "flux-system"),
        ("apps", "apps", "flux-system"),
        ("tenant", "infra", "tenant"),
    )
)
JOBS = {name: text for name, text in WINDOW.items() if text != RELEASE}
INFRA = "Kustomization flux-system/infra"


def test_a_kustomization_of_another_source_stays() -> None:
    """Its path is one of that repository, whatever of the same name is emptied here."""
    files = {**at("clusters/north", {"flux.yaml": FLUX}), **at("infra", JOBS)}
    files["apps/shop.yaml"] = RELEASE
    found = list(map(str, run(files).steps))
    assert found == [
        f"clusters/north/flux.yaml:2: remove {INFRA}, which applies nothing else",
        "infra/close.yaml: delete it",
        "infra/open.yaml: delete it",
    ]


def test_what_lists_nothing_else_goes_too() -> None:
    """A kustomization, and the entries that name it or a file."""
    files = {
        **at("clusters/north", {"kustomization.yaml": kustomization("../../infra", "../../apps")}),
        **at("infra", {**JOBS, "kustomization.yaml": kustomization(*JOBS)}),
        **at("apps", {"shop.yaml": RELEASE, "kustomization.yaml": kustomization("shop.yaml")}),
    }
    assert steps(files) == [
        "clusters/north/kustomization.yaml:2: remove `../../infra`",
        "infra/close.yaml: delete it",
        "infra/kustomization.yaml: delete it",
        "infra/open.yaml: delete it",
    ]
    files["infra/kustomization.yaml"] = kustomization(*JOBS, "other.yaml")
    files["infra/other.yaml"] = OTHER
    assert steps(files) == [
        "infra/close.yaml: delete it",
        "infra/kustomization.yaml:2: remove `open.yaml`",
        "infra/kustomization.yaml:3: remove `close.yaml`",
        "infra/open.yaml: delete it",
    ]


def test_an_object_goes_out_of_a_file_with_others() -> None:
    """By its line."""
    files = {**WINDOW, "open.yaml": f"{OTHER}---\n{WINDOW['open.yaml']}"}
    assert steps(files) == [
        "close.yaml: delete it",
        "open.yaml:5: remove CronJob flux-system/open-shop",
    ]


PATCH = (
    "{apiVersion: batch/v1, kind: CronJob, metadata: {name: open-shop, namespace: flux-system}, "
    "spec: {suspend: false}}"
)
PATCHES = {
    "the name of one": (
        "- target: {kind: CronJob, name: open-shop}\n  path: times.yaml\n",
        ["kustomization.yaml:7: remove the patch of open-shop", "times.yaml: delete it"],
    ),
    "a pattern": (
        "- target: {kind: CronJob, name: '.*'}\n  path: times.yaml\n",
        ["kustomization.yaml:7: remove the patch of CronJobs, unless others need it"],
    ),
    "another kind": ("- target: {kind: Deployment}\n  path: times.yaml\n", []),
    "another CronJob": ("- target: {kind: CronJob, name: backup}\n  path: times.yaml\n", []),
    "its own text": (
        f"- patch: '{PATCH}'\n",
        ["kustomization.yaml:7: remove the patch of open-shop"],
    ),
}


@pytest.mark.parametrize(("patch", "wanted"), PATCHES.values(), ids=PATCHES)
def test_a_patch_of_the_cronjobs_goes(patch: str, wanted: list[str]) -> None:
    """One that others may need is for a person to decide."""
    files = {
        **WINDOW,
        "backup.yaml": BACKUP,
        "times.yaml": "- {op: add, path: /metadata/labels, value: {a: b}}\n",
    }
    files["kustomization.yaml"] = kustomization(
        *(name for name in files if name != "times.yaml"), rest=f"patches:\n{patch}"
    )
    of_files = {"close.yaml: delete it", "open.yaml: delete it"}
    of_files |= {
        f"kustomization.yaml:{n}: remove `{name}.yaml`" for n, name in ((2, "open"), (3, "close"))
    }
    assert [each for each in steps(files) if each not in of_files] == wanted


def test_a_cronjob_of_the_same_name_elsewhere_stays() -> None:
    """Only what makes windows goes."""
    backup = job("open-shop", "0 3 * * *", "backup now").replace(
        "namespace: flux-system", "namespace: default"
    )
    assert steps(at("clusters/north", {**WINDOW, "other.yaml": backup})) == [
        "clusters/north/close.yaml: delete it",
        "clusters/north/open.yaml: delete it",
    ]


def test_a_flux_kustomization_keeps_its_other_patches() -> None:
    """The patches of the windows go out of its spec, and nothing else does."""
    patches = [
        {
            "target": {"kind": "CronJob", "name": name},
            "patch": f"- {{op: add, path: /metadata/labels, value: {label}}}",
        }
        for name, label in (("open-shop", "{a: b}"), ("backup", "{c: d}"))
    ]
    own = KubeObject.from_value(
        {
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
            "kind": "Kustomization",
            "metadata": {"name": "infra", "namespace": "flux-system"},
            "spec": {
                "path": "./infra",
                "sourceRef": {"kind": "GitRepository", "name": "flux-system"},
                "patches": patches,
            },
        }
    )
    files = {"clusters/north/infra.yaml": own.span.decode(), "clusters/north/shop.yaml": RELEASE}
    assert steps({**files, **at("infra", {**JOBS, "backup.yaml": BACKUP})}) == [
        "clusters/north/infra.yaml:12: remove the patch of open-shop",
        "infra/close.yaml: delete it",
        "infra/open.yaml: delete it",
    ]
