"""Which function is meant: chosen by `apiVersion` and `kind` of the functionConfig."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from krm_windows.function import change_classes, window_policy
from krm_windows.krm import ConfigurationError, KubeObject, ResourceList

Function: TypeAlias = Callable[[ResourceList, KubeObject], None]

API_VERSION = "krm-windows.dev/v1alpha1"
MODE = "krm-windows.dev/mode"
VALIDATE = "Validate"
# How each kind is run, and how under `Validate`.
KINDS: Mapping[str, tuple[Function, Function]] = {
    "WindowPolicy": (window_policy.transform, window_policy.validate),
    "ChangeClasses": (change_classes.transform, change_classes.validate),
}
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
    run, validate = KINDS[config.kind]
    # kustomize calls a function of `validators:` like one of `transformers:`, so the policy has to
    # say.
    if config.annotations.get(MODE) == VALIDATE:
        run = validate
    run(resources, config)
