"""A commit that removes a target: what stays in the cluster, and when it would not."""

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
BEFORE: Files = {
    FLUX: LIVE + APPS,
    POLICY: policy("[apps]"),
    "live/live.yaml": config_map("live"),
    "apps/a.yaml": config_map("a"),
    "apps/b.yaml": config_map("b"),
}
REST = policy("[live]")
GONE = BEFORE | {FLUX: LIVE, POLICY: REST}
OPENED = BEFORE | {POLICY: policy("[apps]", spec="  state: Open\n")}
OTHER = "clusters/north/other.yaml"


def release(name: str = "web", spec: str = "interval: 1h") -> str:
    return f"""\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: {name}, namespace: flux-system}}
spec: {{{spec}}}
---
"""


def releases(name: str) -> str:
    return policy(f"[{name}]").replace("{kind: Kustomization", "{kind: HelmRelease")


@pytest.fixture
def messages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], commit: Callable[[Path], None]
) -> Messages:
    def check(before: Files, after: Files, rule: str = "target-removed") -> list[str]:
        lay(tmp_path, before)
        commit(tmp_path)
        for path in before.keys() - after.keys():
            (tmp_path / path).unlink()
        lay(tmp_path, after)
        results = checked(tmp_path, capsys, "--base", "HEAD", "--at", "2026-11-28T12:00")
        found = [each for each in results if each["tags"]["rule"] == rule]
        return [each["message"] for each in found]

    return check


def without(files: Files, *paths: str) -> Files:
    return {path: text for path, text in files.items() if path not in paths}


def test_what_stays_and_when_it_would_not(messages: Messages) -> None:
    after = without(BEFORE, "apps/a.yaml", "apps/b.yaml") | {FLUX: LIVE, POLICY: REST}
    [message] = messages(BEFORE, after)
    assert "Kustomization flux-system/apps is removed" in message
    assert "ConfigMap shop/a, ConfigMap shop/b will stay in the cluster" in message
    opens = "it is closed now and opens Mon 2026-11-30 08:00 Europe/Berlin"
    assert opens in message


TWO = BEFORE | {
    FLUX: LIVE + APPS + kustomization("web"),
    "web/web.yaml": config_map("web"),
    POLICY: policy("[apps, web]"),
}


SOUTH = {"clusters/south/flux.yaml": LIVE + APPS, "clusters/south/policy.yaml": policy("[apps]")}
DROPPED: dict[str, tuple[Files, Files, str]] = {
    "in one of two clusters": (
        BEFORE | SOUTH,
        without(BEFORE | SOUTH, POLICY),
        "Kustomization flux-system/apps",
    ),
    "all of two targets": (
        TWO,
        without(TWO, POLICY),
        "Kustomization flux-system/apps, Kustomization flux-system/web",
    ),
    "one of two": (TWO, TWO | {POLICY: policy("[apps]")}, "Kustomization flux-system/web"),
    "opened in an earlier commit": (OPENED, without(BEFORE, POLICY), ""),
    "the target is removed, too, which is another finding": (
        BEFORE,
        without(BEFORE, POLICY) | {FLUX: LIVE},
        "",
    ),
    "released": (
        TWO,
        TWO
        | {POLICY: policy("[apps]", spec="  released: [{kind: Kustomization, names: [web]}]\n")},
        "",
    ),
    "another policy has it": (BEFORE, BEFORE | {POLICY: policy("[apps]", name="other")}, ""),
    "two targets change places": (
        BEFORE | {OTHER: policy("[live]", name="other")},
        BEFORE | {POLICY: REST, OTHER: policy("[apps]", name="other")},
        "",
    ),
    "all of it moved, and the policy is removed": (
        BEFORE | {OTHER: policy("[live]", name="other")},
        without(BEFORE, POLICY) | {OTHER: policy("[live, apps]", name="other")},
        "",
    ),
}


@pytest.mark.parametrize(("before", "after", "found"), DROPPED.values(), ids=DROPPED)
def test_what_no_policy_opens_any_more(
    before: Files, after: Files, found: str, messages: Messages
) -> None:
    said = messages(before, after, rule="target-dropped")
    if not found:
        assert said == []
        return
    [message] = said
    assert f"in `released`: {found}; unless" in message
    assert "opens Mon 2026-11-30 08:00 Europe/Berlin: wait, or open it" in message
    assert "docs/how-to/removing-a-policy.md" in message


