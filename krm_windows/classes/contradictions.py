"""What the parts of ChangeClasses say against each other: read from the texts, so that no mistake in one hides another.

Names are compared with what `classes` declares; rules are compared with those before them.
"""

from collections.abc import Iterable, Iterator

from pydantic import ValidationError

from krm_windows import rules
from krm_windows.classes import selection
from krm_windows.classes.model import ClassRule
from krm_windows.policy.texts import Tree, text_at
from krm_windows.policy.trouble import Finding, closest

# How many classes a message names, and how many rules and globs are compared with each other.
_NAMED, _COMPARED = 20, 500


def check(tree: Tree) -> Iterator[Finding]:
    """Yield every contradiction, with paths from the object's root."""
    spec = tree.get("spec") if isinstance(tree, dict) else None
    names = [text_at(entry, "name") for entry in _list(spec, "classes")]
    yield from _doubled(names)
    yield from _undeclared(spec, [name for name in names if name])
    yield from _unreachable(_list(spec, "rules"))


def undeclared(name: str, known: Iterable[str], path: str) -> Finding:
    """Return the finding that a class is not declared."""
    declared = list(known)
    more = ", …" if len(declared) > _NAMED else ""
    must = f"must be one of the classes ({', '.join(declared[:_NAMED])}{more})"
    return Finding(rules.CLASS_UNKNOWN, must, name, closest(name, declared), path)


def _list(tree: Tree, name: str) -> list[Tree]:
    found = tree.get(name) if isinstance(tree, dict) else None
    return found if isinstance(found, list) else []


def _doubled(names: list[str | None]) -> Iterator[Finding]:
    seen: set[str] = set()
    for i, name in enumerate(names):
        if name and name in seen:
            yield Finding(
                rules.CLASS_DUPLICATE,
                "must be the name of one class",
                name,
                path=f"spec.classes[{i}].name",
            )
        seen.update({name} if name else ())


def _undeclared(spec: Tree, known: list[str]) -> Iterator[Finding]:
    """Yield every class that is named and not declared; where none is, that is trouble enough."""
    named = {f"spec.{field}": text_at(spec, field) for field in ("default", "keep")}
    named |= {
        f"spec.rules[{i}].class": text_at(rule, "class")
        for i, rule in enumerate(_list(spec, "rules"))
    }
    for path, name in named.items():
        if name and known and name not in known:
            yield undeclared(name, known, path)


def _unreachable(trees: list[Tree]) -> Iterator[Finding]:
    """Yield the rules that have no selector, and those that an earlier one leaves nothing for."""
    found = {i: rule for i, tree in enumerate(trees) if (rule := _rule(tree)) is not None}
    empty = {i for i, rule in found.items() if not selection.selectors(rule)}
    for i in sorted(empty):
        must = "must have a selector; the class of everything that no rule matches is `default`"
        yield Finding(rules.RULE_EMPTY, must, path=f"spec.rules[{i}]")
    if len(found) > _COMPARED or sum(map(_globs, found.values())) > _COMPARED:
        return  # each is compared with all before it: of so many, those that nothing is left for are not sought
    for i, rule in found.items():
        before = next(
            (j for j in found if j < i and j not in empty and selection.covers(found[j], rule)),
            None,
        )
        if before is not None and i not in empty:
            must = (
                f"must match something that spec.rules[{before}] does not, which decides before it"
            )
            yield Finding(rules.RULE_UNREACHABLE, must, path=f"spec.rules[{i}]")


def _globs(rule: ClassRule) -> int:
    return len(rule.names or ()) + len(rule.namespaces or ())


def _rule(tree: Tree) -> ClassRule | None:
    """Return a rule that is right in itself."""
    try:
        return ClassRule.model_validate(tree)
    except ValidationError:
        return None
