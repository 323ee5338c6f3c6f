"""`postBuild`: variables in what was built, as Flux replaces them (fluxcd/pkg/envsubst).

Their values have to be in Git. A variable whose value only the cluster knows stays as it is.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

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
    return _Replacement(dict(values), complete).of(text)


@dataclass(slots=True)
class _Open:
    """An expression whose default is being read: its name, how it begins, what follows so far."""

    name: str
    opening: str
    default: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Replacement:
    """Replaces the variables of one text; `left` is by how many characters it may still grow."""

    values: Mapping[str, str]
    complete: bool
    left: int = LARGEST
    done: list[str] = field(default_factory=list)
    # Defaults may have expressions, and these defaults of their own.
    opened: list[_Open] = field(default_factory=list)

    def of(self, text: str) -> str:
        """Return a text with its variables replaced; raises InputError where it grows too much."""
        end = 0
        while match := self._next(text, end):
            self._add(text[end : match.start()])
            self._take(match)
            end = match.end()
        self._add(text[end:])
        # Flux refuses what is not closed, so it may as well stay.
        while self.opened:
            unclosed = self.opened.pop()
            self._add(unclosed.opening + "".join(unclosed.default))
        return "".join(self.done)

    def _next(self, text: str, start: int) -> re.Match[str] | None:
        if self.opened:
            return _IN_DEFAULT.search(text, start)
        return _OUTSIDE.search(text, start)

    def _take(self, match: re.Match[str]) -> None:
        if match[0] == "$$":
            self._add("$")
        elif match[0] == "}":
            self._close()
        elif match[3] in _DEFAULT and not match[1]:
            self.opened.append(_Open(match[2], match[0]))
        else:
            self._replace(match)

    def _replace(self, match: re.Match[str]) -> None:
        value = self._value(match[2])
        # `${name^^}`, `${name:0:8}` and the like are not worked out here.
        if value is None or match[1] or match[3] != "}":
            self._add(match[0])
        else:
            self._grow(value)

    def _close(self) -> None:
        closed = self.opened.pop()
        default = "".join(closed.default)
        value = self._value(closed.name)
        if value is None:
            # Counted, too: in defaults of defaults it is copied again for each of them.
            self._grow(f"{closed.opening}{default}}}")
        else:
            self._grow(value or default)

    def _value(self, name: str) -> str | None:
        """Return the value of a variable, None where only the cluster knows it."""
        if self.complete:
            return self.values.get(name, "")
        return self.values.get(name)

    def _grow(self, text: str) -> None:
        # What replaces is not replaced again, but an object may have a variable very often.
        self.left -= len(text)
        if self.left < 0:
            raise InputError(
                f"its variables expand to more than {LARGEST} characters, more than a "
                "cluster accepts"
            )
        self._add(text)

    def _add(self, text: str) -> None:
        if self.opened:
            self.opened[-1].default.append(text)
        else:
            self.done.append(text)


def has_variable(text: str) -> bool:
    """Whether a text has something that may be a variable."""
    return "${" in text


def is_forbidden(item: Object) -> bool:
    """Whether an object forbids to replace its variables, by a label or an annotation."""
    # To look for the key in the text is much cheaper than to read the object.
    if not item.item.mentions(SUBSTITUTE):
        return False
    fields = ("labels", "annotations")
    return any(item.get("metadata", field_, SUBSTITUTE) == "disabled" for field_ in fields)
