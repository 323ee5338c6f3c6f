"""The difference of two objects as a patch.

That kustomize makes the same of it is proven with kustomize.
"""

import pytest

from krm_windows.render.patch import difference


def pod(*containers: dict[str, object], **fields: object) -> dict[str, object]:
    return {"spec": {"containers": list(containers), **fields}}


GATE = {
    "name": "gate",
    "image": "a",
    "args": ["x", "y"],
    "volumeMounts": [{"name": "gate", "mountPath": "/gate"}],
}


@pytest.mark.parametrize(
    ("base", "wanted", "patch"),
    [
        ({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"c": 2}}, {}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 3, "c": 2}}, {"a": {"b": 3}}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}, "d": 4}, {"a": {"c": None}, "d": 4}),
        ({"rules": [{"verbs": ["get"]}]}, {"rules": []}, {"rules": []}),
        (
            pod(GATE),
            pod({**GATE, "image": "b"}),
            {"spec": {"containers": [{"name": "gate", "image": "b"}]}},
        ),
        (
            pod(GATE),
            pod({**GATE, "args": ["x"]}),
            {"spec": {"containers": [{"name": "gate", "args": ["x"]}]}},
        ),
    ],
)
def test_a_patch_says_what_changes(
    base: dict[str, object], wanted: dict[str, object], patch: dict[str, object]
) -> None:
    assert difference(base, wanted) == patch


@pytest.mark.parametrize(
    "wanted",
    [
        pod({**GATE, "name": "other"}),
        pod(GATE, GATE | {"name": "second"}),
        pod({**GATE, "volumeMounts": []}),
        pod(GATE, imagePullSecrets=[{"name": "b"}]),
    ],
)
def test_what_would_merge_is_replaced_as_a_whole(wanted: dict[str, object]) -> None:
    """Kubernetes merges such lists by a key, so an entry that went would stay."""
    base = pod(GATE, imagePullSecrets=[{"name": "a"}])
    replaced = {"$patch": "replace", **wanted["spec"]}  # type: ignore[dict-item]
    assert difference(base, wanted) == {"spec": replaced}
