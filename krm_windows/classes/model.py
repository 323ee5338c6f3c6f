"""The API `krm-windows.dev/v1alpha1`, ChangeClasses.

The one source of its schema, definition and field reference.

Names that a class needs elsewhere in the object are checked in `classes.contradictions`.
"""

from typing import Annotated, Literal

from krm_windows.policy import fields
from krm_windows.policy.parts import Part, Schema, field

KIND: Literal["ChangeClasses"] = "ChangeClasses"

# With the group where two share a kind: `Service.serving.knative.dev`.
_KIND = rf"[A-Z][A-Za-z0-9]*(\.{fields.NAME})?"
# RBAC allows colons in names: `system:node`.
_GLOB = r"[A-Za-z0-9._:*-]+"

_MUST_BE_KIND = "must be a kind such as ConfigMap or Service.serving.knative.dev"
_MUST_BE_ADDRESS = (
    "must be Kind/namespace/name, such as Deployment/shop/api; * matches any characters"
)

# A kind has 63 characters, a group 253, and there is a dot.
KindName = Annotated[str, fields.named(_KIND, 317, _MUST_BE_KIND, ("string",))]
Glob = Annotated[str, fields.named(_GLOB, 253, "must be a name; * matches any characters")]
Address = Annotated[
    str,
    fields.named(f"{_KIND}/({_GLOB}/)?{_GLOB}", 600, _MUST_BE_ADDRESS, ("string",)),
]


class Metadata(Part):
    """The object's metadata; labels, annotations and the rest are Kubernetes' own."""

    others = fields.OBJECT_META

    name: fields.Name = field(description="The object's name.", example="change-classes")


class ChangeClass(Part):
    """A class of changes: what is reconciled together."""

    name: fields.Label = field(
        description="The name, which becomes part of a path and of a Flux Kustomization's name.",
        example="apps",
    )
    policy: fields.PolicyName | None = field(
        default=None,
        description="The WindowPolicy that gates the class, as namespace/name; default: none.",
    )


def _some(*names: str) -> dict[str, Schema]:
    """Say in a schema that at least one of these fields is given."""
    # Null, and a map without entries, demand nothing.
    given: dict[str, Schema] = {"not": {"enum": [None, {}]}}
    choices: list[Schema] = [{"properties": {name: given}, "required": [name]} for name in names]
    return {"anyOf": choices}


class ClassRule(Part):
    """What puts a resource into a class: it matches if every selector that is given does."""

    more_schema = _some("kinds", "names", "namespaces", "matchLabels", "matchAnnotations")

    # `class` is a word of Python.
    change_class: fields.Label = field(
        alias="class", description="The class of what matches.", example="apps"
    )
    kinds: tuple[KindName, ...] | None = field(
        default=None,
        filled=True,
        description="Any of these kinds, with the group after a dot if two groups share the kind.",
        example=["ConfigMap", "Secret"],
    )
    names: tuple[Glob, ...] | None = field(
        default=None,
        filled=True,
        description=(
            "Any of these names, without the hash that kustomize appends; `*` matches any "
            "characters."
        ),
        example=["settings-*"],
    )
    namespaces: tuple[Glob, ...] | None = field(
        default=None,
        filled=True,
        description="Any of these namespaces; `*` matches any characters.",
        example=["team-*"],
    )
    match_labels: dict[fields.Text, fields.AnyText] = field(
        default_factory=dict, description="Labels that it must have, all of them."
    )
    match_annotations: dict[fields.Text, fields.AnyText] = field(
        default_factory=dict, description="Annotations that it must have, all of them."
    )


class Acknowledgement(Part):
    """A reference from one class into another that is intended."""

    # `from` is a word of Python.
    referrer: Address = field(
        alias="from",
        description="The object that refers, as `Kind/namespace/name`; `*` matches any characters.",
        example="Deployment/shop/api",
    )
    to: Address = field(
        description="The object it refers to, in the same form.", example="ConfigMap/shop/settings"
    )
    reason: fields.Text = field(
        description="Why nothing breaks if one of the two changes without the other.",
        example="The program reads it again when it changes",
    )


class Spec(Part):
    """Which resource is in which class."""

    classes: tuple[ChangeClass, ...] = field(
        filled=True,
        description="The classes, in order: a class may depend on those before it.",
    )
    default: fields.Label = field(
        description="The class of every resource that no rule matches.", example="apps"
    )
    rules: tuple[ClassRule, ...] = field(
        default=(), description="Rules; the first one that matches a resource sets its class."
    )
    acknowledge: tuple[Acknowledgement, ...] = field(
        default=(), description="References between classes that are intended."
    )
    keep: fields.Label | None = field(
        default=None,
        description=(
            "Return the resources of this class only; default: all, annotated with their class."
        ),
    )


class ChangeClasses(Part):
    """Which resources may change at once, and which wait for a window."""

    api_version: Literal["krm-windows.dev/v1alpha1"] = field(description="The version of this API.")
    kind: Literal["ChangeClasses"] = field(description="The kind of this object.")
    metadata: Metadata = field(description="The name.")
    spec: Spec = field(description="Which resources are in which class.")
