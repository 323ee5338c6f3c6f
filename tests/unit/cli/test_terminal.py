"""What somebody at a terminal is asked and told, in a repository; a real one of 80 columns."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import zoned
from calls import Run

from krm_windows.edit import overrides
from krm_windows.policy.findings import RefusedError
from krm_windows.policy.moments import Role
from krm_windows.preview import sentences
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timeline import decide
from krm_windows.schedule.timetable import Kind, Rule

POLICY = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata: {name: NAME, namespace: flux-system}
spec:
  timeZone: Europe/Berlin
  targets: [{kind: Kustomization, names: [apps]}]
  windows: {week: {opens: Mon 08:00, closes: Thu 17:00}}
"""
CLUSTERS = "  clusters: {north: {}, south: {}}\n"
NO_CLUSTER = (
    "krm-windows: cluster 'nort' not found in the policy (known: north, south); did you mean 'nor"
)
MAKING = ("--for", "2h", "--reason", "r")


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, run: Run) -> Path:  # noqa: ARG001 - in whose directory it is
    """Have two policies of a repository in another directory than the working one."""
    top = tmp_path
    subprocess.run(("git", "init", "-q", top), check=True)
    for place in (top / "windows", top / "plants"):
        place.mkdir()
    (top / "policy.yaml").unlink()
    for name, more in {"plants": CLUSTERS, "web": ""}.items():
        (top / f"windows/{name}.yaml").write_text(POLICY.replace("NAME", name) + more)
    return top


def at_terminal(arguments: Sequence[str], *answers: str) -> tuple[int, str]:
    """Run a command at a terminal, and give an answer whenever it waits for one."""
    child, terminal = pty.fork()
    if not child:
        os.environ["TERM"] = "xterm"
        # Whoever runs the tests in the background of a shell has it ignored.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.execv(sys.executable, [sys.executable, "-m", "krm_windows", *arguments])  # noqa: S606
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
    left, shown = list(answers), ""
    try:
        while part := os.read(terminal, 4096):
            shown += part.decode()
            if left and shown.endswith(": "):
                _await_question(child)
                if (answer := left.pop(0)) == "TERM":
                    os.kill(child, signal.SIGTERM)
                else:
                    os.write(terminal, answer.encode())
    except OSError:  # Linux: the other side is closed
        pass
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    assert not left, shown
    # Without colours, and what draws.
    plain = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", shown).replace("\r\n", "\n")
    return os.waitstatus_to_exitcode(status), plain


def _await_question(child: int) -> None:
    """Wait until a process sleeps: Python may not see a signal that comes just before."""
    while Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "R":
        time.sleep(0.01)


def test_an_override_asks_what_is_missing(repository: Path) -> None:
    answers = [
        "3",
        "",
        "plants",
        "th",
        "nor",
        "3h",
        "open soon",
        "open for 3h",
        "",
        "",
        "fix it",
        "y",
    ]
    code, shown = at_terminal(["override"], *(f"{answer}\n" for answer in answers))
    assert code == 0, shown
    for said in (
        "Which policy, or cluster (plants, web): 3\n",
        "'3' is none of these: give one, or a part of",
        "'th' is 2 of these: give one, or",
        "'soon' is no end: give one such as 2h (at most 366",
        "'3h': answer `open` or `closed`",
        "Open or closed (or closed Mon 06:00, Europe/Berlin) [open]: ",
        "a reason is needed",
        "s on north",
        "Write this to windows/plants.yaml: y, n, or c to commit it as well [n]: y\n",
        "windows/plants.yaml: written\n",
        "\n  git add -- windows/plants.yaml\n",
        "\n  git commit -m 'fix it' -- windows/plants.yaml\n",
    ):
        assert said in shown, shown
    assert max(map(len, shown.splitlines())) <= 80
    written = (repository / "windows/plants.yaml").read_text()
    assert "clusters: {north: {overrides: {open-" in written
    assert 'reason: "fix it"}}}, south: {}}' in written
    code, shown = at_terminal(["override", "--end"], "y\n")
    assert (code, " from windows/plants.yaml: y, n, or c" in shown) == (0, True)
    assert "clusters: {north: {}, south: {}}" in (repository / "windows/plants.yaml").read_text()
    assert at_terminal(["override", "web", "--end"])[0] == 1
    # A cluster of one policy alone says which.
    _, shown = at_terminal(["override"], "soth\n", "SOU\n", "closed 1h\n", "fix\n", "n\n")
    assert "did you mean south?" in shown
    assert ("Where" in shown, "s on south" in shown) == (False, True), shown
    # What keeps closed what is to be opened is said before it is written.
    assert at_terminal(["override", "web", "closed", *MAKING])[0] == 0
    _, shown = at_terminal(["override", "web"], "\n", "1h\n", "fix\n", "n\n")
    question = "Open for how long, or until when (18:00, 20:00 for 2h, Europe/Berlin) [2h]: 1h\n"
    assert question in shown
    assert re.search(r"open until .*, in 1 h: fix\n", shown)
    assert "by the override (r), which wins until it ends\nWrite" in re.sub(r"\n {4}", " ", shown)


