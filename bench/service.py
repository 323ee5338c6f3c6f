"""The service under load: state and calendar beside an empty handler, and writers at once.

1,000 policies that name 1,000 clusters each. Reads are asked by as many connections as a browser
or two would open, kept alive, over the loopback; the empty handler is of the same framework, in a
process of the same set-up, and the two take turns. Writers take the policy's tag, change it, and
try again where somebody was faster; then the history of Git is compared with what was accepted.
Every loop is bounded by number and time. A missed aim is said, and fails nothing; a lost write
fails.
"""

import asyncio
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path

from measure import Aim

POLICIES, CLUSTERS = 1000, 1000
CONNECTIONS = 8
ROUNDS, SECONDS = 5, 2.0
"""How often the programs take turns, and for how long each is asked."""
MOST = 50_000  # requests of a round, however quick the answers are
HOT = 200  # policies and clusters that are asked for again and again
ASKED = POLICIES  # policies that are asked at all
WRITERS = (10, 20)
EACH = 5  # accepted changes of each writer
SEQUENCE = 100  # changes one after the other, beside as many commits
AROUND = 3  # commits before and after a change that it is compared with
# Ratios that are not to be exceeded: a fifth of the throughput, ten times the time.
FIFTH = 5.0
TEN = 10.0

HEAD = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata: {{name: week-{number:04}, namespace: flux-system}}
spec:
  timeZone: Europe/Berlin
  targets: [{{kind: Kustomization, names: [apps-{number}]}}]
  windows:
    week: {{opens: Mon 08:00, closes: Thu 17:00}}
    nights: {{opens: "Sat,Sun 02:00", duration: 2h}}
  freezes:
    year-end: {{starts: "2026-12-20", ends: "2027-01-03", reason: Year-end change freeze}}
"""
CLUSTER = "    plant-{number:04}: {{windows: {{week: {{opens: 'Mon {hour:02}:{minute:02}'}}}}}}\n"
SERVER = """\
import sys
from pathlib import Path
from fastapi import FastAPI
from starlette.responses import Response
from krm_windows.service import access, admission, application, server
from krm_windows.service.settings import SERVICE, Settings
from krm_windows.service.windows import Windows

# Any number.
admission._READS_A_MINUTE = 0

async def empty():
    return Response(b"{}", media_type="application/json")

def service(repository):
    windows = Windows(Settings(repo=Path(repository), rate=0))
    caller = access.Caller("bench", SERVICE, access.EVERYTHING)
    return application.make(windows, access.Access(access.Ways(anonymous=caller)))

def started(host, port):
    print(port, flush=True)

if len(sys.argv) == 1:
    application = FastAPI()
    application.get("/empty", response_model=None)(empty)
else:
    application = service(sys.argv[1])
