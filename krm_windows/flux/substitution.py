"""`postBuild`: variables in what was built, as Flux replaces them (fluxcd/pkg/envsubst).

Their values have to be in Git. A variable whose value only the cluster knows stays as it is.
"""

import re
from collections.abc import Callable, Mapping

from krm_windows.emit.labels import SUBSTITUTE
from krm_windows.flux.model import Object
from krm_windows.krm import InputError

# What an expression begins with and, where it has no default, all of it. `$$` is a dollar; a brace
# ends the default of the innermost expression that is open.
_EXPRESSION = r"\$\{(#?)([_A-Za-z0-9]++)(:[-=?+]|=|\}|[^{}$]*+\})"
_OUTSIDE = re.compile(rf"\$\$|{_EXPRESSION}")
# No dollar stands for another one there (fluxcd/pkg/envsubst, parse.parseDefaultFunc).
_IN_DEFAULT = re.compile(rf"\}}|{_EXPRESSION}")
# All of them mean the same: what follows is taken for a variable that is empty.
_DEFAULT = ("=", ":=", ":-", ":?", ":+")
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
    value too, whatever the sign before it, and a second dollar forbids to replace. What cannot be
    worked out here stays as it is. Raises InputError where the text grows beyond `LARGEST`.
    """
    known = dict(values)
    unknown = "" if complete else None
    # The text, and the defaults that are being read, as they may have expressions and these
    # defaults of their own: name, how it begins, and what follows so far.
    opened: list[tuple[str, str, list[str]]] = [("", "", [])]
    end, left = 0, LARGEST
    while match := (_IN_DEFAULT if len(opened) > 1 else _OUTSIDE).search(text, end):
        opened[-1][2].append(text[end : match.start()])
        end = match.end()
        made, is_length, name, follows = match[0], *match.groups()
        if follows in _DEFAULT and not is_length:
            opened.append((name, made, []))
            continue
        if made == "$$":
            made = "$"
        elif made == "}":
            name, opening, default = opened.pop()
            value = known.get(name, unknown)
            made = "".join(default)
            made = f"{opening}{made}}}" if value is None else value or made
        # `${name^^}`, `${name:0:8}` and the like are not worked out here.
        elif follows == "}" and not is_length:
            value = known.get(name, unknown)
            made = made if value is None else value
        # What replaces is not replaced again, but an object may have a variable very often.
        left -= len(made)
        if left < 0:
            raise InputError(
                f"its variables expand to more than {LARGEST} characters, more than a "
                "cluster accepts"
            )
        opened[-1][2].append(made)
    opened[-1][2].append(text[end:])
    # Flux refuses what is not closed, so it may as well stay.
    return "".join(opening + "".join(parts) for _, opening, parts in opened)


def has_variable(text: str) -> bool:
    """Whether a text has something that may be a variable."""
    return "${" in text


def is_forbidden(item: Object) -> bool:
    """Whether an object forbids to replace its variables, by a label or an annotation."""
    # To look for the key in the text is much cheaper than to read the object.
    if not item.item.mentions(SUBSTITUTE):
        return False
    places = ("labels", "annotations")
    return any(item.get("metadata", place, SUBSTITUTE) == "disabled" for place in places)
