"""The API `krm-windows.dev/v1alpha1`, ChangeClasses.

The one source of its schema, definition and field reference.

Names that a class needs elsewhere in the object are checked in `classes.contradictions`.
"""

from typing import Annotated, Literal

from pydantic import Field

from krm_windows.policy import fields
from krm_windows.policy.parts import Part, Schema

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


class Metadata(fields.ObjectMeta):
    """The object's metadata; labels, annotations and the rest are Kubernetes' own."""

    name: fields.Name = Field(description="The object's name.", examples=["change-classes"])


class ChangeClass(Part):
    """A class of changes: what is reconciled together."""

    name: fields.Label = Field(
        description="The name, which becomes part of a path and of a Flux Kustomization's name.",
        examples=["apps"],
    )
    policy: fields.PolicyName | None = Field(
        default=None,
        description="The WindowPolicy that gates the class, as namespace/name; default: none.",
    )


def _some(*names: str) -> Schema:
    """Say in a schema that at least one of these fields is given."""
    # Null, and a map without entries, demand nothing.
    given: Schema = {"not": {"enum": [None, {}]}}
    return {"anyOf": [{"properties": {name: given}, "required": [name]} for name in names]}


class ClassRule(
    Part, json_schema_extra=_some("kinds", "names", "namespaces", "matchLabels", "matchAnnotations")
):
    """What puts a resource into a class: it matches if every selector that is given does."""

    # `class` is a word of Python.
    change_class: fields.Label = Field(
        alias="class", description="The class of what matches.", examples=["apps"]
    )
    kinds: tuple[KindName, ...] | None = Field(
        default=None,
        min_length=1,
        description="Any of these kinds, with the group after a dot if two groups share the kind.",
        examples=[["ConfigMap", "Secret"]],
    )
    names: tuple[Glob, ...] | None = Field(
        default=None,
        min_length=1,
        description=(
            "Any of these names, without the hash that kustomize appends; `*` matches any "
            "characters."
        ),
        examples=[["settings-*"]],
    )
    namespaces: tuple[Glob, ...] | None = Field(
        default=None,
        min_length=1,
        description="Any of these namespaces; `*` matches any characters.",
        examples=[["team-*"]],
    )
    match_labels: dict[fields.Text, fields.AnyText] = Field(
        default_factory=dict, description="Labels that it must have, all of them."
    )
    match_annotations: dict[fields.Text, fields.AnyText] = Field(
        default_factory=dict, description="Annotations that it must have, all of them."
    )


class Acknowledgement(Part):
    """A reference from one class into another that is intended."""

    # `from` is a word of Python.
    referrer: Address = Field(
        alias="from",
        description="The object that refers, as `Kind/namespace/name`; `*` matches any characters.",
        examples=["Deployment/shop/api"],
    )
    to: Address = Field(
        description="The object it refers to, in the same form.",
        examples=["ConfigMap/shop/settings"],
    )
    reason: fields.Text = Field(
        description="Why nothing breaks if one of the two changes without the other.",
        examples=["The program reads it again when it changes"],
    )


class Spec(Part):
    """Which resource is in which class."""

    classes: tuple[ChangeClass, ...] = Field(
        min_length=1,
        examples=[[{"name": "apps"}]],
        description="The classes, in order: a class may depend on those before it.",
    )
    default: fields.Label = Field(
        description="The class of every resource that no rule matches.", examples=["apps"]
    )
    rules: tuple[ClassRule, ...] = Field(
        default=(), description="Rules; the first one that matches a resource sets its class."
    )
    acknowledge: tuple[Acknowledgement, ...] = Field(
        default=(), description="References between classes that are intended."
    )
    keep: fields.Label | None = Field(
        default=None,
        description=(
            "Return the resources of this class only; default: all, annotated with their class."
        ),
    )


class ChangeClasses(Part):
    """Which resources may change at once, and which wait for a window."""

    api_version: Literal["krm-windows.dev/v1alpha1"] = Field(description="The version of this API.")
    kind: Literal["ChangeClasses"] = Field(description="The kind of this object.")
    metadata: Metadata = Field(description="The name.")
    spec: Spec = Field(description="Which resources are in which class.")
