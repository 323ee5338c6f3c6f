"""What is wrong with classes, in words: where it is, what must hold, what is known."""

import pytest

from krm_windows.classes.load import load
from krm_windows.krm import KubeObject

CLASSES = """
apiVersion: krm-windows.dev/v1alpha1
kind: ChangeClasses
spec: {classes: [{name: live}], default: live, rules: [{class: live, %s}]}
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kinds: [configmap]", "kinds[0]: must be a kind such as ConfigMap or Service.serving"),
        ("names: ['web?']", "names[0]: must be a name; * matches any characters, got"),
        ("name: [web]", 'name: unknown field; did you mean "names"?'),
        ("names: []", "names: must not be empty"),
    ],
)
def test_mistakes_are_reported_in_words(text: str, said: str) -> None:
    node = KubeObject.parse((CLASSES % text).encode()).node
    assert f"spec.rules[0].{said}" in "\n".join(map(str, load(node)[1]))