PARENT = kustomization("parent")
NESTED: Files = BEFORE | {FLUX: LIVE + PARENT, "parent/apps.yaml": APPS}
NO_PARENT = without(NESTED, "parent/apps.yaml") | {FLUX: LIVE, POLICY: REST}
MOVED = APPS.replace("namespace: flux-system}", "namespace: shop}").replace(
    "name: flux-system}", "name: flux-system, namespace: flux-system}"
)


BOTH = BEFORE | {
    "apps/r.yaml": release(),
    POLICY: releases("web").replace(
        "targets: [", "targets: [{kind: Kustomization, names: [apps]}, "
    ),
}
REMOVED: dict[str, tuple[Files, Files, list[str]]] = {
    "removed": (BEFORE, GONE, ["apps"]),
    "removed with its policy": (BEFORE, without(BEFORE, POLICY) | {FLUX: LIVE}, ["apps"]),
    "the policy is opened in the same commit": (
        BEFORE,
        BEFORE | {FLUX: LIVE, POLICY: policy("[live]", spec="  state: Open\n")},
        ["apps"],
    ),
    "removed with its parent": (NESTED, NO_PARENT, ["apps"]),
    "renamed, and all of it is applied": (
        BEFORE,
        BEFORE | {FLUX: LIVE + kustomization("shop", path="./apps"), POLICY: policy("[shop]")},
        [],
    ),
    "moved to another namespace": (BEFORE, BEFORE | {FLUX: LIVE + MOVED, POLICY: REST}, []),
    "renamed, and part of it is applied no more": (
        BEFORE,
        without(BEFORE, "apps/a.yaml")
        | {FLUX: LIVE + kustomization("shop", path="./apps"), POLICY: policy("[shop]")},
        ["apps"],
    ),
    "its path shrinks": (BEFORE, without(BEFORE, "apps/a.yaml"), []),
    "gated no more": (BEFORE, BEFORE | {POLICY: REST}, []),
    "opened in an earlier commit": (OPENED, GONE, []),
    "prunes nothing anyhow": (
        BEFORE | {FLUX: LIVE + APPS.replace("prune: true", "prune: false")},
        GONE,
        [],
    ),
    "it stays itself": (
        BEFORE
        | {
            FLUX: LIVE
            + APPS.replace(
                "namespace: flux-system}",
                "namespace: flux-system, "
                "annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}}",
            )
        },
        GONE,
        [],
    ),
    "its parent leaves it": (
        NESTED | {FLUX: LIVE + kustomization("parent", "  deletionPolicy: Orphan\n")},
        NO_PARENT,
        [],
    ),
    "its parent is deleted closed, and leaves it": (
        NESTED | {POLICY: policy("[apps, parent]")},
        NO_PARENT,
        ["parent"],
    ),
    "a release": (
        BEFORE | {"live/r.yaml": release(), POLICY: releases("web")},
        BEFORE | {POLICY: releases("other")},
        ["web"],
    ),
    "a release is renamed and keeps the name of its release": (
        BEFORE | {"live/r.yaml": release(), POLICY: releases("web")},
        BEFORE | {"live/r.yaml": release("new", "releaseName: web"), POLICY: releases("new")},
        [],
    ),
    "a release that its Kustomization prunes in the same window": (
        BOTH,
        BEFORE
        | {POLICY: policy("[apps]", spec="  released: [{kind: HelmRelease, names: [web]}]\n")},
        [],
    ),
    "a release that nobody opens when its Kustomization prunes it": (
        BOTH,
        BEFORE | {POLICY: policy("[apps]")},
        ["web"],
    ),
    "a source, whose finalizer skips nothing": (
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
    ),
}


@pytest.mark.parametrize(("before", "after", "found"), REMOVED.values(), ids=REMOVED)
def test_removed(before: Files, after: Files, found: list[str], messages: Messages) -> None:
    said = messages(before, after)
    assert [message.split()[1].partition("/")[2] for message in said] == found


@pytest.mark.parametrize("table", ['{"windows": 1}', "["])
def test_a_timetable_that_is_none_stops_nothing(table: str, messages: Messages) -> None:
    rendered = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: window-gate\n"
        "  namespace: flux-system\n  labels: {krm-windows.dev/policy: flux-system.window}\n"
        f"data:\n  timetable.json: '{table}'\n---\n"
    )
    before = BEFORE | {"clusters/north/rendered.yaml": rendered}
    assert messages(before, before | {FLUX: LIVE, POLICY: REST})
