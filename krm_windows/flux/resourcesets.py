"""ResourceSets of the Flux Operator.

The objects that it makes of `resources` for each of its static `inputs`, as far as a template is no
more than the name of an input, `<< inputs.x >>` or `<< inputs.x | quote >>`. Anything else is said,
and never guessed: the cluster is incomplete then.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial

from krm_windows.flux.model import Identity, Object
from krm_windows.flux.sources import OPERATOR
from krm_windows.krm import InputError, KubeObject, Value

# In JSON: a whole text that is no key, which may be a number or a truth value once the operator has
# read it again, or a part of a text.
_NAME = r"inputs((?:\.[A-Za-z_][A-Za-z0-9_]*)+)"
_EXPRESSION = re.compile(rf'"<<\s*{_NAME}\s*(?:\|\s*quote\s*)?>>"(?!:)|<<\s*{_NAME}\s*>>')
_RECONCILE = "fluxcd.controlplane.io/reconcile"
# Fields by which more is made, or otherwise, than of the inputs and resources that are written.
_UNCOVERED = ("inputsFrom", "inputStrategy", "resourcesTemplate", "steps")
# More than anybody writes, and no more than a repository of somebody unknown may have us make of a
# few lines.
LARGEST = 4_000_000


def is_one(item: Object) -> bool:
    """Whether an object is a ResourceSet."""
    return (item.group, item.kind) == (OPERATOR, "ResourceSet")


def expand(item: Object) -> tuple[list[Object], list[str]]:
    """Return what the operator makes of a ResourceSet, and why that is not all.

    Of objects with one name the first counts.
    """
    if item.note(_RECONCILE) == "disabled":
        return [], ["its annotation disables reconciliation"]
    reasons = [f"`{name}` is not followed" for name in _UNCOVERED if item.get("spec", name)]
    # How these combine the inputs is not worked out.
    if item.get("spec", "inputStrategy"):
        return [], reasons
    inputs = list(item.parts("spec", "inputs"))
    # Without any, everything is made once, unless providers in the cluster have some.
    if not inputs and not item.get("spec", "inputsFrom"):
        inputs = [{}]
    templates = [json.dumps(each) for each in item.parts("spec", "resources")]
    longest = max((len(json.dumps(each)) for each in inputs), default=0)
    size = sum(len(each) + each.count("<<") * longest for each in templates)
    if size * len(inputs) > LARGEST:
        return [], [f"it may expand to more than {LARGEST} characters"]
    found: dict[Identity, Object] = {}
    for each in inputs:
        for template in templates:
            filled = _EXPRESSION.sub(partial(_meant, each), template)
            if "<<" in filled:
                shown = filled[filled.index("<<") :].partition(">>")[0]
                reasons.append(f"the template {shown}>> is more than the name of a known input")
                continue
            for made in _objects(json.loads(filled), item):
                # Without inputs everything is made once, annotation or not.
                if not each or made.note(_RECONCILE) != "disabled":
                    found.setdefault(made.identity, made)
    return list(found.values()), list(dict.fromkeys(reasons))


def _objects(content: Value, item: Object) -> Iterator[Object]:
    """Yield the object that a template makes, unless it makes none."""
    try:
        found = Object.of(KubeObject.from_value(content), made_by=item)
    except InputError:
        return
    if found.kind and found.name:
        yield found


def _meant(inputs: Mapping[str, Value], match: re.Match[str]) -> str:
    """Return what stands in JSON for the name of an input, that itself where it is not known."""
    found: Value = dict(inputs)
    whole, part = match.groups()
    # `.tenant.name`: the first step is empty.
    for name in (whole or part).split(".")[1:]:
        found = found.get(name) if isinstance(found, dict) else None
    # How Go writes a number with a fraction is not worked out.
    if not isinstance(found, str | int):
        return match[0]
    if whole:
        return json.dumps(found)
    text = found if isinstance(found, str) else json.dumps(found)
    return json.dumps(text)[1:-1]
