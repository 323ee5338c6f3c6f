"""What a change does to what is delivered, by the merge gate, while every window is closed."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from calls import POLICY
from committed import FLUX, MAP, Repository
from effort import mostly_slow
from forges import TOKEN, Pull, serving

from krm_windows.cli import merge_gate
from krm_windows.cli.arguments import parser
from krm_windows.cli.commands import COMMANDS
from krm_windows.cli.sleeping import Clock
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import InputError

# In Berlin it is Thursday, 17:00: closed until Monday.
THURSDAY = datetime(2026, 12, 17, 16, 0, tzinfo=UTC)
OPEN = datetime(2026, 12, 21, 7, 0, tzinfo=UTC)
LOCAL = "metadata:\n  annotations: {config.kubernetes.io/local-config: 'true'}\n"
TARGETS = """\
  - kind: Kustomization
    names: [apps]
  - kind: Kustomization
    names: [keep]
  - kind: HelmRelease
    namespace: flux-system
    names: [shop, web]
"""
GATING = POLICY.replace("metadata:\n", LOCAL, 1).replace(
    "  - kind: Kustomization\n    names: [apps]\n", TARGETS
)
SYNC = (
    FLUX % ("flux-system", "clusters/north")
    + """\
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: https://git.example/acme/fleet, ref: {branch: main}}
"""
)
APPS = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec:
  interval: 10m
  path: ./apps
  prune: true
  suspend: true
  sourceRef: {kind: GitRepository, name: flux-system}
  postBuild:
    substitute: {tier: web}
    substituteFrom:
    - {kind: ConfigMap, name: variables}
    - {kind: Secret, name: secrets, optional: true}
"""
SHOP = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: shop, namespace: flux-system}
spec:
  interval: 10m
  chart:
    spec:
      chart: ./charts/shop
      valuesFiles: [values/shop.yaml]
      sourceRef: {kind: GitRepository, name: flux-system}
  valuesFrom:
  - {kind: ConfigMap, name: shop-values}
"""
DATA = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: %s, namespace: flux-system}
data: {size: "%s"}
"""
CHART = "apiVersion: v2\nname: %s\nversion: 1.0.0\n"
LIVE = FLUX % ("live", "live")
# Built with a base outside of its directory; not pruned when it goes.
KEEP = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: keep, namespace: flux-system}
spec:
  interval: 10m
  path: ./keep
  prune: false
  serviceAccountName: keep
  sourceRef: {kind: GitRepository, name: flux-system}
"""
RIGHTS = """\
apiVersion: v1
kind: ServiceAccount
metadata: {name: keep, namespace: flux-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: keep, namespace: flux-system}
rules: [{apiGroups: [''], resources: [configmaps], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: keep, namespace: flux-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: keep}
subjects: [{kind: ServiceAccount, name: keep, namespace: flux-system}]
"""
SOURCES = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: flux-system}
spec: {interval: 1h, url: https://charts.example/}
"""
WEB = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: flux-system}
spec:
  interval: 10m
  chart: {spec: {chart: web, version: 1.0.0, sourceRef: {kind: HelmRepository, name: charts}}}
