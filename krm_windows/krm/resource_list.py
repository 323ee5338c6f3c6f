"""ResourceList: what an orchestrator and a function hand each other.

The items, the configuration and the results, as the KRM functions specification of kustomize says.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, Protocol

from krm_windows.krm import layout, listings
from krm_windows.krm.errors import InputError
from krm_windows.krm.kube_object import KubeObject
from krm_windows.krm.listings import Chunk
from krm_windows.krm.nodes import Scalar
from krm_windows.krm.outline import Field, Listing, Outline, listing, parse, trace
from krm_windows.results import Result, sort

API_VERSIONS = ("config.kubernetes.io/v1", "config.kubernetes.io/v1beta1")
EMPTY = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"

# A field such as `kind: ResourceList`, which is nearly always written like this.
# What has quotes, a tag or a comment is read by libyaml.
_WORD = re.compile(rb"[ \t]*([A-Za-z][\w./-]*)[ \t]*\r?\n?\Z")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


class Frame(Protocol):
    """What is around the items: how they are written back."""

    def chunks(
        self,
        items: list[KubeObject],
        results: list[Result],
    ) -> Iterator[Chunk]:
        """Give the output, piece by piece."""


class Envelope(NamedTuple):
    """The document of a ResourceList around its items: every field of the top level as it came."""

    data: bytes
    outline: Outline

    def chunks(
        self,
        items: list[KubeObject],
        results: list[Result],
    ) -> Iterator[Chunk]:
        """Give the document with these items, and with the results behind those that it had."""
        view = memoryview(self.data)
        place = 0
        # `results` may be above `items`: the document is written from its top to its end.
        changes = sorted(self._changes(items, results), key=_start)
        for start, end, chunks in changes:
            yield view[place:start]
            yield from chunks
            place = end
        yield view[place:]

    def _changes(
        self,
        items: list[KubeObject],
        results: list[Result],
    ) -> Iterator[listings.Change]:
        """Give the regions that are written anew: the lists, or the end where a list is missing."""
        missing = []
        if place := self.outline.find("items"):
            yield self._change(place, self.outline.items, items)
        else:
            missing.append(("items", items))
        # Results are written as objects are, in the style of the document.
        additions = [KubeObject.from_value(result.value()) for result in results]
        if additions:
            if place := self.outline.find("results"):
                yield from self._appended(place, additions)
            else:
                missing.append(("results", additions))
        # Fields that the document does not have are put behind its last one.
        end = self.outline.end
        yield end, end, listings.fields(self.data, self.outline, missing)

    def _appended(
        self,
        place: Field,
        additions: list[KubeObject],
    ) -> Iterator[listings.Change]:
        """Give the results with ours behind them; a field that is no list is not ours to change."""
        earlier = listing(self.data, place)
        if earlier is not None:
            every = [*listings.objects(self.data, earlier), *additions]
            yield self._change(place, earlier, every)

    def _change(
        self,
        place: Field,
        earlier: Listing,
        items: list[KubeObject],
    ) -> listings.Change:
        chunks = listings.chunks(self.data, place, earlier, items, flow=self.outline.flow)
        return place.start, place.end, chunks


class ResourceList:
    """What a function is given, and what it changes in place.

    `results` are those of this function: earlier ones stay in the text, and these are written
    behind them. A list that is `silent` writes nothing at all, as a validator of kustomize must.
    """

    def __init__(
        self,
        items: list[KubeObject] | None = None,
        function_config: KubeObject | None = None,
        *,
        frame: Frame | None = None,
    ) -> None:
        """Take items, configuration, and what is around them; without it the list is a new one."""
        self.items = [] if items is None else items
        self.function_config = function_config
        self.results: list[Result] = []
        self.silent = False
        self.frame = Envelope(EMPTY, trace(EMPTY)) if frame is None else frame

    @classmethod
    def read(cls, data: bytes) -> "ResourceList":
        """Read a ResourceList; raises InputError where `data` is anything else."""
        check_encoding(data)
        if not data or data.isspace():
            raise InputError("the input is empty; expected a ResourceList")
        found = trace(data)
        _check_kind(data, found)
        items = listings.objects(data, found.items)
        return cls(items, _config(data, found), frame=Envelope(data, found))

    def chunks(self) -> list[Chunk]:
        """Give the output as pieces; what nobody edited is what was read, byte for byte."""
        if self.silent:
            return []
        return list(self.frame.chunks(self.items, sort(self.results)))

    def write(self, stream: BinaryIO) -> None:
        """Write everything, and flush."""
        stream.writelines(self.chunks())
        stream.flush()


def _start(change: listings.Change) -> int:
    start, _, _ = change
    return start


def check_encoding(data: bytes) -> None:
    """Refuse what is not UTF-8; raises InputError with the line."""
    # A byte order mark of UTF-16, of either order (RFC 2781).
    if data.startswith(_UTF_16):
        raise InputError("the input is UTF-16; expected UTF-8", 1, 1)
    # The fast way: most inputs are ASCII.
    if data.isascii():
        return
    try:
        data.decode()
    except UnicodeDecodeError as error:
        # The line of the byte, counted from 1.
        start = data.rfind(b"\n", 0, error.start) + 1
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - start + 1
        message = f"the input is not UTF-8: byte 0x{data[error.start]:02x}"
        raise InputError(message, line, column) from error


def _check_kind(data: bytes, found: Outline) -> None:
    """Refuse a document that is no ResourceList of a version we know."""
    kind = _word(data, found.find("kind"))
    version = _word(data, found.find("apiVersion"))
    if kind == "ResourceList" and version in API_VERSIONS:
        return
    # What is no YAML is said first.
    parse(data)
    what = f"{version or 'no apiVersion'}, {kind or 'no kind'}"
    raise InputError(f"the input is {what}; expected {API_VERSIONS[0]}, ResourceList")


def _word(data: bytes, place: Field | None) -> str:
    """Read a field that holds one word."""
    if place is None:
        return ""
    text = data[place.start : place.end]
    if plain := _WORD.match(text):
        return plain.group(1).decode()
    node = layout.read(text.decode())
    if isinstance(node, Scalar):
        return node.text
    return ""


def _config(data: bytes, found: Outline) -> KubeObject | None:
    """Give functionConfig, None where it is absent or null."""
    place = found.find("functionConfig")
    if place is None or place.is_null(data):
        return None
    return KubeObject(data, place.start, place.end)
