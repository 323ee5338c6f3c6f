"""The merge gate: what it says of a change, at which instant, and what it asks for."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
import yaml
from calls import call, spec, wire

from krm_windows.forge import CommitState, ForgeError, Group, PullRequest, Status
from krm_windows.forge.gate import GateOutcome, MergeGate
from krm_windows.forge.policies import Policy
from krm_windows.forge.reach import Change, Reach
from krm_windows.gate import timetable
from krm_windows.krm import documents
from krm_windows.preview.versions import Choice, PolicySource
from krm_windows.schedule.timeline import decide

# In Berlin it is Wednesday, 12:00: open until Thursday, 17:00; after that closed until Monday.
WEDNESDAY = datetime(2026, 12, 16, 11, 0, tzinfo=UTC)
THURSDAY = datetime(2026, 12, 17, 16, 0, tzinfo=UTC)
APPS = Reach(globs=("apps/*",))
INFRA = Reach(globs=("infra/*",))
EACH = [f"w{at}: {{opens: 'daily {at:02}:30', duration: 20m}}" for at in range(0, 24, 3)]
FREEZE = "{f: {starts: '2026-12-10', ends: '2027-02-12', reason: x}}"
OVERRIDE = "{o: {state: Open, starts: '2026-10-01T00:00', ends: '2026-11-20T12:00', reason: x}}"


@dataclass
class Forged:
    files: dict[int, frozenset[str] | None]
    changes: list[PullRequest] = field(default_factory=list)
    said: list[tuple[str, Status]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    failing: frozenset[int] = frozenset()

    def open_changes(self) -> Iterator[PullRequest]:
        yield from list(self.changes)

    def default_branch(self) -> str:
        return "main"

    def queued(self) -> Iterator[Group]:
        yield from ()

    def change(self, number: int) -> PullRequest:
        self.asked.append("change")
        [found] = [each for each in self.changes if each.number == number]
        return found

    def changed(self, base: str, sha: str) -> Change:
        assert base in ("main", "mine")
        self.asked.append("files")
        return Change(self.files[int(sha, 16)])

    def statuses(self, sha: str) -> dict[str, Status]:
        self.asked.append("statuses")
        if int(sha, 16) in self.failing:
            raise ForgeError("the statuses cannot be read")
        return {status.context: status for of, status in self.said if of == sha}

    def set_status(self, sha: str, status: Status) -> None:
        self.said.append((sha, status))


def forged(*files: tuple[str, ...], **fields: object) -> Any:  # noqa: ANN401 - no merges
    found = Forged({number: frozenset(each) for number, each in enumerate(files, 1)}, **fields)
    for number in found.files:
        sha = f"{number:040x}"
        found.changes.append(PullRequest(number, sha, frozenset(), "main"))
    return found


def policy(reach: Reach = APPS, **fields: str) -> Policy:
    [config] = documents(spec(**fields).encode())
    [version], _ = PolicySource(config).versions(Choice())
    return Policy(version.timetable, reach)


def passed(gate: MergeGate, at: datetime) -> list[GateOutcome]:
    return list(gate.run(lambda: at))


def test_a_change_that_touches_several_needs_all() -> None:
    night = policy(INFRA, windows="{night: {opens: daily 22:00, duration: 2h}}")
    forge = forged(("apps/web.yaml", "infra/dns.yaml"), ("infra/dns.yaml",), ("apps/x",))
    gate = MergeGate(forge, [policy(), night], forge.changed, "windows")
    at_night = datetime(2026, 12, 16, 21, 30, tzinfo=UTC)
    expected = {
        WEDNESDAY: [CommitState.PENDING, CommitState.PENDING, CommitState.SUCCESS],
        at_night: [CommitState.SUCCESS] * 3,
        THURSDAY: [CommitState.PENDING] * 3,
        THURSDAY + timedelta(hours=5, minutes=30): [
            CommitState.PENDING,
            CommitState.SUCCESS,
            CommitState.PENDING,
        ],
    }
    for at, states in expected.items():
        found = passed(gate, at)
        assert [each.verdict.state for each in found if each.verdict] == states
    words = gate.decide(forge.changes[0], THURSDAY).words
    assert words.startswith("closed until Mon 2026-12-21 08:00")
    assert words.endswith("and 1 more")
    assert gate.edge(THURSDAY) == datetime(2026, 12, 17, 21, 0, tzinfo=UTC)


def test_a_label_puts_a_change_under_a_policy() -> None:
    forge = forged(("README.md",))
    gate = MergeGate(forge, [policy()], forge.changed, "windows")
    found = []
    for label in ("window:week", "window:weekly", "window:flux-system/week"):
        forge.changes = [replace(forge.changes[0], labels=frozenset({label}))]
        found.append((gate.is_scheduled(forge.changes[0]), passed(gate, THURSDAY)[0].verdict))
    assert [(is_it, said and said.state) for is_it, said in found] == [
        (True, CommitState.PENDING),
        (False, CommitState.SUCCESS),
        (False, CommitState.SUCCESS),
    ]


def test_files_that_are_not_all_known_may_be_gated() -> None:
    forge = forged(("README.md",))
    forge.files[1] = None
    gate = MergeGate(forge, [policy()], forge.changed, "w")
    assert gate.decide(forge.changes[0], THURSDAY).state is CommitState.PENDING


def test_a_head_that_moves_while_it_is_looked_at_is_judged_by_its_own_files() -> None:
    """A push of harmless ones and back again: a status is one of a commit, and so is the answer."""
    forge = forged(("apps/web.yaml",), ("README.md",))
    gate = MergeGate(forge, [policy()], forge.changed, "windows")
    read, harmless = forge.changes
    forge.changes = [replace(read, sha=harmless.sha)]
    assert gate.decide(read, THURSDAY).state is CommitState.PENDING
    assert gate.decide(forge.changes[0], THURSDAY).may_land


def test_a_head_of_two_changes_has_what_holds_for_both() -> None:
    """Else a change of the same commit into a branch where it changes little would let it land."""
    for bases in (("main", "mine"), ("mine", "main")):
        forge = forged(("README.md",))
        [read] = forge.changes
        forge.changes = [replace(read, base=base) for base in bases]
        does = {"main": frozenset({"apps/a"}), "mine": frozenset({"README.md"})}

        def changed(base: str, _sha: str, does: dict[str, frozenset[str]] = does) -> Change:
            return Change(does[base])

        gate = MergeGate(forge, [policy()], changed, "windows", bases=frozenset(bases))
        # What is known of a commit is known of one branch.
        found = passed(gate, THURSDAY)
        assert [each.verdict and each.verdict.state for each in found] == [CommitState.PENDING] * 2
        assert [said.state for _, said in forge.said] == [CommitState.PENDING]


def test_a_change_into_another_branch_is_none_of_ours() -> None:
    """Its success would be one of the commit, and somebody makes it a change into this one."""
    forge = forged(("README.md",), ("README.md",))
    first, second = forge.changes
    forge.changes = [replace(first, base="mine"), second]
    gate = MergeGate(forge, [policy()], forge.changed, "windows")
    assert [each.change.number for each in passed(gate, THURSDAY)] == [2]
    assert [sha for sha, _ in forge.said] == [second.sha]
    both = MergeGate(forge, [policy()], forge.changed, "windows", bases=frozenset({"main", "mine"}))
    assert [each.change.number for each in passed(both, THURSDAY)] == [1, 2]


def test_what_was_said_is_not_said_again() -> None:
    """By this process or another: a forge takes a thousand statuses of a commit."""
    forge = forged(("apps/a",))
    for gate in (MergeGate(forge, [policy()], forge.changed, "windows") for _ in range(2)):
        for _ in range(3):
            passed(gate, THURSDAY)
    assert len(forge.said) == 1
    # Of what is known nothing is asked again, but what others may have said.
    assert forge.asked.count("files") == 2
    assert forge.asked.count("statuses") == 6


def test_what_somebody_else_says_is_corrected() -> None:
    forge = forged(("apps/a",))
    gate = MergeGate(forge, [policy()], forge.changed, "windows")
    passed(gate, THURSDAY)
    sha, status = forge.said[0]
    forge.said.append((sha, replace(status, state=CommitState.SUCCESS)))
    passed(gate, THURSDAY)
    assert [each.state for _, each in forge.said] == [
        CommitState.PENDING,
        CommitState.SUCCESS,
        CommitState.PENDING,
    ]


def test_one_change_that_fails_keeps_no_other() -> None:
    forge = forged(("apps/a",), ("apps/b",), failing=frozenset({1}))
    first, second = passed(MergeGate(forge, [policy()], forge.changed, "windows"), THURSDAY)
    assert str(first.error) == "the statuses cannot be read"
    assert second.verdict is not None
    assert [sha for sha, _ in forge.said] == [f"{2:040x}"]


def test_a_window_that_closes_during_a_pass_counts() -> None:
    forge = forged(("apps/a",), ("apps/b",))
    instants = iter((THURSDAY - timedelta(seconds=1), THURSDAY))
    gate = MergeGate(forge, [policy()], forge.changed, "windows")
    found = [each.verdict.state for each in gate.run(lambda: next(instants)) if each.verdict]
    assert found == [CommitState.SUCCESS, CommitState.PENDING]


def test_a_description_is_one_line_that_a_forge_takes() -> None:
    """GitHub refuses more than 140 characters; a reason may be any text."""
    reason = yaml.safe_dump("a\nb\x1b[31m " + "long " * 60)
    freezes = f"{{stop: {{starts: '2026-01-01', ends: '2027-01-01', reason: {reason!r}}}}}"
    forge = forged(("apps/a",))
    passed(MergeGate(forge, [policy(freezes=freezes)], forge.changed, "windows"), THURSDAY)
    [(_, status)] = forge.said
    assert len(status.description) == 140
    assert status.description.isprintable()


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"closesEarly": "45m"},
        {"outsideWindows": "Open", "windows": "{}", "freezes": FREEZE},
        {"windows": f"{{{', '.join(EACH)}}}", "timeZone": "America/New_York"},
        {"overrides": OVERRIDE},
    ],
)
def test_the_merge_gate_and_the_gate_in_the_cluster_say_the_same(fields: dict[str, str]) -> None:
    answer = call(wire(config=spec(**fields)))
    [shipped] = [
        item["data"]["timetable.json"]
        for item in answer.of("ConfigMap")
        if "timetable.json" in item["data"]
    ]
    in_cluster = timetable.load(shipped)
    forge = forged(("apps/a",))
    gate = MergeGate(forge, [policy(**fields)], forge.changed, "windows")
    random = Random(17)  # noqa: S311 - the same every time
    begins = datetime(2026, 9, 1, tzinfo=UTC)
    states = set()
    for _ in range(400):
        at = begins + timedelta(seconds=random.randrange(365 * 24 * 3600))
        state = gate.decide(forge.changes[0], at).state
        assert (state is CommitState.SUCCESS) is decide(in_cluster, at).open, at
        states.add(state)
    assert len(states) == 2
