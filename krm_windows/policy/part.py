"""What every part of the API has in common."""

from pydantic import BaseModel, ConfigDict, JsonValue
from pydantic.alias_generators import to_camel


class Part(BaseModel):
    """A part of the API: frozen, in camelCase, without unknown fields.

    Its validator is built on first use.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        defer_build=True,
    )


def one_of(*names: str) -> dict[str, JsonValue]:
    """Say in a schema that exactly one of these fields is given."""
    return {"oneOf": [{"required": [name]} for name in names]}
