"""Changes of policies: what a pull request does, then one commit with the caller as author."""

import hashlib
import re
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from http import HTTPStatus
from itertools import chain
from posixpath import normpath

from krm_windows.edit.patches import AbsentError
from krm_windows.edit.proposal import Proposal, View, introduce, propose
from krm_windows.flux.fields import listed, read
from krm_windows.gate.timetable import Target
from krm_windows.krm import EditError, InputError, KubeObject
from krm_windows.plan.given import Given, gated
from krm_windows.preview import records, stages
from krm_windows.preview.calendar import Period
from krm_windows.preview.stages import RenderedDirectory
from krm_windows.results import fails
from krm_windows.service import permissions
from krm_windows.service.access import Caller
from krm_windows.service.policies import Snapshot, Stored, may_close_by_targets, title
from krm_windows.service.problems import Problem, Record, findings
from krm_windows.service.proposals import PREFIX, Proposed, PullRequests, branch_name
from krm_windows.service.windows import Windows, one
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_branch import Edit, Entry, File
from krm_windows.system.git_program import MovedError, RemoteError
from krm_windows.system.reading import KUSTOMIZATIONS

Change = Callable[[KubeObject], KubeObject]
"""Makes the policy that is to be from the one that is; raises InputError where it cannot."""
# How often a change is made anew when the remote has moved meanwhile.
_ATTEMPTS = 5
# A tag as it is given out: the object of the file, with an ending for another form of it.
_TAG = re.compile(r'"([0-9a-f]{40,64})(-json)?"')
# How far back a key is known: in memory, and in the history when the service starts.
_MOST_KEYS = 1000
# Trailers of a commit (git-interpret-trailers(1)); the reason above them has one line.
_KEYED = re.compile(r"^Idempotency-Key: ([0-9a-f]{64})/([0-9a-f]{64})$", re.MULTILINE)
_OVERRIDE = re.compile(r"^Override: (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Place:
    """Which policy is meant; `file` is needed where several have one of this name."""

    namespace: str
    name: str
    file: str | None = None

    @property
    def title(self) -> str:
        """What it is called."""
        return title(self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class Order:
    """A change that a caller asks for.

    `if_match` is the header of that name, None for a change that holds for any version. Of what is
    `urgent` only what does not build is refused; of what is `strict`, warnings are refused, too.
    What has a `key` happens once, however often it is asked for; `digest` is of the request, so
    that another one under the same key is refused. `override` is the name of the one that is made.
    """

    caller: Caller
    reason: str
    if_match: str | None = None
    urgent: bool = False
    strict: bool = False
    key: str | None = None
    digest: str = ""
    override: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a change; `commit` is None where there was nothing to write.

    `stored` is the policy as it is now, None where it is gone. `branch` is the one on which the
    change is proposed, None where it is made; the address of the pull request is known until the
    service ends. `rendered` are the directories that are rendered from the policy with the change,
    None where that is not known.
    """

    place: Place
    file: str
    proposal: Proposal | None
    commit: str | None
    stored: Stored | None
    override: str | None = None
    is_replayed: bool = False
    branch: str | None = None
    pull_request: str | None = None
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
        """Return it as JSON says it."""
        return {
            "policy": self.place.title,
            "file": self.file,
            "written": self.commit is not None and self.branch is None,
            "commit": self.commit,
            "missing": self.missing,
            "rendered": stages.records(self.rendered),
            **self._named(),
            **self._requested(),
            **proposed(self.proposal, self.file),
        }

    def _requested(self) -> Record:
        if self.branch is None:
            return {}
        found: Record = {"branch": self.branch}
        if self.pull_request:
            found["pullRequest"] = self.pull_request
        return found

    def _named(self) -> Record:
        if self.override is None:
            return {}
        summary = ""
        if self.proposal is not None:
            summary = self.proposal.spoken_turns
        return {"override": self.override, "summary": summary}


def proposed(proposal: Proposal | None, file: str) -> Record:
    """Return the hours that a change moves, and what was found of it."""
    if proposal is None:
        return {"differences": [], "findings": []}
    return {
        "differences": [records.difference(each) for each in proposal.differences],
        "findings": findings(proposal.results, proposal.new, file),
    }


def _listed(kustomization: bytes) -> set[str]:
    """Return what any list of a kustomization names, such as `resources` and `transformers`.

    One that cannot be read builds nothing anyhow.
    """
    fields = read(kustomization)
    return set(map(normpath, listed(fields, fields)))


def entity_tag(stored: Stored, *, json: bool) -> str:
    """Return the strong entity tag of a policy, which another form of it has not."""
    ending = ""
    if json:
        ending = "-json"
    return f'"{stored.blob}{ending}"'


class Writer:
    """Makes changes, one after the other."""

    def __init__(self, windows: Windows) -> None:
        """Write to the branch of some policies."""
        self._windows = windows
        self._renderer = windows.renderer
        # What was asked for under keys; from the history of the branch, and since then.
        self._known: OrderedDict[str, _Keyed] | None = None

    def preview(
        self,
        stored: Stored,
        change: Change,
        at: datetime,
        caller: Caller,
        *,
        urgent: bool = False,
    ) -> Proposal:
        """Say what would come of a change, to whom it is allowed, and write nothing."""
        return self._proposal(stored, change, at, caller, urgent=urgent)

    def preview_new(
        self, place: Place, new: KubeObject, at: datetime, caller: Caller
    ) -> tuple[str, Proposal]:
        """Say what would come of a policy that is not there, and in which file it would be."""
        permissions.check(caller, None, new)
        return self._new_file(self._windows.snapshot, place), introduce(new, [], at)

    def change(self, place: Place, change: Change, order: Order) -> Outcome:
        """Change a policy that is there."""
        windows = self._windows
        with windows.alone():
            snapshot = windows.refresh()
            stored = one(snapshot, place.namespace, place.name, place.file)
            # Before the version is compared: it was the right one when it was made.
            replayed = self._replayed(order, place, stored)
            if replayed is not None:
                return replayed
            _check(order, stored)
            proposal = self._proposal(
                stored, change, windows.now(), order.caller, urgent=order.urgent
            )
            self._refuse(proposal, order, stored.file)
            # With the mode that it had: an executable file stays one.
            edit = Edit(stored.file, proposal.content, stored.mode)
            edits, directories = self._with_rendered(snapshot, edit, proposal.new)
            # What is rendered may be stale although the policy stays as it is.
            if not proposal.changes_text:
                edits.remove(edit)
            # An empty commit would say that somebody changed something.
            if not edits:
                return Outcome(place, stored.file, proposal, None, stored, rendered=directories)
            outcome = Outcome(
                place, stored.file, proposal, None, stored, order.override, rendered=directories
            )
            outcome = self._commit_or_propose(outcome, edits, order, snapshot.commit)
            self._remember(order, outcome)
        return outcome

    def create(self, place: Place, new: KubeObject, order: Order) -> Outcome:
        """Put a policy that is not there into a file of its own."""
        windows = self._windows
        permissions.check(order.caller, None, new)
        with windows.alone():
            snapshot = windows.refresh()
            _check_absent(snapshot, place)
            file = self._new_file(snapshot, place)
            proposal = introduce(new, [], windows.now())
            self._refuse(proposal, order, file)
            edit = Edit(file, proposal.content)
            edits, directories = self._with_rendered(snapshot, edit, new)
            outcome = Outcome(place, file, proposal, None, None, rendered=directories)
            return self._commit_or_propose(outcome, edits, order, snapshot.commit)

    def _with_rendered(
        self, snapshot: Snapshot, edit: Edit, new: KubeObject
    ) -> tuple[list[Edit], tuple[RenderedDirectory, ...] | None]:
        """Return an edit of a policy's file with those of what is rendered from it, and where."""
        if self._renderer is None:
            return [edit], None
        renewals = self._renderer.renewals(snapshot.commit, new, edit)
        edits = dict(chain.from_iterable(each.edits.items() for each in renewals))
        directories = tuple(
            replace(each.directory(in_git=True), is_stale=False) for each in renewals
        )
        return [edit, *(Edit(path, content) for path, content in edits.items())], directories

    def remove(self, place: Place, order: Order) -> Outcome:
        """Take a policy out of its file, and the file away where nothing else is in it."""
        windows = self._windows
        with windows.alone():
            snapshot = windows.refresh()
            stored = one(snapshot, place.namespace, place.name, place.file)
            permissions.check(order.caller, stored.config, None)
            _check(order, stored)
            self._check_not_rendered(stored)
            # None removes the file; what is in it beside the policy keeps it.
            content: bytes | None = None
            if not stored.is_alone:
                config = stored.config
                content = config.source[: config.start] + config.source[config.end :]
            else:
                self._check_unnamed(stored)
            edit = Edit(stored.file, content, stored.mode)
            # What is rendered is not removed, so that nothing is.
            directories = None if self._renderer is None else ()
            outcome = Outcome(place, stored.file, None, None, None, rendered=directories)
            return self._commit_or_propose(outcome, [edit], order, snapshot.commit)

    def _check_unnamed(self, stored: Stored) -> None:
        """Refuse to remove a file that a kustomization beside it names: nothing would build."""
        branch = self._windows.branch
        folder, _, name = stored.file.rpartition("/")
        for kustomization in KUSTOMIZATIONS:
            path = "/".join(part for part in (folder, kustomization) if part)
            found = branch.file(self._windows.snapshot.commit, path)
            if found is None:
                continue
            content = branch.contents([found.blob], found.size)[found.blob]
            if name in _listed(content):
                raise Problem(
                    HTTPStatus.CONFLICT,
                    f"{path} names {name} and would not build without it: remove it there first",
                )

    def _check_not_rendered(self, stored: Stored) -> None:
        """Refuse to remove a policy that is in force: what it shut would stay shut."""
        if self._renderer is None:
            return
        for rendered in self._renderer.rendered(self._windows.snapshot.commit, stored):
            raise Problem(
                HTTPStatus.CONFLICT,
                f"the windows of {stored.title} are rendered in {rendered.directory}: first make "
                "sure that nothing stays suspended (docs/how-to/removing-a-policy.md)",
            )

    def _replayed(self, order: Order, place: Place, stored: Stored) -> Outcome | None:
        """Return what became of the same request before; raises Problem for another one."""
        if order.key is None:
            return None
        found = self._keys().get(_key(order))
        if found is None:
            return None
        # A key that is used twice for different things is the caller's mistake.
        if found.digest != order.digest:
            raise Problem(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                "this Idempotency-Key was used for another request",
            )
        outcome = found.outcome
        if outcome is None:
            branch = None
            if found.is_proposed:
                branch = branch_name(place.namespace, place.name, found.commit)
            outcome = Outcome(
                place, stored.file, None, found.commit, stored, found.override, branch=branch
            )
        is_pushed = self._windows.settings.remote is not None
        return replace(outcome, is_replayed=True, is_pushed=is_pushed)

    def _remember(self, order: Order, outcome: Outcome) -> None:
        if order.key is None or outcome.commit is None:
            return
        # Beside the commit, so that the same answer can be given without reading it again.
        known = self._keys()
        made = _Keyed(order.digest, outcome.commit, outcome.override, outcome)
        known[_key(order)] = made
        # The oldest goes first.
        if len(known) > _MOST_KEYS:
            known.popitem(last=False)

    def _keys(self) -> "OrderedDict[str, _Keyed]":
        """Return what was asked for under keys: at first, as the branch's commits have it."""
        if self._known is None:
            windows = self._windows
            self._known = OrderedDict()
            remote = windows.settings.remote
            if windows.settings.pull_requests is not None and remote is not None:
                entries = windows.branch.proposed(remote, PREFIX)
                self._known.update(_keyed(entries, is_proposed=True))
            # What was proposed and then merged is made.
            entries = windows.branch.log(windows.snapshot.commit, _MOST_KEYS)
            self._known.update(_keyed(reversed(entries), is_proposed=False))
        return self._known

    def _proposal(
        self,
        stored: Stored,
        change: Change,
        at: datetime,
        caller: Caller,
        *,
        urgent: bool,
    ) -> Proposal:
        old = stored.config.as_read()
        try:
            new = change(old)
            permissions.check(caller, old, new)
            # From the minute on, as windows know no seconds.
            begins = at.replace(second=0, microsecond=0)
            period = Period(begins, self._windows.settings.days_compared)
            items = self._resources(stored, old, new)
            return propose(old, new, items, View(at, period, urgent), partial(self._gated, items))
        except AbsentError as error:
            raise Problem(HTTPStatus.NOT_FOUND, str(error)) from error
        except (InputError, EditError) as error:
            raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error

    def _gated(
        self, items: list[KubeObject], cluster: str | None, but: Collection[str]
    ) -> Iterator[Target]:
        """Yield what the policies of the branch gate in a cluster, but for those of some names."""
        policies = (Given.of(each.config.as_read()) for each in self._windows.snapshot.every())
        return gated(policies, cluster, items, but)

    def _resources(self, stored: Stored, *versions: KubeObject) -> list[KubeObject]:
        """Return the resources that the targets are among, where they decide when it closes."""
        # Only `closesEarly: auto` asks for them, and they are read for each change.
        if self._renderer is None or not any(map(may_close_by_targets, versions)):
            return []
        return self._renderer.resources(self._windows.snapshot.commit, stored)

    def _refuse(self, proposal: Proposal, order: Order, file: str) -> None:
        if not proposal.fails(strict=order.strict, urgent=order.urgent):
            return
        results = proposal.results
        # An urgent change is refused for these alone, so these alone explain the refusal.
        if order.urgent:
            results = [result for result in proposal.compiled if fails([result])]
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "the policy would be invalid: nothing was written",
            findings(results, proposal.new, file),
        )

    def _new_file(self, snapshot: Snapshot, place: Place) -> str:
        settings = self._windows.settings
        # As kubectl does: what names no namespace goes to `default`.
        name = settings.created.format(namespace=place.namespace or "default", name=place.name)
        file = "/".join(part for part in (self._windows.below, name) if part)
        if self._windows.branch.is_taken(snapshot.commit, file):
            raise Problem(HTTPStatus.CONFLICT, f"{file} already exists, and is not this policy")
        return file

    def _commit_or_propose(
        self,
        outcome: Outcome,
        edits: Sequence[Edit],
        order: Order,
        seen: str,
    ) -> Outcome:
        """Commit a change, or propose it; return what became of it.

        `seen` is the commit whose files the edits were made from.
        """
        windows = self._windows
        place = outcome.place
        # The branch stays where it is: whoever merges the pull request moves it.
        if windows.settings.pull_requests is not None:
            commit = self._made(seen, edits, order, place)
            return self._propose(windows.settings.pull_requests, commit, order, outcome)
        commit = self._commit(edits, order, place, seen)
        found = windows.refresh().policies.get((place.namespace, place.name), ())
        now = None
        for stored in found:
            if stored.file == outcome.file:
                now = stored
        directories = outcome.rendered
        # Whatever came in between may have changed what else is rendered from.
        if directories and windows.branch.first_parents(commit, 2)[-1].name != seen:
            moved = "the branch has moved while it was rendered"
            directories = tuple(replace(e, is_stale=None, reason=moved) for e in directories)
        elif directories and now is not None and self._renderer is not None:
            # They were out of date before, and are not any more.
            current = [replace(each, files=()) for each in directories]
            self._renderer.remember(commit, now, current)
        return replace(
            outcome,
            commit=commit,
            stored=now,
            is_pushed=windows.settings.remote is not None,
            rendered=directories,
        )

    def _propose(
        self,
        pull_requests: PullRequests,
        commit: str,
        order: Order,
        outcome: Outcome,
    ) -> Outcome:
        """Push a commit to a branch of its own, and open a pull request."""
        windows = self._windows
        place = outcome.place
        remote = windows.settings.remote
        if remote is None:
            raise WorkspaceError("changes are proposed at a remote, but no remote is configured")
        message = _message(order, place)
        name = branch_name(place.namespace, place.name, commit)
        ref = f"refs/heads/{name}"
        title, _, body = message.partition("\n\n")
        try:
            # The ref must be new: a branch of the same name is somebody else's.
            windows.branch.git.push(remote, commit, ref, expected="")
            try:
                proposed = Proposed(name, windows.branch.name, title, body)
                address = pull_requests.open(proposed)
            except Exception:
                # Whatever it is: nobody would look at a branch without a pull request.
                windows.branch.git.remove(remote, ref)
                raise
        except (RemoteError, MovedError) as error:
            raise Problem(HTTPStatus.BAD_GATEWAY, str(error)) from error
        directories = outcome.rendered
        if directories is not None:
            directories = tuple(replace(each, in_git=False) for each in directories)
        return replace(
            outcome, commit=commit, branch=name, pull_request=address, rendered=directories
        )

    def _made(self, base: str, edits: Sequence[Edit], order: Order, place: Place) -> str:
        """Make the commit of a change, which is on no branch yet; return its name."""
        windows = self._windows
        message = _message(order, place)
        author = order.caller.person
        return windows.branch.commit(base, edits, message, author, windows.settings.committer)

    def _commit(
        self,
        edits: Sequence[Edit],
        order: Order,
        place: Place,
        seen: str,
    ) -> str:
        """Make the commit, push it, move the branch; return the commit's name."""
        windows = self._windows
        # The branch is at `tip`; the commit is made on `base`, ahead once the remote has moved.
        tip = windows.refresh().commit
        changed = self._changed_between(seen, tip, edits)
        # Whoever commits with Git holds no lock of ours.
        if changed is not None:
            raise Problem(
                HTTPStatus.CONFLICT, f"{changed} was changed in the meantime: read it again"
            )
        base = tip
        for _ in range(_ATTEMPTS):
            commit = self._made(base, edits, order, place)
            try:
                # Pushed first: what a crash leaves of it is fetched by whoever starts next.
                self._push(commit)
                windows.branch.move(commit, tip)
            except RemoteError as error:
                raise Problem(HTTPStatus.BAD_GATEWAY, str(error)) from error
            except MovedError as error:
                base = self._rebased(edits, tip, error)
            else:
                return commit
        raise Problem(HTTPStatus.CONFLICT, "the remote keeps moving: try again")

    def _push(self, commit: str) -> None:
        remote = self._windows.settings.remote
        if remote is not None:
            self._windows.branch.git.push(remote, commit, self._windows.branch.ref)

    def _rebased(
        self,
        edits: Sequence[Edit],
        tip: str,
        error: MovedError,
    ) -> str:
        """Return the commit to begin from, once the remote has moved; raises Problem."""
        windows = self._windows
        remote = windows.settings.remote
        if remote is None:
            raise Problem(HTTPStatus.CONFLICT, str(error)) from error
        try:
            theirs = windows.branch.fetch(remote)
        except RemoteError as unreachable:
            raise Problem(HTTPStatus.BAD_GATEWAY, str(unreachable)) from unreachable
        # Commits here that the remote does not have: a person has to bring both together.
        if not windows.branch.is_ancestor(tip, theirs):
            raise Problem(
                HTTPStatus.CONFLICT,
                f"the branch {windows.branch.name} here and at {remote} have diverged",
            ) from error
        changed = self._changed_between(tip, theirs, edits)
        if changed is not None:
            # Whoever asks again sees what the remote has.
            windows.catch_up(theirs)
            raise Problem(
                HTTPStatus.CONFLICT,
                f"{changed} was changed at {remote} in the meantime: read it again",
            ) from error
        return theirs

    def _changed_between(self, old: str, new: str, edits: Iterable[Edit]) -> str | None:
        """Return the first file of some edits that differs between two commits; None for none."""
        if old == new:
            return None
        branch = self._windows.branch
        for edit in edits:
            if _blob(branch.file(old, edit.path)) != _blob(branch.file(new, edit.path)):
                return edit.path
        return None


def _blob(file: File | None) -> str | None:
    if file is None:
        return None
    return file.blob


def _check(order: Order, stored: Stored) -> None:
    """Refuse a change of another version than the one that is there (RFC 9110, 13.1.1)."""
    if order.if_match is None or order.if_match.strip() == "*":
        return
    # Any of several may match (RFC 9110, 13.1.1).
    tags = [tag.strip() for tag in order.if_match.split(",")]
    for tag in tags:
        found = _TAG.fullmatch(tag)
        # The comparison is strong: a weak tag, `W/"…"`, matches nothing.
        if found and found[1] == stored.blob:
            return
    raise Problem(
        HTTPStatus.PRECONDITION_FAILED,
        f"{stored.title} has changed: its ETag is now {entity_tag(stored, json=False)}",
        headers={"ETag": entity_tag(stored, json=False)},
    )


def _check_absent(snapshot: Snapshot, place: Place) -> None:
    if (place.namespace, place.name) in snapshot.policies:
        raise Problem(HTTPStatus.PRECONDITION_FAILED, f"{place.title} already exists")


@dataclass(frozen=True, slots=True)
class _Keyed:
    """What came of a request with a key; `outcome` is None for one of an earlier run."""

    digest: str
    commit: str
    override: str | None
    outcome: Outcome | None
    is_proposed: bool = False


def _keyed(entries: Iterable[Entry], *, is_proposed: bool) -> Iterator[tuple[str, _Keyed]]:
    """Yield what commits say of the keys that they were asked for under."""
    for entry in entries:
        found = _KEYED.search(entry.message)
        if not found:
            continue
        name = None
        override = _OVERRIDE.search(entry.message)
        if override:
            name = override[1]
        yield found[1], _Keyed(found[2], entry.commit, name, None, is_proposed)


def _key(order: Order) -> str:
    """Return what a key is known by: each caller has keys of their own."""
    return hashlib.sha256(f"{order.caller.name}\n{order.key}".encode()).hexdigest()


def _message(order: Order, place: Place) -> str:
    # Trailers are read by programs: `git log --format='%(trailers)'`.
    through = f"Requested-through: krm-windows serve ({order.caller.name})"
    trailers = [f"Policy: {place.title}", through]
    if order.override is not None:
        trailers.append(f"Override: {_one_line(order.override)}")
    if order.key is not None:
        trailers.append(f"Idempotency-Key: {_key(order)}/{order.digest}")
    lines = "\n".join(trailers)
    # Below the reason, only our own trailers count.
    return f"{_one_line(order.reason)}\n\n{lines}\n"


def _one_line(text: str) -> str:
    """Return a text that cannot end its line, whatever it holds."""
    seen = "".join(sign if sign.isprintable() else " " for sign in text)
    return " ".join(seen.split())
