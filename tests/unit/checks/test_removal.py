"""A commit that removes a target: what stays in the cluster, and when it would not."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from flux_texts import checked, config_map, kustomization, lay, policy

Files = dict[str, str]
Messages = Callable[..., list[str]]
FLUX = "clusters/north/flux.yaml"
POLICY = "clusters/north/policy.yaml"
LIVE = kustomization("live")
APPS = kustomization("apps")
CLOSED, OPEN = "2026-11-28T12:00", "2026-12-01T12:00"
BEFORE: Files = {
    FLUX: LIVE + APPS,
    POLICY: policy("[apps]"),
    "live/live.yaml": config_map("live"),
    "apps/a.yaml": config_map("a"),
    "apps/b.yaml": config_map("b"),
}
REST = policy("[live]")
OTHER = "clusters/north/other.yaml"


def release(name: str = "web", spec: str = "interval: 1h") -> str:
    """Return a HelmRelease."""
    return f"""\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: {name}, namespace: flux-system}}
spec: {{{spec}}}
---
"""


def releases(*names: str, more: str = "") -> str:
    """Return a policy that gates HelmReleases."""
    return policy("[live]", spec=more).replace(
        "{kind: Kustomization, names: [live]}",
        f"{{kind: HelmRelease, names: [{', '.join(names)}]}}",
    )


@pytest.fixture
def messages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tool: Callable[[str], Path]
) -> Messages:
    """Check a change of a repository, and give what is said of removed targets."""

    def check(
        before: Files, after: Files, *options: str, at: str = CLOSED, rule: str = "target-removed"
    ) -> list[str]:
        def git(*command: str) -> None:
            who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
            subprocess.run([tool("git"), "-C", tmp_path, *who, *command], check=True)

        lay(tmp_path, before)
        git("init", "--quiet")
        git("add", ".")
        git("commit", "--quiet", "--message", "before")
        for path in before.keys() - after.keys():
            (tmp_path / path).unlink()
        lay(tmp_path, after)
        results = checked(tmp_path, capsys, "--base", "HEAD", "--at", at, *options)
        found = [each for each in results if each["tags"]["rule"] == rule]
        return [each["message"] for each in found]

    return check


def without(files: Files, *paths: str, **changed: str) -> Files:
    """Return files without some."""
    return {path: text for path, text in files.items() if path not in paths} | changed


def test_what_stays_and_when_it_would_not(messages: Messages) -> None:
    """The objects, and the next opening in the policy's zone."""
    after = without(BEFORE, "apps/a.yaml", "apps/b.yaml") | {FLUX: LIVE, POLICY: REST}
    [message] = messages(BEFORE, after)
    assert "Kustomization flux-system/apps is removed" in message
    assert "ConfigMap shop/a, ConfigMap shop/b will stay in the cluster" in message
    opens = "it is closed now and opens Mon 2026-11-30 08:00 Europe/Berlin"
    assert opens in message


def test_while_it_is_open_it_says_until_when(messages: Messages) -> None:
    """When a change is merged is not known when it is checked."""
    [message] = messages(BEFORE, BEFORE | {FLUX: LIVE, POLICY: REST}, at=OPEN)
    assert "it is open now and closes Thu 2026-12-03 17:00 Europe/Berlin" in message


TWO = BEFORE | {
    FLUX: LIVE + APPS + kustomization("web"),
    "web/web.yaml": config_map("web"),
    POLICY: policy("[apps, web]"),
}
OPEN_FIRST = "  state: Open\n"


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        pytest.param(BEFORE, without(BEFORE, POLICY), "Kustomization flux-system/apps", id="all"),
        pytest.param(
            TWO,
            without(TWO, POLICY),
            "Kustomization flux-system/apps, Kustomization flux-system/web",
            id="all of two targets",
        ),
        pytest.param(
            TWO, TWO | {POLICY: policy("[apps]")}, "Kustomization flux-system/web", id="one of two"
        ),
        pytest.param(
            BEFORE | {POLICY: policy("[apps]", spec=OPEN_FIRST)},
            without(BEFORE, POLICY),
            "",
            id="opened in an earlier commit",
        ),
        pytest.param(
            BEFORE,
            without(BEFORE, POLICY) | {FLUX: LIVE},
            "",
            id="the target is removed, too, which is another finding",
        ),
        pytest.param(
            TWO,
            TWO
            | {
                POLICY: policy("[apps]", spec="  released: [{kind: Kustomization, names: [web]}]\n")
            },
            "",
            id="released",
        ),
        pytest.param(
            BEFORE,
            BEFORE | {POLICY: policy("[apps]", name="other")},
            "",
            id="another policy has it",
        ),
        pytest.param(
            BEFORE | {OTHER: policy("[live]", name="other")},
            BEFORE | {POLICY: REST, OTHER: policy("[apps]", name="other")},
            "",
            id="two targets change places",
        ),
        pytest.param(
            BEFORE | {OTHER: policy("[live]", name="other")},
            without(BEFORE, POLICY) | {OTHER: policy("[live, apps]", name="other")},
            "",
            id="all of it moved, and the policy is removed",
        ),
    ],
)
def test_what_no_policy_opens_any_more(
    before: Files, after: Files, found: str, messages: Messages
) -> None:
    """The policy is removed, or a target of it: what is closed stays so for ever."""
    said = messages(before, after, rule="target-dropped")
    if not found:
        assert said == []
        return
    [message] = said
    assert f"in `released`: {found}; unless" in message
    assert "opens Mon 2026-11-30 08:00 Europe/Berlin: wait, or open it" in message
    assert "docs/how-to/removing-a-policy.md" in message


