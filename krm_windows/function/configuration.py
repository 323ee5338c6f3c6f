"""What holds for the functionConfig of every kind."""

from krm_windows import inventory, rules
from krm_windows.inventory import about
from krm_windows.krm import KubeObject
from krm_windows.results import Result

CONFIG_PATH = "config.kubernetes.io/path"


def narrowed(config: KubeObject) -> list[Result]:
    """Warn of a path that kustomize gives.

    It hands an exec function only the items below that path.
    """
    annotations = config.annotations
    # An orchestrator that read the configuration from a file sets both annotations; the first one
    # alone was written by a person.
    if CONFIG_PATH not in annotations or inventory.PATH in annotations:
        return []
    found = rules.CONFIG_PATH.result(
        "limits the resources that kustomize passes to the function to the files below it; "
        "remove the annotation",
        path=f"metadata.annotations.{CONFIG_PATH}",
        current=annotations[CONFIG_PATH],
    )
    return about(config, [found])