def test_what_was_given_is_asked_no_more(repository: Path) -> None:
    """Nor is another end taken and left out; of a fleet it is said that more can be typed."""
    fleet = ", ".join(f"site-{number:04}: {{}}" for number in range(1, 1001))
    more = f"  clusters: {{{fleet}}}\n"
    (repository / "windows/plants.yaml").write_text(POLICY.replace("NAME", "plants") + more)
    answers = ("site-0999\n", "open 3h\n", "open\n", "fix\n", "n\n")
    _, shown = at_terminal(["override", "plants", "--for", "2h"], *answers)
    for said in (
        "  site-0019\n  and 981 more: type a name, or a part of it\n",
        "'3h': --for or --until says that already: answer `open` or `closed`\n",
        ", in 2 h: fix\n",
        "s on site-0999",
    ):
        assert said in shown, shown
    _, shown = at_terminal(["override"], "plnts\n", "\x03")
    assert "did you mean plants?" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["web", "--cluster", "berlin"], "cluster 'berlin' not found"),
        (["plants", "--cluster", "nort"], "did you mean 'north'?"),
        (["web", "--until", "2025-11-01"], "'2025-11-01' is over"),
        (["web", "--from", "soon"], "'soon' is no beginning"),
        (["web", "--name", "fix"], "override 'fix' already exists on all clusters"),
        (["odd"], "spec.timeZone"),
    ],
)
def test_what_is_given_is_refused_before_anything_is_asked(
    arguments: list[str], said: str, repository: Path
) -> None:
    file = repository / "windows/web.yaml"
    fix = "  overrides: {fix: {state: Open, ends: 2098-01-01, reason: r}}\n"
    file.write_text(file.read_text() + fix)
    odd = POLICY.replace("NAME", "odd").replace("Berlin", "Nowhere")
    (repository / "windows/odd.yaml").write_text(odd)
    code, shown = at_terminal(["override", *arguments])
    assert (code, said in shown.replace("\n  ", " ")) == (1, True), shown


def test_when_it_begins_is_said_with_its_end(repository: Path) -> None:
    """In the same answer; never twice, and never by what is an end alone."""
    answers = ("open soon for 2h\n", "\n", "from 2098-01-01 20:00 for 2h\n", "fix\n", "y\n")
    code, shown = at_terminal(["override", "web"], *answers)
    assert (code, "'soon' is no beginning" in shown) == (0, True), shown
    written = (repository / "windows/web.yaml").read_text()
    assert re.search(r'starts: "?2098-01-01T20:00.*\n +ends: "?2098-01-01T22:00', written), written
    _, shown = at_terminal(["override", "web", "--from", "20:00"], "open 21:00 for 2h\n", "\x03")
    assert "'21:00 for 2h' is no end" in shown


@pytest.mark.parametrize(
    ("answers", "ends"),
    [
        (["\x04"], 2),
        (["\x03"], 130),
        (["\n", "\x03"], 130),
        (["\n", "r\n", "TERM"], 143),
        (["\n", "r\n", "\n"], 2),
    ],
)
def test_who_gives_up_changes_nothing(answers: list[str], ends: int, repository: Path) -> None:
    before = (repository / "windows/web.yaml").read_text()
    code, shown = at_terminal(["override", "closed", "web"], *answers)
    assert code == ends
    assert shown.endswith("krm-windows: stopped: nothing was changed\n")
    assert (repository / "windows/web.yaml").read_text() == before


