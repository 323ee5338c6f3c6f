"""ResourceList: what an orchestrator and a function hand each other.

The items, the configuration and the results, as the KRM functions specification of kustomize says.
"""

import re
from typing import BinaryIO

from krm_windows.krm import layout, outline
from krm_windows.krm.errors import InputError
from krm_windows.krm.frames import Chunk, Envelope, Frame, Whole, objects
from krm_windows.krm.kube_object import KubeObject
from krm_windows.krm.nodes import Mapping, value
from krm_windows.krm.outline import Listing
from krm_windows.results import Result, sort

API_VERSIONS = ("config.kubernetes.io/v1", "config.kubernetes.io/v1beta1")
EMPTY = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"

# A field such as `kind: ResourceList`: what has quotes or a tag is read by libyaml.
_WORD = re.compile(
    rb"[ \t]*([A-Za-z][\w./-]*)[ \t]*+(?:#[^\n]*+)?(?:\r?\n(?:[ \t]*+(?:#[^\n]*+)?\r?\n)*)?\Z"
)
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


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
        self.frame: Frame = frame or ResourceList.read(EMPTY).frame

    @classmethod
    def read(cls, data: bytes) -> "ResourceList":
        """Read a ResourceList; raises InputError where `data` is anything else."""
        check_encoding(data)
        if not data or data.isspace():
            raise InputError("the input is empty; expected a ResourceList")
        return _scanned(data) or _parsed(data)

    def chunks(self) -> list[Chunk]:
        """Give the output as pieces; what nobody edited is what was read, byte for byte."""
        if self.silent:
            return []
        return list(self.frame.chunks(self.items, sort(self.results)))

    def write(self, stream: BinaryIO) -> None:
        """Write everything, and flush."""
        stream.writelines(self.chunks())
        stream.flush()


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


def _scanned(data: bytes) -> ResourceList | None:
    """Read what orchestrators write, by its lines; None for any other layout or kind."""
    fields = outline.scan(data)
    kind, version = (_word(data, fields.get(name)) for name in ("kind", "apiVersion"))
    lists: dict[str, Listing] = {}
    for name in fields.keys() & {"items", "results"}:
        found = outline.listing(data, fields[name])
        if found is None:
            return None
        lists[name] = found
    if kind != "ResourceList" or version not in API_VERSIONS:
        return None
    config = fields.get("functionConfig")
    given = None
    if config and not outline.is_null(data, config):
        given = KubeObject(data, *config)
    items = objects(data, lists.get("items", Listing()))
    return ResourceList(items, given, frame=Envelope(data, fields, lists))


def _word(data: bytes, field: outline.Span | None) -> str:
    found = field and _WORD.match(data, *field)
    return found.group(1).decode() if found else ""


def _parsed(data: bytes) -> ResourceList:
    """Read a ResourceList in any layout, as a whole; raises InputError where it is none."""
    root = layout.read(data.decode("utf-8-sig"))
    content = value(root)
    if not isinstance(root, Mapping) or not isinstance(content, dict):
        raise InputError("the input is not a ResourceList: it is not a mapping", 1, 1)
    version, kind = content.get("apiVersion"), content.get("kind")
    if kind != "ResourceList" or version not in API_VERSIONS:
        what = f"{version or 'no apiVersion'}, {kind or 'no kind'}"
        raise InputError(f"the input is {what}; expected {API_VERSIONS[0]}, ResourceList")
    items, config = content.get("items") or [], content.get("functionConfig")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise InputError("`items` must be a list of objects")
    given = None if config is None else KubeObject.from_value(config)
    frame = Whole(data, content, root.flow)
    return ResourceList([KubeObject.from_value(item) for item in items], given, frame=frame)
