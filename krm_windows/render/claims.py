"""What was rendered before, read back: which policies gate which targets, and in which cluster."""

from collections.abc import Iterator, Mapping

from krm_windows.checks.overlap import Claim
from krm_windows.emit import timetables
from krm_windows.krm import InputError, KubeObject


def claims(files: Mapping[str, bytes]) -> Iterator[Claim]:
    """Yield what the rendered files of one directory claim, by their paths.

    A timetable says all of it; with the actuator `Kubectl` there is none, and `check --repo` sees
    what is claimed. Raises InputError for what is no YAML.
    """
    for path, content in files.items():
        # In the layout `overlays` a timetable is in a patch, a text within the kustomization.
        for manifest in timetables.manifests(content):
            try:
                read = timetables.read(KubeObject.parse(manifest))
            except InputError as error:
                raise error.in_file(path) from error
            if read is not None:
                yield Claim.of(read, path)