def test_each_cluster_that_loses_its_policy_is_named(messages: Messages) -> None:
    """The other one keeps it."""
    south = {
        "clusters/south/flux.yaml": LIVE + APPS,
        "clusters/south/policy.yaml": policy("[apps]"),
    }
    both = BEFORE | south
    assert len(messages(both, without(both, POLICY), rule="target-dropped")) == 1


PARENT = kustomization("parent")
NESTED: Files = BEFORE | {FLUX: LIVE + PARENT, "parent/apps.yaml": APPS}
NO_PARENT = without(NESTED, "parent/apps.yaml") | {FLUX: LIVE, POLICY: REST}
MOVED = APPS.replace("namespace: flux-system}", "namespace: shop}").replace(
    "name: flux-system}", "name: flux-system, namespace: flux-system}"
)


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        pytest.param(BEFORE, BEFORE | {FLUX: LIVE, POLICY: REST}, ["apps"], id="removed"),
        pytest.param(
            BEFORE,
            without(BEFORE, POLICY) | {FLUX: LIVE},
            ["apps"],
            id="removed with its policy",
        ),
        pytest.param(
            BEFORE,
            BEFORE | {FLUX: LIVE, POLICY: policy("[live]", spec="  state: Open\n")},
            ["apps"],
            id="the policy is opened in the same commit",
        ),
        pytest.param(NESTED, NO_PARENT, ["apps"], id="removed with its parent"),
        pytest.param(
            BEFORE,
            BEFORE | {FLUX: LIVE + kustomization("shop", path="./apps"), POLICY: policy("[shop]")},
            [],
            id="renamed, and all of it is applied",
        ),
        pytest.param(
            BEFORE,
            BEFORE | {FLUX: LIVE + MOVED, POLICY: REST},
            [],
            id="moved to another namespace",
        ),
        pytest.param(
            BEFORE,
            without(BEFORE, "apps/a.yaml")
            | {FLUX: LIVE + kustomization("shop", path="./apps"), POLICY: policy("[shop]")},
            ["apps"],
            id="renamed, and part of it is applied no more",
        ),
        pytest.param(BEFORE, without(BEFORE, "apps/a.yaml"), [], id="its path shrinks"),
        pytest.param(BEFORE, BEFORE | {POLICY: REST}, [], id="gated no more"),
        pytest.param(
            BEFORE | {POLICY: policy("[apps]", spec="  state: Open\n")},
            BEFORE | {FLUX: LIVE, POLICY: REST},
            [],
            id="opened in an earlier commit",
        ),
        pytest.param(
            BEFORE | {FLUX: LIVE + APPS.replace("prune: true", "prune: false")},
            BEFORE | {FLUX: LIVE, POLICY: REST},
            [],
            id="prunes nothing anyhow",
        ),
        pytest.param(
            BEFORE | {FLUX: LIVE + kustomization("apps", "  deletionPolicy: Orphan\n")},
            BEFORE | {FLUX: LIVE, POLICY: REST},
            [],
            id="leaves everything anyhow",
        ),
        pytest.param(
            BEFORE
            | {
                FLUX: LIVE
                + APPS.replace(
                    "namespace: flux-system}",
                    "namespace: flux-system, "
                    "annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}}",
                )
            },
            BEFORE | {FLUX: LIVE, POLICY: REST},
            [],
            id="it stays itself",
        ),
        pytest.param(
            NESTED | {FLUX: LIVE + kustomization("parent", "  deletionPolicy: Orphan\n")},
            NO_PARENT,
            [],
            id="its parent leaves it",
        ),
        pytest.param(
            NESTED | {POLICY: policy("[apps, parent]")},
            NO_PARENT,
            ["parent"],
            id="its parent is deleted closed, and leaves it",
        ),
        pytest.param(
            BEFORE | {"live/r.yaml": release(), POLICY: releases("web")},
            BEFORE | {POLICY: releases("other")},
            ["web"],
            id="a release",
        ),
        pytest.param(
            BEFORE | {"live/r.yaml": release(), POLICY: releases("web")},
            BEFORE | {"live/r.yaml": release("new"), POLICY: releases("new")},
            ["web"],
            id="a release is renamed",
        ),
        pytest.param(
            BEFORE | {"live/r.yaml": release(), POLICY: releases("web")},
            BEFORE | {"live/r.yaml": release("new", "releaseName: web"), POLICY: releases("new")},
            [],
            id="a release is renamed and keeps the name of its release",
        ),
        pytest.param(
            BEFORE
            | {
                "apps/r.yaml": release(),
                POLICY: releases("web").replace(
                    "targets: [", "targets: [" + ("{kind: Kustomization, names: [apps]}, ")
                ),
            },
            BEFORE
            | {POLICY: policy("[apps]", spec="  released: [{kind: HelmRelease, names: [web]}]\n")},
            [],
            id="a release that its Kustomization prunes in the same window",
        ),
        pytest.param(
            BEFORE
            | {
                "apps/r.yaml": release(),
                POLICY: releases("web").replace(
                    "targets: [", "targets: [" + ("{kind: Kustomization, names: [apps]}, ")
                ),
            },
            BEFORE | {POLICY: policy("[apps]")},
            ["web"],
            id="a release that nobody opens when its Kustomization prunes it",
        ),
        pytest.param(
            BEFORE
            | {
                "live/s.yaml": "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n"
                "metadata: {name: second, namespace: flux-system}\nspec: {url: https://a/b}\n",
                POLICY: policy().replace(
                    "Kustomization, names: [windowed]", ("GitRepository, names: [second]")
                ),
            },
            BEFORE,
            [],
            id="a source, whose finalizer skips nothing",
        ),
    ],
)
def test_removed(before: Files, after: Files, found: list[str], messages: Messages) -> None:
    """Only what is deleted while it is closed, and is applied by nothing else, stays."""
    said = messages(before, after)
    assert [message.split()[1].partition("/")[2] for message in said] == found


