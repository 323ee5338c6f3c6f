"""The main test: a commit waits for the window, and is applied by it with no hand."""

import pytest
from environment import APPS, INTERVAL, SOURCE_INTERVAL, Environment, eventually, note, throughout
from when import since, sleep_until, window

WINDOWED = "windowed"


@pytest.mark.long
def test_a_commit_waits_for_the_window(env: Environment) -> None:
    """It is closed again for the next commit."""
    env.begin()
    opening = window(after=75)
    env.closes({"windows": {"next": opening.spec}})
    env.release("2")
    env.waits("1")
    env.opens_with(opening)
    env.eventually_applied("2")
    beside = "all tests side by side"
    note(f"from the edge to the waiting commit applied, {beside}", since(opening.opens))
    env.closes_with(opening)
    note("from the edge to closed, all tests side by side", since(opening.closes))
    env.release("3")
    env.waits("2")


def test_the_log_of_a_run_says_what_it_did(env: Environment) -> None:
    """`kubectl logs` by the policy's label shows lines of JSON."""
    env.begin()
    audit = {"starts": "2026-01-01", "ends": "2099-12-31", "reason": "Audit"}
    env.closes({"windows": {}, "freezes": {"audit": audit}, "outsideWindows": "Open"})
    selector = f"--selector=krm-windows.dev/policy={env.name}.windows"
    pods = ("get", "pods", selector, "--output=yaml")
    eventually("its Pod is done", lambda: "Succeeded" in env.kubectl(*pods))
    shown = env.kubectl("logs", selector, "--tail=-1")
    assert '"reason": "freezes.audit: Audit"' in shown
    assert f'"policy": "{env.name}/windows"' in shown
    assert '"action": "Closed"' in shown


@pytest.mark.long
def test_new_revisions_wait_while_drift_is_corrected(env: Environment) -> None:
    """A GitRepository: what somebody deletes comes back while closed; the commit waits."""
    env.add("source.yaml", env.source(WINDOWED))
    env.begin(sourceRef={"kind": "GitRepository", "name": WINDOWED})
    opening = window(after=90)
    targets = [{"kind": "GitRepository", "names": [WINDOWED]}]
    env.policy({"windows": {"next": opening.spec}, "targets": targets})
    env.eventually_suspended(WINDOWED, "gitrepositories", 2 * SOURCE_INTERVAL)
    env.release("2")
    env.api.delete("configmaps", env.name, "app")
    env.eventually_applied("1")
    throughout(INTERVAL, "version 1 stays", lambda: env.version() == "1")
    assert not env.suspended(APPS)
    sleep_until(opening.opens)
    env.eventually_applied("2")
    sleep_until(opening.closes)
    env.eventually_suspended(WINDOWED, "gitrepositories")
