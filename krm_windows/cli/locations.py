"""Where a finding is: the file, line and column that a person looks at next."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from krm_windows.checks import report
from krm_windows.cli import inputs
from krm_windows.inventory import ref_of
from krm_windows.krm import InputError, KubeObject
from krm_windows.results import File, ResourceRef, Result


def located(
    results: Iterable[Result],
    policies: Mapping[str, KubeObject],
    resources: str | None = None,
) -> list[Result]:
    """Return results about one of the policies, by file, or about the resources, with their place.

    `resources` is what was given to read them from. What came from a stream has no place.
    """
    known = {_key(ref_of(config)): (file, config) for file, config in policies.items()}
    files = _Files(resources)
    return [_located(result, known, files) for result in results]


def _key(ref: ResourceRef | None) -> tuple[str, ...]:
    """Return what an object is known by: its version may be missing, or be mistyped."""
    if ref is None:
        return ()
    return ref.kind, ref.namespace, ref.name


def _located(
    result: Result,
    policies: Mapping[tuple[str, ...], tuple[str, KubeObject]],
    files: "_Files",
) -> Result:
    if result.line is not None:
        return result
    # A result has no object, only its reference; as text that is a key for both.
    file, config = policies.get(_key(result.resource_ref), (inputs.STDIN, None))
    if config is not None and file != inputs.STDIN:
        return _at(result, File(path=file), config)
    if result.file is None:
        return result
    item = files.item(result.file)
    if item is None:
        return result
    return _at(result, result.file, item)


def _at(result: Result, file: File, item: KubeObject) -> Result:
    return result._replace(file=file).at(report.place(item, result.path))


class _Files:
    """The files of resources, read again where something was found in them.

    Of the objects that were looked at the text may have been changed, and with it the lines.
    """

    def __init__(self, resources: str | None) -> None:
        # Objects of a stream may name any file (an annotation); none of those is opened.
        self._are_read = resources not in (None, inputs.STDIN)
        self._items: dict[str, list[KubeObject]] = {}

    def item(self, file: File) -> KubeObject | None:
        """Return the object of a file, None where it is not there."""
        if not self._are_read or not Path(file.path).is_file():
            return None
        if file.path not in self._items:
            try:
                self._items[file.path] = inputs.objects(file.path)
            except InputError:
                self._items[file.path] = []
        items = self._items[file.path]
        if file.document >= len(items):
            return None
        return items[file.document]
