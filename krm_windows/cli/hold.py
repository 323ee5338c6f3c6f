"""`krm-windows hold`: a person keeps a target shut, or lets go of it again.

kustomize-controller takes back whatever a field manager has written whose name begins with
`kubectl`, so what people write by `kubectl annotate`, `edit` or a plain `patch` is gone at the next
reconcile of what delivers the target (docs/decisions/0047-a-hold-has-a-manager-of-its-own.md).
"""

import argparse
import getpass
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from krm_windows import gateable
from krm_windows.cli import cluster, output, times
from krm_windows.cli.inputs import UsageError
from krm_windows.exit_codes import ExitCode
from krm_windows.gate.annotations import HOLD
from krm_windows.gate.objects import HOLDER, dig
from krm_windows.gateable import Gateable
from krm_windows.status import gates
from krm_windows.status.objects import LiveObject, entries, read
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.kubectl import Kubectl, Query

_HOLD = ("metadata", "annotations", HOLD)
_TRIES = 5  # controllers write the target, too: a conflict is routine
_LONGEST_REASON = 1024


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "targets", nargs="+", metavar="KIND/NAME", help="such as Kustomization/apps, or hr/web"
    )
    parser.add_argument("-n", "--namespace", required=True, help="the namespace of the targets")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--reason", metavar="TEXT", help="why it is held, for everybody to read")
    what.add_argument(
        "--release", action="store_true", help="end the hold; the gate decides what is next"
    )
    parser.add_argument("--by", metavar="NAME", help="who (default: you, as the cluster knows you)")
    cluster.options_of_kubectl(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Hold or release each target; exit 1 if one of them is not as was asked."""
    kubectl = Kubectl(arguments.kubeconfig, arguments.context)
    targets = [_target(word, arguments.namespace) for word in arguments.targets]
    text = None if arguments.release else _text(arguments, kubectl)
    failed = False
    for target in targets:
        try:
            lines = _held(kubectl, target, text) if text else _released(kubectl, target)
            output.show_words("".join(f"{line}\n" for line in lines))
        except WorkspaceError as error:
            output.log(f"{target}: {error}")
            failed = True
    return ExitCode.of(failed=failed)


def _text(arguments: argparse.Namespace, kubectl: Kubectl) -> str:
    """Return what the annotation says: who, when and why."""
    reason = " ".join(arguments.reason.split())
    if not reason or len(reason) > _LONGEST_REASON:
        raise UsageError(f"--reason must have 1 to {_LONGEST_REASON} characters")
    who = arguments.by or kubectl.user() or getpass.getuser()
    return f"{who}, {times.now():%Y-%m-%dT%H:%M:%SZ}: {reason}"


@dataclass(frozen=True, slots=True)
class _Target:
    row: Gateable
    namespace: str
    name: str

    def __str__(self) -> str:
        """Name it as `Kustomization flux-system/apps`."""
        return f"{self.row.kind} {self.namespace}/{self.name}"

    @property
    def query(self) -> Query:
        """What asks for it."""
        resource = f"{self.row.resource}.{self.row.group}"
        return Query(resource, self.namespace, names=(self.name,))

    def switch(self, *, suspended: bool) -> dict[str, object]:
        """Return the patch that suspends or resumes it."""
        parent, leaf = self.row.field
        return {parent: {leaf: suspended}}


def _target(word: str, namespace: str) -> _Target:
    """Read `Kustomization/apps`, or what kubectl takes for it."""
    kind, _, name = word.partition("/")
    row = gateable.named(kind)
    if row is None or not name:
        kinds = ", ".join(each.kind for each in gateable.TABLE)
        raise UsageError(
            f"{word!r} is not KIND/NAME, such as Kustomization/apps; the kinds are {kinds}. "
            "Of another kind, set the annotation with kubectl, as "
            "docs/how-to/when-something-is-wrong.md shows"
        )
    return _Target(row, namespace, name)


def _held(kubectl: Kubectl, target: _Target, text: str) -> Iterator[str]:
    """Annotate and suspend it in one patch. Raises WorkspaceError where that cannot be."""
    edges: list[str] = []
    # Who may not read what gates it may hold it all the same.
    with suppress(WorkspaceError):
        edges += gates.with_edges(
            target.row, target.namespace, target.name, lambda query: read(kubectl.get(query))
        )
    if edges:
        raise WorkspaceError(
            f"the policy {edges[0]} has the actuator `Kubectl`, whose CronJobs open whatever "
            "they find and know no hold: set an override in the policy instead"
        )
    before, after = _patched(kubectl, target, text)
    if dig(after, *target.row.field) is not True or dig(after, *_HOLD) != text:
        raise WorkspaceError("is not held: the cluster has changed the patch (a webhook?)")
    was_suspended = dig(before, *target.row.field) is True
    was = "was suspended already" if was_suspended else "was open"
    yield f"{target} is held and suspended, it {was}: {text}"
    word = f"{target.row.kind}/{target.name}"
    yield f"until you end it: krm-windows hold {word} -n {target.namespace} --release"
    if not was_suspended and _is_applied(before, *target.row.field):
        field = ".".join(target.row.field)
        yield (
            f"warning: {field} is in Git: unless the Kustomization that delivers it ignores "
            f"that field (spec.ignore), its next reconcile opens it. Remove {field} from Git"
        )


def _released(kubectl: Kubectl, target: _Target) -> Iterator[str]:
    """Remove the annotation, and nothing else. Raises WorkspaceError where there is none."""
    before, after = _patched(kubectl, target, None)
    yield f"{target} is not held any more, by: {dig(before, *_HOLD)}"
    if dig(after, *target.row.field) is not True:
        yield "it is open, as it was: somebody had resumed it"
        return
    resource = f"{target.row.resource}.{target.row.group}"
    patch = json.dumps(target.switch(suspended=False))
    yield (
        "its gate opens it in its next run, if its policy is open then; if no policy gates it, or "
        f"somebody else suspended it, too: kubectl patch {resource} {target.name} "
        f"-n {target.namespace} --type=merge --field-manager={HOLDER} -p '{patch}'"
    )


def _patched(kubectl: Kubectl, target: _Target, text: str | None) -> tuple[LiveObject, LiveObject]:
    """Write the annotation, for the version that was read; return the object before and after.

    None removes it. Raises WorkspaceError where it is held already, or not held at all.
    """
    # What is suspended stays its owner's: a value that does not change changes no manager.
    switch = target.switch(suspended=True) if text else {}
    tries = 0
    while True:
        before = _checked(read(kubectl.get(target.query)), text)
        version = dig(before, "metadata", "resourceVersion")
        metadata = {"resourceVersion": version, "annotations": {HOLD: text}}
        tries += 1
        try:
            answer = kubectl.patch(target.query, {"metadata": metadata, **switch}, HOLDER)
        except WorkspaceError as error:
            if tries == _TRIES or "the object has been modified" not in str(error):
                raise
        else:
            [after] = read(answer)
            return before, after


def _checked(found: Sequence[LiveObject], text: str | None) -> LiveObject:
    if not found:
        raise WorkspaceError("not found; is it the right cluster and namespace?")
    [live] = found
    held = dig(live, *_HOLD)
    if text is not None and held is not None:
        raise WorkspaceError(f"is held already, by: {held}; release that first (--release)")
    if text is None and held is None:
        raise WorkspaceError("is not held, so there is nothing to release")
    if _is_applied(live, *_HOLD):
        raise WorkspaceError(f"is held in Git: remove the annotation {HOLD} there")
    return live


def _is_applied(live: LiveObject, *path: str) -> bool:
    """Say whether a field is in Git, as far as it was applied server-side from there."""
    for entry in entries(live, "metadata", "managedFields"):
        fields = dig(entry, "fieldsV1")
        key = [f"f:{part}" for part in path]
        if dig(entry, "operation") == "Apply" and dig(fields, *key) is not None:
            return True
    return False
