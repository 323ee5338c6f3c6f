"""A policy and its cluster, as kubectl or a file of what it printed shows it."""

import argparse
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from json import JSONDecodeError

from krm_windows import inventory
from krm_windows.cli import inputs, previews, report, times
from krm_windows.cli.inputs import UsageError
from krm_windows.edit.patches import check_cluster
from krm_windows.emit import names
from krm_windows.gate.objects import dig
from krm_windows.krm import InputError, KubeObject
from krm_windows.plan import compile_policy, kinds
from krm_windows.plan.model import Plan
from krm_windows.policy.model import WindowPolicy
from krm_windows.preview.versions import Choice, PolicySource
from krm_windows.results import Result
from krm_windows.schedule import zones
from krm_windows.status.failures import newest_pod, terminated
from krm_windows.status.objects import LiveObject, closer, queries, read, windows
from krm_windows.status.report import Report
from krm_windows.status.report import report as judge
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.kubectl import Kubectl, Query


def options(parser: argparse.ArgumentParser) -> None:
    """Declare which cluster is asked, and for which instant."""
    for option, what in {"--kubeconfig": "FILE", "--context": "NAME"}.items():
        parser.add_argument(option, type=_given, metavar=what, help="as for kubectl")
    parser.add_argument(
        "--at",
        type=times.moment,
        metavar="TIME",
        help="the time to check for, in the policy's time zone or with an offset (default: now)",
    )


def add_filename(source: argparse._ActionsContainer) -> None:
    """Declare the file that may be read in place of a cluster."""
    source.add_argument(
        "-f",
        "--filename",
        metavar="FILE",
        help=(
            "the output of `kubectl get … -o json`, or - for standard input (default: run kubectl)"
        ),
    )


def _given(text: str) -> str:
    """Refuse an empty text, which kubectl takes for whichever cluster is current.

    Often a variable that is not set.
    """
    if not text.strip():
        raise argparse.ArgumentTypeError(
            f"must not be empty, got {text!r}; leave it out for the current cluster"
        )
    return text


@dataclass(frozen=True, slots=True)
class ClusterState:
    """What a cluster was found to be at a UTC instant.

    There is no report where the policy is wrong. `objects` are those that were read. `asked` is
    when a cluster was asked, None where the objects are from a file.
    """

    at: datetime
    results: list[Result]
    report: Report | None = None
    objects: list[LiveObject] = field(default_factory=list)
    asked: datetime | None = None


@dataclass(frozen=True, slots=True)
class PolicyInCluster:
    """A policy, and how its cluster is asked."""

    source: PolicySource
    arguments: argparse.Namespace

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> "PolicyInCluster":
        """Read the policy; raises InputError where it cannot be read."""
        # The same stream cannot be read twice: the second reader would find it empty.
        if arguments.policy == arguments.filename == inputs.STDIN:
            raise UsageError(
                "standard input can be used for the policy or the objects, but not for both"
            )
        items = previews.resources(arguments)
        config = inputs.policy(arguments.policy)
        check_cluster(config, arguments.cluster)
        return cls(PolicySource(config, lambda _: items), arguments)

    def judged(self) -> ClusterState:
        """Ask, and judge what is answered, at an instant."""
        loaded, choice = self.source.load(), Choice(self.arguments.cluster)
        # Exactly one: without `--all-clusters` a choice is a single cluster, or none (None).
        [cluster] = choice.clusters(loaded)
        policy, faults = loaded.for_cluster(cluster)
        # Nobody asks a cluster about a policy that cannot be loaded.
        if policy is None:
            return ClusterState(times.now(), self._located(faults))
        objects = self._objects(policy)
        # None where nobody can say which ConfigMaps there are.
        found_windows = None if self.arguments.filename else self._willing(windows(policy))
        objects += found_windows or []
        now = times.now()
        at = times.instant(self.arguments.at, zones.zone(policy.spec.time_zone), now)
        # Only objects that a plan looks into (timeouts, say) are read as if they were resources.
        read_into = kinds(policy)
        items = [
            *self.source.resources(cluster),
            *(KubeObject.from_value(each) for each in objects if each.get("kind") in read_into),
        ]
        versions, results = PolicySource(self.source.config, lambda _: items).versions(choice)
        if not versions:
            return ClusterState(at, self._located(results))
        plan, _ = compile_policy(policy, cluster, inventory.take(items, read_into))
        found = self._report(plan, policy, objects, at, has_windows=found_windows is not None)
        asked = None if self.arguments.filename else now
        return ClusterState(at, self._located(results), found, objects, asked)

    def _located(self, results: Iterable[Result]) -> list[Result]:
        """Return results with the line of the policy's file that each is about."""
        policies = {self.arguments.policy: self.source.config}
        return report.located(results, policies, self.arguments.resources)

    def more(self, query: Query) -> list[LiveObject]:
        """Ask for what is not among a policy's own objects; a file has said all it has."""
        if self.arguments.filename:
            return []
        return self._ask(query)

    def _ask(self, query: Query) -> list[LiveObject]:
        return _read(_KUBECTL, self._kubectl.get(query))

    @property
    def _kubectl(self) -> Kubectl:
        return Kubectl(self.arguments.kubeconfig, self.arguments.context)

    def _report(
        self,
        plan: Plan,
        policy: WindowPolicy,
        objects: list[LiveObject],
        at: datetime,
        *,
        has_windows: bool,
    ) -> Report:
        """Judge; where a run is overdue, kubectl is asked for what may say why."""
        has_asked = not self.arguments.filename
        found = judge(plan, objects, at, has_asked=has_asked, has_windows=has_windows)
        # Events and Pods are many, so they are read only when something should have run and has
        # not.
        if not has_asked or not found.is_overdue(at, plan.interval):
            return found
        more = list(objects)
        for query in closer(policy):
            more.extend(self._willing(query) or [])
        # What a Pod has logged goes where its termination message is, if it may be read.
        pod = newest_pod(more, names.label(plan.timetable.policy))
        with suppress(WorkspaceError):
            for state in terminated(pod) if pod else ():
                where = (str(dig(pod, "metadata", key)) for key in ("namespace", "name"))
                state["message"] = self._kubectl.log(*where)
        return judge(plan, more, at, has_asked=True, has_windows=has_windows)

    def _willing(self, query: Query) -> list[LiveObject] | None:
        """Ask for what is not needed: who may not read it is shown the rest."""
        try:
            return self._ask(query)
        except WorkspaceError:
            return None

    def _objects(self, policy: WindowPolicy) -> list[LiveObject]:
        name = self.arguments.filename
        if not name:
            return list(chain.from_iterable(map(self._ask, queries(policy))))
        content = inputs.content(name)
        # An empty pipe is the sign of a kubectl that failed before it printed.
        if not content.strip():
            raise InputError("is empty: did kubectl fail?", 1, 1, name)
        return _read(name, content.decode(errors="replace"))


_KUBECTL = "kubectl"
_NOT_PRINTED = "is not the output of `kubectl get -o json`"


def _read(name: str, text: str) -> list[LiveObject]:
    try:
        return read(text)
    except ValueError as error:
        # Of what kubectl prints itself nobody can open a line.
        if isinstance(error, JSONDecodeError) and name != _KUBECTL:
            message = f"{_NOT_PRINTED}: {error.msg}"
            raise InputError(message, error.lineno, error.colno, name) from error
        raise InputError(f"{_NOT_PRINTED}: {error}", file=name) from error
