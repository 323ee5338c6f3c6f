"""Which function is meant: chosen by `apiVersion` and `kind` of the functionConfig."""

from collections.abc import Callable
from typing import TypeAlias

from krm_windows.krm import ConfigurationError, KubeObject, ResourceList

Function: TypeAlias = Callable[[ResourceList, KubeObject], None]

# Written out here, so that a wrong functionConfig is refused before any model is loaded.
API_VERSION = "krm-windows.dev/v1alpha1"
MODE = "krm-windows.dev/mode"
VALIDATE = "Validate"
KINDS = ("WindowPolicy", "ChangeClasses")
EXPECTED = f"expected a {API_VERSION} {' or '.join(KINDS)}"


def process(resources: ResourceList) -> None:
    """Run the function that the functionConfig asks for.

    Raises ConfigurationError where it is none of ours.
    """
    config = resources.function_config
    if config is None:
        raise ConfigurationError(f"no functionConfig: {EXPECTED}")
    # A kind is identified by group and kind together: another group may have a WindowPolicy.
    if config.api_version != API_VERSION or config.kind not in KINDS:
        found = f"{config.api_version or '(no apiVersion)'} {config.kind or '(no kind)'}"
        raise ConfigurationError(f"functionConfig is {found}: {EXPECTED}")
    run, validate = _functions(config.kind)
    # kustomize calls a function of `validators:` like one of `transformers:`, so the policy has to
    # say.
    if config.annotations.get(MODE) == VALIDATE:
        run = validate
    run(resources, config)


def _functions(kind: str) -> tuple[Function, Function]:
    """Return how a kind is run, and how under `Validate`.

    Each is imported where it is asked for.
    """
    if kind == "ChangeClasses":
        # Most runs are of the other kind.
        from krm_windows.function import change_classes  # noqa: PLC0415

        return change_classes.transform, change_classes.validate
    from krm_windows.function import window_policy  # noqa: PLC0415 - likewise

    return window_policy.transform, window_policy.validate
