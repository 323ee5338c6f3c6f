"""What kustomizations list, read without building them."""

from collections.abc import Iterable, Iterator, Mapping

from krm_windows.flux.objects import readable
from krm_windows.krm import Value

BASES = ("resources", "bases", "components")
PLUGINS = ("generators", "transformers", "validators")


def read(content: bytes) -> dict[str, Value]:
    """Return the fields of a kustomization.

    There are none of one that cannot be read: that is reported where it is built.
    """
    # kustomize reads the first document alone, whatever is behind `---`.
    for document in readable(content)[:1]:
        fields = document.get()
        if isinstance(fields, dict):
            return fields
    return {}


def bases(fields: Mapping[str, Value]) -> Iterator[str]:
    """Yield the entries of a kustomization's lists of bases: files, directories, addresses."""
    yield from listed(fields, BASES)


def listed(fields: Mapping[str, Value], names: Iterable[str]) -> Iterator[str]:
    """Yield the texts in the lists of some fields of a kustomization."""
    for name in names:
        entries = fields.get(name)
        if isinstance(entries, list):
            yield from (entry for entry in entries if isinstance(entry, str))
