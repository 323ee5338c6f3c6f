"""`krm-windows pending`: by what kubectl printed, by a repository, and between two commits."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from calls import POLICY
from effort import mostly_slow
from hostile import BUNDLES, READERS, raw
from past import Past

from krm_windows.cli import main
from krm_windows.gate.annotations import annotation

OPEN, CLOSED = "2026-11-24T10:00Z", "2026-11-21T10:00Z"
SINCE, UNTIL = "2026-11-19T16:00:00+00:00", "2026-11-23T07:00:00+00:00"
OURS = {
    annotation("flux-system/week"): json.dumps(
        {"policy": "flux-system/week", "reason": "", "since": SINCE, "until": UNTIL}
    )
}
OLD, NEW = "a" * 40, "b" * 40
LiveObject = dict[str, object]


def apps(applied: str, *, suspend: bool = True, notes: object = None) -> LiveObject:
    """Return the target, closed by the policy unless something else is said."""
    return {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {
            "name": "apps",
            "namespace": "flux-system",
            "annotations": OURS if notes is None else notes,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {
            "suspend": suspend,
            "sourceRef": {"kind": "GitRepository", "name": "fleet"},
        },
        "status": {"lastAppliedRevision": applied},
    }


def fleet(offered: str, **spec: object) -> LiveObject:
    """Return its source."""
    return {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": "fleet", "namespace": "flux-system"},
        "spec": spec,
        "status": {"artifact": {"revision": offered, "lastUpdateTime": "2026-11-20T13:03:11Z"}},
    }


@dataclass(frozen=True)
class Ended:
    """How a call ended."""

    code: int
    out: str
    err: str


Pending = Callable[..., Ended]


@pytest.fixture
def pending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Pending:
    """Call the command beside a policy, with some objects in a file unless there are none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Path("policy.yaml").write_text(POLICY)

    def run(*options: str, objects: tuple[LiveObject, ...] = (), at: str = CLOSED) -> Ended:
        Path("objects.json").write_text("\n".join(map(json.dumps, objects)))
        filename = ("-f", "objects.json") if objects else ()
        code = main(["pending", "policy.yaml", *filename, "--at", at, *options])
        return Ended(code, *capsys.readouterr())

    return run


def test_what_waits(pending: Pending) -> None:
    """What holds, and a block for each target."""
    objects = (apps(f"main@sha1:{OLD}"), fleet(f"main@sha1:{NEW}"))
    assert pending(objects=objects) == Ended(
        0,
        """\
in policy.yaml: flux-system/week should be closed: no window is open
since Thu 2026-11-19 17:00, until Mon 2026-11-23 08:00 (Europe/Berlin)

Kustomization flux-system/apps: waits
  opens    Mon 2026-11-23 08:00
  source   GitRepository flux-system/fleet
  applied  main@sha1:aaaaaaaaaaaa
  offered  main@sha1:bbbbbbbbbbbb
  since    Fri 2026-11-20 14:03
""",
        "",
    )


def test_what_waits_as_markdown(pending: Pending) -> None:
    """For a message in the morning of the window."""
    objects = (apps(f"main@sha1:{OLD}"), fleet(f"main@sha1:{NEW}"))
    assert (
        pending("-o", "markdown", objects=objects).out
        == """\
### `flux-system/week`: opens Mon 2026-11-23 08:00 (Europe/Berlin)

- **`Kustomization flux-system/apps`** waits: `main@sha1:aaaaaaaaaaaa` → `main@sha1:bbbbbbbbbbbb`
  - offered by `GitRepository flux-system/fleet` since Fri 2026-11-20 14:03
"""
    )
    same = (apps(f"main@sha1:{OLD}"), fleet(f"main@sha1:{OLD}"))
    assert pending("-o", "markdown", objects=same).out.splitlines()[2:] == [
        "- nothing waits for `Kustomization flux-system/apps`"
    ]


