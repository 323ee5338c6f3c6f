"""Parts of the API: classes whose annotated fields say how each is read, and what a schema says.

A part is read from a tree of texts (`policy.document`). All that is wrong is found at once, in the
order of the fields and with its path, in the words of whoever refused it. A field's type is one of

- `Annotated[T, Leaf(…)]`: what a function makes of one text,
- `Literal["A", "B"]`: one of these texts,
- `tuple[X, ...]`: a list; `dict[X, Y]`: a map with names of its own,
- a part, and `X | None`: what may be absent.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    NoReturn,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
)

from krm_windows import rules
from krm_windows.policy.findings import Finding, RefusedError, closest, raise_for

Schema: TypeAlias = "str | int | float | bool | list[Schema] | dict[str, Schema] | None"
P = TypeVar("P", bound="Part")


class Known:
    """What was made of the fields of one tree, for trees that share objects with it.

    A merge patch keeps what it does not touch: a version for a cluster mostly is the same objects
    as the policy itself, in which the same is right and means the same. That depends on the zone
    and the namespace, too, which are its `place`.
    """

    def __init__(self, time_zone: str | None, namespace: str | None) -> None:
        """Begin with nothing; until `finish`, what is read is kept."""
        self.place = (time_zone, namespace)
        self._is_complete = False
        # With the value itself: as long as it is here, no other object has its number.
        self._made: dict[tuple[int, int], tuple[object, object]] = {}

    def keep(self, reader: object, written: object, made: object) -> None:
        """Keep what a reader made of what was written, unless all has been read."""
        if not self._is_complete:
            self._made[id(reader), id(written)] = written, made

    def find(self, reader: object, written: object) -> tuple[object, object] | None:
        """Return what was written and what was made of it; None where it has to be read."""
        return self._made.get((id(reader), id(written)))

    def finish(self, *alone: object) -> None:
        """Keep nothing from now on, nor what the tree has alone."""
        numbers = {id(written) for written in alone}
        self._made = {key: made for key, made in self._made.items() if key[1] not in numbers}
        self._is_complete = True


class Context(NamedTuple):
    """What a part has to know of the rest of its object; None where that is wrong or missing.

    What is `known` is not read again.
    """

    time_zone: str | None = None
    namespace: str | None = None
    known: Known | None = None


_NOTHING_KNOWN = Context()


class Reader(Protocol):
    """How a value is read, and what a JSON schema says of it."""

    def read(self, value: object, context: Context, /) -> object:
        """Return what the value means; raises `RefusedError`."""

    def schema(self) -> dict[str, Schema]:
        """Return the JSON schema of the value in a file."""


class Field(NamedTuple):
    """What a part says of a field beside its type; see `field`."""

    description: str
    example: "Schema"
    default: object
    factory: Callable[[], object] | None
    key: str | None
    shown: str | None
    filled: bool
    before: Callable[[object], Iterable[Finding]] | None
    check: Callable[[Any, Context], Iterable[Finding]] | None


_REQUIRED = object()


# As `dataclasses.field`: to a type checker the value is of the type that is annotated.
def field(  # noqa: PLR0913
    *,
    description: str,
    example: Schema = None,
    default: object = _REQUIRED,
    default_factory: Callable[[], object] | None = None,
    alias: str | None = None,
    shown: str | None = None,
    filled: bool = False,
    before: Callable[[object], Iterable[Finding]] | None = None,
    check: Callable[[Any, Context], Iterable[Finding]] | None = None,
) -> Any:  # noqa: ANN401 - see above
    """Describe a field of a part; without a default it is required.

    `example` is a value that it may have, which a schema and messages show; most types have one
    of their own. `alias` is its key where that is not its name in camelCase, `shown` the default
    as text.
    `filled`: a list or map has an entry at least. `before` looks at what was written, `check` at
    what was read, and both yield what is wrong with it.
    """
    return Field(
        description, example, default, default_factory, alias, shown, filled, before, check
    )


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
class Part:
    """A part of the API: it cannot be changed, and is equal to one with equal fields."""

    others: ClassVar[Mapping[str, Mapping[str, Schema]]] = {}
    """Keys that are passed over, as they are fields of something else's, with their schemas."""
    more_schema: ClassVar[Mapping[str, Schema]] = {}
    """What a JSON schema says beside the fields."""

    def __init__(self, **values: object) -> None:
        # Around `__setattr__`, which refuses to set anything.
        for entry in entries(type(self)):
            if entry.name in values:
                self.__dict__[entry.name] = values[entry.name]
            else:
                self.__dict__[entry.name] = entry.default()
        # All fields are there now, so any other name is a mistake of whoever calls.
        unknown = values.keys() - self.__dict__.keys()
        if unknown:
            names = ", ".join(sorted(unknown))
            raise TypeError(f"{type(self).__name__} has no field {names}")

    @classmethod
    def read(cls, tree: object, context: Context = _NOTHING_KNOWN) -> Self:
        """Read a part from a tree; raises `RefusedError` with all that is wrong."""
        try:
            return _read(cls, tree, context)
        except RefusedError as refused:
            # The root has no name, so there is no dot before its fields.
            found = [each._replace(path=each.path.removeprefix(".")) for each in refused.findings]
            raise RefusedError(*found) from None

    def check(self, _context: Context) -> Iterable[Finding]:
        """Yield what is wrong with the fields together, once each of them could be read."""
        return ()

    def replaced(self, **values: object) -> Self:
        """Return the part with other values of some fields."""
        return type(self)(**(self.__dict__ | values))

    def as_map(self) -> dict[str, object]:
        """Return what is given, as it is written in an object."""
        found: dict[str, object] = {}
        for entry in entries(type(self)):
            # `valueFrom` of a variable is a part itself; none of them holds a list of parts.
            value = self.__dict__[entry.name]
            if isinstance(value, Part):
                value = value.as_map()
            if value is not None:
                found[entry.key] = value
        return found

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse every change."""
        raise AttributeError(f"{type(self).__name__}.{name} cannot be set")

    def __eq__(self, other: object) -> bool:
        """Compare with another part, field by field."""
        # A `BeforeOpen` is no `AfterClose`, whatever their fields say.
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        """Hash the values of the fields; raises TypeError where a map holds a list or a map."""
        return hash(tuple(map(_hashable, self.__dict__.values())))

    def __repr__(self) -> str:
        """Show all fields."""
        values = ", ".join([f"{name}={value!r}" for name, value in self.__dict__.items()])
        return f"{type(self).__name__}({values})"


def _hashable(value: object) -> object:
    """Return what stands for a value in a hash: for a map its entries, in whatever order."""
    if isinstance(value, Mapping):
        return frozenset(value.items())
    return value


class Entry(NamedTuple):
    """A field of a part: its name, its key in an object, and how its value is read.

    It is `required` where it has no default.
    """

    name: str
    key: str
    reader: Reader
    field: Field
    required: bool

    def default(self) -> object:
        """Return what it is where it is absent; raises TypeError where it may not be."""
        field = self.field
        if field.factory is not None:
            return field.factory()
        if field.default is _REQUIRED:
            raise TypeError(f"{self.name} is required")
        return field.default

    def read(self, tree: object, context: Context) -> object:
        """Read the field from the map of its part; raises `RefusedError`."""
        if not isinstance(tree, Mapping) or self.key not in tree:
            if self.required:
                raise RefusedError(Finding(rules.FIELD_REQUIRED, f"is required; {self.advice()}"))
            return self.default()
        # Null is absent, and was left out of the tree already (`document.present`).
        written = tree[self.key]
        return _once(self, self._read, written, context)

    def _read(self, written: object, context: Context) -> object:
        if self.field.before is not None:
            raise_for(self.field.before(written))
        value = self.reader.read(written, context)
        if self.field.filled and not value:
            must = f"must not be empty; {self.advice()}"
            raise RefusedError(Finding(rules.FIELD_REQUIRED, must))
        if self.field.check is not None:
            raise_for(self.field.check(value, context))
        return value

    def advice(self) -> str:
        """Say what to write; raises TypeError where neither the field nor its type has an example.

        It is asked for where the field is required, or may not be empty.
        """
        described = self.schema()
        line = f"`{self.key}: {_flow(_sample(self.key, described))}`"
        # `kind` has one value in all.
        if "const" in described:
            return f"write {line}"
        return f"write, for example, {line}"

    def schema(self) -> dict[str, Schema]:
        """Return the JSON schema of the field."""
        found = self.reader.schema()
        if self.field.example is not None:
            found["examples"] = [self.field.example]
        if self.field.filled:
            # Keywords of JSON Schema (validation, 6.4.2 and 6.5.2).
            least = {"array": "minItems", "object": "minProperties"}[str(found["type"])]
            found[least] = 1
        # What may be absent is described behind what it is.
        if self.field.default is None:
            return {**_ordered(found), "description": self.field.description}
        found["description"] = self.field.description
        if self.field.shown is not None:
            found["default"] = self.field.shown
        elif not self.required and self.field.factory is None:
            found["default"] = _written(self.field.default)
        return _ordered(found)


def _ordered(schema: dict[str, Schema]) -> dict[str, Schema]:
    """Return a schema with its keywords in alphabetical order, as all of the files have them."""
    return dict(sorted(schema.items()))


def _sample(key: str, schema: Mapping[str, Schema]) -> Schema:
    """Return a value that a schema allows: its example, or one made of those in it.

    Raises TypeError where there is none.
    """
    if "const" in schema:
        return schema["const"]
    # Only lists are at these keywords.
    for keyword in ("examples", "enum"):
        if keyword in schema:
            return cast("list[Schema]", schema[keyword])[0]
    if "items" in schema:
        return [_sample(key, cast("dict[str, Schema]", schema["items"]))]
    if "properties" in schema:
        fields = cast("dict[str, dict[str, Schema]]", schema["properties"])
        return {name: _sample(name, fields[name]) for name in _needed(schema)}
    raise TypeError(f"{key} needs an example, for the message where it is missing")


def _needed(schema: Mapping[str, Schema]) -> list[str]:
    """Return the fields that a map has to have, the first of those of which one is to be given."""
    needed = cast("list[str]", schema.get("required", [])).copy()
    for choice in cast("list[dict[str, list[str]]]", schema.get("oneOf", []))[:1]:
        needed += choice["required"]
    return needed


def _flow(value: Schema) -> str:
    """Return a value of texts as YAML on one line."""
    if isinstance(value, dict):
        inner = ", ".join([f"{key}: {_flow(each)}" for key, each in value.items()])
        return f"{{{inner}}}"
    if isinstance(value, list):
        inner = ", ".join(map(_flow, value))
        return f"[{inner}]"
    return str(value)


def _written(default: object) -> Schema:
    """Return a default as JSON has it."""
    if isinstance(default, tuple):
        return [_written(each) for each in default]
    return cast("Schema", default)


_ENTRIES: dict[type[Part], tuple[Entry, ...]] = {}


def entries(part: type[Part]) -> tuple[Entry, ...]:
    """Return the fields of a part in their order, those of the part that it extends first.

    They are worked out when they are first asked for: most calls read few parts.
    """
    if part not in _ENTRIES:
        _ENTRIES[part] = tuple(_entries(part))
    return _ENTRIES[part]


def _entries(part: type[Part]) -> Iterator[Entry]:
    # No annotation of a part is a text, which `get_type_hints` would be for: it takes long, as it
    # looks into those of `Part` itself as well.
    annotations: dict[str, object] = {}
    for each in reversed(part.__mro__[: part.__mro__.index(Part)]):
        annotations.update(each.__annotations__)
    for name, annotation in annotations.items():
        described = getattr(part, name, None)
        if isinstance(described, Field):
            key = described.key or _camel_case(name)
            required = described.default is _REQUIRED and described.factory is None
            yield Entry(name, key, reader(annotation), described, required)


def _camel_case(name: str) -> str:
    """Return the key of a name: `apiVersion` of `api_version`."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def reader(annotation: object) -> Reader:
    """Return how a value of a type is read; raises TypeError for a type that no field may have."""
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return _Inner(annotation)
    # `tuple` and `(X, ...)` of `tuple[X, ...]`.
    arguments = get_args(annotation)
    made = _READERS.get(get_origin(annotation))
    if made is None:
        raise TypeError(f"{annotation!r} is not a type of a field")
    return made(*arguments)


