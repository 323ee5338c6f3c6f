"""Which fields name files (kustomize api/types).

They are those of a kustomization, or of a plugin that kustomize has built in.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from krm_windows.flux.objects import readable
from krm_windows.krm import Value

# A path, or a list of paths, under these names anywhere; `files` may have a key before each:
# `key=path`.
_PATHS = frozenset(
    {
        "files",
        "envs",
        "env",
        "crds",
        "configurations",
        "patchesStrategicMerge",
        "paths",
    }
)
# A path in the field `path` of these, or of each of a list of these.
_HOLDERS = frozenset({"patches", "patchesJson6902", "replacements", "openapi"})
PLUGIN = "plugin"
"""The name that stands for a plugin's configuration as a whole.

It may have such a field itself.
"""

BASES = ("resources", "bases", "components")
PLUGINS = ("generators", "transformers", "validators")
# The fields by which kustomize renders charts, with helm as a program of its own.
CHARTS = frozenset({"helmCharts", "helmChartInflationGenerator"})

# Where nothing confines a build, it may use these: what they read is known, and was checked, before
# it starts.
_HARMLESS = frozenset(
    {
        *BASES,
        "apiVersion",
        "kind",
        "metadata",
        "namespace",
        "namePrefix",
        "nameSuffix",
        "labels",
        "commonLabels",
        "commonAnnotations",
        "images",
        "replicas",
        "patches",
        "patchesStrategicMerge",
        "patchesJson6902",
        "replacements",
        "vars",
        "configMapGenerator",
        "secretGenerator",
        "generatorOptions",
        "crds",
        "configurations",
        "buildMetadata",
        "sortOptions",
    }
)


def is_path(name: str, above: str) -> bool:
    """Whether the field `name` of what is under `above` holds a path, or a list of such."""
    if name in _PATHS:
        return True
    return name == "path" and above in (*_HOLDERS, PLUGIN)


def is_part(above: str) -> bool:
    """Whether what is in a list under `above` is of no use without its `path`."""
    return above in _HOLDERS


def spellings(name: str, text: str) -> list[str]:
    """Return the paths that a text in a field may mean.

    A patch that is written down right there means none.
    """
    if "\n" in text:
        return []
    _, key, path = text.partition("=")
    # `key=path`, or a path with such a sign in it.
    if name == "files" and key:
        return [text, path]
    return [text]


def paths(
    part: Value,
    name: str = "",
    above: str = "",
) -> Iterator[str]:
    """Yield every path that a kustomization, or a part of it under `name`, names.

    Its bases and plugins are not among them.
    """
    if isinstance(part, dict):
        for key, entry in part.items():
            yield from paths(entry, key, name)
    elif isinstance(part, list):
        for entry in part:
            yield from paths(entry, name, above)
    elif isinstance(part, str) and is_path(name, above):
        # Of `key=path` only the path is looked for in the copy.
        yield from spellings(name, part)[-1:]


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


def leading(places: Iterable[str], users: Mapping[str, Collection[str]]) -> set[str]:
    """Return some places and all directories whose kustomizations lead there, by others or not.

    `users` are the directories whose kustomizations name a place themselves.
    """
    found: set[str] = set()
    # Kustomizations may include each other, so each is looked at once.
    waiting = list(places)
    while waiting:
        place = waiting.pop()
        if place not in found:
            found.add(place)
            waiting += users.get(place, ())
    return found


def unknown(fields: dict[str, Value]) -> Iterator[str]:
    """Yield the fields of a kustomization of which it is not known that they are harmless."""
    for name, part in fields.items():
        if name not in _HARMLESS and part not in (None, [], {}):
            yield name