def test_what_waits_as_json(pending: Pending) -> None:
    """Revisions are whole, and what is not known is null."""
    objects = (apps(f"main@sha1:{OLD}"), fleet(f"main@sha1:{NEW}"))
    found = json.loads(pending("-o", "json", objects=objects).out)
    assert found["desired"]["until"] == "2026-11-23T08:00:00+01:00"
    assert found["targets"] == [
        {
            "group": "kustomize.toolkit.fluxcd.io",
            "kind": "Kustomization",
            "namespace": "flux-system",
            "name": "apps",
            "pending": True,
            "open": False,
            "opens": "2026-11-23T08:00:00+01:00",
            "keptBy": None,
            "source": "GitRepository flux-system/fleet",
            "applied": {
                "revision": f"main@sha1:{OLD}",
                "origin": None,
                "commit": OLD,
                "since": None,
            },
            "offered": {
                "revision": f"main@sha1:{NEW}",
                "origin": None,
                "commit": NEW,
                "since": "2026-11-20T14:03:11+01:00",
            },
            "commits": None,
            "reverted": None,
            "objects": None,
            "notes": [],
        }
    ]
    assert (
        json.loads(pending("-o", "json", objects=(objects[0],)).out)["targets"][0]["pending"]
        is None
    )


@pytest.mark.parametrize(
    ("at", "target", "words"),
    [
        (CLOSED, {"notes": {}}, "not at the next opening: a person"),
        (
            CLOSED,
            {"notes": OURS | {"krm-windows.dev/hold": "anna:\nthe press"}},
            "not at the next opening: held: anna: the press",
        ),
        (OPEN, {"suspend": False}, "it is open"),
        # The next run of the gate opens it.
        (OPEN, {}, "it is open"),
    ],
)
def test_when_it_opens(pending: Pending, at: str, target: Mapping[str, object], words: str) -> None:
    """By the windows, unless somebody else keeps the target shut."""
    made = apps(f"main@sha1:{OLD}", **target)
    printed = pending(objects=(made, fleet(f"main@sha1:{NEW}")), at=at).out
    assert f"  opens    {words}\n" in printed


@pytest.mark.parametrize(
    ("notes", "kept"),
    [
        ({}, {"kind": "Person"}),
        (
            OURS | {"krm-windows.dev/hold": "anna:\nthe press"},
            {"kind": "Hold", "reason": "anna:\nthe press"},
        ),
    ],
)
def test_who_keeps_it_shut_for_programs(
    pending: Pending, notes: Mapping[str, str], kept: Mapping[str, str]
) -> None:
    """In the words of `status`: a value each, and no sentence."""
    objects = (apps(f"main@sha1:{OLD}", notes=notes), fleet(f"main@sha1:{NEW}"))
    [found] = json.loads(pending("-o", "json", objects=objects).out)["targets"]
    assert (found["opens"], found["keptBy"]) == (None, kept)


def test_nothing_waits(pending: Pending) -> None:
    """That is no error either."""
    ended = pending(objects=(apps(f"main@sha1:{OLD}"), fleet(f"main@sha1:{OLD}")))
    assert ended.code == 0
    assert "Kustomization flux-system/apps: nothing waits\n" in ended.out


def test_a_target_that_is_missing(pending: Pending) -> None:
    """It is said."""
    ended = pending(objects=(fleet(f"main@sha1:{OLD}"),))
    assert "Kustomization flux-system/apps: unknown\n" in ended.out
    assert "\n  it is missing\n" in ended.out


