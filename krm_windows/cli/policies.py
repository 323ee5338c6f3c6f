"""Which policy is meant: a file, or one of the repository around the working directory by name."""

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from krm_windows.cli import inputs, output
from krm_windows.cli.inputs import UsageError
from krm_windows.edit.patches import clusters_of, others
from krm_windows.krm import InputError, KubeObject
from krm_windows.plurals import some
from krm_windows.policy.findings import closest
from krm_windows.policy.model import API_VERSION, KIND
from krm_windows.system import tops
from krm_windows.system.checkout import Checkout

# So many policies are listed where none, or none of them alone, was named.
_FEW = 20
_NONE = "give the file of a policy: no repository around this directory has one"
Choose = Callable[[Sequence[str]], str]
"""Returns one of some names."""


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """A policy of a repository, in the file `path` from its top; `file` is that from here."""

    path: str
    file: str
    config: KubeObject

    @property
    def title(self) -> str:
        """Its name with its namespace."""
        return f"{self.config.namespace}/{self.config.name}"

    @property
    def clusters(self) -> list[str]:
        """The clusters that it names."""
        return list(clusters_of(self.config))

    @property
    def names(self) -> tuple[str, str, str]:
        """What it may be called by."""
        return self.config.name, self.title, self.file

    def __str__(self) -> str:
        """Write it with both."""
        return f"{self.title} ({self.file})"


def here(directory: str = ".") -> Checkout | None:
    """Return the repository around a directory, None where there is none."""
    top = tops.top(Path(os.path.realpath(directory)))
    return None if top is None else Checkout.at(top)


def every(tree: Checkout, say: Callable[[str], object] = output.log) -> Iterator[StoredPolicy]:
    """Yield every policy of a repository; `say` is told of files that cannot be read."""
    for path in tree.manifests():
        content = tree.read(path) or b""
        # Most manifests are of other kinds: they are not parsed at all.
        if KIND.encode() in content and API_VERSION.encode() in content:
            file = os.path.relpath(Path(tree.root, path))
            try:
                items = inputs.objects(file)
            except InputError as error:
                say(str(error))
                continue
            for item in items:
                if item.kind == KIND and item.api_version == API_VERSION:
                    yield StoredPolicy(path, file, item)


def _known(directory: str = ".") -> list[StoredPolicy]:
    tree = here(directory)
    return [] if tree is None else list(every(tree))


def around(directory: str = ".") -> list[StoredPolicy]:
    """Return all policies of the repository around a directory; raises UsageError for none."""
    found = _known(directory)
    if not found:
        raise UsageError(_NONE)
    return found


def file(
    given: str | None,
    choose: Choose | None = None,
    *meant: Callable[[StoredPolicy], object],
    cluster: str | None = None,
) -> str:
    """Return the file of a policy that was given as a file or by name.

    Without either it is the only one of the repository that names the cluster, or the only one
    that can be `meant`; of several `choose` returns one of their names. Raises InputError where no
    policy is called so, UsageError where several are, or none names the cluster.
    """
    # A directory may be named as a policy is; it is none itself.
    if given == inputs.STDIN or (given and os.path.lexists(given) and not Path(given).is_dir()):
        return given
    known = _known()
    found = [each for each in known if given in (None, *each.names)]
    for wanted in (naming(cluster), *meant):
        found = list(filter(wanted, found)) or found
    if not found:
        return _unknown(given, known)
    clusters = list(chain.from_iterable(each.clusters for each in found))
    if given is None and cluster is not None and cluster not in clusters:
        raise UsageError(
            f"no policy here names the cluster {cluster!r} {others(cluster, clusters)}"
        )
    if len(found) == 1:
        return found[0].file
    if choose is not None:
        names = {each.config.name: each.file for each in found}
        if len(names) < len(found):
            names = {str(each): each.file for each in found}
        return names[choose(list(names))]
    of = f"several policies are called {given}" if given else "several policies are here"
    raise UsageError(f"{of}: give one of {listed(found)}")


def find(arguments: argparse.Namespace) -> None:
    """Make a policy its file; of several without a name it is the one that names the cluster."""
    arguments.policy = file(arguments.policy, cluster=arguments.cluster)


def naming(cluster: str | None) -> Callable[[StoredPolicy], bool]:
    """Return whether a policy names a cluster."""
    return lambda each: cluster in each.clusters


def _unknown(given: str | None, known: Sequence[StoredPolicy]) -> str:
    """Return what was given where that may be a path; raises InputError for a name of nothing."""
    if given is None:
        raise UsageError(_NONE)
    if Path(given).is_dir():
        return given
    # A word alone is meant as a name.
    if Path(given).stem == given and here() is None:
        raise InputError(
            f"{given}: no such file, nor is this directory in a repository, where policies have "
            "names"
        )
    if not known:
        return given
    meant = closest(given, list(chain.from_iterable(each.names for each in known)))
    hint = f"did you mean {meant}?" if meant else f"there are {listed(known)}"
    for each in known:
        if given in each.clusters:
            hint = f"it is a cluster of {each.title}: give --cluster {given}"
    raise InputError(f"{given}: no such file, and no policy here is called so; {hint}")


def listed(every: Sequence[StoredPolicy]) -> str:
    """Name some policies in a line."""
    return some(list(map(str, every)), _FEW)
