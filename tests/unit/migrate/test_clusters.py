"""Which clusters a repository has, and to which of them CronJobs are really delivered."""

from pathlib import Path

import pytest
from repositories import DAY, RELEASE, at, job, pair, rules, run, write

from krm_windows.flux import Given, Hints
from krm_windows.flux.builds import Builds
from krm_windows.krm import InputError
from krm_windows.migrate import Migration, migrate, text
from krm_windows.system.checkout import Checkout

WINDOW = pair("0 8 * * 1", "0 17 * * 4")
SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\n"
CATALOG = "apiVersion: backstage.io/v1alpha1\nkind: Component\nmetadata: {name: fleet}\n"


def flux(name: str, path: str, source: str = "flux-system") -> str:
    return f"""\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: {name}, namespace: flux-system}}
spec:
  interval: 10m
  path: {path}
  prune: true
  sourceRef: {{kind: GitRepository, name: {source}}}
"""


def kustomization(*resources: str, rest: str = "") -> str:
    return f"resources: [{', '.join(resources)}]\n{rest}"


# Windows with a kustomization that names them.
SHARED = {**WINDOW, "kustomization.yaml": kustomization(*WINDOW)}


def clusters(found: Migration) -> set[str | None]:
    [policy] = found.policies
    return set(policy.clusters)