def test_kubectl_is_asked_for_sources(
    pending: Pending, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By name, and who may not read them is told so."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    script = Path("kubectl")
    target, source = json.dumps(apps(f"main@sha1:{OLD}")), json.dumps(fleet(f"main@sha1:{NEW}"))
    script.write_text(f"""#!/bin/bash
case "$*" in
*kustomizations*) echo '{target}';;
*"-- gitrepositories.source.toolkit.fluxcd.io fleet") [ -e refused ] || echo '{source}'
  [ ! -e refused ] || {{ echo 'Error (Forbidden): no' >&2; exit 1; }};;
esac
""")
    script.chmod(0o755)
    assert "  offered  main@sha1:bbbbbbbbbbbb\n" in pending().out
    Path("refused").touch()
    ended = pending()
    assert ended.code == 0
    assert "Kustomization flux-system/apps: unknown\n" in ended.out
    assert "  kubectl: Error (Forbidden): no" in ended.out


# a repository

CLUSTER = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: flux-system}
spec: {url: https://forge.example/acme/fleet, ref: {branch: main}, interval: 1m}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec:
  path: ./clusters/north
  sourceRef: {kind: GitRepository, name: fleet}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system, labels: {class: windowed}}
spec:
  path: ./apps
  sourceRef: {kind: GitRepository, name: fleet}
"""
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {template: {spec: {containers: [{name: web, image: "web:1"}]}}}
"""


def config(name: str) -> str:
    """Return a ConfigMap."""
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: shop}}\n"


AT = "2026-11-20T12:00Z"


@pytest.fixture
def repository(tool: Callable[[str], Path], tmp_path: Path) -> Past:
    """Return a repository with a cluster that applies an application."""
    made = Past(tool("git"), tmp_path / "fleet")
    files = {
        "clusters/north/flux.yaml": CLUSTER,
        "apps/web.yaml": WEB,
        "apps/old.yaml": config("old"),
        "README.md": "hello\n",
    }
    made.commit(AT, files, "Begin")
    return made


def grown(repository: Past) -> tuple[str, str]:
    """Add commits; return the first and the last."""
    old = repository("rev-parse", "HEAD")
    repository.commit(AT, {"README.md": "more\n"}, "Say more")
    repository.commit(AT, {"apps/web.yaml": WEB.replace("web:1", "web:2")}, "Take web 2")
    new = repository.commit(
        AT, {"apps/old.yaml": None, "apps/new.yaml": config("new")}, "Put new for old"
    )
    return old, new


HERE = ("--repo", "fleet")


def test_the_commits_that_wait(pending: Pending, repository: Past) -> None:
    """Those that touch what the Kustomization reads, the newest first."""
    old, new = grown(repository)
    ended = pending(*HERE, objects=(apps(f"main@sha1:{old}"), fleet(f"main@sha1:{new}")))
    take = repository("rev-parse", "HEAD^")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines()[9:12] == [
        "  2 commits",
        f"    {new[:10]} 2026-11-20 Ada: Put new for old",
        f"    {take[:10]} 2026-11-20 Ada: Take web 2",
    ]


def test_the_objects_that_change(pending: Pending, repository: Past) -> None:
    """Kinds and names."""
    old, new = grown(repository)
    objects = (apps(f"main@sha1:{old}"), fleet(f"main@sha1:{new}"))
    printed = pending(*HERE, objects=objects).out
    assert printed.splitlines()[12:] == [
        "  3 objects: 1 added, 1 changed, 1 removed",
        "    + ConfigMap shop/new",
        "    - ConfigMap shop/old",
        "    ~ Deployment shop/web",
    ]
    found = json.loads(pending(*HERE, "-o", "json", objects=objects).out)
    changed = {"change": "changed", "object": "Deployment shop/web"}
    assert found["targets"][0]["objects"][2] == changed
    assert [each["subject"] for each in found["targets"][0]["commits"]] == [
        "Put new for old",
        "Take web 2",
    ]
    listed = pending(*HERE, "-o", "markdown", objects=objects).out
    assert "  - 3 objects: 1 added, 1 changed, 1 removed\n" in listed