def _read(part: type[P], tree: object, context: Context) -> P:
    """Read a part; the paths of what is wrong begin with a dot, or with the bracket of an index."""
    # `targets: infra` where entries of a list are maps.
    if not isinstance(tree, Mapping):
        first = entries(part)[0].key
        raise _other_type(tree, f"a map, with fields such as `{first}:` below it")
    found: list[Finding] = []
    # Filled at once, around `__setattr__`: every field is here, in its order.
    made = part.__new__(part)
    values = made.__dict__
    for entry in entries(part):
        # Most fields of most parts are absent, which takes no reading.
        if entry.key not in tree and not entry.required:
            values[entry.name] = entry.default()
        else:
            values[entry.name] = _attempt(entry, tree, context, f".{entry.key}", found)
    found += _unknown(part, tree)
    # What the fields mean together can be said only where each of them means something.
    raise_for(found)
    try:
        raise_for(made.check(context))
    except RefusedError as refused:
        raise RefusedError(*_below("", refused)) from None
    return made


def _once(
    reader: object,
    read: Callable[[object, Context], object],
    written: object,
    context: Context,
) -> object:
    """Read what was written, unless the same object was read before; raises `RefusedError`."""
    known = context.known
    if known is None:
        return read(written, context)
    found = known.find(reader, written)
    if found is not None:
        return found[1]
    made = read(written, context)
    known.keep(reader, written, made)
    return made