def test_overrides_are_found_wherever_they_are(run: Run, repository: Path) -> None:
    """Without a policy those of all are listed; without a cluster its only place is found."""
    making = ["--for", "2h", "--reason", "r", "--name", "fix"]
    assert run("override", "plants", "open", "--cluster", "north", *making).code == 0
    shown = run("override", "--list")
    assert shown.code == 0
    assert "flux-system/plants (windows/plants.yaml)\n  fix  north  Open  active  " in shown.out
    assert shown.out.endswith("flux-system/web (windows/web.yaml)\n  no overrides\n")
    ending = ("override", "plants", "--end", "fix")
    assert run(*ending, "--cluster", "south").code == 1
    assert run(*ending).code == 0
    assert "overrides" not in (repository / "windows/plants.yaml").read_text()


def test_all_that_is_said_alone(repository: Path) -> None:
    """Everything is given: nothing is asked, as ever; and what Git lacks is no cluster's yet."""
    author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    for command in (("init", "-q"), ("add", "."), (*author, "commit", "-qm", "Begin")):
        subprocess.run(("git", *command), cwd=repository, check=True)
    code, shown = at_terminal(["override", "web", "open", *MAKING])
    assert (code, "windows/web.yaml: written" in shown) == (0, True)
    code, shown = at_terminal(["override", "web", "--commit"])
    assert (code, "Open or closed" in shown) == (1, False), shown
    assert "windows/web.yaml has uncommitted changes" in shown
    for name in ("user.name", "user.email"):
        subprocess.run(("git", "config", name, "ada@example.com"), cwd=repository, check=True)
    # Nor is what cannot be done offered, once all is answered.
    code, shown = at_terminal(["override", "web", "--name", "more"], "\n", "1h\n", "fix\n", "c\n")
    assert (code, "Write this to windows/web.yaml: y or n [n]: c\n" in shown) == (2, True), shown
    assert "not to be committed here: windows/web.yaml has uncommitted changes" in shown
    answers = ("\n", "closed\n", "1h\n", "Line 3\n", "c\n")
    code, shown = at_terminal(["override", "plants"], *answers)
    assert (code, "windows/plants.yaml: committed as " in shown) == (0, True), shown
    log = subprocess.check_output(("git", "log", "-1", "--stat", "--format=%s"), cwd=repository)
    assert re.match(rb"Line 3\n\n windows/plants.yaml \|", log)
    assert "in no cluster yet: push (no remote)\n  git remote add origin URL\n" in shown
    ending = ["override", "plants", "--end", "--commit", "--cluster", "north"]
    _, shown = at_terminal(ending, "n\n")
    assert ": y to write and commit it, or n [n]: " in shown
    code, shown = at_terminal([])
    assert code == 0
    said = (
        r"flux-system/web \(windows/web.yaml, not committed\)\n"
        r"  open until .* Europe/Berlin, in .*\n    by the override \(r\)"
    )
    assert re.search(said, shown)
    assert "flux-system/plants (windows/plants.yaml)" in shown
    assert "    north, south: " in shown
    assert "\nno remote: git remote add origin URL\nto open or" in shown
    assert shown.endswith("krm-windows override\nto end that early: krm-windows override --end\n")
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["override", "web", "open", *MAKING], 0, "windows/web.yaml: written"),
        (["override", "closed", "flux-system/web", *MAKING], 0, "windows/web.yaml: written"),
        (
            ["override", "open", *MAKING],
            2,
            "several policies are here: give one of flux-system/plants (w",
        ),
        (["override", "web", "opn", *MAKING], 2, "`opn` is neither `open` nor `closed`"),
        (["override", "wbe", "--list"], 1, "no policy here is called so; did you mean web?"),
        (["override", "web", "--list"], 0, "no overrides"),
        (["set", "web", "--patch", '{"spec": {"state": "Open"}}'], 0, "windows/web.yaml: written"),
        (["state", "plants"], 0, "flux-system/plants should be"),
        (["explain", "web"], 0, "flux-system/web"),
        (["calendar", "web", "plants"], 0, "flux-system/plants"),
        (["check", "web"], 0, "flux-system/web"),
        (["render", "web", "--output-dir", "out"], 0, "files written"),
        (["status", "plnts"], 1, "did you mean plants?"),
        (["state", "web.yaml"], 1, "did you mean windows/web.yaml?"),
        (["state", "/proc/x"], 1, "there are flux-system/plants (windows/plants.yaml), flux-"),
        (["state", "--cluster", "north"], 0, "flux-system/plants on north should be"),
        (["state", "--cluster", "nort"], 2, "no policy here names the cluster 'nort' (known: n"),
        (["override", "open", *MAKING, "--cluster", "nort"], 2, "did you mean 'north'?"),
        (["state", "south"], 1, "it is a cluster of flux-system/plants: give --cluster south"),
        (["history", "-o", "json"], 2, "several policies are here: give one of flux-system/pl"),
        *(
            ([command, "plants", "--cluster", "nort"], 1, NO_CLUSTER)
            for command in ("state", "calendar", "explain", "check", "status")
        ),
        (["override", "plants", "open", *MAKING, "--cluster", "nort"], 1, "did you mean 'north'?"),
        (["open"], 2, "krm-windows override open "),
        (["close"], 2, "krm-windows override closed "),
        (["freezes", "web"], 2, "`explain` lists freezes; to add one: krm-windows set --help"),
        (["overide", "web"], 2, "error: no such command 'overide': did you mean override?\n"),
        (["xyz"], 2, "invalid choice: 'xyz'"),
        (["calendar", "--cluster", "north"], 0, "flux-system/plants on north"),
    ],
)
def test_a_policy_by_its_name(arguments: list[str], code: int, said: str, run: Run) -> None:
    done = run(*arguments)
    assert (done.code, said in done.out + done.err) == (code, True), done


