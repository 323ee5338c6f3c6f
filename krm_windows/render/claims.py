"""What was rendered before, read back: which policies gate which targets, and in which cluster."""

from collections.abc import Iterator, Mapping

from krm_windows.checks.overlap import Claim
from krm_windows.emit import names, timetables
from krm_windows.emit.labels import POLICY
from krm_windows.krm import InputError, KubeObject
from krm_windows.plan import rights


def claims(files: Mapping[str, bytes]) -> Iterator[Claim]:
    """Yield what the rendered files of one directory claim, by their paths.

    A timetable says all of it. With the actuator `Kubectl` there is none: there the Roles name the
    targets, and nothing the cluster. A base, whose CronJobs are suspended, claims nothing. Raises
    InputError for what is no YAML.
    """
    # Each is parsed even where its text says that it has no timetable: what is no YAML is an error.
    items = {path: _parsed(path, content) for path, content in files.items()}
    found: list[Claim] = []
    for path, content in files.items():
        found += _timetabled(path, content)
    yield from found or _by_rights(items)


def _timetabled(path: str, content: bytes) -> Iterator[Claim]:
    # In the layout `overlays` a timetable is in a patch, which is a text within the kustomization.
    for manifest in timetables.manifests(content):
        read = timetables.read(_parsed(path, manifest))
        if read is not None:
            yield Claim.of(read, path)


def _parsed(path: str, content: bytes) -> KubeObject:
    try:
        return KubeObject.parse(content)
    except InputError as error:
        raise error.in_file(path) from error


def _by_rights(items: Mapping[str, KubeObject]) -> Iterator[Claim]:
    # With a ConfigMap the windows are in a timetable; without one the actuator is `Kubectl`. The
    # CronJobs of a base are suspended: it is never applied as it is.
    if any(map(_is_of_gate, items.values())) or not any(map(_runs, items.values())):
        return
    for path, item in items.items():
        label = item.labels.get(POLICY)
        if item.kind != "Role" or not label:
            continue
        targets = tuple(rights.granted(item.get("rules"), item.namespace))
        if targets:
            yield Claim(names.policy_of(label), None, targets, path)


def _is_of_gate(item: KubeObject) -> bool:
    """Whether an object is the gate's ConfigMap; that for Alertmanager is there without it, too."""
    return item.kind == "ConfigMap" and item.get("data", names.TIME_INTERVALS) is None


def _runs(item: KubeObject) -> bool:
    """Whether an object is a CronJob that is not suspended."""
    # In a patch or an object alike, anything but true leaves the CronJob running.
    return item.kind == "CronJob" and item.get("spec", "suspend") is not True