REMOTE = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: dev-team, namespace: flux-system}
spec: {interval: 1m, url: https://github.com/example/dev-team}
---
"""


def test_only_a_cluster_that_gets_the_cronjobs_has_windows() -> None:
    """A tenant's Kustomization of another source with `path: ./` leads into that source."""
    tenant = REMOTE + flux("dev-team", "./", "dev-team")
    files = {
        f"clusters/{name}/tenants.yaml": flux("tenants", f"./tenants/{name}")
        for name in ("production", "staging")
    } | {
        **at(
            "tenants/base", {"kustomization.yaml": kustomization("sync.yaml"), "sync.yaml": tenant}
        ),
        "tenants/staging/kustomization.yaml": kustomization("../base"),
        "tenants/production/kustomization.yaml": kustomization("../base", "../../windows"),
        **at("windows", SHARED),
    }
    found = run(files)
    assert clusters(found) == {"production"}
    assert set(rules(found)) == {"migrate-not-followed"}


PATCH = "patches: [{{path: {}}}]\n"
SYNC = "flux-system/gotk-sync.yaml"
INFRA = flux("infra", "./infra")
EU = ("clusters/eu/north", "clusters/eu/south")
APPLIED: dict[str, tuple[dict[str, str], set[str | None]]] = {
    "what several share": (
        {"clusters/a/i.yaml": INFRA, "clusters/b/i.yaml": INFRA, **at("infra", WINDOW)},
        {"a", "b"},
    ),
    # However deep, and beside whatever else lies in the directory.
    "what bootstrapping wrote": (
        {
            **{f"{place}/{SYNC}": flux("flux-system", f"./{place}") for place in EU},
            **at(EU[0], WINDOW),
            f"{EU[1]}/settings.yaml": SETTINGS,
            "catalog-info.yaml": CATALOG,
        },
        {"north"},
    ),
    # The only one needs no name, unless its directory is one of several that could be.
    "the repository": ({SYNC: flux("flux-system", "./"), **WINDOW, "a.yaml": CATALOG}, {None}),
    "the only one": (at("flux/one", {SYNC: flux("flux-system", "./flux/one"), **WINDOW}), {None}),
    "one of several": (
        at("clusters/a", {SYNC: flux("flux-system", "./clusters/a"), **WINDOW}),
        {"a"},
    ),
    # A part of what a Flux Kustomization applies is no second cluster.
    "a part": ({"flux/apps.yaml": flux("apps", "./apps"), **at("apps/shop", WINDOW)}, {None}),
    # One that applies everything says nothing of any directory.
    "everything": ({"all.yaml": flux("all", "./"), **WINDOW}, {None}),
    # A patch of a Flux Kustomization has no path, and applies nothing.
    "a patch": (
        {
            **WINDOW,
            "other.yaml": flux("other", "./other"),
            "other/settings.yaml": SETTINGS,
            "p.yaml": flux("other", "").partition("spec:")[0] + "spec: {prune: true}\n",
            "kustomization.yaml": kustomization("other.yaml", *WINDOW, rest=PATCH.format("p.yaml")),
        },
        {None},
    ),
}


@pytest.mark.parametrize(("files", "names"), APPLIED.values(), ids=APPLIED)
def test_clusters_are_where_flux_applies(files: dict[str, str], names: set[str | None]) -> None:
    assert clusters(run(files)) == names


def test_windows_of_which_no_cluster_is_known_make_no_policy() -> None:
    files = {"clusters/north/settings.yaml": SETTINGS, **at("elsewhere", WINDOW)}
    found = run(files)
    assert rules(found) == ["migrate-cluster-unknown", "migrate-cluster-unknown"]
    said = text(found)
    assert said.splitlines()[-1] == (
        "no policy was made: no CronJob at work in a cluster closes what a policy can gate"
    )
    assert clusters(run(files, "elsewhere")) == {"elsewhere"}
    with pytest.raises(InputError, match="no directory matches nowhere"):
        run(files, "nowhere/*")


def test_several_sets_of_windows_without_a_cluster_are_not_guessed_at() -> None:
    files = {**at("a", SHARED), **at("b", SHARED)}
    found = run(files)
    assert set(rules(found)) == {"migrate-untranslated"}
    assert (found.policies, found.files) == ((), {})
    assert clusters(run(files, "[ab]")) == {"a", "b"}


def test_a_cronjob_that_two_kustomizations_apply_differently_is_refused() -> None:
    """Which of them is at work is chance."""
    files = {
        "clusters/north/a.yaml": flux("a", "./a") + "---\n" + flux("b", "./b"),
        **at("a", WINDOW),
        **at("b", {"open.yaml": job("open-shop", "0 9 * * 1", "flux resume helmrelease shop")}),
    }
    found = run(files)
    assert rules(found) == ["migrate-untranslated"]
    assert found.policies == ()


def test_what_cannot_be_built_makes_no_policy() -> None:
    broken = {**WINDOW, "kustomization.yaml": kustomization("missing.yaml", *WINDOW)}
    found = run({**at("clusters/north", broken), **at("clusters/south", WINDOW)})
    assert "migrate-untranslated" in rules(found)
    assert clusters(found) == {"south"}
    assert set(found.files) == {"shop.yaml"}
    [failed] = [each for each in found.results if each.tags["rule"] == "migrate-untranslated"]
    assert failed.file
    assert failed.file.path == "clusters/north/kustomization.yaml"
    assert "missing.yaml" in failed.message


def test_without_kustomize_no_policy_is_made_of_what_needs_it(tmp_path: Path) -> None:
    patched = kustomization(*WINDOW, rest=PATCH.format("times.yaml"))
    times = job("open-shop", "0 9 * * 1", "flux resume helmrelease shop")
    for rest, wanted in (
        ({}, []),
        ({"kustomization.yaml": patched, "times.yaml": times}, ["migrate-untranslated"]),
    ):
        write(tmp_path, {**WINDOW, **rest})
        found = migrate(Builds(Checkout.at(tmp_path), None, 1), DAY, None, None)
        assert rules(found) == wanted
        assert bool(found.policies) is not bool(wanted)


def test_windows_that_another_directory_shares_stay_until_that_is_known() -> None:
    """Taking the base away would leave a kustomization of no cluster that was found without any."""
    files = {
        **at("base", SHARED),
        "clusters/north/kustomization.yaml": kustomization("../../base"),
        "plants/one/kustomization.yaml": kustomization("../../base"),
    }
    found = run(files)
    assert clusters(found) == {"north"}
    assert rules(found) == ["migrate-cluster-unknown"]
    assert (set(found.files), found.steps) == ({"shop.yaml"}, ())


def test_targets_that_are_not_in_the_repository_are_named() -> None:
    """`flux create` makes them in the cluster only."""
    files = {name: text for name, text in WINDOW.items() if text != RELEASE}
    found = run(files)
    assert rules(found) == ["migrate-target-unseen"]
    assert "HelmRelease flux-system/shop" in found.results[0].message


def test_what_one_cluster_has_elsewhere_need_not_be_seen_on_any() -> None:
    files = {
        **at("clusters/north", WINDOW),
        **at("clusters/south", {name: WINDOW[name] for name in ("open.yaml", "close.yaml")}),
        "clusters/south/apps.yaml": flux("apps", "./apps"),
        **at("apps", {"shop.yaml": RELEASE}),
    }
    found = run(files)
    assert clusters(found) == {"north", "south"}
    assert "mustExist: false" in found.policies[0].text


def test_a_policy_that_is_no_policy_is_not_written() -> None:
    found = run({path: text.replace("Etc/UTC", "Mars/Phobos") for path, text in WINDOW.items()})
    assert (found.policies, found.files) == ((), {})
    assert set(rules(found)) == {"migrate-untranslated"}


def test_a_source_that_is_said_to_be_this_repository_is_followed() -> None:
    files = {"clusters/north/infra.yaml": flux("infra", "./infra", "fleet"), **at("infra", WINDOW)}
    assert run(files).policies == ()
    assert clusters(run(files, hints=Hints((Given.parse("fleet=."),)))) == {"north"}