def _attempt(
    reader: Reader,
    written: object,
    context: Context,
    step: str,
    found: list[Finding],
) -> object:
    """Read what is at a step; what is wrong with it is added to what was found, and None given."""
    try:
        return reader.read(written, context)
    except RefusedError as refused:
        found += _below(step, refused)
        return None


def _unknown(part: type[Part], tree: Mapping[str, object]) -> Iterator[Finding]:
    """Yield the keys that are no fields, each with the one that was most likely meant."""
    # In the order of the API, as a message lists them.
    known = dict.fromkeys([entry.key for entry in entries(part)])
    known.update(dict.fromkeys(part.others))
    unknown = [key for key in tree if key not in known]
    proposed: set[str] = set()
    if not unknown:
        return
    from krm_windows.policy import synonyms  # noqa: PLC0415 - needed for a finding only

    for key in unknown:
        # `end` is near to no field of a window by its letters.
        fix = synonyms.field(key, known) or closest(key, known)
        hint = f"must be one of {', '.join(known)}"
        if fix in tree:
            hint = f'"{fix}" is there already: remove this one'
        elif fix and fix not in proposed:
            proposed.add(fix)
            hint = f'did you mean "{fix}"?'
        must = f"unknown field; {hint}"
        yield Finding(rules.FIELD_UNKNOWN, must, path=f".{key}")


