"""Changes of policies: what a pull request does, then one commit with the caller as author."""

import hashlib
import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from http import HTTPStatus
from itertools import chain

from krm_windows import escape
from krm_windows.edit import overrides
from krm_windows.edit.patches import AbsentError
from krm_windows.edit.proposal import Proposal, View, introduce, propose
from krm_windows.gate.timetable import Target
from krm_windows.inventory import Resources, no_resources
from krm_windows.krm import EditError, InputError, KubeObject
from krm_windows.plan.given import Given, gated
from krm_windows.preview import records, stages
from krm_windows.preview.stages import RenderedDirectory
from krm_windows.results import Result, fails
from krm_windows.service import permissions
from krm_windows.service.access import Caller
from krm_windows.service.policies import Place, Snapshot, Stored
from krm_windows.service.problems import Problem, Record, findings
from krm_windows.service.proposals import PREFIX, Proposed, PullRequests, branch_name
from krm_windows.service.settings import SERVICE
from krm_windows.service.windows import Windows
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_branch import Edit
from krm_windows.system.git_objects import Commit
from krm_windows.system.git_program import MovedError, RemoteError
from krm_windows.system.reading import KUSTOMIZATIONS

Change = Callable[[KubeObject], KubeObject]
"""Makes the policy that is to be from the one that is; raises InputError where it cannot."""
# How often a change is made anew when the branch has moved meanwhile, here or at the remote.
_ATTEMPTS = 5
# Commits in which a key is looked for.
_MOST_KEYS = 1000
# Trailers of a commit (git-interpret-trailers(1)); the reason above them has one line.
_KEYED = re.compile(r"^Idempotency-Key: ([0-9a-f]{64})/([0-9a-f]{64})$", re.MULTILINE)
_OVERRIDE = re.compile(r"^Override: (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Order:
    """A change that a caller asks for.

    `if_match` is the header of that name, None for a change that holds for any version. Of what is
    `urgent` only what does not build is refused. What has a `key` happens once, however often it is
    asked for; `digest` is of the request, so that another one under the same key is refused.
    `override` is the name of the one that is made, empty where the change gives it.
    """

    caller: Caller
    reason: str = ""
    if_match: str | None = None
    urgent: bool = False
    key: str | None = None
    digest: str = ""
    override: str | None = None


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """What became of a change; `commit` is None where there was nothing to write.

    `stored` is the policy as it is now, None where it is gone. `branch` is the one on which the
    change is proposed, None where it is made. `rendered` are the directories that are rendered from
    the policy with the change, None where that is not known.
    """

    place: Place
    file: str
    proposal: Proposal | None
    stored: Stored | None = None
    override: str | None = None
    commit: str | None = None
    branch: str | None = None
    pull_request: str | None = None
    is_replayed: bool = False
    is_pushed: bool = False
    rendered: tuple[RenderedDirectory, ...] | None = None

    @property
    def missing(self) -> list[str]:
        """What has to happen before a cluster knows of the change, in this order."""
        if self.commit is None:
            return []
        if self.branch is not None:
            return ["merge", "reconcile"]
        return ["reconcile"] if self.is_pushed else ["push", "reconcile"]

    def record(self) -> Record:
        """Return it as JSON says it; what it has not is left out."""
        found: Record = {
            "policy": self.place.title,
            "file": self.file,
            "written": self.commit is not None and self.branch is None,
            "commit": self.commit,
            "missing": self.missing,
            "rendered": stages.records(self.rendered),
            **proposed(self.proposal, self.file),
        }
        if self.override is not None:
            summary = self.proposal.spoken_turns if self.proposal is not None else ""
            # Said of the override instead, behind its name.
            found.pop("summary", None)
            found |= {"override": self.override, "summary": summary}
        if self.branch is not None:
            found["branch"] = self.branch
        if self.pull_request:
            found["pullRequest"] = self.pull_request
        return found


# What a change comes to: the files to write, and what is to be said of it.
_Made = tuple[WriteOutcome, list[Edit]]


def proposed(proposal: Proposal | None, file: str) -> Record:
    """Return the hours that a change moves, why it moves none, and what was found of it."""
    if proposal is None:
        return {"differences": [], "findings": []}
    found: Record = {
        "differences": [records.difference(each) for each in proposal.differences],
        "findings": findings(proposal.results, proposal.new, file),
    }
    if proposal.unmoved:
        found["summary"] = escape.lines(proposal.unmoved)
    return found


def entity_tag(stored: Stored) -> str:
    """Return the strong entity tag of a policy: the object of its file."""
    return f'"{stored.blob}"'


class Writer:
    """Makes changes, one after the other."""

    def __init__(self, windows: Windows) -> None:
        """Write to the branch of some policies."""
        self._windows = windows
        self._renderer = windows.renderer

    def preview(self, stored: Stored, change: Change, order: Order) -> Proposal:
        """Say what would come of a change, to whom it is allowed, and write nothing."""
        old = stored.config.as_read()
        at = self._windows.now()
        with _understood():
            new = change(old)
            permissions.check(order.caller, old, new)
            view = View(at, urgent=order.urgent)
            return propose(old, new, self._resources(stored, new), view, self._gated)

    def preview_new(
        self, snapshot: Snapshot, place: Place, new: KubeObject, order: Order
    ) -> tuple[str, Proposal]:
        """Say what would come of a policy that is not there, and in which file it would be."""
        with _understood():
            permissions.check(order.caller, None, new)
            file = self._new_file(snapshot, place)
            return file, introduce(new, self._windows.now(), self._others())

    def change(self, place: Place, change: Change, order: Order) -> WriteOutcome:
        """Change a policy that is there."""

        def make(snapshot: Snapshot) -> _Made:
            stored = snapshot.one(place)
            # Before the version is compared: it was the right one when it was made.
            replayed = self._replayed(order, place, stored)
            if replayed is not None:
                return replayed, []
            _check(order, stored)
            proposal = self.preview(stored, change, order)
            _refuse(proposal, order, stored.file)
            # With the mode that it had: an executable file stays one.
            edit = Edit(stored.file, proposal.content, stored.mode)
            edits, directories = self._with_rendered(snapshot, edit, proposal.new)
            # What is rendered may be stale although the policy stays as it is.
            if not proposal.changes_text:
                edits.remove(edit)
            override = overrides.meant(order.override, stored.config, proposal.new)
            outcome = WriteOutcome(place, stored.file, proposal, stored, override)
            return replace(outcome, rendered=directories), edits

        return self._write(make, order)

    def create(self, place: Place, new: KubeObject, order: Order) -> WriteOutcome:
        """Put a policy that is not there into a file of its own."""

        def make(snapshot: Snapshot) -> _Made:
            if place.key in snapshot.policies:
                raise Problem(HTTPStatus.PRECONDITION_FAILED, f"{place.title} already exists")
            file, proposal = self.preview_new(snapshot, place, new, order)
            _refuse(proposal, order, file)
            edits, directories = self._with_rendered(snapshot, Edit(file, proposal.content), new)
            return WriteOutcome(place, file, proposal, rendered=directories), edits

        return self._write(make, order)

    def remove(self, place: Place, order: Order) -> WriteOutcome:
        """Take a policy out of its file, and the file away where nothing else is in it."""

        def make(snapshot: Snapshot) -> _Made:
            stored = snapshot.one(place)
            with _understood():
                permissions.check(order.caller, stored.config, None)
            _check(order, stored)
            self._check_not_rendered(snapshot, stored)
            # None removes the file; what is in it beside the policy keeps it.
            content: bytes | None = None
            if not stored.is_alone:
                config = stored.config
                content = config.source[: config.start] + config.source[config.end :]
            else:
                self._check_unnamed(snapshot, stored)
            # What is rendered is not removed, so that nothing is.
            directories = None if self._renderer is None else ()
            outcome = WriteOutcome(place, stored.file, None, rendered=directories)
            return outcome, [Edit(stored.file, content, stored.mode)]

        return self._write(make, order)

    def _write(self, make: Callable[[Snapshot], _Made], order: Order) -> WriteOutcome:
        """Commit what `make` makes of the policies, and push it, or propose it.

        Where the branch has moved meanwhile, here or at the remote, all of it is made anew.
        """
        windows = self._windows
        try:
            with windows.alone():
                for _ in range(_ATTEMPTS):
                    try:
                        return self._written(make, order)
                    except MovedError as error:
                        moved = error
                        windows.catch_up()
        except RemoteError as error:
            raise Problem(HTTPStatus.BAD_GATEWAY, str(error)) from error
        raise Problem(HTTPStatus.CONFLICT, f"{moved}: try again")

    def _written(self, make: Callable[[Snapshot], _Made], order: Order) -> WriteOutcome:
        windows = self._windows
        snapshot = windows.refresh()
        outcome, edits = make(snapshot)
        # An empty commit would say that somebody changed something.
        if not edits:
            return outcome
        message = _message(order, outcome)
        made_by = windows.branch.person() or SERVICE
        commit = windows.branch.commit(
            snapshot.commit, edits, message, order.caller.person, made_by
        )
        outcome = replace(outcome, commit=commit)
        if windows.settings.proposals is not None:
            return self._propose(windows.settings.proposals, message, outcome)
        # Pushed first: what a crash leaves of it is fetched by whoever starts next.
        windows.push(commit)
        windows.branch.move(commit, snapshot.commit)
        found = windows.refresh().policies.get(outcome.place.key, ())
        now = next((stored for stored in found if stored.file == outcome.file), None)
        return replace(outcome, stored=now, is_pushed=windows.settings.remote is not None)

    def _propose(
        self, pull_requests: PullRequests, message: str, outcome: WriteOutcome
    ) -> WriteOutcome:
        """Push a commit to a branch of its own, and open a pull request.

        The branch stays where it is: whoever merges the pull request moves it.
        """
        branch, remote = self._windows.branch, self._windows.settings.remote
        if remote is None or outcome.commit is None:
            raise WorkspaceError("changes are proposed at a remote, but no remote is configured")
        name = branch_name(outcome.place.namespace, outcome.place.name, outcome.commit)
        ref = f"refs/heads/{name}"
        title, _, body = message.partition("\n\n")
        # The ref must be new: a branch of the same name is somebody else's.
        branch.git.push(remote, outcome.commit, ref, expected="")
        try:
            address = pull_requests.open(Proposed(name, branch.name, title, body))
        except Exception:
            # Whatever it is: nobody would look at a branch without a pull request.
            branch.git.remove(remote, ref)
            raise
        if self._windows.proposed is not None:
            self._windows.proposed.add(branch.objects.commit(outcome.commit), address)
        return replace(outcome, branch=name, pull_request=address)

    def _with_rendered(
        self, snapshot: Snapshot, edit: Edit, new: KubeObject
    ) -> tuple[list[Edit], tuple[RenderedDirectory, ...] | None]:
        """Return an edit of a policy's file with those of what is rendered from it, and where."""
        if self._renderer is None:
            return [edit], None
        renewals = self._renderer.renewals(snapshot.commit, new, edit)
        edits = dict(chain.from_iterable(each.edits.items() for each in renewals))
        in_git = self._windows.settings.proposals is None
        directories = tuple(
            replace(each.directory(in_git=in_git), is_stale=False) for each in renewals
        )
        return [edit, *(Edit(path, content) for path, content in edits.items())], directories

    def _check_unnamed(self, snapshot: Snapshot, stored: Stored) -> None:
        """Refuse to remove a file that a kustomization beside it names: nothing would build."""
        branch = self._windows.branch
        folder, _, name = stored.file.rpartition("/")
        for kustomization in KUSTOMIZATIONS:
            path = posixpath.join(folder, kustomization)
            found = branch.file(snapshot.commit, path)
            if found is None:
                continue
            content = branch.objects.content(found.blob, most=found.size)
            # Wherever it does.
            if name.encode() in content:
                raise Problem(
                    HTTPStatus.CONFLICT,
                    f"{path} names {name} and would not build without it: remove it there first",
                )

    def _check_not_rendered(self, snapshot: Snapshot, stored: Stored) -> None:
        """Refuse to remove a policy that is in force: what it shut would stay shut."""
        if self._renderer is None:
            return
        for rendered in self._renderer.rendered(snapshot.commit, stored):
            raise Problem(
                HTTPStatus.CONFLICT,
                f"the windows of {stored.title} are rendered in {rendered.directory}: first make "
                "sure that nothing stays suspended (docs/how-to/removing-a-policy.md)",
            )

    def _replayed(self, order: Order, place: Place, stored: Stored) -> WriteOutcome | None:
        """Return what became of the same request before; raises Problem for another one.

        The commits say it: those of the branch, and those that are proposed.
        """
        if order.key is None:
            return None
        windows = self._windows
        remote = windows.settings.remote
        # What was proposed and then merged is made.
        commits = windows.branch.log(windows.snapshot.commit, _MOST_KEYS)
        found = _keyed(commits, order)
        branch = None
        if found is None and windows.settings.proposals is not None and remote is not None:
            found = _keyed(windows.branch.proposed(remote, PREFIX), order)
            if found is not None:
                branch = branch_name(place.namespace, place.name, found.name)
        if found is None:
            return None
        override = _OVERRIDE.search(found.message)
        return WriteOutcome(
            place,
            stored.file,
            None,
            stored,
            override[1] if override else None,
            found.name,
            branch=branch,
            is_replayed=True,
            is_pushed=remote is not None,
        )

    def _resources(self, stored: Stored, new: KubeObject) -> Resources:
        """Return what gives resources of clusters, where targets may decide when it closes."""
        renderer, commit = self._renderer, self._windows.snapshot.commit
        # They are read for each change.
        if renderer is None or not (stored.config.mentions("auto") or new.mentions("auto")):
            return no_resources
        return cache(partial(renderer.resources, commit, stored))

    def _gated(self, cluster: str | None, but: Collection[str]) -> Iterator[Target]:
        """Yield what the policies of the branch gate in a cluster, but for those of some names."""
        return gated(self._others(), cluster, [], but)

    def _others(self) -> Iterator[Given]:
        """Yield the policies of the branch."""
        return (Given.of(each.config.as_read()) for each in self._windows.snapshot.every())

    def _new_file(self, snapshot: Snapshot, place: Place) -> str:
        # As kubectl does: what names no namespace goes to `default`.
        name = f"{place.namespace or 'default'}-{place.name}.yaml"
        file = posixpath.join(self._windows.below, name)
        if place.file not in (None, file):
            detail = f"a new policy is put into {file}: leave out the parameter file"
            raise Problem(HTTPStatus.BAD_REQUEST, detail)
        if self._windows.branch.is_taken(snapshot.commit, file):
            raise Problem(HTTPStatus.CONFLICT, f"{file} already exists, and is not this policy")
        return file


@contextmanager
def _understood() -> Iterator[None]:
    """Answer with what is wrong with a change, where it cannot be made."""
    try:
        yield
    except AbsentError as error:
        raise Problem(HTTPStatus.NOT_FOUND, str(error)) from error
    except (InputError, EditError) as error:
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error


def found_of(proposal: Proposal, order: Order) -> list[Result]:
    """Return what is to be said of a change: of what is urgent, that alone which is in its way."""
    if order.urgent:
        return [result for result in proposal.compiled if fails([result])]
    return proposal.results


def _refuse(proposal: Proposal, order: Order, file: str) -> None:
    if proposal.fails(strict=False, urgent=order.urgent):
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "the policy would be invalid: nothing was written",
            findings(found_of(proposal, order), proposal.new, file),
        )


