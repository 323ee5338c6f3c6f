"""`krm-windows hold`: a person keeps a target shut, or lets go of it again.

kustomize-controller takes back whatever a field manager has written whose name begins with
`kubectl`, so what people write by `kubectl annotate`, `edit` or a plain `patch` is gone at the next
reconcile of what delivers the target (docs/decisions/0047-a-hold-has-a-manager-of-its-own.md).
"""

import argparse
import getpass
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from krm_windows import gateable
from krm_windows.cli import cluster, output, times
from krm_windows.cli.inputs import UsageError
from krm_windows.exit_codes import ExitCode
from krm_windows.gate.annotations import HOLD, Writer, writer
from krm_windows.gate.objects import HOLDER, dig
from krm_windows.gateable import Gateable
from krm_windows.status import gates
from krm_windows.status.gates import GoverningGate
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
    targets = [_Target.of(word, arguments.namespace, kubectl) for word in arguments.targets]
    failed = False
    text = "" if arguments.release else _text(arguments, kubectl)
    for target in targets:
        try:
            lines = target.release() if arguments.release else target.hold(text)
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
    kubectl: Kubectl

    @classmethod
    def of(cls, word: str, namespace: str, kubectl: Kubectl) -> "_Target":
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
        return cls(row, namespace, name, kubectl)

    def __str__(self) -> str:
        """Name it as `Kustomization flux-system/apps`."""
        return f"{self.row.kind} {self.namespace}/{self.name}"

    def hold(self, text: str) -> Iterator[str]:
        """Annotate and suspend it in one patch. Raises WorkspaceError where that cannot be."""
        edges: list[str] = []
        # Who may not read what gates it may hold it all the same.
        with suppress(WorkspaceError):
            edges = [gate.policy for gate in self._gates() if gate.is_edge]
        if edges:
            raise WorkspaceError(
                f"the policy {edges[0]} has the actuator `Kubectl`, whose CronJobs open whatever "
                "they find and know no hold: set an override in the policy instead"
            )
        before, after = self._patched(text)
        if not self._is_suspended(after) or dig(after, *_HOLD) != text:
            raise WorkspaceError("is not held: the cluster has changed the patch (a webhook?)")
        was = "was suspended already" if self._is_suspended(before) else "was open"
        yield f"{self} is held and suspended, it {was}: {text}"
        word = f"{self.row.kind}/{self.name}"
        yield f"until you end it: krm-windows hold {word} -n {self.namespace} --release"
        if not self._is_suspended(before) and _is_applied(before, *self.row.field):
            field = ".".join(self.row.field)
            yield (
                f"warning: {field} is in Git: unless the Kustomization that delivers it ignores "
                f"that field (spec.ignore), its next reconcile opens it. Remove {field} from Git"
            )

    def release(self) -> Iterator[str]:
        """Remove the annotation, and nothing else. Raises WorkspaceError where there is none."""
        before, after = self._patched(None)
        yield f"{self} is not held any more, by: {dig(before, *_HOLD)}"
        if not self._is_suspended(after):
            yield "it is open, as it was: somebody had resumed it"
        elif writer(after, *self.row.field) is Writer.OTHER:
            yield f"it stays suspended, as somebody else suspended it, too: {self._resume()}"
        else:
            yield from self._next()

    def _next(self) -> Iterator[str]:
        try:
            found = self._gates()
        except WorkspaceError as error:
            yield f"its gate opens it in its next run, if its policy is open then ({error})"
            return
        if not found:
            yield f"it stays suspended, as no policy gates it: {self._resume()}"
        for gate in found:
            if gate.runs:
                yield f"{gate.policy} opens it in its next run, if the policy is open then"
            else:
                yield f"{gate.policy} would open it, but none of its CronJobs will start a run"

    def _resume(self) -> str:
        patch = json.dumps(self._switch(value=False))
        resource = f"{self.row.resource}.{self.row.group}"
        return (
            f"kubectl patch {resource} {self.name} -n {self.namespace} --type=merge "
            f"--field-manager={HOLDER} -p '{patch}'"
        )

    def _patched(self, text: str | None) -> tuple[LiveObject, LiveObject]:
        """Write the annotation, for the version that was read; return the object before and after.

        None removes it. Raises WorkspaceError where it is held already, or not held at all.
        """
        tries = 0
        while True:
            before = self._checked(text)
            tries += 1
            try:
                return before, self._write(before, text)
            except WorkspaceError as error:
                if tries == _TRIES or "the object has been modified" not in str(error):
                    raise

    def _checked(self, text: str | None) -> LiveObject:
        found = read(self.kubectl.get(self._query))
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

    def _write(self, before: LiveObject, text: str | None) -> LiveObject:
        version = dig(before, "metadata", "resourceVersion")
        metadata = {"resourceVersion": version, "annotations": {HOLD: text}}
        # What is suspended stays its owner's: a value that does not change changes no manager.
        switch = self._switch(value=True) if text else {}
        patch = {"metadata": metadata, **switch}
        [after] = read(self.kubectl.patch(self._query, patch, HOLDER))
        return after

    def _switch(self, *, value: bool) -> dict[str, object]:
        parent, leaf = self.row.field
        return {parent: {leaf: value}}

    def _is_suspended(self, live: LiveObject) -> bool:
        return dig(live, *self.row.field) is True

    def _gates(self) -> list[GoverningGate]:
        return gates.governing(
            self.row, self.namespace, self.name, lambda query: read(self.kubectl.get(query))
        )

    @property
    def _query(self) -> Query:
        resource = f"{self.row.resource}.{self.row.group}"
        return Query(resource, self.namespace, names=(self.name,))


def _is_applied(live: LiveObject, *path: str) -> bool:
    """Say whether a field is in Git, as far as it was applied server-side from there."""
    for entry in entries(live, "metadata", "managedFields"):
        fields = dig(entry, "fieldsV1")
        key = [f"f:{part}" for part in path]
        if dig(entry, "operation") == "Apply" and dig(fields, *key) is not None:
            return True
    return False