def test_two_commits_without_a_cluster(pending: Pending, repository: Past) -> None:
    """Branches, tags or names of commits; the policy may select by label."""
    old, new = grown(repository)
    repository("tag", "deployed", old)
    printed = pending(*HERE, "--base", "deployed", "--head", "main").out
    assert printed.splitlines()[2:7] == [
        "",
        "Kustomization flux-system/apps: waits",
        "  opens    Mon 2026-11-23 08:00",
        f"  applied  deployed@sha1:{old[:12]}",
        f"  offered  main@sha1:{new[:12]}",
    ]
    assert "  3 objects: 1 added, 1 changed, 1 removed\n" in printed
    Path("policy.yaml").write_text(
        POLICY.replace("names: [apps]", "matchLabels: {class: windowed}")
    )
    assert "    ~ Deployment shop/web\n" in pending(*HERE, "--base", old).out
    nothing = pending(*HERE, "--base", "main").out
    assert "Kustomization flux-system/apps: nothing waits\n" in nothing


def test_commits_about_others(pending: Pending, repository: Past) -> None:
    """The revision is another, and nothing in it is for the target."""
    old = repository("rev-parse", "HEAD")
    new = repository.commit(AT, {"README.md": "more\n"})
    objects = (apps(f"main@sha1:{old}"), fleet(f"main@sha1:{new}"))
    printed = pending(*HERE, objects=objects).out
    assert "Kustomization flux-system/apps: only the revision is new\n" in printed
    assert "  no commit changes the files that it reads\n  no object changes\n" in printed
    listed = pending(*HERE, "-o", "markdown", objects=objects).out
    assert "** only the revision is new: `main@sha1:" in listed


def test_commits_that_are_taken_back(pending: Pending, repository: Past) -> None:
    """A branch may be put back."""
    old, new = grown(repository)
    printed = pending(*HERE, "--base", new, "--head", old).out
    assert "  2 commits reverted\n" in printed


def test_a_merge(pending: Pending, repository: Past) -> None:
    """Its commits are named, and not the merge."""
    old = repository("rev-parse", "HEAD")
    repository("switch", "--quiet", "--create", "side")
    repository.commit(AT, {"apps/new.yaml": config("new")}, "Work aside")
    repository("switch", "--quiet", "main")
    repository("merge", "--quiet", "--no-ff", "--message", "Merge it", "side")
    printed = pending(*HERE, "--base", old).out
    assert "  1 commit\n" in printed
    assert "Work aside" in printed


def test_what_a_target_brings_with_it(pending: Pending, repository: Past) -> None:
    """A Kustomization that is new in it applies objects on the same day."""
    old = repository("rev-parse", "HEAD")
    child = CLUSTER.rpartition("---\n")[2].replace("name: apps,", "name: more,")
    repository.commit(
        AT,
        {
            "apps/more.yaml": child.replace("./apps", "./more"),
            "more/web.yaml": WEB.replace("web", "more"),
        },
    )
    printed = pending(*HERE, "--base", old).out
    assert "    + Deployment shop/more\n" in printed
    assert "    + Kustomization flux-system/more\n" in printed


@pytest.mark.parametrize(
    ("spec", "deleted"),
    [
        ("prune: true", True),
        ("prune: false", False),
        ("prune: true, deletionPolicy: MirrorPrune", True),
        ("prune: true, deletionPolicy: Orphan", False),
        ("prune: false, deletionPolicy: Delete", True),
        ("prune: false, deletionPolicy: WaitForTermination", True),
    ],
)
def test_what_a_target_takes_with_it(
    pending: Pending, repository: Past, spec: str, *, deleted: bool
) -> None:
    """A Kustomization that goes deletes what it applied, and what those below it did."""
    child = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: {0}, namespace: flux-system}}