def _check(order: Order, stored: Stored) -> None:
    """Refuse a change of another version than the one that is there (RFC 9110, 13.1.1)."""
    if order.if_match is None or order.if_match.strip() == "*":
        return
    # Any of several may match. Proxies that compress make a tag weak, `W/"…"`, and it still names
    # this version: it is of what Git has, and not of the bytes that were sent.
    tags = [tag.strip().removeprefix("W/").strip('"') for tag in order.if_match.split(",")]
    if stored.blob not in tags:
        now = entity_tag(stored)
        raise Problem(
            HTTPStatus.PRECONDITION_FAILED,
            f"{stored.title} has changed: its ETag is now {now}",
            headers={"ETag": now},
        )


def _keyed(commits: Iterable[Commit], order: Order) -> Commit | None:
    """Return the commit that was made for the key of an order; raises Problem for another order."""
    for commit in commits:
        found = _KEYED.search(commit.message)
        if found and found[1] == _key(order):
            # A key that is used twice for different things is the caller's mistake.
            if found[2] != order.digest:
                raise Problem(
                    HTTPStatus.UNPROCESSABLE_ENTITY,
                    "this Idempotency-Key was used for another request",
                )
            return commit
    return None


def _key(order: Order) -> str:
    """Return what a key is known by: each caller has keys of their own."""
    return hashlib.sha256(f"{order.caller.name}\n{order.key}".encode()).hexdigest()


def _message(order: Order, outcome: WriteOutcome) -> str:
    title = outcome.place.title
    # Trailers are read by programs: `git log --format='%(trailers)'`.
    through = f"Requested-through: krm-windows serve ({order.caller.name})"
    trailers = [f"Policy: {title}", through]
    if outcome.override is not None:
        trailers.append(f"Override: {one_line(outcome.override)}")
    if order.key is not None:
        trailers.append(f"Idempotency-Key: {_key(order)}/{order.digest}")
    lines = "\n".join(trailers)
    # Below the reason, only our own trailers count.
    return f"{one_line(order.reason) or title}\n\n{lines}\n"


def one_line(text: str) -> str:
    """Return a text that cannot end its line, whatever it holds."""
    seen = "".join(sign if sign.isprintable() else " " for sign in text)
    return " ".join(seen.split())
