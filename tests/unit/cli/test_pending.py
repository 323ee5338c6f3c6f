"""`krm-windows pending`: by what kubectl printed, by a repository, and between two commits."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import yaml
from calls import APPS, POLICY, SYNC, Ended, Run
from effort import mostly_slow
from hostile import BUNDLES, READERS, raw
from live import CLOSED, HOLD, OPEN, OURS, LiveObject, live
from past import Past

OLD, NEW = "a" * 40, "b" * 40


def apps(applied: str, **fields: object) -> LiveObject:
    return live(applied=applied, **{"suspend": True, "notes": OURS, **fields})


def fleet(offered: str, **spec: object) -> LiveObject:
    return {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": "fleet", "namespace": "flux-system"},
        "spec": spec,
        "status": {"artifact": {"revision": offered, "lastUpdateTime": "2026-11-20T13:03:11Z"}},
    }


@pytest.fixture
def pending(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def called(*options: str, objects: tuple[LiveObject, ...] = (), at: str = CLOSED) -> Ended:
        Path("objects.json").write_text("\n".join(map(json.dumps, objects)))
        filename = ("-f", "objects.json") if objects else ()
        return run("pending", "policy.yaml", *filename, "--at", at, *options)

    return called


WAITS = (apps(f"main@sha1:{OLD}"), fleet(f"main@sha1:{NEW}"))


def test_what_waits(pending: Run) -> None:
    assert pending(objects=WAITS) == Ended(
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


def test_what_waits_as_markdown(pending: Run) -> None:
    assert (
        pending("-o", "markdown", objects=WAITS).out
        == """\
### `flux-system/week`: opens Mon 2026-11-23 08:00 (Europe/Berlin)

- **`Kustomization flux-system/apps`** waits: `main@sha1:aaaaaaaaaaaa` → `main@sha1:bbbbbbbbbbbb`
  - offered by `GitRepository flux-system/fleet` since Fri 2026-11-20 14:03
"""
    )
    held = apps("", notes=HOLD)
    printed = pending("-o", "markdown", objects=(held, WAITS[1])).out
    assert "`nothing` → `main@sha1:bbbbbbbbbbbb`" in printed
    assert "  - `not at the next opening: held: anna: the press`\n" in printed


def test_what_waits_as_json(pending: Run) -> None:
    found = json.loads(pending("-o", "json", objects=WAITS).out)
    assert found["desired"]["until"] == "2026-11-23T08:00:00+01:00"
    applied = {"revision": f"main@sha1:{OLD}", "origin": None, "commit": OLD, "since": None}
    offered = {"revision": f"main@sha1:{NEW}", "origin": None, "commit": NEW}
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
            "applied": applied,
            "offered": {**offered, "since": "2026-11-20T14:03:11+01:00"},
            "commits": None,
            "reverted": None,
            "objects": None,
            "notes": [],
        }
    ]


@pytest.mark.parametrize(
    ("at", "target", "words", "kept"),
    [
        (CLOSED, {"notes": {}}, "not at the next opening: a person", {"kind": "Person"}),
        (
            CLOSED,
            {"notes": OURS | HOLD},
            "not at the next opening: held: anna: the press",
            {"kind": "Hold", "reason": "anna:\nthe press"},
        ),
        (OPEN, {"suspend": False}, "it is open", None),
        # The next run of the gate opens it.
        (OPEN, {}, "it is open", None),
    ],
)
def test_when_it_opens(
    pending: Run, at: str, target: Mapping[str, object], words: str, kept: object
) -> None:
    objects = (apps(f"main@sha1:{OLD}", **target), WAITS[1])
    assert f"  opens    {words}\n" in pending(objects=objects, at=at).out
    [found] = json.loads(pending("-o", "json", objects=objects, at=at).out)["targets"]
    assert (found["opens"], found["keptBy"]) == (None, kept)


def test_kubectl_is_asked_for_sources(
    pending: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    script.write_text("#!/bin/sh\nexit 1\n")
    ended = pending()
    assert (ended.code, "--repo . --base REF`, where REF is" in ended.err) == (1, True)


# a repository

CLUSTER = f"{SYNC}---\n{APPS}".replace(
    "  name: apps\n", "  name: apps\n  labels: {class: windowed}\n"
)
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {template: {spec: {containers: [{name: web, image: "web:1"}]}}}
"""
WEB_2 = WEB.replace("web:1", "web:2")


def config(name: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: shop}}\n"


def more(name: str, spec: str = "prune: true") -> str:
    return APPS.replace("apps\n", f"{name}\n").replace("prune: true", spec)


AT = "2026-11-20T12:00Z"


@pytest.fixture
def repository(tool: Callable[[str], Path], tmp_path: Path) -> Past:
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
    old = repository("rev-parse", "HEAD")
    repository.commit(AT, {"README.md": "more\n"}, "Say more")
    repository.commit(AT, {"apps/web.yaml": WEB_2}, "Take web 2")
    new = repository.commit(
        AT, {"apps/old.yaml": None, "apps/new.yaml": config("new")}, "Put new for old"
    )
    return old, new


