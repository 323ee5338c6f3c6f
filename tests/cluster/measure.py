"""`make bench-cluster`: how long an edge takes until its target is patched, and what a look costs."""

import os
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from lab.api import Api
from lab.places import LOGS, RUN
from telling import Story, repository, sleep_until

POLICIES, EDGES = 10, 5
NEVER = {"schedule": "0 0 31 2 *", "suspend": False}
IDLE = {"template": {"spec": {"containers": [{"name": "idle", "image": "idle"}], "restartPolicy": "Never"}}}


def prepare(story: Story) -> None:
    """Make ten policies that gate an object each: five have their edges at even minutes, five at odd ones."""
    story.api.create("namespaces", None, {"metadata": {"name": story.name}})
    for number in range(POLICIES):
        target = story.object("batch/v1", "CronJob", f"it-{number}", spec={**NEVER, "jobTemplate": {"spec": IDLE}})
        story.api.create("cronjobs", story.name, target)
        odd = number % 2
        windows = {"w": {"opens": f"{odd}-59/4 * * * *", "closes": f"{odd + 2}-59/4 * * * *"}}
        targets = [{"kind": "CronJob", "names": [f"it-{number}"]}]
        name = f"p{number}"
        story.write(f"{name}.yaml", story.policy_text({"windows": windows, "targets": targets}, name))
        story.render(f"{name}.yaml", name)
        story.kubectl("apply", "--server-side", "--kustomize", str(story.tree / name))


def latencies(story: Story, begin: datetime) -> list[float]:
    """Return for every look of an edge, how many seconds after the full minute its patch was answered."""
    found = []
    for log in (LOGS / "jobs").glob(f"{story.name}_p*-[oc]*"):
        for line in log.read_text().splitlines():
            when = datetime.fromisoformat(line[:26] + "+00:00")
            if '"done"' in line and when > begin:
                found.append(when.second + when.microsecond / 1e6)
    return found


def requests(story: Story, verb: str) -> int:
    """Return how many requests with a verb the policies' accounts have made."""
    account = f'"username":"system:serviceaccount:{story.name}:p'
    lines = (RUN / "audit.log").read_text().splitlines()
    return sum(account in line and f'"verb":"{verb}"' in line for line in lines)


def looks(story: Story) -> int:
    """Return how many looks there were."""
    return len(list((LOGS / "jobs").glob(f"{story.name}_*")))


def cost(story: Story) -> tuple[float, float]:
    """Run one look as a Pod does, beside the cluster; return its CPU time in seconds and its peak memory in MiB."""
    with story.look_beside("p0") as run:
        process = run()
        assert process.stdout is not None
        process.stdout.read()
        _, process.returncode, used = os.wait4(process.pid, 0)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    """Measure, and print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        story = Story(api := Api(), f"measure-{os.getpid()}", Path(folder) / "tree")
        repository(story.name, story.tree)
        prepare(story)
        begin = datetime.now(UTC).replace(second=0, microsecond=0).timestamp() + 120
        print(f"measuring {POLICIES * EDGES} edges, {2 * EDGES + 2} minutes", flush=True)
        sleep_until(datetime.fromtimestamp(begin + EDGES * 120 - 10, UTC))
        time.sleep(30)
        seconds = sorted(latencies(story, datetime.fromtimestamp(begin, UTC)))
        cpu, memory = cost(story)
        print(f"edges measured         {len(seconds)}, five at once")
        print(f"edge to patched        median {statistics.median(seconds):.1f} s, worst {seconds[-1]:.1f} s")
        asked = [requests(story, verb) / looks(story) for verb in ("get", "patch")]
        print(f"requests of a look     {asked[0]:.1f} GET, {asked[1]:.1f} PATCH, over {looks(story)} looks")
        print(f"one look               {cpu:.2f} s of CPU, {memory:.0f} MiB at most")
        api.delete("namespaces", None, story.name)
        api.close()


if __name__ == "__main__":
    main()
