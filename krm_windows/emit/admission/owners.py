"""Who owns the fields of a target (metadata.managedFields).

Whoever patches an object may write that list, too. Flux removes a field that is no longer in Git
only if nobody else owns it, and takes over what managers named `kubectl…` own. So an account that
could give fields to another manager, or take them from one, would have them outlive their removal
from Git. Therefore the list has to be as the API server itself leaves it when the gate writes its
field:

- the gate's entry (manager `krm-windows`, operation `Update`, no subresource) owns the field, its
  annotations, and the maps that hold them; and what it owned before, which may be annotations of
  another policy's gate;
- every other entry is as before, its time included, but for the field and the annotations, which
  leave it when the gate writes them; an entry that owned nothing else goes (structured-merge-diff,
  merge/update.go);
- where more than ten managers would have updated an object, the API server joins the oldest two of
  one version (k8s.io/apimachinery, managedfields/internal/capmanagers.go), and that alone is
  accepted.

To CEL an entry is a map of texts (`manager`, `operation` …) and of the parts of its `fieldsV1`
(`all`, `all_metadata`, `all_metadata_annotations`, `all_spec` …), in which keys are the object's
behind `f:` (structured-merge-diff, FieldsV1).
"""

from collections.abc import Iterator
from typing import NamedTuple

from krm_windows.emit.admission import annotations, cel, manifests
from krm_windows.emit.admission.manifests import ANNOTATIONS, METADATA, Path
from krm_windows.gate.objects import MANAGER
from krm_windows.plan.model import Plan

_LIST = ("metadata", "managedFields")
# `manager` to `subresource` are what the API server distinguishes entries by.
_TEXTS = ("manager", "operation", "apiVersion", "subresource", "fieldsType", "time")
# capmanagers.go, DefaultMaxUpdateManagers.
_JOINED = "ancient-changes"
_MOST_UPDATERS = 10
# Levels to which the API server's joined entries are compared.
_DEPTH = 4
# A key of fieldsV1 that says that the map itself is owned, not only keys of it.
_MAP_ITSELF = "'.'"