def _not_twice(found: Iterable[Finding], held: Iterable[object]) -> Iterator[Finding]:
    """Take back proposals that another entry has already: the same one twice is an error, too."""
    taken = {each for each in held if isinstance(each, str)}
    for finding in found:
        # What is proposed for something further below is no entry here.
        is_entry = not set(".[") & set(finding.path[1:])
        if is_entry and finding.proposed in taken:
            yield finding._replace(proposed=None)
            continue
        if is_entry and finding.proposed is not None:
            taken.add(finding.proposed)
        yield finding


def _below(step: str, refused: RefusedError) -> list[Finding]:
    """Put a step before the paths of what is wrong: `.windows`, `[0]`."""
    found: list[Finding] = []
    for finding in refused.findings:
        rest = finding.path
        # What refuses a value names a field in it without a dot: `ends`, `cronJobs.open`.
        if rest and not rest.startswith((".", "[")):
            rest = f".{rest}"
        found.append(finding._replace(path=step + rest))
    return found


def _other_type(value: object, wanted: str) -> RefusedError:
    current = None
    if isinstance(value, str):
        current = value
    return RefusedError(Finding(rules.FIELD_TYPE, f"must be {wanted}", current))


def _list_for(value: object) -> str:
    """Say what a list is to somebody who wrote one entry, or several with commas."""
    if isinstance(value, Mapping) and value:
        first = next(iter(value))
        return f"a list: write `- ` before the first field of each entry, as in `- {first}:`"
    if isinstance(value, str) and value:
        items = ", ".join(value.replace(",", " ").split())
        return f"a list, such as [{items}]"
    return "a list"


def _map_for(value: object) -> str:
    """Say what a map is to somebody who wrote a list of entries with their names."""
    if not value or not isinstance(value, list | tuple):
        return "a map"
    name = "NAME"
    for item in value:
        if isinstance(item, Mapping) and isinstance(item.get("name"), str):
            name = item["name"]
            break
    return (
        f"a map, not a list: write `{name}:` with its fields below it instead of `- name: {name}`"
    )


class Leaf:
    """How a leaf of the API is made of what was written, and what a JSON schema says of it."""

    def __init__(self, make: Callable[[object], object], schema: Mapping[str, Schema]) -> None:
        self.make = make
        self._schema = dict(schema)

    def read(self, value: object, _context: Context) -> object:
        """Return what was made of a value; raises `RefusedError`."""
        return self.make(value)

    def schema(self) -> dict[str, Schema]:
        """Return what a JSON schema says of it."""
        return self._schema.copy()


