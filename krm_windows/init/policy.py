"""The text of a first policy: commented, and short enough to be read whole."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from posixpath import dirname, join, normpath, relpath

from krm_windows import escape
from krm_windows.init.targets import FirstTargets
from krm_windows.krm import render

# At the top of the repository, where every policy of it finds the schema.
SCHEMA = ".krm-windows/windowpolicy.json"
# The name of the window.
WINDOW = "working-hours"
_TEXT = """\
# yaml-language-server: $schema={schema}
#
# When changes may reach the cluster {cluster}. After each edit:
#   krm-windows calendar {file}
#   {command}
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata:
{named}  annotations:
    # Read only at build time: kustomize and Flux do not apply it.
    config.kubernetes.io/local-config: "true"
spec:
{zone}  # What is closed outside the windows.
  # Left out is {root}, because it delivers the windows.
{targets}  # When it is open, in timeZone. `Mon-Fri 22:00`, `2nd Tue 20:00` and cron schedules are
  # possible, and several windows, each with its own name.
{windows}  # Closed whatever the windows say, for example over the holidays:
  # freezes:
  #   year-end:
  #     starts: "{year}-12-20"
  #     ends: "{next_year}-01-03"
  #     reason: Year-end change freeze
"""


@dataclass(frozen=True, slots=True)
class Draft:
    """What a first policy says, and where it goes.

    `opens` and `closes` are moments such as `Mon-Thu 09:00` and `16:00`; the example in its comment
    is of a `year`. `directory` is the cluster's, relative to the repository, or `.`, and `root` the
    Flux Kustomization that applies it.
    """

    name: str
    namespace: str
    cluster: str
    root: str
    zone: str
    opens: str
    closes: str
    year: int
    directory: str

    @property
    def file(self) -> str:
        """The path of the policy."""
        return normpath(join(self.directory, f"{self.name}.yaml"))

    @property
    def rendered(self) -> str:
        """The directory of what is rendered."""
        return normpath(join(self.directory, self.name))

    @property
    def command(self) -> str:
        """The command that renders it, to be run at the top of the repository."""
        # With the targets at hand a name that is wrong is found before it is merged.
        words = ["krm-windows", "render", self.file, "--output-dir", self.rendered]
        words += ["--resources", self.directory]
        return shlex.join(words)


def write(draft: Draft, proposed: FirstTargets) -> str:
    """Return the file of a policy."""
    spec: dict[str, object] = {"timeZone": draft.zone}
    # A policy gates objects of other namespaces only where it says so itself.
    if {each.namespace for each in proposed.targets} - {draft.namespace}:
        spec["crossNamespaceTargets"] = "Allow"
    windows = {WINDOW: {"opens": draft.opens, "closes": draft.closes}}
    return _TEXT.format(
        # A directory's name may hold anything, a line end included, which would end the comment.
        schema=escape.line(relpath(SCHEMA, dirname(draft.file) or ".")),
        cluster=escape.line(draft.cluster),
        file=escape.line(draft.file),
        command=escape.line(draft.command),
        root=escape.line(draft.root),
        # Values are written by the writer of YAML, so that none is read as something else.
        named=render({"name": draft.name, "namespace": draft.namespace}, indent=2),
        zone=render(spec, indent=2),
        targets=render({"targets": list(_targets(draft, proposed))}, indent=2),
        windows=render({"windows": windows}, indent=2),
        year=draft.year,
        next_year=draft.year + 1,
    )


def _targets(draft: Draft, proposed: FirstTargets) -> Iterator[dict[str, object]]:
    """Yield the entries of `targets`: one for each kind, namespace, and place that has it."""
    # A policy's selectors have one namespace each, and one answer to whether a target must exist.
    grouped: dict[tuple[str, str, bool], list[str]] = {}
    for each in proposed.targets:
        key = (each.kind, each.namespace, each in proposed.beyond)
        grouped.setdefault(key, []).append(each.name)
    for (kind, namespace, is_beyond), names in grouped.items():
        selector: dict[str, object] = {"kind": kind}
        if namespace != draft.namespace:
            selector["namespace"] = namespace
        selector["names"] = names
        # It is delivered from another directory, so no build of this one has it.
        if is_beyond:
            selector["mustExist"] = False
        yield selector