spec: {{path: ./{0}, sourceRef: {{kind: GitRepository, name: fleet}}, {1}}}
"""
    files = {
        "apps/more.yaml": child.format("more", spec),
        "more/web.yaml": WEB.replace("web", "more"),
        "more/below.yaml": child.format("below", "prune: true"),
        "below/web.yaml": WEB.replace("web", "below"),
    }
    old = repository.commit(AT, files)
    repository.commit(AT, {"apps/more.yaml": None})
    printed = pending(*HERE, "--base", old).out
    assert "    - Kustomization flux-system/more\n" in printed
    gone = ("Deployment shop/more", "Kustomization flux-system/below", "Deployment shop/below")
    for line in (f"- {each}" for each in gone):
        assert (f"    {line}\n" in printed) is deleted, line
    # What is put in their place is a change, and no removal.
    repository.commit(AT, {"apps/more-web.yaml": WEB.replace("web", "more").replace("1", "2")})
    printed = pending(*HERE, "--base", old).out
    assert "- Deployment shop/more" not in printed


@pytest.mark.parametrize("prune", ["true", "false"])
def test_what_a_target_that_does_not_prune_leaves(
    pending: Pending, repository: Past, prune: str
) -> None:
    """It stays in the cluster, so it is none of what is removed."""
    flux = CLUSTER.replace("path: ./apps\n", f"path: ./apps\n  prune: {prune}\n")
    child = CLUSTER.rpartition("---\n")[2].replace("name: apps,", "name: more,")
    files = {
        "clusters/north/flux.yaml": flux,
        "apps/more.yaml": child.replace("./apps", "./more"),
        "more/web.yaml": WEB.replace("web", "more"),
    }
    old = repository.commit(AT, files)
    repository.commit(AT, {"apps/old.yaml": None, "apps/more.yaml": None})
    printed = pending(*HERE, "--base", old).out
    for line in ("- ConfigMap shop/old", "- Deployment shop/more"):
        assert (line in printed) is (prune == "true"), line
    assert "  1 commit\n" in printed


def test_a_gated_source(pending: Pending, repository: Past) -> None:
    """The cluster does not look: the branch as it is here says what is new to all that it has."""
    old, new = grown(repository)
    policy = POLICY.replace(
        "kind: Kustomization\n    names: [apps]", "kind: GitRepository\n    names: [fleet]"
    )
    Path("policy.yaml").write_text(policy)
    source = fleet(f"main@sha1:{old}", suspend=True, ref={"branch": "main"})
    source["metadata"] = {"name": "fleet", "namespace": "flux-system", "annotations": OURS}
    alone = pending(objects=(source,)).out
    assert "GitRepository flux-system/fleet: unknown\n" in alone
    printed = pending(*HERE, objects=(source,)).out
    assert "GitRepository flux-system/fleet: waits\n" in printed
    assert f"  offered  main@sha1:{new[:12]}\n" in printed
    assert "    + ConfigMap shop/new\n" in printed


def test_a_first_apply(pending: Pending, repository: Past) -> None:
    """All of it is new."""
    new = repository("rev-parse", "HEAD")
    objects = (apps(""), fleet(f"main@sha1:{new}"))
    printed = pending(*HERE, objects=objects).out
    assert "  2 objects added\n" in printed


RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: db, namespace: flux-system}
spec: {chart: {spec: {chart: db, version: 1.0.0}}}
"""
RELEASED = POLICY.replace(
    "- kind: Kustomization\n    names: [apps]",
    "- kind: HelmRelease\n    names: [db]",
)


def test_a_release_in_a_repository(pending: Pending, repository: Past) -> None:
    """Of a HelmRelease that is a target itself, only its own object counts, and its own file."""
    repository.commit(AT, {"apps/db.yaml": RELEASE})
    old = repository("rev-parse", "HEAD")
    repository.commit(AT, {"apps/web.yaml": WEB.replace("web:1", "web:2")}, "Take web 2")
    repository.commit(AT, {"apps/db.yaml": RELEASE.replace("1.0.0", "2.0.0")}, "Take db 2")
    Path("policy.yaml").write_text(RELEASED)
    printed = pending(*HERE, "--base", old).out
    assert "HelmRelease flux-system/db: waits\n" in printed
    assert "  1 commit\n" in printed
    assert "    ~ HelmRelease flux-system/db\n" in printed
    assert "Take web 2" not in printed