server.run(application, ("127.0.0.1", 0), started, lambda: None)
"""


def run() -> None:
    """Print requests a second, the time of a write, and what each aim says."""
    with tempfile.TemporaryDirectory() as folder:
        large = repository(Path(folder, "large"), POLICIES, CLUSTERS)
        reads(large)
        small = repository(Path(folder, "small"), POLICIES, 0)
        writes(small)


def repository(tree: Path, policies: int, clusters: int) -> Path:
    """Make a repository with a file for each policy."""
    tree.mkdir()
    for number in range(policies):
        with (tree / f"week-{number:04}.yaml").open("w") as file:
            file.write(HEAD.format(number=number))
            if clusters:
                file.write("  clusters:\n")
            for each in range(clusters):
                minute = (number + each) % 60
                file.write(CLUSTER.format(number=each, hour=6 + each % 8, minute=minute))
    git(tree, "init", "--quiet", "--initial-branch=main")
    git(tree, "config", "user.name", "Bench")
    git(tree, "config", "user.email", "bench@example.com")
    git(tree, "add", ".")
    git(tree, "commit", "--quiet", "--message=first")
    # The service has a clone of its own.
    clone = tree.with_suffix(".git")
    git(tree, "clone", "--quiet", "--bare", ".", str(clone))
    return clone


def git(tree: Path, *arguments: str) -> str:
    """Run Git in a tree and return what it printed."""
    command = ["git", "-C", str(tree), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@contextmanager
def served(*arguments: Path) -> Iterator[int]:
    """Run a server in a process of its own, and yield its port."""
    command = [sys.executable, "-c", SERVER, *map(str, arguments)]
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        if child.stdout is not None:
            port = int(child.stdout.readline())
            wait(port)
            yield port
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait()


def wait(port: int) -> None:
    """Wait until somebody listens: a port is named a moment before."""
    for _ in range(1000):
        with socket.socket() as asked:
            if asked.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    sys.exit("bench: nobody listens")


def reads(tree: Path) -> None:
    """Ask for state and calendar: what was asked before, and what was not."""
    chance = random.Random(1)  # noqa: S311 - the same requests each time
    hot = [place(chance) for _ in range(HOT)]
    asked: dict[str, Callable[[], str]] = {
        "empty": lambda: "/empty",
        "state, asked before": lambda: path(chance.choice(hot), "state"),
        "calendar, asked before": lambda: path(chance.choice(hot), "calendar"),
        "state, not asked before": lambda: path(place(chance), "state"),
        "calendar, not asked before": lambda: path(place(chance), "calendar"),
    }
    began = time.perf_counter()
    with served() as empty, served(tree) as service:
        ask(service, lambda: "/policies?limit=1", 1)
        seconds = time.perf_counter() - began
        print(f"{POLICIES} policies of {CLUSTERS} clusters: up after {seconds:.1f} s", flush=True)
        for name in ("first page", "first page again"):
            began = time.perf_counter()
            ask(service, lambda: "/", 1)
            print(f"{name}: {time.perf_counter() - began:.2f} s", flush=True)
        warm(service, hot)
        middle = rates(asked, empty, service)
    for name, rate in middle.items():
        print(f"{name:>28}: {rate:7,.0f} requests a second")
    for name in list(asked)[1:]:
        Aim(f"{name}: empty handler / service", FIFTH).judge(middle["empty"] / middle[name])


def rates(asked: dict[str, Callable[[], str]], empty: int, service: int) -> dict[str, float]:
    """Return requests a second: the median of some rounds, in each of which everything is asked."""
    measured: dict[str, list[float]] = {name: [] for name in asked}
    for _ in range(ROUNDS):
        for name, target in asked.items():
            port = empty if name == "empty" else service
            measured[name].append(throughput(port, target))
    return {name: statistics.median(each) for name, each in measured.items()}


def warm(port: int, hot: Sequence[tuple[int, int]]) -> None:
    """Ask each policy for the first time, which reads it, and then for what is asked again."""
    firsts: list[float] = []
    for policy in range(ASKED):
        began = time.perf_counter()
        ask(port, lambda policy=policy: path((policy, 0), "state"), 1)
        firsts.append(time.perf_counter() - began)
    print(f"first question to a policy: {statistics.median(firsts) * 1000:.0f} ms", flush=True)
    for kind in ("state", "calendar"):
        for each in hot:
            ask(port, lambda each=each, kind=kind: path(each, kind), 1)


def place(chance: random.Random) -> tuple[int, int]:
    """Return a policy and a cluster, any of those that are asked."""
    return chance.randrange(ASKED), chance.randrange(CLUSTERS)


def path(place: tuple[int, int], what: str) -> str:
    """Return what is asked of a policy on a cluster."""
    policy, cluster = place
    return f"/policies/flux-system/week-{policy:04}/{what}?cluster=plant-{cluster:04}"


def throughput(port: int, target: Callable[[], str]) -> float:
    """Ask for some seconds over several connections; return answers a second."""
    began = time.perf_counter()
    count = asyncio.run(load(port, target, CONNECTIONS, began + SECONDS, MOST))
    return count / (time.perf_counter() - began)


def ask(port: int, target: Callable[[], str], times: int) -> None:
    """Ask so many times, one after the other."""
    asyncio.run(load(port, target, 1, time.perf_counter() + 600, times))


async def load(
    port: int,
    target: Callable[[], str],
    connections: int,
    ends: float,
    most: int,
) -> int:
    """Ask over connections that are kept, until an instant or a number; return how often."""
    count = 0

    async def client() -> None:
        nonlocal count
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            while count < most and time.perf_counter() < ends:
                count += 1
                writer.write(f"GET {target()} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
                await answered(reader)
        finally:
            writer.close()

    await asyncio.gather(*(client() for _ in range(connections)))
    return count


async def answered(reader: asyncio.StreamReader) -> None:
    """Read an answer to its end; exits where it is another than expected."""
    head = await reader.readuntil(b"\r\n\r\n")
    status, _, headers = head.partition(b"\r\n")
    length = 0
    for line in headers.lower().split(b"\r\n"):
        name, _, text = line.partition(b":")
        if name == b"content-length":
            length = int(text)
    body = await reader.readexactly(length)
    if b" 200 " not in status:
        sys.exit(f"bench: {status.decode()}: {body[:400].decode()}")


def writes(tree: Path) -> None:
    """Write one after the other, beside plain commits, then from many sides at once."""
    with served(tree) as port:
        sequence(tree, port)
        for writers in WRITERS:
            for what in ("one policy", "a policy each"):
                at_once(tree, port, writers, together=what == "one policy")


def sequence(tree: Path, port: int) -> None:
    """Compare the time of a change with that of a commit in another tree of the same files."""
    other = tree.with_name("plain")
    git(tree.parent, "clone", "--quiet", "--local", str(tree), str(other))
    git(other, "config", "user.name", "Bench")
    git(other, "config", "user.email", "bench@example.com")
    connection = HTTPConnection("127.0.0.1", port)
    ours, plain = [], []
    for number in range(SEQUENCE):
        began = time.perf_counter()
        change(connection, number % POLICIES, number)
        ours.append(time.perf_counter() - began)
        (other / f"week-{number % POLICIES:04}.yaml").write_text(f"# {number}\n")
        began = time.perf_counter()
        git(other, "commit", "--quiet", "--all", f"--message={number}")
        plain.append(time.perf_counter() - began)
    late = sorted(ours)[SEQUENCE * 95 // 100 - 1]
    print(
        f"a change: {statistics.median(ours) * 1000:.0f} ms, 95 of 100 within "
        f"{late * 1000:.0f} ms; git commit: {statistics.median(plain) * 1000:.0f} ms",
        flush=True,
    )
    # Each beside the commits around it, which met the same machine.
    ratios = [
        each / statistics.median(plain[max(number - AROUND, 0) : number + AROUND + 1])
        for number, each in enumerate(ours)
    ]
    Aim("a change / git commit, median", TEN).judge(statistics.median(ratios))
    Aim("a change / git commit, 95 of 100", TEN).judge(sorted(ratios)[SEQUENCE * 95 // 100 - 1])


def at_once(tree: Path, port: int, writers: int, *, together: bool) -> None:
    """Let writers change policies at once, and compare what they were told with Git's history."""
    before = git(tree, "rev-parse", "HEAD").strip()
    accepted: list[str] = []
    conflicts = [0] * writers

    def work(writer: int) -> None:
        connection = HTTPConnection("127.0.0.1", port)
        policy = 0 if together else writer
        for number in range(EACH):
            commit, refused = tried(connection, policy, f"{writers}-{writer}-{number}-{together}")
            conflicts[writer] += refused
            accepted.append(commit)

    began = time.perf_counter()
    threads = [threading.Thread(target=work, args=(each,)) for each in range(writers)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    seconds = time.perf_counter() - began
    compare(tree, before, accepted, writers * EACH)
    where = "one policy" if together else "a policy each"
    print(
        f"{writers} writers, {where}: {len(accepted)} changes and {sum(conflicts)} refused in "
        f"{seconds:.1f} s; Git has exactly those that were accepted"
    )


def compare(tree: Path, before: str, accepted: Sequence[str], expected: int) -> None:
    """Exit where Git's history is another than what was accepted."""
    history = git(tree, "log", "--first-parent", "--format=%H", f"{before}..HEAD").split()
    if sorted(history) != sorted(accepted) or len(history) != expected:
        sys.exit(f"bench: {len(history)} commits, {len(accepted)} accepted, {expected} asked")


def tried(connection: HTTPConnection, policy: int, word: str) -> tuple[str, int]:
    """Change a policy, again where somebody was faster; return the commit and how often."""
    for refused in range(1000):
        tag, _ = answer(connection, "GET", policy)
        status, found = patched(connection, policy, tag, word)
        if status == HTTPStatus.OK:
            return found["commit"], refused
        # Somebody was faster, or many were before it.
        if status not in (HTTPStatus.PRECONDITION_FAILED, HTTPStatus.SERVICE_UNAVAILABLE):
            raise RuntimeError(f"bench: {status}: {found}")
    raise RuntimeError("bench: refused a thousand times")


def change(connection: HTTPConnection, policy: int, number: int) -> None:
    """Change a policy that nobody else changes."""
    tag, _ = answer(connection, "GET", policy)
    status, found = patched(connection, policy, tag, str(number))
    if status != HTTPStatus.OK:
        sys.exit(f"bench: {status}: {found}")


def answer(connection: HTTPConnection, method: str, policy: int) -> tuple[str, bytes]:
    """Return the tag and the content of a policy."""
    connection.request(method, f"/policies/flux-system/week-{policy:04}")
    found = connection.getresponse()
    body = found.read()
    return found.headers["ETag"], body


def patched(
    connection: HTTPConnection,
    policy: int,
    tag: str,
    word: str,
) -> tuple[int, dict[str, str]]:
    """Change the reason of a freeze, which is different each time."""
    body = {"spec": {"freezes": {"year-end": {"reason": f"Year-end {word}"}}}}
    headers = {"If-Match": tag, "Content-Type": "application/merge-patch+json"}
    target = f"/policies/flux-system/week-{policy:04}"
    connection.request("PATCH", target, json.dumps(body), headers)
    found = connection.getresponse()
    return found.status, json.loads(found.read())


if __name__ == "__main__":
    run()
