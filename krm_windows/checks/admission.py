"""What it means that a policy does without admission policies."""

from collections.abc import Iterator

from krm_windows import rules
from krm_windows.plan.model import Plan
from krm_windows.results import Result

RISK = (
    "anyone who obtains its token can change a Kustomization's path, source or "
    "`serviceAccountName`, which amounts to cluster-admin unless kustomize-controller enforces "
    "a service account for tenants"
)
NARROW = (
    "remove `admissionPolicy: Disabled`, or start kustomize-controller with "
    "`--default-service-account` and `--no-cross-namespace-refs`"
)


def unlimited(plan: Plan) -> Iterator[Result]:
    """Yield a warning where nothing but RBAC holds the gate's account."""
    # RBAC knows objects and no fields: the right to suspend is the right to change all else.
    if not plan.admission:
        message = f"the gate's account may patch every field of its targets: {RISK}; {NARROW}"
        yield rules.ADMISSION_DISABLED.result(
            message, path="spec.admissionPolicy", current="Disabled"
        )
