"""Where in a policy's file a finding is: for those that a person looks for in the file at once."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from krm_windows import rules
from krm_windows.checks import report
from krm_windows.inventory import ref_of
from krm_windows.krm import KubeObject
from krm_windows.results import Result

_LOCATED = frozenset({rules.CLUSTER_NULL.id, rules.LOCAL_CONFIG.id})


def located(results: Iterable[Result], policies: Mapping[str, KubeObject]) -> list[Result]:
    """Return results about one of the policies with file and line added, by file."""
    # A result has no object, only its reference; as text that is a key for both.
    known = {str(ref_of(config)): (file, config) for file, config in policies.items()}
    return [_located(result, known.get(str(result.resource_ref))) for result in results]


def _located(result: Result, policy: tuple[str, KubeObject] | None) -> Result:
    # A result that names a file already needs no second one.
    if policy is None or result.tags.get("rule") not in _LOCATED or result.file is not None:
        return result
    file, config = policy
    line = report.line(config, result.path)
    return replace(result, message=f"{result.message} ({file}:{line})")
