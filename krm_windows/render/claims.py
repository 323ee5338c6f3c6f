"""What was rendered before, read back: which policies gate which targets, and in which cluster."""

from collections.abc import Iterator, Mapping

from krm_windows.checks import roles, timetables
from krm_windows.checks.overlap import Claim
from krm_windows.emit.labels import POLICY
from krm_windows.krm import InputError, KubeObject


def claims(files: Mapping[str, bytes]) -> Iterator[Claim]:
    """Yield what the rendered files of one directory claim, by their paths.

    A timetable says all of it. With the actuator `Kubectl` there is none: there the Roles name the
    targets, and nothing the cluster. A base, whose CronJobs are suspended, claims nothing. Raises
    InputError for what is no YAML.
    """
    found = [claim for path, content in files.items() for claim in _timetabled(path, content)]
    yield from found
    if files and not found:
        yield from _by_rights({path: _parsed(path, content) for path, content in files.items()})


def _timetabled(path: str, content: bytes) -> Iterator[Claim]:
    _parsed(path, content)
    for manifest in timetables.manifests(content):
        read = timetables.read(_parsed(path, manifest))
        if read is not None:
            yield Claim.of(read, path)


def _parsed(path: str, content: bytes) -> KubeObject:
    try:
        return KubeObject.parse(content)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _by_rights(items: Mapping[str, KubeObject]) -> Iterator[Claim]:
    kinds = {item.kind for item in items.values()}
    runs = any(
        item.kind == "CronJob" and item.get("spec", "suspend") is not True
        for item in items.values()
    )
    if "ConfigMap" in kinds or not runs:
        return
    for path, item in items.items():
        label = item.labels.get(POLICY) if item.kind == "Role" else None
        targets = tuple(roles.targets(item)) if label else ()
        if label and targets:
            yield Claim(label.replace(".", "/", 1), None, targets, path)