class _Inner:
    """A part as the value of a field."""

    def __init__(self, part: type[Part]) -> None:
        self._part = part

    def read(self, value: object, context: Context) -> Part:
        return cast("Part", _once(self, self._made, value, context))

    def _made(self, value: object, context: Context) -> Part:
        return _read(self._part, value, context)

    def schema(self) -> dict[str, Schema]:
        return schema(self._part)


class _Choice:
    """One of several texts."""

    def __init__(self, *options: str) -> None:
        self._options = options

    def read(self, value: object, _context: Context) -> str:
        if isinstance(value, str) and value in self._options:
            return value
        # `must be Always, IfNotPresent or Never`.
        *others, last = self._options
        must = f"must be {last}"
        if others:
            must = f"must be {', '.join(others)} or {last}"
        current = None
        if isinstance(value, str):
            current = value
        proposed = closest(current or "", self._options)
        raise RefusedError(Finding(rules.FIELD_VALUE, must, current, proposed))

    def schema(self) -> dict[str, Schema]:
        # `apiVersion` and `kind`, say.
        if len(self._options) == 1:
            return {"const": self._options[0], "type": "string"}
        return {"enum": list(self._options), "type": "string"}


class _List:
    """A list, its entries of one type."""

    def __init__(self, item: object, _more: object) -> None:
        self._item = reader(item)

    def read(self, value: object, context: Context) -> tuple[object, ...]:
        if not isinstance(value, list | tuple):
            raise _other_type(value, _list_for(value))
        items: list[object] = []
        found: list[Finding] = []
        # To the end: all that is wrong is said at once.
        for i, item in enumerate(value):
            items.append(_attempt(self._item, item, context, f"[{i}]", found))
        raise_for(_not_twice(found, value))
        return tuple(items)

    def schema(self) -> dict[str, Schema]:
        return {"items": _ordered(self._item.schema()), "type": "array"}


class _Map:
    """A map, its names of one type and its values of another."""

    def __init__(self, name: object, value: object) -> None:
        self._name = reader(name)
        self._value = reader(value)

    def read(self, value: object, context: Context) -> dict[object, object]:
        if not isinstance(value, Mapping):
            raise _other_type(value, _map_for(value))
        values: dict[object, object] = {}
        found: list[Finding] = []
        for name, entry in value.items():
            # Both are looked at: a name may be wrong, and what it names as well.
            key = _attempt(self._name, name, context, f".{name}", found)
            values[key] = _attempt(self._value, entry, context, f".{name}", found)
        raise_for(_not_twice(found, value))
        return values

    def schema(self) -> dict[str, Schema]:
        # Names are texts anyhow: only their form is to be said.
        names: dict[str, Schema] = {"pattern": self._name.schema()["pattern"]}
        return {
            "propertyNames": names,
            "additionalProperties": self._value.schema(),
            "type": "object",
        }


def _annotated(_type: object, leaf: Reader) -> Reader:
    return leaf


def _optional(given: object, _none: object) -> Reader:
    # An absent field is not read at all.
    return reader(given)


_READERS: Mapping[object, Callable[..., Reader]] = {
    Annotated: _annotated,
    Literal: _Choice,
    tuple: _List,
    dict: _Map,
    # `X | None`, of which Python has two: of types, and with what `typing` makes.
    Union: _optional,
    UnionType: _optional,
}


def schema(part: type[Part]) -> dict[str, Schema]:
    """Return the JSON schema of a part in a file, in which nothing is null."""
    # No build writes a schema, and it takes long to load.
    from inspect import cleandoc  # noqa: PLC0415

    properties: dict[str, Schema] = {}
    required: list[Schema] = []
    for entry in entries(part):
        properties[entry.key] = entry.schema()
        if entry.required:
            required.append(entry.key)
    found: dict[str, Schema] = {
        "description": cleandoc(part.__doc__ or ""),
        "properties": properties,
        "type": "object",
        **part.more_schema,
    }
    # `setdefault`: one that is a field, too, has its own schema.
    for key, other in part.others.items():
        properties.setdefault(key, dict(other))
    if required:
        found["required"] = required
    found["additionalProperties"] = False
    return _ordered(found)


def one_of(*names: str) -> dict[str, Schema]:
    """Say in a schema that exactly one of these fields is given."""
    return {"oneOf": [{"required": [name]} for name in names]}
