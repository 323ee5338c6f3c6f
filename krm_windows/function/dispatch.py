"""Which function is meant: chosen by `apiVersion` and `kind` of the functionConfig."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TypeAlias

from krm_windows.krm import ConfigurationError, KubeObject, ResourceList

Function: TypeAlias = Callable[[ResourceList, KubeObject], None]

API_VERSION = "krm-windows.dev/v1alpha1"
MODE = "krm-windows.dev/mode"
VALIDATE = "Validate"
KINDS: Mapping[str, str] = {
    "WindowPolicy": "krm_windows.function.window_policy",
    "ChangeClasses": "krm_windows.function.change_classes",
}
"""The module of each kind: its `transform` runs the function, its `validate` under `Validate`."""
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
    module = import_module(KINDS[config.kind])
    # kustomize calls a function of `validators:` like one of `transformers:`, so the policy has to
    # say.
    validates = config.annotations.get(MODE) == VALIDATE
    run: Function = module.validate if validates else module.transform
    run(resources, config)
