"""Objects read from files and from what was built.

Their identity is read first, the rest only when somebody asks.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from krm_windows.flux import substitution
from krm_windows.flux.model import Object
from krm_windows.flux.substitution import Variables
from krm_windows.krm import InputError, KubeObject, documents, opened
from krm_windows.krm.nodes import value

LOCAL = "config.kubernetes.io/local-config"
# kustomize writes a key a line, and text of any value further in: what begins a line is a key of
# the root.
_ROOT = re.compile(rb"^(apiVersion|kind|metadata):(?: (.*))?$", re.MULTILINE)
# The lines below `metadata:`, and in them the name and the namespace as plain words.
_BLOCK = re.compile(rb"^metadata:\n((?:  .*+\n)*(?:  .*+)?)", re.MULTILINE)
_NAME = re.compile(rb"^  (name|namespace): ([A-Za-z][A-Za-z0-9.:-]*)$", re.MULTILINE)
_WORD = re.compile(rb"[A-Za-z][A-Za-z0-9./-]*\Z")


@lru_cache(maxsize=4096)
def parsed(content: bytes) -> tuple[KubeObject, ...]:
    """Return the objects of a file, read in full, those of lists one by one.

    Raises InputError where one cannot be read.
    """
    items = opened(content)
    for item in items:
        # Here, so that whoever asks for a part of it later meets no error.
        value(item.node)
    return tuple(items)


def readable(content: bytes) -> tuple[KubeObject, ...]:
    """Return the objects of a file, none of one that cannot be read.

    For whoever looks for something in a file that a build reads as well, and reports.
    """
    try:
        return parsed(content)
    except InputError:
        return ()


def written(content: bytes, file: str) -> Iterator[Object]:
    """Yield the objects of a file; raises InputError where one cannot be read."""
    for item in parsed(content):
        yield Object.in_file(item, file)


def built(output: bytes, directory: str) -> Iterator[Object]:
    """Yield the objects of what kustomize printed."""
    for item in documents(output):
        yield _headed(item, directory)


def _headed(item: KubeObject, directory: str) -> Object:
    """Read an object's identity from the lines that kustomize writes.

    Where they are others, the object is read in full.
    """
    text = item.source[item.start : item.end]
    root: dict[bytes, bytes] = dict(_ROOT.findall(text))
    api_version = root.get(b"apiVersion", b"")
    kind = root.get(b"kind", b"")
    names = _names(text)
    if names is None or not _WORD.match(api_version) or not _WORD.match(kind):
        return Object.of(item, directory=directory)
    namespace, name = names
    return Object(
        item=item,
        api_version=api_version.decode(),
        kind=kind.decode(),
        namespace=namespace.decode(),
        name=name.decode(),
        directory=directory,
    )


def _names(text: bytes) -> tuple[bytes, bytes] | None:
    """Return namespace and name of an object; None where one is written in an unusual way."""
    block = _BLOCK.search(text)
    if block is None:
        return None
    names: dict[bytes, bytes] = dict(_NAME.findall(block[1]))
    if b"name" not in names:
        return None
    # It has one, spelt in a way that the pattern does not read, such as with quotes.
    if b"namespace" not in names and b"\n  namespace:" in b"\n" + block[1]:
        return None
    return names.get(b"namespace", b""), names[b"name"]


def substituted(
    found: Object,
    values: Variables,
    *,
    complete: bool,
) -> Object:
    """Return an object with its variables replaced.

    Raises InputError where it cannot be read any more.
    """
    text = found.item.span.decode()
    if not substitution.has_variable(text) or substitution.is_forbidden(found):
        return found
    filled = _renamed(found, substitution.substitute(text, values, complete=complete))
    if filled is None and not complete:
        # `a: ${quote:='}[b: c]${quote:='}` is YAML only once all of it is replaced. Without values
        # that only the cluster knows, defaults come closer to what it has than no value at all.
        filled = _renamed(found, substitution.substitute(text, values, complete=True))
    # A value with a line break or a colon may have made it no YAML: Flux would stop there.
    return filled or found


def _renamed(found: Object, text: str) -> Object | None:
    """Return an object with another text; None where that cannot be read."""
    item = KubeObject.parse(text.encode())
    try:
        return replace(
            found,
            item=item,
            api_version=item.api_version,
            kind=item.kind,
            namespace=item.namespace,
            name=item.name,
        )
    except InputError:
        return None