"""
KEPT = MAP.replace("web", "keep")
SPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: default}\n"
DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec: {group: example.com, names: {kind: Thing, plural: things}, scope: Namespaced}
"""
THING = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: thing, namespace: default}\n"
BASE = {
    "clusters/north/sync.yaml": SYNC,
    "clusters/north/policy.yaml": GATING,
    "clusters/north/apps.yaml": APPS,
    "clusters/north/live.yaml": LIVE,
    "clusters/north/shop.yaml": SHOP,
    "clusters/north/data.yaml": f"{DATA % ('variables', 1)}---\n{DATA % ('shop-values', 1)}",
    "clusters/north/keep.yaml": KEEP,
    "clusters/north/rights.yaml": RIGHTS,
    "clusters/north/sources.yaml": SOURCES,
    "clusters/north/web.yaml": WEB,
    "clusters/north/space.yaml": SPACE,
    "clusters/north/definition.yaml": DEFINITION,
    "keep/kustomization.yaml": "resources: [../base]\n",
    "base/kustomization.yaml": "resources: [map.yaml, thing.yaml]\n",
    "base/map.yaml": KEPT,
    "base/thing.yaml": THING,
    "apps/map.yaml": f"{MAP}data: {{size: '${{size}}', tier: '${{tier}}'}}\n",
    "live/map.yaml": MAP.replace("web", "live"),
    "charts/shop/Chart.yaml": CHART % "shop"
    + "dependencies:\n- {name: lib, version: 1.0.0, repository: file://../lib}\n",
    "charts/shop/templates/map.yaml": MAP,
    "charts/lib/Chart.yaml": CHART % "lib",
    "values/shop.yaml": "size: 1\n",
    "windows/policy.yaml": GATING,
}
FAR = "{o: {state: Open, starts: '2027-06-04', ends: '2027-06-05', reason: x}}"
TARGETED = [f"clusters/north/{name}.yaml" for name in ("apps", "shop", "keep", "web")]
# What a link leads to.
LINK = "link:"
OTHER = MAP.replace("web", "other")
# Each yields files of a commit; None is a file that goes.
WAITING: dict[str, dict[str, str | None]] = {
    "a file": {"apps/map.yaml": MAP},
    "a file that goes": {"apps/map.yaml": None},
    "a path that is not there": {"clusters/north/apps.yaml": APPS.replace("./apps", "./none")},
    "prune": {"clusters/north/apps.yaml": APPS.replace("prune: true", "prune: false")},
    "its removal": {"clusters/north/apps.yaml": None},
    "a patch from above": {
        "clusters/north/kustomization.yaml": """\
resources: [sync.yaml, policy.yaml, apps.yaml, live.yaml, shop.yaml, data.yaml, keep.yaml,
  rights.yaml, sources.yaml, web.yaml, space.yaml, definition.yaml]
patches:
- {patch: '[{"op": "replace", "path": "/spec/path", "value": "./live"}]', target: {name: apps}}
"""
    },
    "a .sourceignore": {".sourceignore": "apps/map.yaml\n"},
    "a .sourceignore below": {"apps/.sourceignore": "map.yaml\n"},
    "the source's ref": {"clusters/north/sync.yaml": SYNC.replace("branch: main", "branch: evil")},
    "what syncs the cluster": {
        "clusters/north/sync.yaml": SYNC.replace("path: ./clusters/north", "path: ./evil"),
        "evil/apps.yaml": APPS.replace("./apps", "./live"),
    },
    "another source": {
        "clusters/north/apps.yaml": APPS.replace(
            "sourceRef: {kind: GitRepository, name: flux-system}",
            "sourceRef: {kind: GitRepository, name: evil}",
        )
    },
    "a ConfigMap of substituteFrom": {
        "clusters/north/data.yaml": f"{DATA % ('variables', 2)}---\n{DATA % ('shop-values', 1)}"
    },
    "a Secret of substituteFrom that is new": {
        "clusters/north/secrets.yaml": (DATA % ("secrets", 1)).replace("ConfigMap", "Secret")
    },
    "a ConfigMap of valuesFrom": {
        "clusters/north/data.yaml": f"{DATA % ('variables', 1)}---\n{DATA % ('shop-values', 2)}"
    },
    "a chart": {"charts/shop/templates/map.yaml": OTHER},
    "a hidden file of a chart": {"charts/shop/templates/.new.yaml": OTHER},
    "a chart beside it": {"charts/lib/templates/new.yaml": OTHER},
    "a file of values": {"values/shop.yaml": "size: 2\n"},
    "another one that applies the same": {
        "clusters/north/copy.yaml": FLUX % ("copy", "copy"),
        "copy/map.yaml": f"{MAP}data: {{evil: 'yes'}}\n",
    },
    "another one that applies a ConfigMap of substituteFrom": {
        "clusters/north/copy.yaml": FLUX % ("copy", "copy"),
        "copy/data.yaml": DATA % ("variables", 9),
    },
    "another one that applies it": {
        "clusters/north/copy.yaml": FLUX % ("copy", "copy"),
        "copy/apps.yaml": APPS.replace("./apps", "./live"),
    },
    "another one of the same Helm release": {
        "clusters/north/copy.yaml": FLUX % ("copy", "copy"),
        "copy/shop.yaml": SHOP.replace("name: shop,", "name: copy,") + "  releaseName: shop\n",
    },
    "a link": {"apps/link.yaml": LINK + "../live/map.yaml"},
    "the cluster": {path: None for path in BASE if path.startswith("clusters/")},
    "with the policy": {
        "apps/map.yaml": MAP,
        "clusters/north/policy.yaml": GATING.replace("[apps]", "[live]"),
        "windows/policy.yaml": GATING.replace("[apps]", "[live]"),
    },
    "without the policy": {
        "apps/map.yaml": MAP,
        "clusters/north/policy.yaml": None,
        "windows/policy.yaml": None,
    },
    "a base of the directory": {"base/map.yaml": f"{KEPT}data: {{evil: 'yes'}}\n"},
    "dependsOn": {"clusters/north/apps.yaml": APPS + "  dependsOn: [{name: live}]\n"},
    "its annotations": {
        "clusters/north/apps.yaml": APPS.replace(
            "name: apps,", "name: apps, annotations: {reconcile.fluxcd.io/requestedAt: now},"
        )
    },
    "the source's suspend": {
        "clusters/north/sync.yaml": SYNC.replace("ref: {", "suspend: true, ref: {")
    },
    "a repository of charts": {
        "clusters/north/sources.yaml": SOURCES.replace("charts.example", "evil.example")
    },
    "the rights of its service account": {
        "clusters/north/rights.yaml": RIGHTS.replace("verbs: [get]", "verbs: ['*']")
    },
    "another right of its service account": {
        "clusters/north/more.yaml": RIGHTS.replace("metadata: {name: keep", "metadata: {name: more")
    },
    "the Namespace that it is in": {"clusters/north/space.yaml": None},
    "the definition of what it applies": {"clusters/north/definition.yaml": None},
    "a build that fails": {"apps/kustomization.yaml": "resources: [none.yaml]\n"},
    "a remote base": {"apps/kustomization.yaml": "resources: [https://evil.example/a]\n"},
}
# The one or the other cannot be known, and it is not for a mistake of the test.
UNKNOWN = (
    "a .sourceignore",
    "a file that goes",
    "a path that is not there",
    "another source",
    "a build that fails",
)
FREE: dict[str, dict[str, str | None]] = {
    "a page": {"docs/page.md": "A page\n"},
    "what another one applies": {"live/map.yaml": OTHER},
    "its interval": {"clusters/north/apps.yaml": APPS.replace("10m", "20m")},
    "its suspend": {"clusters/north/apps.yaml": APPS.replace("  suspend: true\n", "")},
    "a file of the same text": {
        "clusters/north/apps.yaml": None,
        "clusters/north/moved.yaml": "# moved\n" + APPS,
    },
    "its policy": {
        "clusters/north/policy.yaml": GATING.replace("Thu 17:00", "Sun 17:00"),
        "windows/policy.yaml": GATING.replace("Thu 17:00", "Sun 17:00"),
    },
    "a .sourceignore elsewhere": {"docs/.sourceignore": "*.md\n"},
}


