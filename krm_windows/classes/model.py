"""The API `krm-windows.dev/v1alpha1`, ChangeClasses.

The one source of its schema, definition and field reference.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from krm_windows import patterns
from krm_windows import rules as table
from krm_windows.plurals import some
from krm_windows.policy import fields
from krm_windows.policy.findings import Finding, RefusedError, closest, raise_for
from krm_windows.policy.parts import Part

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


class ClassRule(Part):
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

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse a rule that would match everything, which nobody writes by intent."""
        lists = (self.kinds, self.names, self.namespaces)
        if not any((*lists, self.match_labels, self.match_annotations)):
            must = "must have a selector; resources that no rule matches get the class `default`"
            raise RefusedError(Finding(table.RULE_EMPTY, must))
        return self

    def covers(self, later: "ClassRule") -> bool:
        """Whether this rule matches whatever another one does, one selector at a time.

        `web-*` matches the text `web-a*`, and so whatever that matches.
        """
        return (
            _are_like(self.kinds, later.kinds)
            and _are_like(self.names, later.names)
            and _are_like(self.namespaces, later.namespaces)
            and self.match_labels.items() <= later.match_labels.items()
            and self.match_annotations.items() <= later.match_annotations.items()
        )


def _are_like(globs: tuple[str, ...] | None, texts: tuple[str, ...] | None) -> bool:
    if globs is None:
        return True
    return texts is not None and all(is_like(globs, text) for text in texts)


def is_like(globs: Iterable[str], text: str) -> bool:
    """Whether any of some globs matches a text."""
    return any(patterns.matches(glob, text) for glob in globs)


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


def undeclared(name: str, known: Sequence[str], path: str = "") -> Finding:
    """Return the finding that a class is not declared."""
    must = f"must be one of the classes ({some(known, 20)})"
    return Finding(table.CLASS_UNKNOWN, must, name, closest(name, known), path)


def _known(info: ValidationInfo) -> list[str]:
    return [declared.name for declared in info.data.get("classes", ())]


def _declared(name: str, info: ValidationInfo) -> str:
    known = _known(info)
    # Where `classes` is wrong, every name would be, for that one reason.
    if known and name not in known:
        raise RefusedError(undeclared(name, known))
    return name


def _not_repeated(classes: tuple[ChangeClass, ...]) -> tuple[ChangeClass, ...]:
    names = [declared.name for declared in classes]
    must = "must be the name of one class"
    raise_for(
        Finding(table.CLASS_DUPLICATE, must, name, path=f"[{i}].name")
        for i, name in enumerate(names)
        if name in names[:i]
    )
    return classes


def _reached(rules: tuple[ClassRule, ...], info: ValidationInfo) -> tuple[ClassRule, ...]:
    known = _known(info)
    unknown = (
        undeclared(rule.change_class, known, f"[{i}].class")
        for i, rule in enumerate(rules)
        if known and rule.change_class not in known
    )
    raise_for((*unknown, *_unreachable(rules)))
    return rules


def _unreachable(rules: Sequence[ClassRule]) -> Iterator[Finding]:
    for i, rule in enumerate(rules):
        covering = [before for before in range(i) if rules[before].covers(rule)]
        if covering:
            must = (
                f"never applies: spec.rules[{covering[0]}] comes first and matches everything "
                "that it matches"
            )
            yield Finding(table.RULE_UNREACHABLE, must, path=f"[{i}]")


DeclaredClass = Annotated[fields.Label, AfterValidator(_declared)]


class Spec(Part):
    """Which resource is in which class."""

    classes: Annotated[
        tuple[ChangeClass, ...], Field(min_length=1), AfterValidator(_not_repeated)
    ] = Field(
        examples=[[{"name": "apps"}]],
        description="The classes, in order: a class may depend on those before it.",
    )
    default: DeclaredClass = Field(
        description="The class of every resource that no rule matches.", examples=["apps"]
    )
    rules: Annotated[tuple[ClassRule, ...], AfterValidator(_reached)] = Field(
        default=(), description="Rules; the first one that matches a resource sets its class."
    )
    acknowledge: tuple[Acknowledgement, ...] = Field(
        default=(), description="References between classes that are intended."
    )
    keep: DeclaredClass | None = Field(
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
