"""`postBuild`: variables in what was built, as Flux replaces them (fluxcd/pkg/envsubst).

Their values have to be in Git. A variable whose value only the cluster knows stays as it is.
"""

import re
from collections.abc import Callable, Mapping

from krm_windows.flux.model import Object
from krm_windows.krm import InputError

# `${name}`, `${name:-default}` and the like; `$${name}` stays `${name}`.
_VARIABLE = re.compile(r"(\$?)\$\{([_A-Za-z][_A-Za-z0-9]*)(?::?[-=]([^{}$]*))?\}")
_DISABLED = "kustomize.toolkit.fluxcd.io/substitute"
_FIELD = ("spec", "postBuild")

# More than etcd takes: what grows beyond it, by a variable that is put in again and again, is of no
# object.
LARGEST = 2_000_000

Variables = tuple[tuple[str, str], ...]


def sources(own: Object) -> list[tuple[str, str]]:
    """Return kind and name of what a Kustomization takes variables from."""
    entries = own.parts(*_FIELD, "substituteFrom")
    return [(str(entry.get("kind")), str(entry.get("name"))) for entry in entries]


def variables(
    own: Object, known: Callable[[str], Mapping[str, str] | None]
) -> tuple[Variables, bool] | None:
    """Return a Kustomization's variables and whether they are all; None where it replaces nothing.

    `known` gives the data of a ConfigMap in its namespace, None for one that is not in Git.
    """
    inline = own.get(*_FIELD, "substitute")
    origins = sources(own)
    if not inline and not origins:
        return None
    found: dict[str, str] = {}
    complete = True
    for kind, name in origins:
        data = None
        # A Secret is known only in the cluster.
        if kind == "ConfigMap":
            data = known(name)
        if data is None:
            complete = False
        else:
            found.update(data)
    # What the Kustomization itself says outranks what it takes from others.
    if isinstance(inline, dict):
        found.update((name, str(text)) for name, text in inline.items())
    # Flux takes line breaks out of values (kustomize-controller, varsub).
    flat = ((name, text.replace("\n", "")) for name, text in found.items())
    return tuple(sorted(flat)), complete


def substitute(text: str, values: Variables, *, complete: bool) -> str:
    """Return a text with its variables replaced.

    One without value is empty, or stays where not all are known. A default is taken for an empty
    value too, whatever the sign before it, and a second dollar forbids to replace.
    """
    known = dict(values)
    left = LARGEST

    def replaced(match: re.Match[str]) -> str:
        nonlocal left
        escape, name, default = match.groups()
        if escape or (not complete and name not in known):
            return match[0].removeprefix(escape)
        meant = known.get(name) or default or ""
        # What replaces is not replaced again, but an object may have a variable very often.
        left -= len(meant)
        if left < 0:
            raise InputError(
                f"its variables yield more than {LARGEST} characters, which no cluster takes"
            )
        return meant

    return _VARIABLE.sub(replaced, text)


def applies(text: str) -> bool:
    """Whether an object's text has a variable, and does not forbid to replace it."""
    return "${" in text and f"{_DISABLED}: disabled" not in text
