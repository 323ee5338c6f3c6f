"""Whether the file of a policy lies among what Flux applies.

So that the policy would be applied itself.
"""

import os
from pathlib import Path

from krm_windows import rules
from krm_windows.checks import local_config
from krm_windows.fleet.elsewhere import included
from krm_windows.inventory import about
from krm_windows.krm import KubeObject
from krm_windows.results import Result
from krm_windows.system.reading import KUSTOMIZATIONS

_GIT = ".git"
# `flux bootstrap` puts its own objects there, below the directory that it applies.
_BOOTSTRAPPED = "flux-system"


def check(config: KubeObject, file: str) -> list[Result]:
    """Return an error where a policy would be applied as an object; `file` is where it stands."""
    if not local_config.lacks(config) or not is_applied(Path(os.path.realpath(file))):
        return []
    return about(config, [rules.LOCAL_CONFIG.result(local_config.MESSAGE, path=local_config.PATH)])


def is_applied(file: Path) -> bool:
    """Whether a kustomization lists a file.

    Or Flux makes one of all that lies where it was bootstrapped. The nearest kustomization above
    decides. One that lists nothing else makes no objects: `transformers:` of another names it, so
    that patches can change the policy before it runs. What a Flux Kustomization elsewhere names by
    its path is seen by `check --repo` alone.
    """
    for folder in file.parents:
        listing = [folder / name for name in KUSTOMIZATIONS if (folder / name).is_file()]
        if listing:
            entries = [os.path.realpath(folder / entry) for entry in included(listing[0])]
            return str(file) in entries and len(entries) > 1
        if (folder / _BOOTSTRAPPED).is_dir():
            return True
        if (folder / _GIT).exists():
            break
    return False
