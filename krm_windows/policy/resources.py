"""The part of the API that is about what a Pod may use up: processor, memory and disk.

A ResourceQuota wants all of them to be said, a LimitRange wants each to be between two bounds, and
both are other ones in every namespace.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Self

from pydantic import Field, model_validator

from krm_windows import rules
from krm_windows.policy import quantities
from krm_windows.policy.findings import Finding, raise_for
from krm_windows.policy.parts import Leaf, Part, Schema
from krm_windows.policy.quantities import Quantity

# `cpu: 1` is a number in YAML, and a quantity to Kubernetes all the same.
_SCHEMA: Schema = {
    "type": ["string", "number"],
    "pattern": quantities.PATTERN,
    "minimum": 0,
}


Processors = Annotated[Quantity, Leaf(quantities.processors, {**_SCHEMA, "examples": ["100m"]})]
Size = Annotated[Quantity, Leaf(quantities.size, {**_SCHEMA, "examples": ["64Mi"]})]


class Amounts(Part):
    """So much of each."""

    cpu: Processors | None = Field(default=None, description="CPUs: `100m` is a tenth of one.")
    memory: Size | None = Field(default=None, description="Memory, in bytes.")
    ephemeral_storage: Size | None = Field(
        default=None,
        alias="ephemeral-storage",
        description="Ephemeral storage, in bytes: logs, and `/tmp` of a hook.",
    )

    def given(self) -> dict[str, Quantity]:
        """Return what is given, by the names of Kubernetes."""
        # ResourceName of core/v1; only these three are known to every node.
        return {name.replace("_", "-"): quantity for name, quantity in self if quantity is not None}


class Resources(Part):
    """What a container asks for, and what it may use up; what is not given is the default."""

    requests: Amounts = Field(
        default_factory=Amounts.model_construct, description="What a node must have free."
    )
    limits: Amounts = Field(
        default_factory=Amounts.model_construct, description="The most it may use."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse what is asked for beyond what may be used."""
        raise_for(_exceeding(self.requests.given(), self.limits.given()))
        return self


def _exceeding(
    requests: Mapping[str, Quantity], limits: Mapping[str, Quantity]
) -> Iterator[Finding]:
    """Yield what is asked for beyond what may be used, which the API server refuses."""
    # `spec.containers[].resources.requests: must be less than or equal to … limit` (core/v1).
    for name, asked in requests.items():
        if name in limits and asked.nanos > limits[name].nanos:
            must = f"must not exceed the limit, {limits[name]}"
            yield Finding(rules.RESOURCES, must, str(asked), path=f"requests.{name}")
