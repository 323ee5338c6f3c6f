"""The images that Jobs run on.

One named by its tag alone is what the registry says on the day that a node pulls it.
"""

from collections.abc import Iterator

from krm_windows import rules
from krm_windows.plan.model import Plan
from krm_windows.policy.images import DEFAULTS
from krm_windows.results import Result


def unpinned(plan: Plan) -> Iterator[Result]:
    """Yield each image that the policy names without a digest.

    That of a default is ours to pin (`policy.images`).
    """
    hooks = plan.hooks.each() if plan.hooks else ()
    named = {f"spec.hooks.{name}.image": hook.image for name, hook in hooks}
    if plan.actuator.runs_on not in {image.reference for image in DEFAULTS.values()}:
        named["spec.actuator.image"] = plan.actuator.runs_on
    for path, image in named.items():
        # A digest follows an at sign: `image@sha256:…`.
        if "@" not in image:
            message = (
                f"{image} is a tag, which anyone with push access to the registry can move to "
                f"another image; add the digest: {image}@sha256:…"
            )
            yield rules.IMAGE_TAG.result(message, path=path, current=image)
