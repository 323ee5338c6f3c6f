"""The main story: a commit waits for the window, is applied by it with no hand, and the next one waits again."""

import pytest
from telling import (
    APPS,
    INTERVAL,
    SOURCE_INTERVAL,
    Story,
    eventually,
    note,
    since,
    sleep_until,
    throughout,
    window,
)

WINDOWED = "windowed"


@pytest.mark.long
def test_a_commit_waits_for_the_window(story: Story) -> None:
    """A Kustomization: closed through several intervals, applied when it opens, closed again for the next commit."""
    story.begin()
    opening = window(after=75)
    story.policy({"windows": {"next": opening.spec}})
    story.eventually_closed()
    story.release("2")
    story.waits("1")
    sleep_until(opening.opens)
    story.eventually_open()
    story.eventually_applied("2")
    note(
        "from the edge to the waiting commit applied, all stories side by side",
        since(opening.opens),
    )
    sleep_until(opening.closes)
    story.eventually_closed()
    note("from the edge to closed, all stories side by side", since(opening.closes))
    story.release("3")
    story.waits("2")


def test_the_log_of_a_look_says_what_it_did(story: Story) -> None:
    """`kubectl logs` by the policy's label shows lines of JSON: the decision with its reason, and what was done."""
    story.begin()
    story.policy(
        {
            "windows": {},
            "freezes": {"audit": {"starts": "2026-01-01", "ends": "2099-12-31", "reason": "Audit"}},
            "outsideWindows": "Open",
        }
    )
    story.eventually_closed()
    selector = f"--selector=krm-windows.dev/policy={story.name}.windows"
    eventually(
        "its Pod is done",
        lambda: "Succeeded" in story.kubectl("get", "pods", selector, "--output=yaml"),
    )
    shown = story.kubectl("logs", selector, "--tail=-1")
    assert '"reason": "freezes.audit: Audit"' in shown
    assert f'"policy": "{story.name}/windows"' in shown
    assert '"done": "closed"' in shown


@pytest.mark.long
def test_new_revisions_wait_while_drift_is_corrected(story: Story) -> None:
    """A GitRepository: what somebody deletes comes back while closed, and the commit waits all the same."""
    story.write("cluster/source.yaml", story.source(WINDOWED))
    story.include("source.yaml")
    story.begin(sourceRef={"kind": "GitRepository", "name": WINDOWED})
    opening = window(after=90)
    story.policy(
        {
            "windows": {"next": opening.spec},
            "targets": [{"kind": "GitRepository", "names": [WINDOWED]}],
        }
    )
    eventually("the source is closed", lambda: story.suspended(WINDOWED, "gitrepositories"))
    # A fetch that had begun goes on.
    throughout(
        2 * SOURCE_INTERVAL,
        "the source stays closed",
        lambda: story.suspended(WINDOWED, "gitrepositories"),
    )
    story.release("2")
    story.api.delete("configmaps", story.name, "app")
    story.eventually_applied("1")
    throughout(INTERVAL, "version 1 stays", lambda: story.version() == "1")
    assert not story.suspended(APPS)
    sleep_until(opening.opens)
    story.eventually_applied("2")
    sleep_until(opening.closes)
    eventually("the source is closed", lambda: story.suspended(WINDOWED, "gitrepositories"))
