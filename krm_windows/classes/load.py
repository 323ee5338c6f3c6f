"""Text to model: ChangeClasses read from nodes.

Everything that is wrong is said in the user's words.
"""

from krm_windows.classes.model import KIND, ChangeClasses
from krm_windows.krm.nodes import Mapping as Node
from krm_windows.policy import document
from krm_windows.policy.findings import RefusedError
from krm_windows.policy.model import API_VERSION
from krm_windows.results import File, Result, sort


def load(node: Node, *, file: File | None = None) -> tuple[ChangeClasses | None, list[Result]]:
    """Read the object, None where it is wrong, and all findings.

    Raises nothing, whatever the document holds.
    """
    # Null is absent, as in a policy.
    tree = document.present(document.read(node))
    found = list(document.doubled(node))
    classes = None
    try:
        classes = ChangeClasses.read(tree)
    except RefusedError as refused:
        found += refused.findings
    ref = document.ref(tree, API_VERSION, KIND)
    results = sort(finding.result(finding.path, ref, file) for finding in found)
    if found:
        return None, results
    return classes, results