class Ownership(NamedTuple):
    """The rules for `managedFields` of what some fields turn.

    `steps` are the maps above them, with their keys.
    """

    plan: Plan
    steps: dict[Path, list[str]]

    def variables(self) -> Iterator[dict[str, str]]:
        """Yield the entries before and after: the gate's, the others, and those not in both."""
        yield from manifests.parts(_LIST, cel.NO_LIST)
        for side in ("before", "after"):
            entries = f"{manifests.part(side, _LIST)}.map(entry, {self._read('entry')})"
            yield {"name": f"owners_{side}", "expression": entries}
            is_own = (
                f"entry.manager == '{MANAGER}' && entry.operation == 'Update' && "
                "entry.subresource == ''"
            )
            yield {
                "name": f"own_{side}",
                "expression": f"variables.owners_{side}.filter(entry, {is_own})",
            }
            yield {
                "name": f"others_{side}",
                "expression": f"variables.owners_{side}.filter(entry, !({is_own}))",
            }
        # Kept, gone and fresh: in both lists, only in the first, only in the second.
        is_kept = f"variables.others_after.exists(new, {self._is_kept()})"
        yield {"name": "kept", "expression": f"variables.others_before.filter(old, {is_kept})"}
        is_gone = f"!variables.kept.exists(new, {_alike()}) && !({self._owned_nothing_else()})"
        yield {"name": "gone", "expression": f"variables.others_before.filter(old, {is_gone})"}
        is_fresh = f"!variables.kept.exists(old, {_alike()})"
        yield {"name": "fresh", "expression": f"variables.others_after.filter(new, {is_fresh})"}

    def validations(self) -> Iterator[str]:
        """Yield what has to hold of the list."""
        yield self._own_is_limited()
        untouched = "variables.gone.size() == 0 && variables.fresh.size() == 0"
        yield f"({untouched}) || ({self._joined()})"

    def _read(self, entry: str) -> str:
        """Return an entry in the form that is compared."""
        # Absent texts and parts are empty, so that all entries have the same keys.
        texts = [f"'{key}': dyn({cel.get(entry, key, cel.NOTHING)})" for key in _TEXTS]
        parts = [f"'{_part(path)}': dyn({_fields(entry, path)})" for path in self._maps()]
        return f"{{{', '.join([*texts, *parts])}}}"

    def _own_is_limited(self) -> str:
        """Hold for each entry of the gate: it owns what the gate writes, or owned it before."""
        alike = "variables.own_before.filter(old, old.apiVersion == new.apiVersion)"
        anew = cel.every(*(self._limited(path) for path in self._maps()))
        unless_before = [self._limited(path, f"old.{_part(path)}") for path in self._maps()]
        as_before = cel.every(*unless_before)
        # A first write of the gate has no entry before it.
        held = f"{alike}.size() == 0 ? {anew} : {alike}.all(old, {as_before})"
        return f"variables.own_after.all(new, {held})"

    def _limited(self, path: Path, before: str = "") -> str:
        fields = f"new.{_part(path)}"
        allowed = self._is_map_below(path)
        leaves = self._leaves(path)
        # A leaf owns nothing below itself (FieldsV1: `{}`).
        if leaves:
            allowed.append(f"(key in {cel.texts(leaves)} && {fields}[key] == {cel.NO_MAP})")
        # The object and its metadata are there anyhow, and nobody owns them.
        if path not in ((), METADATA):
            allowed.append(f"key == {_MAP_ITSELF}")
        if before:
            allowed.append(f"(key in {before} && {before}[key] == {fields}[key])")
        return f"{fields}.all(key, {' || '.join(allowed)})"

    def _is_kept(self) -> str:
        """Hold for an entry before and one after the request.

        They are one, but for what the gate took over.
        """
        same = "old.{0}[key] == new.{0}[key]"
        gained = [self._gained_nothing(path) for path in self._maps()]
        lost = [self._lost_nothing(path, "new", same) for path in self._maps()]
        return cel.every(_alike(), *gained, *lost)

    def _gained_nothing(self, path: Path) -> str:
        before = f"old.{_part(path)}"
        after = f"new.{_part(path)}"
        # A map that is compared on its own need not be the same here.
        as_before = " || ".join([*self._is_map_below(path), f"{after}[key] == {before}[key]"])
        return f"{after}.all(key, key in {before} && ({as_before}))"

    def _lost_nothing(self, path: Path, new: str, same: str) -> str:
        part = _part(path)
        remains = f"(key in {new}.{part} && {same.format(part)})"
        allowed = [*self._is_map_below(path), *self._may_leave(path), remains]
        if path not in ((), METADATA):
            # `{".": {}, "f:x": {}}` without `f:x` is written as `{}`.
            above = f"{new}.{_part(path[:-1])}"
            allowed.append(
                f"(key == {_MAP_ITSELF} && {new}.{part}.size() == 0 && 'f:{path[-1]}' in {above})"
            )
        return f"old.{part}.all(key, {' || '.join(allowed)})"

    def _owned_nothing_else(self) -> str:
        """Hold for an entry that owned only what the gate took over."""
        conditions = []
        for path in self._maps():
            allowed = [*self._is_map_below(path), *self._may_leave(path)]
            conditions.append(_only(f"old.{_part(path)}", allowed))
        return cel.every(*conditions)

    def _joined(self) -> str:
        """Hold where the API server joins the oldest two entries: the gate's would be the 11th.

        The joined entry owns nothing that neither of the two owned, and lacks none of their keys,
        compared to a depth.
        """
        new = "variables.fresh[0]"
        keys_remain = "old.{0}[key].all(below, below in variables.fresh[0].{0}[key])"
        kept = (self._lost_nothing(path, new, keys_remain) for path in self._maps())
        return cel.every(
            "variables.others_before.filter(old, old.operation == 'Update').size() >= "
            f"{_MOST_UPDATERS}",
            "variables.gone.size() == 2",
            "variables.fresh.size() == 1",
            f"{new}.manager == '{_JOINED}'",
            f"{new}.operation == 'Update'",
            f"{new}.subresource == ''",
            "variables.gone.all(old, old.operation == 'Update' && old.apiVersion == "
            f"{new}.apiVersion)",
            f"variables.gone.all(old, old.fieldsType == {new}.fieldsType && old.time <= "
            f"{new}.time)",
            f"variables.gone.exists(old, old.time == {new}.time)",
            "variables.others_after.all(other, other.operation != 'Update' || other.apiVersion != "
            f"{new}.apiVersion || other.time >= {new}.time)",
            _covered(f"{new}.all", "variables.gone.map(old, old.all)", _DEPTH),
            *(f"variables.gone.all(old, {words})" for words in kept),
        )

    def _maps(self) -> list[Path]:
        """Return the maps that hold what the gate writes, parents first.

        Others are compared as a whole.
        """
        return sorted({(), METADATA, ANNOTATIONS, *self.steps})

    def _is_map_below(self, path: Path) -> list[str]:
        """Return the condition for a key to be one of the maps that are compared on their own."""
        below = self._below(path)
        if not below:
            return []
        return [f"key in {cel.texts(below)}"]

    def _below(self, path: Path) -> list[str]:
        children = [each for each in self._maps() if each and each[:-1] == path]
        return [f"f:{each[-1]}" for each in children]

    def _leaves(self, path: Path) -> list[str]:
        """Return the keys in a map that the gate writes."""
        if path == ANNOTATIONS:
            return [f"f:{key}" for key in annotations.own(self.plan)]
        # At the root there is nothing that the gate writes, only maps that hold it.
        if not path:
            return []
        below = self._below(path)
        keys = [f"f:{key}" for key in self.steps.get(path, [])]
        return [key for key in keys if key not in below]

    def _may_leave(self, path: Path) -> list[str]:
        """Return the conditions for a key to leave an entry.

        The gate has written, or removed, what it is for.
        """
        if path == ANNOTATIONS:
            # With the last annotation the map goes, and with the first it comes.
            before = f"{manifests.part('before', ANNOTATIONS)}.size() == 0"
            after = f"{manifests.part('after', ANNOTATIONS)}.size() == 0"
            return [
                *annotations.removable(self.plan, "f:"),
                f"(key == {_MAP_ITSELF} && ({before} || {after}))",
            ]
        leaves = self._leaves(path)
        if not leaves:
            return []
        return [f"key in {cel.texts(leaves)}"]