def test_a_name_of_two_policies(run: Run, repository: Path) -> None:
    (repository / "other.yaml").write_text(
        POLICY.replace("NAME", "web").replace("flux-system", "shop")
    )
    (repository / "windows/plants.yaml").unlink()
    assert "several policies are called web: give one of " in run("state", "web").err
    assert "shop/web should be" in run("state", "shop/web").out
    assert run("state").code == 2
    (repository / "windows/web.yaml").unlink()
    assert "shop/web should be" in run("state").out


BERLIN = ZoneInfo("Europe/Berlin")
# A Monday.
NOW = datetime(2026, 11, 30, 10, 20, 30, tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("now", "words", "ends"),
    [
        (NOW, "for 2h", "2026-11-30T12:20+01:00"),
        (NOW, "90m", "2026-11-30T11:50+01:00"),
        (NOW, "2 hours", "2026-11-30T12:20+01:00"),
        (NOW, "for 90 min", "2026-11-30T11:50+01:00"),
        (NOW, "1 Day 1 h", "2026-12-01T11:20+01:00"),
        (NOW, "until 18:00", "2026-11-30T18:00+01:00"),
        (NOW, "10:20", "2026-12-01T10:20+01:00"),
        (NOW, "Until Monday  06:00", "2026-12-07T06:00+01:00"),
        (NOW, "mon 10:21", "2026-11-30T10:21+01:00"),
        (NOW, "tomorrow 06:00", "2026-12-01T06:00+01:00"),
        (NOW, "today 24:00", "2026-12-01T00:00+01:00"),
        (NOW, "2026-12-24", "2026-12-25T00:00+01:00"),
        (NOW, "2026-12-24 18:00", "2026-12-24T18:00+01:00"),
        # As the output writes it, also in a repeated hour.
        (NOW, "Mon 2026-12-07 06:00", "2026-12-07T06:00+01:00"),
        (NOW, "Sun 2027-10-31 02:30 +01:00", "2027-10-31T02:30+01:00"),
        # Clocks go from 03:00 back to 02:00.
        (datetime(2027, 10, 30, 12, tzinfo=BERLIN), "tomorrow 02:30", "2027-10-31T02:30+02:00"),
        (datetime(2027, 10, 31, 2, 40, tzinfo=BERLIN), "02:30", "2027-10-31T02:30+01:00"),
    ],
)
def test_until_when_in_the_words_of_a_person(now: datetime, words: str, ends: str) -> None:
    found = overrides.moment(words, now, BERLIN)
    assert found.astimezone(BERLIN).isoformat(timespec="minutes") == ends
    assert found - now > timedelta()


@pytest.mark.parametrize("words", ["Tue 2026-12-07 06:00", "friday", "tomorrow", "400d"])
def test_no_other_day_is_taken_for_an_end(words: str) -> None:
    """Of a date the weekday is another one, and nobody knows whether an end holds on a day."""
    with pytest.raises(RefusedError):
        overrides.moment(words, NOW, BERLIN)


@pytest.mark.parametrize(
    ("words", "begins"),
    [("tomorrow", "2026-12-01"), ("Friday", "2026-12-04"), ("mon", "2026-12-07")],
)
def test_a_day_in_words_begins_when_it_does(words: str, begins: str) -> None:
    found = overrides.moment(words, NOW, BERLIN, Role.BEGIN)
    assert found.astimezone(BERLIN).isoformat(timespec="minutes") == f"{begins}T00:00+01:00"


