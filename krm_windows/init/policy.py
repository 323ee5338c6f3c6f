"""The text of a first policy: commented, and short enough to be read whole."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from krm_windows import escape
from krm_windows.flux.model import Identity
from krm_windows.init.files import Place
from krm_windows.init.targets import FirstTargets
from krm_windows.inventory import LOCAL_CONFIG
from krm_windows.krm import render
from krm_windows.plan import clocks
from krm_windows.plan.clocks import Today
from krm_windows.policy.model import API_VERSION, KIND

# Of a line of the policy; a list of names that is longer goes on in the next.
_WIDTH = 100

# The name of the window.
WINDOW = "working-hours"

_HEAD = """\
# yaml-language-server: $schema={schema}
#
# When changes may reach the cluster {cluster}. After each edit:
#   krm-windows calendar {file}
#   {render}
"""
_LOCAL = """\
    # Read only at build time: kustomize and Flux do not apply it.
"""
_TARGETS = """\
  # What is closed outside the windows: {count} of this cluster.
  # Left out is {root}, because it delivers the windows.
"""
_WINDOWS = """\
  # When it is open, in timeZone. `Mon-Fri 22:00`, `2nd Tue 20:00` and cron schedules are
  # possible, and several windows, each with its own name.
"""
_MORE = """\
  # Closed whatever the windows say, for example over the holidays:
  # freezes:
  #   year-end:
  #     starts: "{year}-12-20"
  #     ends: "{next}-01-03"
  #     reason: Year-end change freeze
"""


@dataclass(frozen=True, slots=True)
class Draft:
    """What a first policy says.

    `opens` and `closes` are moments such as `Mon-Thu 09:00` and `16:00`; the example in its comment
    is of the year that it is `today` in its zone. Its `place` says where it goes.
    """

    name: str
    namespace: str
    cluster: str
    root: str
    zone: str
    opens: str
    closes: str
    today: Today
    place: Place


def write(draft: Draft, proposed: FirstTargets) -> str:
    """Return the file of a policy."""
    # A directory's name may hold anything, a line end included, which would end the comment.
    head = _HEAD.format(
        schema=escape.line(draft.place.schema),
        cluster=escape.line(draft.cluster),
        file=escape.line(draft.place.policy),
        render=escape.line(draft.place.render()),
    )
    number = len(proposed.targets)
    count = "one object" if number == 1 else f"{number} objects"
    year = draft.today.on(clocks.named(draft.zone)).year
    # Values are written by the writer of YAML, so that none is read as something else.
    parts = [
        head,
        render({"apiVersion": API_VERSION, "kind": KIND}),
        "metadata:\n",
        render({"name": draft.name, "namespace": draft.namespace}, indent=2),
        "  annotations:\n",
        _LOCAL,
        render({LOCAL_CONFIG: "true"}, indent=4),
        "spec:\n",
        render({"timeZone": draft.zone}, indent=2),
        *_foreign(draft, proposed),
        _TARGETS.format(count=count, root=escape.line(draft.root)),
        "  targets:\n",
        *_targets(draft, proposed),
        _WINDOWS,
        render({"windows": _windows(draft)}, indent=2),
        _MORE.format(year=year, next=year + 1),
    ]
    return "".join(parts)


def _windows(draft: Draft) -> Mapping[str, object]:
    return {WINDOW: {"opens": draft.opens, "closes": draft.closes}}


def _foreign(draft: Draft, proposed: FirstTargets) -> Iterator[str]:
    """Yield the field that lets a policy gate objects of other namespaces, where it has to."""
    # Without it the policy would be refused, as it would reach beyond its own namespace.
    namespaces = {namespace for _, _, namespace, _ in proposed.targets}
    if namespaces - {draft.namespace}:
        yield f"  # Some targets are in other namespaces than {draft.namespace}.\n"
        yield render({"crossNamespaceTargets": "Allow"}, indent=2)


def _targets(draft: Draft, proposed: FirstTargets) -> Iterator[str]:
    """Yield the entries of `targets`: one for each kind, namespace, and place that has it."""
    # A policy's selectors have one namespace each, and one answer to whether a target must exist.
    grouped: dict[tuple[str, str, str, bool], list[str]] = {}
    for each in proposed.targets:
        group, kind, namespace, name = each
        is_beyond = each in proposed.beyond
        key = (group, kind, namespace, is_beyond)
        grouped.setdefault(key, []).append(name)
    for (_, kind, namespace, beyond), names in grouped.items():
        yield render([{"kind": kind}], indent=2)
        if namespace != draft.namespace:
            yield render({"namespace": namespace}, indent=4)
        yield from _names(names)
        # It is delivered from another directory, so no build of this one has it.
        if beyond:
            yield render({"mustExist": False}, indent=4)


def _names(names: Sequence[str]) -> Iterator[str]:
    """Yield the field `names`, on one line where they fit."""
    line = f"    names: [{', '.join(names)}]\n"
    # A name such as `null` or `1` would be no text without quotes, which the writer knows.
    plain = "".join(f"- {name}\n" for name in names)
    if len(line) <= _WIDTH and render(names) == plain:
        yield line
        return
    yield render({"names": list(names)}, indent=4)


def kinds(targets: Sequence[Identity]) -> Iterator[str]:
    """Yield a line for each kind: how many of it, and the first of them."""
    counted: dict[str, list[str]] = {}
    for _, kind, namespace, name in targets:
        counted.setdefault(kind, []).append(f"{namespace}/{name}")
    # Enough to see what is meant; the policy has all of them.
    few = 3
    for kind, found in counted.items():
        shown = ", ".join(found[:few])
        if len(found) > few:
            shown += f" and {len(found) - few} more"
        yield f"{kind}: {shown}"