def test_each_cluster_has_its_own_zone(messages: Messages) -> None:
    """The same file is removed from clusters in two zones."""
    zones = "  clusters: {tokyo: {timeZone: Asia/Tokyo}, chicago: {timeZone: America/Chicago}}\n"
    files = {
        "clusters/tokyo/flux.yaml": LIVE + APPS,
        "clusters/chicago/flux.yaml": LIVE + APPS,
        "windows/policy.yaml": policy("[apps]", spec=zones),
        **{path: text for path, text in BEFORE.items() if not path.startswith("clusters")},
    }
    gone = {"clusters/tokyo/flux.yaml": LIVE, "clusters/chicago/flux.yaml": LIVE}
    gone["windows/policy.yaml"] = policy("[live]", spec=zones)
    said = messages(files, files | gone, at="2026-11-28T12:00Z")
    [chicago, tokyo] = sorted(said, key=lambda message: "Tokyo" in message)
    assert "opens Mon 2026-11-30 08:00 America/Chicago" in chicago
    assert "opens Mon 2026-11-30 08:00 Asia/Tokyo" in tokyo


@pytest.mark.parametrize("table", ["{}", '{"windows": 1}', '{"timeZone": []}', "[", '"x"'])
def test_a_timetable_that_is_none_stops_nothing(table: str, messages: Messages) -> None:
    """Whoever writes the repository may write anything into what seems to be rendered."""
    rendered = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: window-gate\n"
        "  namespace: flux-system\n  labels: {krm-windows.dev/policy: flux-system.window}\n"
        f"data:\n  timetable.json: '{table}'\n---\n"
    )
    before = BEFORE | {"clusters/north/rendered.yaml": rendered}
    assert messages(before, before | {FLUX: LIVE, POLICY: REST})
