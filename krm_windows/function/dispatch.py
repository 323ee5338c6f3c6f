"""Which function is meant: told by `apiVersion` and `kind` of the functionConfig."""

from krm_windows.function import window_policy
from krm_windows.krm import ConfigurationError, ResourceList

API_VERSION = "krm-windows.dev/v1alpha1"
MODE = "krm-windows.dev/mode"
VALIDATE = "Validate"


def process(resources: ResourceList) -> None:
    """Run the function that the functionConfig asks for; raises ConfigurationError where it is none of ours."""
    config = resources.function_config
    if config is None:
        raise ConfigurationError(f"no functionConfig: expected a {API_VERSION} WindowPolicy")
    if (config.api_version, config.kind) != (API_VERSION, "WindowPolicy"):
        found = f"{config.api_version or '(no apiVersion)'} {config.kind or '(no kind)'}"
        raise ConfigurationError(f"functionConfig is {found}: expected a {API_VERSION} WindowPolicy")
    if config.annotations.get(MODE) == VALIDATE:
        window_policy.validate(resources, config)
    else:
        window_policy.transform(resources, config)
