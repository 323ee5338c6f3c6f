"""`make bench-cluster`: how long edges take until all targets are patched, of 1,000 too, and what looks cost."""

import os
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from lab.api import Api
from lab.settings import LOGS, RUN
from telling import Story, eventually, open_window, repository, since, sleep_until

POLICIES, EDGES = 10, 5
TARGETS = 1000
NEVER = {"schedule": "0 0 31 2 *", "suspend": False}
IDLE = {
    "template": {
        "spec": {"containers": [{"name": "idle", "image": "idle"}], "restartPolicy": "Never"}
    }
}


def prepare(story: Story) -> None:
    """Make ten policies that gate an object each: five have their edges at even minutes, five at odd ones."""
    for number in range(POLICIES):
        target = story.object(
            "batch/v1", "CronJob", f"it-{number}", spec={**NEVER, "jobTemplate": {"spec": IDLE}}
        )
        story.api.create("cronjobs", story.name, target)
        odd = number % 2
        windows = {"w": {"opens": f"{odd}-59/4 * * * *", "closes": f"{odd + 2}-59/4 * * * *"}}
        targets = [{"kind": "CronJob", "names": [f"it-{number}"]}]
        name = f"p{number}"
        story.write(
            f"{name}.yaml", story.policy_text({"windows": windows, "targets": targets}, name)
        )
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
    return len(list((LOGS / "jobs").glob(f"{story.name}_p*")))


def cost(story: Story, policy: str) -> tuple[float, float, float]:
    """Run one look as a Pod does, beside the cluster; return its seconds, those of processor, and its peak in MiB."""
    with story.look_beside(policy) as run:
        began = time.monotonic()
        process = run()
        assert process.stdout is not None
        process.stdout.read()
        _, process.returncode, used = os.wait4(process.pid, 0)
    return time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def close_many(story: Story) -> None:
    """Close 1,000 targets of one policy at one edge, and print when the last was patched; then look in vain."""
    names = [f"many-{number}" for number in range(TARGETS)]
    for name in names:
        target = story.object(
            "batch/v1", "CronJob", name, spec={**NEVER, "jobTemplate": {"spec": IDLE}}
        )
        story.api.create("cronjobs", story.name, target)
    closing = open_window(
        after=150
    )  # more than a minute after the look at once, which else would wait for the edge
    spec = {"windows": {"w": closing.spec}, "targets": [{"kind": "CronJob", "names": names}]}
    story.write("all.yaml", story.policy_text(spec, "all"))
    story.render("all.yaml", "all")
    story.kubectl("apply", "--server-side", "--kustomize", str(story.tree / "all"))
    assert since(closing.closes) < 0, "the edge was over before the policy was applied"
    sleep_until(closing.closes)
    eventually("all are closed", lambda: len(logged(story, '"done": "closed')) >= TARGETS)
    first = min(logged(story, '"open": false'))
    last = max(logged(story, '"done": "closed'))
    starts, ends = (when - closing.closes.timestamp() for when in (first, last))
    print(
        f"{TARGETS} targets, one edge   decided after {starts:.1f} s, the last is patched after {ends:.1f} s"
    )
    took, cpu, memory = cost(story, "all")
    print(
        f"a look at them in vain {took:.1f} s, {cpu:.2f} s of CPU, {memory:.0f} MiB at most",
        flush=True,
    )


def logged(story: Story, words: str) -> list[float]:
    """Return when the looks at 1,000 targets logged some words, in seconds since 1970."""
    found = []
    for log in (LOGS / "jobs").glob(f"{story.name}_all-*"):
        lines = [line for line in log.read_text().splitlines() if words in line]
        found += [datetime.fromisoformat(line[:26] + "+00:00").timestamp() for line in lines]
    return found


def main() -> None:
    """Measure, and print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        story = Story(api := Api(), f"measure-{os.getpid()}", Path(folder) / "tree")
        repository(story.name, story.tree)
        api.create("namespaces", None, {"metadata": {"name": story.name}})
        close_many(story)
        prepare(story)
        begin = datetime.now(UTC).replace(second=0, microsecond=0).timestamp() + 120
        print(f"measuring {POLICIES * EDGES} edges, {2 * EDGES + 2} minutes", flush=True)
        sleep_until(datetime.fromtimestamp(begin + EDGES * 120 - 10, UTC))
        time.sleep(30)
        seconds = sorted(latencies(story, datetime.fromtimestamp(begin, UTC)))
        _, cpu, memory = cost(story, "p0")
        print(f"edges measured         {len(seconds)}, five at once")
        print(
            f"edge to patched        median {statistics.median(seconds):.1f} s, worst {seconds[-1]:.1f} s"
        )
        asked = [requests(story, verb) / looks(story) for verb in ("get", "patch")]
        print(
            f"requests of a look     {asked[0]:.1f} GET, {asked[1]:.1f} PATCH, over {looks(story)} looks"
        )
        print(f"one look               {cpu:.2f} s of CPU, {memory:.0f} MiB at most")
        api.delete("namespaces", None, story.name)
        api.close()


if __name__ == "__main__":
    main()
