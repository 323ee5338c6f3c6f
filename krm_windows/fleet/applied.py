"""Whether the file of a policy is among what Flux applies, so that it would be applied itself."""

import os
from collections.abc import Iterator
from pathlib import Path

from krm_windows import rules
from krm_windows.checks import local_config
from krm_windows.flux.fields import bases, read
from krm_windows.flux.sources import NAME
from krm_windows.inventory import about
from krm_windows.krm import KubeObject
from krm_windows.results import Result
from krm_windows.system.reading import KUSTOMIZATIONS
from krm_windows.system.tops import is_top


def check(config: KubeObject, file: str) -> list[Result]:
    """Return an error where a policy would be applied as an object; `file` is where it is."""
    if not local_config.lacks(config):
        return []
    # Without links, as the kustomizations around it are looked for by their real places.
    if not is_applied(Path(os.path.realpath(file))):
        return []
    wrong = rules.LOCAL_CONFIG.result(local_config.MESSAGE, path=local_config.PATH)
    return about(config, [wrong])


def is_applied(file: Path) -> bool:
    """Whether a kustomization lists a file, or Flux makes one that does.

    Flux makes one of all that is where it was bootstrapped. The nearest kustomization above
    decides. One that lists nothing else makes no objects: `transformers:` of another names it, so
    that patches can change the policy before it runs. What a Flux Kustomization elsewhere names by
    its path is seen by `check --repo` alone.
    """
    # From the file's own directory up to the root of the repository.
    for folder in file.parents:
        for name in KUSTOMIZATIONS:
            if (folder / name).is_file():
                return _lists(folder / name, file)
        # `flux bootstrap` puts its own objects there, below the directory that it applies.
        if (folder / NAME).is_dir():
            return True
        if is_top(folder):
            return False
    return False


def _lists(kustomization: Path, file: Path) -> bool:
    """Whether a kustomization lists a file, and something beside it."""
    folder = kustomization.parent
    entries = [os.path.realpath(folder / entry) for entry in _included(kustomization)]
    # Alone in its kustomization, the policy is meant as a plugin of another one.
    return str(file) in entries and len(entries) > 1


def _included(file: Path) -> Iterator[str]:
    """Yield what a kustomization has of this machine's files.

    Of one that cannot be read there is nothing.
    """
    try:
        content = file.read_bytes()
    except OSError:
        return
    for entry in bases(read(content)):
        # `://` is an address; a path with a zero byte makes the operating system raise.
        if "://" not in entry and "\0" not in entry:
            yield entry