def test_what_no_cluster_has(pending: Pending, repository: Past) -> None:
    """Of a target that is in no directory of the repository nothing is known."""
    old, _ = grown(repository)
    Path("policy.yaml").write_text(RELEASED)
    ended = pending(*HERE, "--base", old)
    assert "HelmRelease flux-system/db: unknown\n" in ended.out
    assert "  not found in any cluster of this repository\n" in ended.out


def test_what_is_applied_from_elsewhere(pending: Pending, repository: Past) -> None:
    """It is not known, and said so: the directory of that name here is another."""
    other = CLUSTER.replace(
        "./apps\n  sourceRef: {kind: GitRepository, name: fleet}",
        "./apps\n  sourceRef: {kind: GitRepository, name: other}",
    )
    repository.commit(AT, {"clusters/north/flux.yaml": other})
    old, _ = grown(repository)
    ended = pending(*HERE, "--base", old, "-o", "markdown")
    assert "- **`Kustomization flux-system/apps`** unknown: " in ended.out
    assert "part of what Kustomization flux-system/apps applies is unknown: see" in ended.out
    # Of which commits touch it nothing is known either.
    assert "no commit changes the files" not in ended.out


def test_markdown_of_what_the_window_does_not_open(pending: Pending) -> None:
    """Whose decision it is, and what is not known."""
    held = apps("", notes={"krm-windows.dev/hold": "anna: @team"})
    printed = pending("-o", "markdown", objects=(held, fleet(f"main@sha1:{NEW}"))).out
    assert "`nothing` → `main@sha1:bbbbbbbbbbbb`" in printed
    assert "  - `not at the next opening: held: anna: @team`\n" in printed
    alone = pending("-o", "markdown", objects=(apps(""),), at=OPEN).out
    assert alone.startswith("### `flux-system/week`: closes Thu 2026-11-26 17:00 (Europe/Berlin)\n")
    assert "  - `GitRepository flux-system/fleet not found among the objects`\n" in alone


def test_a_policy_that_never_opens(pending: Pending) -> None:
    """There is no moment to say."""
    Path("policy.yaml").write_text(f"{POLICY}  state: Closed\n")
    objects = (apps(f"main@sha1:{OLD}"), fleet(f"main@sha1:{NEW}"))
    assert "  opens    in more than 400 days\n" in pending(objects=objects).out
    found = json.loads(pending("-o", "json", objects=objects).out)["targets"][0]
    assert (found["opens"], found["keptBy"]) == (None, None)
    assert (
        "opens in more than 400 days (`state`; times in Europe/Berlin)"
        in pending("-o", "markdown", objects=objects).out
    )


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_labels_that_nothing_has(pending: Pending, form: str) -> None:
    """There is no target, and it is said."""
    Path("policy.yaml").write_text(POLICY.replace("names: [apps]", "matchLabels: {a: b}"))
    printed = pending("-o", form, objects=(fleet(f"main@sha1:{NEW}"),)).out
    assert printed.endswith(
        "no targets: no object that was read matches the policy's `matchLabels`\n"
    )


def test_revisions_that_name_no_commit(pending: Pending, repository: Past) -> None:
    """Of an artifact whose origin nobody noted."""
    assert repository
    objects = (apps(f"1@sha256:{OLD}"), fleet(f"2@sha256:{NEW}"))
    assert "its revisions contain no commit" in pending(*HERE, objects=objects).out


def test_a_commit_that_is_not_here(pending: Pending, repository: Past) -> None:
    """It is said of that target."""
    assert repository
    objects = (apps(f"main@sha1:{OLD}"), fleet(f"main@sha1:{NEW}"))
    ended = pending(*HERE, objects=objects)
    assert ended.code == 0
    words = " ".join(ended.out.split())
    assert f"fleet: '{OLD}' is not a commit in this repository (was it fetched?)" in words
    assert max(map(len, ended.out.splitlines())) <= 80


