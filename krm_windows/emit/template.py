"""Emitted objects as a reader of Kubernetes knows them: YAML, in which a text `$name` is filled in.

What is filled in is data, not text, so nothing in it can be taken for YAML.
"""

from typing import Any

import yaml


def read(text: str) -> Any:  # noqa: ANN401 - as YAML has it
    """Read a template, when its module is loaded."""
    return yaml.load(text, yaml.CSafeLoader)


def fill(template: dict[str, Any], /, **values: object) -> dict[str, Any]:
    """Return what a template says with these values; a field whose value is None is left out.

    Raises KeyError for a name without a value.
    """
    found: dict[str, Any] = _filled(template, values)
    return found


def _filled(template: Any, values: dict[str, object]) -> Any:  # noqa: ANN401 - as YAML has it
    if isinstance(template, dict):
        filled = {key: _filled(each, values) for key, each in template.items()}
        return {key: each for key, each in filled.items() if each is not None}
    if isinstance(template, list):
        return [_filled(each, values) for each in template]
    if isinstance(template, str) and template.startswith("$"):
        return values[template[1:]]
    return template