HERE = ("--repo", "fleet")


def test_the_commits_and_objects_that_wait(pending: Run, repository: Past) -> None:
    old, new = grown(repository)
    objects = (apps(f"main@sha1:{old}"), fleet(f"main@sha1:{new}"))
    ended = pending(*HERE, objects=objects)
    take = repository("rev-parse", "HEAD^")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines()[9:] == [
        "  2 commits",
        f"    {new[:10]} 2026-11-20 Ada: Put new for old",
        f"    {take[:10]} 2026-11-20 Ada: Take web 2",
        "  3 objects: 1 added, 1 changed, 1 removed",
        "    + ConfigMap shop/new",
        "    - ConfigMap shop/old",
        "    ~ Deployment shop/web",
    ]
    [found] = json.loads(pending(*HERE, "-o", "json", objects=objects).out)["targets"]
    assert found["objects"][2] == {"change": "changed", "object": "Deployment shop/web"}
    assert [each["subject"] for each in found["commits"]] == ["Put new for old", "Take web 2"]
    listed = pending(*HERE, "-o", "markdown", objects=objects).out
    assert "  - 3 objects: 1 added, 1 changed, 1 removed\n" in listed


def test_two_commits_without_a_cluster(pending: Run, repository: Past) -> None:
    old, new = grown(repository)
    repository("tag", "deployed", old)
    printed = pending(*HERE, "--base", "deployed", "--head", "main").out
    assert printed.splitlines()[4:7] == [
        "  opens    Mon 2026-11-23 08:00",
        f"  applied  deployed@sha1:{old[:12]}",
        f"  offered  main@sha1:{new[:12]}",
    ]
    assert "  3 objects: 1 added, 1 changed, 1 removed\n" in printed
    labels = POLICY.replace("names: [apps]", "matchLabels: {class: windowed}")
    Path("policy.yaml").write_text(labels)
    assert "    ~ Deployment shop/web\n" in pending(*HERE, "--base", old).out
    nothing = pending(*HERE, "--base", "main").out
    assert "Kustomization flux-system/apps: nothing waits\n" in nothing
    # A branch may be put back.
    assert "  2 commits reverted\n" in pending(*HERE, "--base", new, "--head", old).out


def test_the_commits_of_a_merge_are_named(pending: Run, repository: Past) -> None:
    old = repository("rev-parse", "HEAD")
    repository("switch", "--quiet", "--create", "side")
    repository.commit(AT, {"apps/new.yaml": config("new")}, "Work aside")
    repository("switch", "--quiet", "main")
    repository("merge", "--quiet", "--no-ff", "--message", "Merge it", "side")
    printed = pending(*HERE, "--base", old).out
    assert "  1 commit\n" in printed
    assert "Work aside" in printed


Files = dict[str, str | None]
FLUX = "clusters/north/flux.yaml"
MORE = {"apps/more.yaml": more("more"), "more/web.yaml": WEB.replace("web", "more")}
NESTED = {**MORE, "more/below.yaml": more("below"), "below/web.yaml": WEB.replace("web", "below")}
GONE = ("- Deployment shop/more", "- Kustomization flux-system/below", "- Deployment shop/below")
GOES: Files = {"apps/more.yaml": None}
# What is committed before and after: what is shown of it, and what is not.
BETWEEN = {
    "a new Kustomization applies objects on the same day": (
        {},
        MORE,
        ("+ Deployment shop/more", "+ Kustomization flux-system/more"),
        (),
    ),
    "one that goes deletes what it applied, and what those below it did": (
        NESTED,
        GOES,
        ("- Kustomization flux-system/more", *GONE),
        (),
    ),
    "what is put in its place is a change, and no removal": (
        NESTED,
        {**GOES, "apps/web-more.yaml": WEB_2.replace("web", "more")},
        ("~ Deployment shop/more",),
        GONE[:1],
    ),
    "what does not prune deletes nothing": (
        {**NESTED, "apps/more.yaml": more("more", "prune: false")},
        GOES,
        ("- Kustomization flux-system/more",),
        GONE,
    ),
    "the target does not prune": (
        {**MORE, FLUX: CLUSTER.replace("prune: true", "prune: false")},
        {"apps/old.yaml": None, **GOES},
        ("1 commit",),
        ("- ConfigMap shop/old", *GONE),
    ),
    # The directory of that name here is another; nor is it known which commits touch it.
    "it is applied from elsewhere": (
        {FLUX: f"{SYNC}---\n{APPS.replace('name: fleet', 'name: other')}"},
        {"apps/old.yaml": None},
        ("part of what Kustomization flux-system/apps applies is unknown: see",),
        ("no commit changes the files",),
    ),
}


