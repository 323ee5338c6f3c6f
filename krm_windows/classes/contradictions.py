"""Contradictions between the fields of ChangeClasses.

Names are compared with what `classes` declares, and rules with those before them. They are read
from the texts, so that no mistake in one field hides another.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress

from krm_windows import rules
from krm_windows.classes import selection
from krm_windows.classes.model import ClassRule
from krm_windows.policy.document import Tree, text_at
from krm_windows.policy.findings import Finding, RefusedError, closest

# How many classes a message names.
_NAMED = 20
# How many rules, and how many globs in them, are compared with each other.
_COMPARED = 500


def check(tree: Tree) -> Iterator[Finding]:
    """Yield every contradiction, with paths from the object's root."""
    spec = _value(tree, "spec")
    names = [text_at(entry, "name") for entry in _list(spec, "classes")]
    known = [name for name in names if name]
    yield from _doubled(names)
    yield from _undeclared(spec, known)
    yield from _unreachable(_list(spec, "rules"))


def undeclared(name: str, known: Iterable[str], path: str) -> Finding:
    """Return the finding that a class is not declared."""
    declared = list(known)
    named = ", ".join(declared[:_NAMED])
    if len(declared) > _NAMED:
        named += ", …"
    must = f"must be one of the classes ({named})"
    proposed = closest(name, declared)
    return Finding(rules.CLASS_UNKNOWN, must, name, proposed, path)


def _value(tree: Tree, name: str) -> Tree:
    # A user may have written anything where a map belongs.
    if not isinstance(tree, dict):
        return None
    return tree.get(name)


def _list(tree: Tree, name: str) -> list[Tree]:
    found = _value(tree, name)
    if isinstance(found, list):
        return found
    return []


def _doubled(names: list[str | None]) -> Iterator[Finding]:
    """Yield every class that is declared again."""
    seen: set[str] = set()
    for i, name in enumerate(names):
        # That a name is missing is reported where the whole object is read.
        if not name:
            continue
        if name in seen:
            must = "must be the name of one class"
            yield Finding(rules.CLASS_DUPLICATE, must, name, path=f"spec.classes[{i}].name")
        seen.add(name)


def _undeclared(spec: Tree, known: list[str]) -> Iterator[Finding]:
    """Yield every class that is named and not declared; nothing where no class is declared."""
    # Every name would be wrong then, for the one reason that `classes` is reported for anyway.
    if not known:
        return
    named = {
        "spec.default": text_at(spec, "default"),
        "spec.keep": text_at(spec, "keep"),
    }
    for i, rule in enumerate(_list(spec, "rules")):
        named[f"spec.rules[{i}].class"] = text_at(rule, "class")
    for path, name in named.items():
        # In the order of the spec: `default`, `keep`, then the rules.
        if name and name not in known:
            yield undeclared(name, known, path)


def _unreachable(trees: list[Tree]) -> Iterator[Finding]:
    """Yield the rules that have no selector, and those that an earlier one leaves nothing for."""
    selecting: dict[int, ClassRule] = {}
    read = _readable(trees)
    for i, rule in read.items():
        # One without a selector would match everything, which nobody writes by intent.
        if selection.selectors(rule):
            selecting[i] = rule
            continue
        must = "must have a selector; resources that no rule matches get the class `default`"
        yield Finding(rules.RULE_EMPTY, must, path=f"spec.rules[{i}]")
    # Each is compared with all before it, which takes too long where there are so many.
    globs = sum(map(_globs, read.values()))
    if len(read) > _COMPARED or globs > _COMPARED:
        return
    for i, rule in selecting.items():
        before = _covering(selecting, i, rule)
        if before is not None:
            must = (
                f"never applies: spec.rules[{before}] comes first and matches everything "
                "that it matches"
            )
            yield Finding(rules.RULE_UNREACHABLE, must, path=f"spec.rules[{i}]")


def _readable(trees: list[Tree]) -> dict[int, ClassRule]:
    """Return the rules that are right in themselves, by their index."""
    found: dict[int, ClassRule] = {}
    for i, tree in enumerate(trees):
        # What is wrong in a rule is reported where the whole object is read.
        with suppress(RefusedError):
            found[i] = ClassRule.read(tree)
    return found


def _covering(
    selecting: dict[int, ClassRule],
    index: int,
    rule: ClassRule,
) -> int | None:
    """Return the index of the first rule before another that matches all that it does."""
    for before, earlier in selecting.items():
        # Rules are read in order: only those before it decide first.
        if before == index:
            return None
        if selection.covers(earlier, rule):
            return before
    return None


def _globs(rule: ClassRule) -> int:
    """Return how many globs a rule has."""
    names = rule.names or ()
    namespaces = rule.namespaces or ()
    return len(names) + len(namespaces)