def test_what_is_open_may_open_next_of_all() -> None:
    """It closes, and opens again before what is closed now does."""
    now = datetime(2026, 11, 30, 6, 30, tzinfo=UTC)
    held = []
    for policy, hours in {"late": (12,), "soon": (6, 9)}.items():
        opens = [Recurrence(frozenset({0}), frozenset({hour})) for hour in hours]
        windows = [Rule(Kind.WINDOW, f"w{each}", each, timedelta(hours=1)) for each in opens]
        made = zoned.timetable(policy=policy, time_zone="Etc/UTC", windows=tuple(windows))
        held.append((made, decide(made, now)))
    assert list(sentences.opening(held, now)) == [
        "opens next: soon, Mon 2026-11-30 09:00 Etc/UTC, in 2 h 30 m"
    ]


def test_a_piped_calendar_is_as_wide_as_was_asked_for(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def widest(*more: str) -> int:
        return max(map(len, run("calendar", "web", *more).out.splitlines()))

    monkeypatch.delenv("COLUMNS", raising=False)
    assert widest() == 101
    monkeypatch.setenv("COLUMNS", "70")
    assert 60 < widest() <= 70
    assert widest("--width", "101") == 101


def test_what_is_piped_is_as_wide_as_the_terminal() -> None:
    terminal, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
    call = [sys.executable, "-m", "krm_windows", "calendar", "plants"]
    piped = subprocess.run(call, stdout=subprocess.PIPE, stderr=other, text=True, check=True)
    assert 60 < max(map(len, piped.stdout.splitlines())) <= 80
    os.close(terminal)
    os.close(other)


def test_a_check_says_what_it_looks_through(repository: Path) -> None:
    """At once, as a large directory takes a minute."""
    (repository / "clusters/north").mkdir(parents=True)
    _, shown = at_terminal(["check", "--repo", "."])
    assert "check: looking through ." in shown


def test_an_override_is_ended_where_it_was_said(repository: Path, run: Run) -> None:
    """Nowhere else: neither on the only cluster that has one, nor on all."""
    file = repository / "windows/plants.yaml"
    for policy in (["plants"], []):
        assert "there is no override to end" in run("override", *policy, "--end").err
    assert run("override", "plants", "closed", *MAKING, "--cluster", "north").code == 0
    before = file.read_text()
    for place, said in {
        "--cluster south": "there is no override to end on south",
        "--cluster nort": "did you mean 'north'?",
        "south": "south is a cluster: give --end --cluster south",
    }.items():
        done = run("override", "plants", "--end", *place.split())
        assert (done.code, said in done.err) == (1, True), done
    assert "north is a cluster: give --end --cluster north" in run("override", "--end", "north").err
    assert file.read_text() == before
    assert run("override", "plants", "open", *MAKING, "--name", "fix").code == 0
    code, shown = at_terminal(["override", "--end", "--cluster", "south"], "y\n")
    assert (code, "Remove fix on south from windows/plants.yaml: y, n, or c" in shown) == (0, True)
    assert "south: {overrides: {fix: null}}" in file.read_text()
    code, shown = at_terminal(["override", "--end"], "o\n", "north\n", "y\n")
    assert (code, "'o' is none of these" in shown) == (0, True), shown
    # Until when, and why: nobody knows them by the names that they got by themselves.
    found = re.search(r" 1 fix all clusters .*Open active .* to .* r 2 ", " ".join(shown.split()))
    assert found, shown
    assert "on north" not in run("override", "plants", "--list").out


def test_a_repository_without_a_policy_or_with_an_unreadable_one(repository: Path) -> None:
    policy = POLICY.replace("NAME", "web")
    for file in (repository / "windows").iterdir():
        file.unlink()
    (repository / "windows/a.yaml").write_text(policy + "  a: [\n")
    (repository / "windows/web.yaml").write_text(policy)
    code, shown = at_terminal([])
    # Below what can be read.
    assert (code, shown.index("web") < shown.index("krm-windows: windows/a.yaml:")) == (1, True)
    (repository / "windows/web.yaml").unlink()
    code, shown = at_terminal([])
    assert (code, "krm-windows: windows/a.yaml:" in shown) == (1, True)
    (repository / "windows/a.yaml").unlink()
    code, shown = at_terminal([])
    assert (code, "no repository around this directory has a policy" in shown) == (2, True)