def _part(path: Path) -> str:
    """Return the name of a part of `fieldsV1`."""
    return "_".join(("all", *path))


def _fields(entry: str, path: Path) -> str:
    if not path:
        return cel.get(entry, "fieldsV1")
    return cel.get(_fields(entry, path[:-1]), f"f:{path[-1]}")


def _only(fields: str, conditions: list[str]) -> str:
    """Hold for a map that has no keys but those for which a condition holds."""
    if not conditions:
        return f"{fields}.size() == 0"
    return f"{fields}.all(key, {' || '.join(conditions)})"


def _alike() -> str:
    """Hold for two entries of one manager and one write."""
    return cel.every(*(f"old.{key} == new.{key}" for key in _TEXTS))


def _covered(fields: str, olds: str, depth: int) -> str:
    """Return that all that `fields` owns is owned by one of `olds`, to a depth.

    Below that, one has to own it alike.
    """
    # Names of their own at each depth, as CEL's macros nest.
    key = f"k{depth}"
    mine = f"m{depth}"
    below = f"b{depth}"
    alike = f"{olds}.exists(each, {key} in each && each[{key}] == {fields}[{key}])"
    if depth == 0:
        return f"{fields}.all({key}, {alike})"
    # What is a leaf to one and a map to another is a map that is itself owned.
    itself = f"({key} == {_MAP_ITSELF} && {olds}.exists(each, each.size() == 0))"
    held = f"{olds}.filter(each, {key} in each).map(each, each[{key}])"
    deeper = f"{mine}.size() > 0 && {below}.size() > 0 && {_covered(mine, below, depth - 1)}"
    bound = cel.bound(f"{fields}[{key}]", mine, cel.bound(held, below, deeper))
    return f"{fields}.all({key}, {alike} || {itself} || {bound})"