@pytest.fixture
def repository(
    tmp_path: Path, tool: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> Repository:
    monkeypatch.chdir(tmp_path)
    found = Repository(tmp_path, tool("git"))
    (tmp_path / "README.md").unlink()
    found.base = found.commit(BASE)
    return found


def change(repository: Repository, files: Mapping[str, str | None]) -> str:
    for path, text in files.items():
        if text is None or text.startswith(LINK):
            (repository.folder / path).unlink(missing_ok=True)
        if text is not None and text.startswith(LINK):
            (repository.folder / path).symlink_to(text.removeprefix(LINK))
    return repository.commit(
        {path: text for path, text in files.items() if text and not text.startswith(LINK)}
    )


def gated(*options: str, at: datetime = THURSDAY) -> ExitCode:
    arguments = ["merge-gate", "windows/policy.yaml", *options]
    clock = Clock(lambda: at, lambda _: None)
    return merge_gate.run(parser(COMMANDS, arguments).parse_args(arguments), clock)


@pytest.mark.parametrize("way", mostly_slow(WAITING, 7))
def test_what_changes_what_is_delivered_waits(
    repository: Repository, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sha = change(repository, WAITING[way])
    code = gated("--base", repository.base, "--head", sha)
    said = capsys.readouterr().out
    assert code == ExitCode.CLOSED, said
    assert f"{sha[:12]} pending: " in said
    assert "closed until Mon 2026-12-21 08:00" in said
    assert "(no window is open); " in said
    assert ("; cannot " in said) is (way in UNKNOWN), said


@pytest.mark.parametrize("files", mostly_slow(FREE.values(), 4), ids=FREE)
def test_what_delivers_the_same_may_land(
    repository: Repository, files: Mapping[str, str | None], capsys: pytest.CaptureFixture[str]
) -> None:
    sha = change(repository, files)
    code = gated("--base", repository.base, "--head", sha)
    said = capsys.readouterr().out
    assert code == ExitCode.FINE, said
    assert "changes nothing that a window gates" in said


OWN = SOURCES.replace("name: charts", "name: own")
TOKENS = (DATA % ("token", 1)).replace("ConfigMap", "Secret")
LABELLED = GATING.replace(
    "  - kind: Kustomization\n    names: [apps]\n",
    "  - kind: Kustomization\n    matchLabels: {gated: 'yes'}\n",
)
VALUES = "charts/shop/values.yaml"
# What has landed before, and what waits after it.
AFTER: dict[str, tuple[Mapping[str, str | None], Mapping[str, str | None]]] = {
    # Each file that it may lead to is as it was.
    "a link that leads elsewhere": (
        {VALUES: f"{LINK}../../values/shop.yaml"},
        {VALUES: f"{LINK}../../base/map.yaml"},
    ),
    "what a link may lead to": ({VALUES: f"{LINK}../../base/map.yaml"}, {"docs/new.yaml": OTHER}),
    # It is from elsewhere itself.
    "a secret of a source that is applied beside its release": (
        {
            "apps/a.yaml": OWN.replace(
                "{interval: 1h,", "{interval: 1h, secretRef: {name: token},"
            ),
            "apps/b.yaml": WEB.replace("name: web,", "name: own,").replace("charts", "own"),
            "live/token.yaml": TOKENS,
        },
        {"live/token.yaml": TOKENS.replace('"1"', '"2"')},
    ),
    # In two steps: `firstApply: Allow` would leave it open for an hour.
    "what was removed and comes again": (
        {"clusters/north/apps.yaml": None},
        {"clusters/north/apps.yaml": APPS.replace("./apps", "./live")},
    ),
    # The policy has no other target there.
    "what was removed in one cluster and comes again": (
        {
            path.replace("north", "south"): text.replace("clusters/north", "clusters/south")
            for path, text in BASE.items()
            if path.startswith("clusters/") and path not in TARGETED
        },
        {"clusters/south/apps.yaml": APPS},
    ),
    # By a label, as nobody is asked who owns the file of the policy.
    "a target that leaves its policy": (
        {
            "windows/policy.yaml": LABELLED,
            "clusters/north/policy.yaml": LABELLED,
            "clusters/north/apps.yaml": APPS.replace(
                "name: apps,", "name: apps, labels: {gated: 'yes'},"
            ),
        },
        {"clusters/north/apps.yaml": APPS},
    ),
}


@pytest.mark.parametrize("way", mostly_slow(AFTER, 3))
def test_what_waits_after_another_change(
    repository: Repository, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = AFTER[way]
    base = change(repository, before)
    sha = change(repository, after)
    assert gated("--base", base, "--head", sha) == ExitCode.CLOSED
    leaves = "takes Kustomization flux-system/apps from flux-system/week"
    assert (leaves in capsys.readouterr().out) is way.endswith("leaves its policy")


def test_a_policy_that_gates_less_is_said(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    less = GATING.replace("names: [apps]", "names: [live]")
    sha = change(repository, {"clusters/north/policy.yaml": less})
    assert gated("--base", repository.base, "--head", sha) == ExitCode.FINE
    said = capsys.readouterr().out
    assert "flux-system/week no longer gates Kustomization flux-system/apps in north" in said


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "closes: Thu 17:00",
            "closes: Fri 17:00",
            "opens 1 d more in the next 7 days, opens 53 d more in the next 366 days",
        ),
        # What is for once may be far.
        ("spec:\n", f"spec:\n  overrides: {FAR}\n", "opens 2 d more in the next 366 days"),
    ],
)
def test_the_hours_of_a_policy_are_said(
    repository: Repository, capsys: pytest.CaptureFixture[str], old: str, new: str, words: str
) -> None:
    sha = change(repository, {"clusters/north/policy.yaml": GATING.replace(old, new)})
    assert gated("--base", repository.base, "--head", sha) == ExitCode.FINE
    said = capsys.readouterr().out
    assert f"{sha[:12]} success: flux-system/week {words}; changes nothing" in said
    # Also while it may land whatever it does.
    assert gated("--base", repository.base, "--head", sha, at=OPEN) == ExitCode.FINE
    assert f": flux-system/week {words.partition(' more')[0]}" in capsys.readouterr().out


def test_open_changes_are_compared_as_commits(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are fetched; what the forge says of their files counts for nothing."""
    shas = []
    for file in ("docs/page.md", "charts/lib/values.yaml"):
        shas.append(repository.commit({file: "a: b\n"}))
        repository.checkout(repository.base)
    # The branch has moved on since they left it.
    change(repository, {"live/map.yaml": OTHER, "apps/map.yaml": MAP})
    # As most runners have it: a commit and no branch is checked out.
    clone = repository.cloned(tmp_path / "clone")
    (clone / ".git/HEAD").write_text((clone / ".git/refs/heads/main").read_text())
    monkeypatch.chdir(clone)
    # One that nobody can fetch.
    shas.append("f" * 40)
    pulls = [Pull(number, sha, ("docs/other.md",)) for number, sha in enumerate(shas, 1)]
    monkeypatch.setenv("GITLAB_TOKEN", TOKEN)
    with serving("gitlab", *pulls) as server:
        where = ("--forge", "gitlab", "--repo", "acme/fleet", "--url", server.address)
        assert gated(*where) == ExitCode.FINE
        states = [server.latest(sha)["state"] for sha in shas]
        assert states == ["success", "pending", "pending"]
        assert "; changes charts/lib" in server.latest(shas[1])["description"]
        assert "cannot read it: ffffffffffff" in server.latest(shas[2])["description"]


def test_a_source_that_may_be_this_repository_is_unknown(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.base = change(
        repository, {"clusters/north/apps.yaml": APPS.replace("name: flux-system}", "name: fleet}")}
    )
    sha = change(repository, {"docs/page.md": "A page\n"})
    since = ("--base", repository.base, "--head", sha)
    assert gated(*since) == ExitCode.CLOSED
    said = capsys.readouterr()
    assert "cannot tell whether this repository is the source of Kustomization" in said.out
    [advice] = re.findall("`(--source [^`]+)`", said.err)
    assert gated(*since, *advice.replace("DIR", ".").split()) == ExitCode.FINE
    with pytest.raises(InputError, match="directory not found"):
        gated(*since, "--source", "fleet=none")


def test_a_source_elsewhere_is_no_part_of_this_repository(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it delivers changes there; what says which it is changes here."""
    other = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: flux-system}
spec: {interval: 1m, url: https://git.example/acme/other, ref: {branch: main}}
"""
    apps = APPS.replace("name: flux-system}", "name: fleet}")
    repository.base = change(
        repository, {"clusters/north/apps.yaml": apps, "clusters/north/fleet.yaml": other}
    )
    sha = change(repository, {"apps/map.yaml": MAP})
    assert gated("--base", repository.base, "--head", sha) == ExitCode.FINE
    assert "Kustomization flux-system/apps: it is not read" in capsys.readouterr().err
    after = change(repository, {"clusters/north/fleet.yaml": other.replace("main", "next")})
    assert gated("--base", sha, "--head", after) == ExitCode.CLOSED
    assert "changes GitRepository flux-system/fleet" in capsys.readouterr().out


def test_a_policy_that_gates_nothing_is_an_error(repository: Repository) -> None:
    """Otherwise every change would land."""
    base = change(repository, dict.fromkeys(TARGETED))
    with pytest.raises(InputError, match="flux-system/week gates nothing in"):
        gated("--base", base, "--head", base)


def test_a_submodule_that_changes_is_unknown(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its content is another repository's, and `recurseSubmodules` would deliver it."""
    sha = repository.submodule("apps/other", repository.base)
    assert gated("--base", repository.base, "--head", sha) == ExitCode.CLOSED
    assert "cannot read it" in capsys.readouterr().out


def test_a_file_of_a_change_that_conflicts_is_unknown(repository: Repository) -> None:
    sha = change(repository, {"docs": "A page\n"})
    repository.checkout(repository.base)
    base = change(repository, {"docs/page.md": "A page\n"})
    assert gated("--base", base, "--head", sha) == ExitCode.CLOSED


@pytest.mark.parametrize(
    ("base", "head"),
    [
        # Git lets a new file follow its directory to where the branch has moved that.
        ({"apps/map.yaml": None, "moved/map.yaml": MAP}, {"apps/new.yaml": OTHER}),
        ({"live/map.yaml": MAP}, {"live/map.yaml": OTHER}),
        ({"live/map.yaml": OTHER}, {"live/map.yaml": None}),
    ],
)
def test_what_git_merges_in_its_own_way_is_unknown(
    repository: Repository,
    base: Mapping[str, str | None],
    head: Mapping[str, str | None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    sha = change(repository, head)
    repository.checkout(repository.base)
    base_sha = change(repository, base)
    assert gated("--base", base_sha, "--head", sha) == ExitCode.CLOSED
    assert f"changes {next(iter(head))}, and so has its base since" in capsys.readouterr().out


def test_branches_that_met_several_times_are_unknown(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a change reverts is no change since one of the commits that they have in common."""
    before = change(repository, {"docs/page.md": "A page\n"})
    repository.checkout(repository.base)
    after = change(repository, {"apps/map.yaml": MAP})
    base = repository.merge(after, after, before)
    sha = repository.merge(before, before, after)
    assert gated("--base", base, "--head", sha) == ExitCode.CLOSED
    assert "several latest commits in common: rebase it" in capsys.readouterr().out


def test_a_commit_without_the_branch_is_unknown(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody can tell what a change began from, as where a shallow clone lacks it."""
    sha = repository.orphan()
    assert gated("--base", repository.base, "--head", sha) == ExitCode.CLOSED
    assert "fetch the whole history (fetch-depth: 0)" in capsys.readouterr().err
