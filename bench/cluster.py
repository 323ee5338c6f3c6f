"""`make bench-cluster`: how long edges take, and what runs cost."""

import os
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from environment import Environment, eventually, repository
from lab.api import Api
from lab.processes import LabError
from lab.settings import LOGS, RUN
from when import open_window, since, sleep_until

POLICIES, EDGES = 10, 5
TARGETS = 1000
NEVER = {"schedule": "0 0 31 2 *", "suspend": False}
IDLE = {
    "template": {
        "spec": {"containers": [{"name": "idle", "image": "idle"}], "restartPolicy": "Never"}
    }
}


def prepare(env: Environment) -> None:
    """Five policies have their edges at even minutes, five at odd ones."""
    for number in range(POLICIES):
        target = env.object(
            "batch/v1", "CronJob", f"it-{number}", spec={**NEVER, "jobTemplate": {"spec": IDLE}}
        )
        env.api.create("cronjobs", env.name, target)
        odd = number % 2
        windows = {"w": {"opens": f"{odd}-59/4 * * * *", "closes": f"{odd + 2}-59/4 * * * *"}}
        targets = [{"kind": "CronJob", "names": [f"it-{number}"]}]
        name = f"p{number}"
        env.write(f"{name}.yaml", env.policy_text({"windows": windows, "targets": targets}, name))
        env.render(f"{name}.yaml", name)
        env.kubectl("apply", "--server-side", "--kustomize", str(env.tree / name))


def latencies(env: Environment, begin: datetime) -> list[float]:
    """Return for each run of an edge how many seconds after the minute its patch was answered."""
    found = []
    for log in (LOGS / "jobs").glob(f"{env.name}_p*"):
        for line in log.read_text().splitlines():
            when = datetime.fromisoformat(line[:26] + "+00:00")
            is_written = '"action": "Closed"' in line or '"action": "Opened"' in line
            if is_written and when > begin:
                found.append(when.second + when.microsecond / 1e6)
    return found


def requests(env: Environment, verb: str) -> int:
    """Return how many requests with a verb the policies' accounts have made."""
    account = f'"username":"system:serviceaccount:{env.name}:p'
    lines = (RUN / "audit.log").read_text().splitlines()
    return sum(account in line and f'"verb":"{verb}"' in line for line in lines)


def runs(env: Environment) -> int:
    """Return how many runs there were."""
    return len(list((LOGS / "jobs").glob(f"{env.name}_p*")))


def cost(env: Environment, policy: str) -> tuple[float, float, float]:
    """Return the seconds of a run beside the cluster, those of processor, and its peak in MiB."""
    with env.run_beside(policy) as run:
        began = time.monotonic()
        process = run()
        process.stdout.read()  # type: ignore[union-attr]
        _, process.returncode, used = os.wait4(process.pid, 0)
    return time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def close_many(env: Environment) -> None:
    """Close 1,000 targets of one policy at one edge; print when the last was patched."""
    names = [f"many-{number}" for number in range(TARGETS)]
    for name in names:
        target = env.object(
            "batch/v1", "CronJob", name, spec={**NEVER, "jobTemplate": {"spec": IDLE}}
        )
        env.api.create("cronjobs", env.name, target)
    closing = open_window(
        after=150
    )  # more than a minute after the apply Job, which else would wait for the edge
    spec = {"windows": {"w": closing.spec}, "targets": [{"kind": "CronJob", "names": names}]}
    env.write("all.yaml", env.policy_text(spec, "all"))
    env.render("all.yaml", "all")
    env.kubectl("apply", "--server-side", "--kustomize", str(env.tree / "all"))
    if since(closing.closes) >= 0:
        raise LabError("the edge was over before the policy was applied")
    sleep_until(closing.closes)
    eventually("all are closed", lambda: len(logged(env, '"action": "Closed"')) >= TARGETS)
    first = min(logged(env, '"open": false'))
    last = max(logged(env, '"action": "Closed"'))
    starts, ends = (when - closing.closes.timestamp() for when in (first, last))
    print(
        f"{TARGETS} targets, one edge   decided after {starts:.1f} s, "
        f"the last is patched after {ends:.1f} s"
    )
    took, cpu, memory = cost(env, "all")
    print(
        (
            f"a run of the gate on them in vain {took:.1f} s, {cpu:.2f} s of CPU, "
            f"{memory:.0f} MiB at most"
        ),
        flush=True,
    )


def logged(env: Environment, words: str) -> list[float]:
    """Return when the runs for 1,000 targets logged some words, in seconds since 1970."""
    found = []
    for log in (LOGS / "jobs").glob(f"{env.name}_all-*"):
        lines = [line for line in log.read_text().splitlines() if words in line]
        found += [datetime.fromisoformat(line[:26] + "+00:00").timestamp() for line in lines]
    return found


def main() -> None:
    """Measure, and print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        env = Environment(api := Api(), f"measure-{os.getpid()}", Path(folder) / "tree")
        repository(env.name, env.tree)
        api.create("namespaces", None, {"metadata": {"name": env.name}})
        close_many(env)
        prepare(env)
        begin = datetime.now(UTC).replace(second=0, microsecond=0).timestamp() + 120
        print(f"measuring {POLICIES * EDGES} edges, {2 * EDGES + 2} minutes", flush=True)
        sleep_until(datetime.fromtimestamp(begin + EDGES * 120 - 10, UTC))
        time.sleep(30)
        seconds = sorted(latencies(env, datetime.fromtimestamp(begin, UTC)))
        _, cpu, memory = cost(env, "p0")
        print(f"edges measured         {len(seconds)}, five at once")
        print(
            f"edge to patched        median {statistics.median(seconds):.1f} s, "
            f"worst {seconds[-1]:.1f} s"
        )
        asked = [requests(env, verb) / runs(env) for verb in ("get", "patch")]
        print(
            f"requests of a run      {asked[0]:.1f} GET, {asked[1]:.1f} PATCH, "
            f"over {runs(env)} runs"
        )
        print(f"one run                {cpu:.2f} s of CPU, {memory:.0f} MiB at most")
        api.delete("namespaces", None, env.name)
        api.close()


if __name__ == "__main__":
    main()