@pytest.mark.parametrize("option", ["--base", "--head"])
def test_a_ref_without_a_name(pending: Pending, repository: Past, option: str) -> None:
    """Is none: a variable of CI may be empty, and that is not the commit that is checked out."""
    assert repository
    other = "--head" if option == "--base" else "--base"
    ended = pending(*HERE, option, "", other, "HEAD")
    assert ended.code == 1
    assert "'' is not a commit in this repository" in ended.err


def test_several_clusters(pending: Pending, repository: Past) -> None:
    """Which one is meant has to be said, or follows from the policy's cluster."""
    south = CLUSTER.replace("clusters/north", "clusters/south")
    repository.commit(AT, {"clusters/south/flux.yaml": south}, "Add the south")
    old, _ = grown(repository)
    ended = pending(*HERE, "--base", old)
    assert ended.code == 1
    assert "is in several clusters: clusters/north, clusters/south" in ended.err
    assert "--clusters clusters/north" in ended.err
    one = pending(*HERE, "--base", old, "--clusters", "clusters/south")
    assert "  2 commits\n" in one.out
    Path("policy.yaml").write_text(POLICY + "  clusters: {south: {interval: 5m}}\n")
    assert "  2 commits\n" in pending(*HERE, "--base", old, "--cluster", "south").out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--base", "main"), "--base needs --repo DIR"),
        ((*HERE, "--head", "main"), "--head needs --base"),
        ((*HERE, "--base", "main", "--context", "a"), "--base does not read a cluster"),
        (("--repo", "nothing", "--base", "main"), "nothing: no such directory"),
        ((*HERE, "--base", "nothing"), "'nothing' is not a commit in this repository"),
        (
            (*HERE, "--base", "main", "--clusters", "x/*"),
            "no directory matches x/*: use --clusters",
        ),
    ],
)
def test_a_wrong_call(
    pending: Pending, repository: Past, options: tuple[str, ...], words: str
) -> None:
    """It is said in a line."""
    assert repository
    ended = pending(*options)
    # What the repository does not have is no matter of the call.
    code = 1 if "nothing" in words or "x/*" in words else 2
    assert (ended.code, ended.out) == (code, "")
    assert words in ended.err


def test_a_wrong_policy(pending: Pending, repository: Past) -> None:
    """Nothing is judged by it."""
    assert repository
    Path("policy.yaml").write_text(POLICY.replace("Mon 08:00", "Mo 08:00"))
    assert pending(*HERE, "--base", "main").code == 1
    assert pending(objects=(apps(""),)).code == 1


def test_hostile_words_of_commits(pending: Pending, repository: Past) -> None:
    """They steer no terminal, and are no line of their own; a long one is cut at 80 columns."""
    old = repository("rev-parse", "HEAD")
    subject = "\x1b[2J::error::gone @everyone " + "x" * 100
    repository.commit(AT, {"apps/new.yaml": config("new")}, subject)
    printed = pending(*HERE, "--base", old).out
    assert "\x1b" not in printed
    assert max(map(len, printed.splitlines())) <= 80


@pytest.mark.parametrize("name", mostly_slow(BUNDLES, every=4))
def test_hostile_words_in_every_format(pending: Pending, repository: Past, name: str) -> None:
    """Of authors, subjects, names and revisions: a reader of each format finds it."""
    text = BUNDLES[name].replace("\x00", "")
    old = repository("rev-parse", "HEAD")
    web = yaml.safe_load(WEB)
    web["metadata"]["annotations"] = {text: text}
    web["spec"]["template"]["spec"]["containers"] = [{"name": text, "image": f"{text} "}]
    words = text.encode("utf-8", "replace").decode()[:10_000]
    new = repository.commit(AT, {"apps/web.yaml": yaml.safe_dump(web)}, words, who=words[:500])
    objects = (apps(f"{text}@sha1:{old}"), fleet(f"{text}@sha1:{new}"))
    for form in ("text", "json", "markdown"):
        ended = pending(*HERE, "-o", form, objects=objects)
        assert (ended.code, raw(ended.out)) == (0, [])
        READERS[form](ended.out)