@pytest.mark.parametrize("case", BETWEEN)
def test_what_lies_between(pending: Run, repository: Past, case: str) -> None:
    before, after, shown, hidden = BETWEEN[case]
    old = repository.commit(AT, before)
    repository.commit(AT, after)
    printed = pending(*HERE, "--base", old).out
    assert [each for each in shown if f"  {each}" not in printed] == []
    assert [each for each in hidden if each in printed] == []


def test_a_gated_source(pending: Run, repository: Past) -> None:
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


RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: db, namespace: flux-system}
spec: {chart: {spec: {chart: db, version: 1.0.0}}}
"""
RELEASED = POLICY.replace(
    "- kind: Kustomization\n    names: [apps]", "- kind: HelmRelease\n    names: [db]"
)


def test_a_release_in_a_repository(pending: Run, repository: Past) -> None:
    """Of a HelmRelease that is a target itself, only its own object counts, and its own file."""
    Path("policy.yaml").write_text(RELEASED)
    printed = pending(*HERE, "--base", "HEAD").out
    assert "HelmRelease flux-system/db: unknown\n" in printed
    assert "  not found in any cluster of this repository\n" in printed
    old = repository.commit(AT, {"apps/db.yaml": RELEASE})
    repository.commit(AT, {"apps/web.yaml": WEB_2}, "Take web 2")
    repository.commit(AT, {"apps/db.yaml": RELEASE.replace("1.0.0", "2.0.0")}, "Take db 2")
    printed = pending(*HERE, "--base", old).out
    assert "HelmRelease flux-system/db: waits\n" in printed
    assert "  1 commit\n" in printed
    assert "    ~ HelmRelease flux-system/db\n" in printed


def test_a_policy_that_never_opens(pending: Run) -> None:
    Path("policy.yaml").write_text(f"{POLICY}  state: Closed\n")
    assert "  opens    in more than 400 days\n" in pending(objects=WAITS).out
    said = "opens in more than 400 days (`state`; times in Europe/Berlin)"
    assert said in pending("-o", "markdown", objects=WAITS).out


def test_a_target_that_is_missing(pending: Run) -> None:
    printed = pending(objects=(WAITS[1],)).out
    assert "apps: unknown\n" in printed
    assert "\n  it is missing\n" in printed


def test_labels_that_nothing_has(pending: Run) -> None:
    Path("policy.yaml").write_text(POLICY.replace("names: [apps]", "matchLabels: {a: b}"))
    said = "no targets: no object that was read matches the policy's `matchLabels`\n"
    for form in ("text", "markdown"):
        assert pending("-o", form, objects=(WAITS[1],)).out.endswith(said)


def test_revisions_of_a_cluster(pending: Run, repository: Past) -> None:
    first = (apps(""), fleet(f"main@sha1:{repository('rev-parse', 'HEAD')}"))
    assert "  2 objects added\n" in pending(*HERE, objects=first).out
    artifacts = (apps(f"1@sha256:{OLD}"), fleet(f"2@sha256:{NEW}"))
    assert "its revisions contain no commit" in pending(*HERE, objects=artifacts).out
    ended = pending(*HERE, objects=WAITS)
    words = " ".join(ended.out.split())
    assert f"fleet: '{OLD}' is not a commit in this repository (was it fetched?)" in words
    assert ended.code == 0
    assert max(map(len, ended.out.splitlines())) <= 80


def test_several_clusters(pending: Run, repository: Past) -> None:
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
        (("--repo", "nothing", "--base", "main"), "nothing: no such directory"),
        ((*HERE, "--base", "nothing"), "'nothing' is not a commit in this repository"),
        # A variable of CI may be empty, and that is not the commit that is checked out.
        ((*HERE, "--base", "", "--head", "HEAD"), "'' is not a commit in this repository"),
        ((*HERE, "--base", "HEAD", "--head", ""), "'' is not a commit in this repository"),
        ((*HERE, "--base", "main", "--clusters", "x/*"), "no directory matches x/*: use"),
    ],
)
@pytest.mark.usefixtures("repository")
def test_what_the_repository_does_not_have(
    pending: Run, options: tuple[str, ...], words: str
) -> None:
    ended = pending(*options)
    assert (ended.code, ended.out) == (1, "")
    assert words in ended.err


@pytest.mark.usefixtures("repository")
def test_nothing_is_judged_by_a_wrong_policy(pending: Run) -> None:
    Path("policy.yaml").write_text(POLICY.replace("Mon 08:00", "Mo 08:00"))
    assert pending(*HERE, "--base", "main").code == 1
    assert pending(objects=(apps(""),)).code == 1


def test_long_words_of_commits_are_cut(pending: Run, repository: Past) -> None:
    old = repository("rev-parse", "HEAD")
    repository.commit(AT, {"apps/new.yaml": config("new")}, "gone " + "x" * 100)
    printed = pending(*HERE, "--base", old).out
    assert max(map(len, printed.splitlines())) <= 80


@pytest.mark.parametrize("name", mostly_slow(BUNDLES, every=4))
def test_hostile_words_in_every_format(pending: Run, repository: Past, name: str) -> None:
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
