"""Taking the old windows out changes nothing else, or no kustomization is written."""

from repositories import RELEASE, job, pair, rules, run

from krm_windows.krm import KubeObject

WINDOW = pair("0 8 * * 1", "0 17 * * 4")
OTHER = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other, namespace: default}\n"
BACKUP = job("backup", "0 3 * * *", "backup now")


def kustomization(*resources: str, rest: str = "") -> str:
    """Write a kustomization."""
    return f"resources: [{', '.join(resources)}]\n{rest}"


def at(folder: str, files: dict[str, str]) -> dict[str, str]:
    """Put files below a directory."""
    return {f"{folder}/{name}": text for name, text in files.items()}


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


def test_a_kustomization_of_another_source_stays() -> None:
    """Its path is one of that repository, whatever of the same name is emptied here."""
    files = {**at("clusters/north", {"flux.yaml": FLUX}), **at("infra", JOBS)}
    files["apps/shop.yaml"] = RELEASE
    found = run(files)
    said = [result.message for result in found.results if "without the windows" in result.message]
    assert [message.partition(" applies nothing")[0] for message in said] == [
        "Kustomization flux-system/infra"
    ]


def test_what_is_not_listed_would_be_applied_without_the_kustomization() -> None:
    """Flux applies every manifest of a directory without one."""
    files = {
        **at("clusters/north", {"kustomization.yaml": kustomization("../../infra", "../../apps")}),
        **at("infra", {**JOBS, "kustomization.yaml": kustomization(*JOBS)}),
        **at("apps", {"shop.yaml": RELEASE, "kustomization.yaml": kustomization("shop.yaml")}),
    }
    found = run(files)
    assert "infra/kustomization.yaml" in found.obsolete
    flux = (
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
        "metadata: {name: infra, namespace: "
    )
    flux += (
        "flux-system}\nspec: {path: ./infra, sourceRef: {kind: GitRepository, name: flux-system}}\n"
    )
    loose = {
        **files,
        "clusters/north/kustomization.yaml": kustomization("infra.yaml", "../../apps"),
    }
    loose |= {"clusters/north/infra.yaml": flux, "infra/other.yaml": OTHER}
    found = run(loose)
    assert rules(found)[0] == "migrate-untranslated"
    assert (
        "ConfigMap default/other would be applied, but is not applied now in clusters/north"
        in found.results[0].message
    )
    assert (list(found.files), found.obsolete) == (["shop.yaml"], ())


def test_a_patch_that_another_cronjob_needs_is_missed() -> None:
    """A pattern that means both kinds of CronJobs."""
    patch = "patches:\n- target: {kind: CronJob, name: '.*'}\n  patch: |\n"
    patch += "    - {op: replace, path: /spec/timeZone, value: Europe/Berlin}\n"
    every = {**WINDOW, "backup.yaml": BACKUP}
    found = run(
        at("clusters/north", {**every, "kustomization.yaml": kustomization(*every, rest=patch)})
    )
    assert rules(found) == ["migrate-untranslated"]
    assert "CronJob flux-system/backup would be changed" in found.results[0].message
    assert list(found.files) == ["shop.yaml"]


def test_a_cronjob_of_the_same_name_elsewhere_stays() -> None:
    """Only what makes windows goes."""
    backup = job("open-shop", "0 3 * * *", "backup now").replace(
        "namespace: flux-system", "namespace: default"
    )
    found = run(at("clusters/north", {**WINDOW, "other.yaml": backup}))
    assert found.obsolete == ("clusters/north/close.yaml", "clusters/north/open.yaml")
    assert rules(found) == []


def test_what_applies_an_empty_directory_has_to_go() -> None:
    """Otherwise Flux would not find its path any more."""
    flux = (
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
        "metadata: {name: infra, namespace: "
    )
    flux += (
        "flux-system}\nspec: {path: ./infra, sourceRef: {kind: GitRepository, name: flux-system}}\n"
    )
    found = run(
        {
            "clusters/north/infra.yaml": flux,
            "clusters/north/shop.yaml": RELEASE,
            **at("infra", JOBS),
        }
    )
    assert rules(found) == ["migrate-by-hand"]
    assert found.results[0].message.startswith("Kustomization flux-system/infra applies nothing")


def test_a_suspended_flux_kustomization_keeps_its_other_patches() -> None:
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
    found = run({**files, **at("infra", {**JOBS, "backup.yaml": BACKUP})})
    assert rules(found) == []
    edited = found.files["clusters/north/infra.yaml"].decode()
    assert "backup" in edited
    assert "open-shop" not in edited
