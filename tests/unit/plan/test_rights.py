"""Rights read back from the rules of a Role."""

import pytest
from gated_targets import kustomization

from krm_windows.plan.rights import granted

APPS = kustomization()


def test_the_names_of_a_rule_are_targets() -> None:
    rules = [
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]},
        {
            "apiGroups": [APPS.group],
            "resources": [APPS.resource],
            "resourceNames": [APPS.name],
            "verbs": ["get", "patch"],
        },
        # What is only read, with `onlyIf: Pending`.
        {
            "apiGroups": ["source.toolkit.fluxcd.io"],
            "resources": ["gitrepositories"],
            "resourceNames": ["fleet"],
            "verbs": ["get"],
        },
    ]
    assert list(granted(rules, APPS.namespace)) == [APPS]


@pytest.mark.parametrize(
    "rules",
    [
        None,
        "all",
        ["all"],
        [{}],
        [{"apiGroups": [APPS.group], "resources": [], "resourceNames": ["apps"]}],
        [{"apiGroups": APPS.group, "resources": APPS.resource, "resourceNames": "apps"}],
        [{"apiGroups": ["apps"], "resources": ["deployments"], "resourceNames": ["web"]}],
    ],
)
def test_what_is_no_rule_of_ours_names_nothing(rules: object) -> None:
    assert list(granted(rules, APPS.namespace)) == []
