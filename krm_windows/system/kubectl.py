"""kubectl, which asks: it knows the user's clusters and how to sign in to them.

For that it has the user's environment; it has no terminal and no standard input. What a policy says
reaches it only as what it is: names, a namespace and labels, each checked by its grammar, and none
where kubectl looks for options.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from krm_windows.system import programs
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.programs import Ended, Limits

# As kubectl takes a length of time (`--request-timeout`), for each request.
_PATIENCE = "20s"
# Signing in may take a person some time; a list of so many bytes is no list of targets.
_LIMITS = Limits(seconds=120, output=256 << 20)
# What names, namespaces, resources and both parts of labels have in common (apimachinery,
# validation): nothing that is an option, a list, or a path.
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
# Managed fields say who has set what: kubectl leaves them out.
_AS_JSON = ("--output=json", "--show-managed-fields")
# A DNS subdomain may have 253 characters (RFC 1123), and nothing here is longer.
_LONGEST = 253


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked for: objects in a namespace, by their names or by their labels.

    Where the namespace is None, in all of them.
    """

    resource: str
    namespace: str | None
    names: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)

    def arguments(self) -> list[str]:
        """Return the arguments of `kubectl get`.

        Raises WorkspaceError where one is not what it should be.
        """
        _check(*self.resource.split(","), *self.names)
        place = "--all-namespaces"
        if self.namespace is not None:
            _check(self.namespace)
            place = f"--namespace={self.namespace}"
        options = [place]
        if self.labels:
            options.append(_selector(self.labels))
        # Behind `--` nothing is an option, whatever it begins with.
        return [*options, "--", self.resource, *self.names]


@dataclass(frozen=True, slots=True)
class Kubectl:
    """The cluster that is asked, named by kubectl's own options.

    None is what kubectl takes without them.
    """

    kubeconfig: str | None = None
    context: str | None = None

    def get(self, query: Query) -> str:
        """Return the JSON that `kubectl get` prints, empty where of the names given none exists.

        Raises `WorkspaceError` where there is no kubectl, or where it fails, with its reason and
        some advice.
        """
        return self._printed("get", "--ignore-not-found", *_AS_JSON, *query.arguments())

    def log(self, namespace: str, pod: str) -> str:
        """Return the end of what a Pod has logged. Raises `WorkspaceError` as `get` does."""
        _check(namespace, pod)
        options = (f"--namespace={namespace}", "--tail=1000", "--limit-bytes=1000000")
        return self._printed("logs", *options, "--", pod)

    def _printed(self, verb: str, *arguments: str) -> str:
        ended = self._run(verb, *arguments)
        if ended.code != 0:
            raise WorkspaceError(_words(ended.complaint))
        return ended.output.decode(errors="replace")

    def _run(self, verb: str, *arguments: str) -> Ended:
        chosen = {"--kubeconfig": self.kubeconfig, "--context": self.context}
        options = [f"{name}={value}" for name, value in chosen.items() if value is not None]
        program = programs.find("kubectl")
        if program is None:
            advice = "install it, or pipe in its output from another machine (-f -)"
            raise WorkspaceError(f"kubectl not found in PATH: {advice}")
        command = [program, verb, *options, f"--request-timeout={_PATIENCE}", *arguments]
        return programs.run(command, environment=os.environ, limits=_LIMITS)


def _selector(labels: Mapping[str, str]) -> str:
    for key, value in labels.items():
        # A label may have a domain before its name, and no value.
        _check(*key.split("/", 1), *filter(None, [value]))
    return "--selector=" + ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def _check(*texts: str) -> None:
    for text in texts:
        if len(text) > _LONGEST or not _NAME.fullmatch(text):
            raise WorkspaceError(f"{text[:_LONGEST]!r} is not a valid name for kubectl")


def _words(complaint: str) -> str:
    """Return why kubectl failed, from the last line that it printed."""
    last = complaint.strip().rpartition("\n")[2] or "it printed no error"
    return (
        f"kubectl: {last.removeprefix('error: ')}; is it the right cluster (--kubeconfig, "
        "--context)?"
    )
