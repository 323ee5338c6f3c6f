"""From CronJobs with kubectl to a policy, where no file has Flux's objects."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

from environment import APPS, PARENT, Environment, eventually
from when import far_window

CLUSTER = "clusters/site"


def cron_job(env: Environment, name: str, at: datetime, *, suspend: str) -> dict[str, object]:
    patch = (
        f"kubectl patch kustomization {APPS} -n {env.name} --type=merge -p "
        f'\'{{"spec":{{"suspend":{suspend}}}}}\''
    )
    container = {"name": "kubectl", "image": "kubectl:1", "command": ["sh", "-c", patch]}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    spec = {
        "schedule": f"{at:%M %H} * * *",
        "timeZone": "Etc/UTC",
        "jobTemplate": {"spec": {"template": template}},
    }
    return env.object("batch/v1", "CronJob", name, spec=spec)


def test_targets_that_git_does_not_have(env: Environment, tmp_path: Path) -> None:
    """Made by `flux create kustomization`: closed by a CronJob, opened by the policy."""
    env.write_version("1")
    far = far_window()
    env.write(
        f"{CLUSTER}/windows-by-hand.yaml",
        [
            cron_job(env, "open-window", far.opens, suspend="false"),
            cron_job(env, "close-window", far.closes, suspend="true"),
        ],
    )
    env.write(f"{CLUSTER}/kustomization.yaml", {"resources": ["windows-by-hand.yaml"]})
    env.commit("Close by CronJobs")
    env.api.create("gitrepositories", env.name, env.source(PARENT))
    env.api.create("kustomizations", env.name, env.kustomization(APPS, "./apps"))
    env.eventually_applied("1")
    env.api.patch("kustomizations", env.name, APPS, {"spec": {"suspend": True}}, manager="kubectl")
    migrated = tmp_path / "migrated"
    until = datetime.now(UTC) + timedelta(days=30)
    report = env.krm_windows(
        "migrate",
        env.tree,
        "--output-dir",
        migrated,
        "--adopt-until",
        f"{until:%Y-%m-%d}",
        "--no-cache",
    )
    assert "migrate-target-unseen" in report
    shutil.copytree(migrated, env.tree, dirs_exist_ok=True)
    env.krm_windows("render", "window.yaml", "--output-dir", f"{CLUSTER}/windows")
    env.commit("Close by a policy")
    windows = env.kustomization("windows", f"./{CLUSTER}/windows", targetNamespace=None)
    env.api.create("kustomizations", env.name, windows)
    eventually("apps is closed", lambda: env.closed("window"))
    env.krm_windows("set", "window.yaml", "--patch", '{"spec": {"state": "Open"}}')
    env.krm_windows("render", "window.yaml", "--output-dir", f"{CLUSTER}/windows")
    env.write_version("2")
    env.commit("Open")
    env.eventually_applied("2")
