"""ResourceSets: what the operator makes of static inputs is known.

What it takes from the cluster is said.
"""

import json

import pytest
from flux_texts import Followed, config_map, kustomization, policy

from krm_windows.flux import Survey

NORTH = "clusters/north/flux.yaml"
SET = """\
apiVersion: fluxcd.controlplane.io/v1
kind: ResourceSet
metadata: {{name: apps, namespace: flux-system}}
spec:
  {inputs}
  resources:
    - apiVersion: v1
      kind: Namespace
      metadata: {{name: << inputs.tenant >>}}
    - apiVersion: kustomize.toolkit.fluxcd.io/v1
      kind: Kustomization
      metadata: {{name: "apps-<< inputs.tenant >>", namespace: flux-system}}
      spec:
        path: "./tenants/<< inputs.tenant >>"
        suspend: << inputs.closed >>
        sourceRef: {{kind: GitRepository, name: flux-system}}
---
"""
TWO = "inputs: [{tenant: blue, closed: false}, {tenant: red, closed: true}]"
TENANTS = {f"tenants/{name}/a.yaml": config_map(name) for name in ("blue", "red")}


def met(found: Survey) -> list[str]:
    """Return the Kustomizations of the one cluster."""
    return [key.partition("/")[2] for key in found.clusters[0].kustomizations]


def test_static_inputs_make_an_object_each(follow: Followed) -> None:
    """A Kustomization among them is followed, and each is where the set does."""
    found = follow({NORTH: SET.format(inputs=TWO), **TENANTS})
    assert met(found) == ["flux-system", "apps-blue", "apps-red"]
    assert found.clusters[0].complete
    assert not found.notices
    red = found.clusters[0].objects[
        "kustomize.toolkit.fluxcd.io", "Kustomization", "flux-system", "apps-red"
    ][1]
    assert red.get("spec", "suspend") is True
    assert red.made_by is not None
    assert red.made_by.file == NORTH


@pytest.mark.parametrize(
    ("text", "said", "made"),
    [
        (SET.format(inputs="inputsFrom: [{name: pulls}]"), "inputsFrom", []),
        (
            SET.format(inputs=f"{TWO}\n  inputsFrom: [{{name: pulls}}]"),
            "inputsFrom",
            ["apps-blue", "apps-red"],
        ),
        (SET.format(inputs=f"{TWO}\n  inputStrategy: {{name: Permute}}"), "inputStrategy", []),
        (SET.format(inputs="inputs: [{tenant: blue}]"), "more than the name", []),
        (
            SET.format(inputs=TWO).replace("inputs.closed", "if inputs.closed"),
            "more than the name",
            [],
        ),
        (
            SET.format(inputs=TWO).replace("inputs.closed", "inputs.closed | upper"),
            "more than the name",
            [],
        ),
        (SET.format(inputs="{}").replace("  {}\n", ""), "more than the name", []),
    ],
)
def test_what_only_the_cluster_knows_leaves_it_incomplete(
    text: str, said: str, made: list[str], follow: Followed
) -> None:
    """So a target that may be among it is unseen, and never said to be missing."""
    found = follow({NORTH: text, "windows/p.yaml": policy("[apps-green]"), **TENANTS})
    assert met(found) == ["flux-system", *made]
    assert not found.clusters[0].complete
    assert {notice.rule.id for notice in found.notices} == {"not-followed"}
    assert said in found.notices[0].message


@pytest.mark.parametrize("field", ["resourcesTemplate: '---'", "steps: [{name: a}]"])
def test_what_else_a_set_makes_is_said_not_to_be_followed(field: str, follow: Followed) -> None:
    """What its plain resources make is known all the same."""
    found = follow({NORTH: SET.format(inputs=f"{TWO}\n  {field}"), **TENANTS})
    assert met(found) == ["flux-system", "apps-blue", "apps-red"]
    assert not found.clusters[0].complete
    assert "is not followed" in found.notices[0].message


def test_an_object_may_be_switched_off_and_of_two_of_a_name_the_first_counts(
    follow: Followed,
) -> None:
    """As the operator has it."""
    text = """\
apiVersion: fluxcd.controlplane.io/v1
kind: ResourceSet
metadata: {name: apps, namespace: flux-system}
spec:
  inputs: [{team: {name: blue}}, {team: {name: blue}}]
  resources:
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: << inputs.team.name | quote >>, namespace: shop}
  - apiVersion: v1
    kind: ConfigMap
    metadata:
      name: left
      namespace: shop
      annotations: {fluxcd.controlplane.io/reconcile: disabled}
"""
    (north,) = follow({NORTH: text}).clusters
    assert [str(item) for item in north.first.objects if item.made_by] == ["ConfigMap shop/blue"]


@pytest.mark.parametrize(
    ("template", "note", "meant"),
    [
        ("<< inputs.note | quote >>", "1.0", "1.0"),
        ("<< inputs.note >>", 'say "hi"', 'say "hi"'),
        ("<<inputs.note>> a\\b", "a\\b", "a\\b a\\b"),
        ('"<< inputs.note >>"', "blue", '"blue"'),
        ("a << inputs.note >> b", 3, "a 3 b"),
        ("<< inputs.note >>", True, True),
        # Neither is worked out.
        ("a << inputs.note | quote >>", "a", None),
        ("<< inputs.note >>", "<< inputs.note >>", None),
    ],
)
def test_what_an_input_means(follow: Followed, template: str, note: object, meant: object) -> None:
    """With its own quotes and backslashes; quotes of the template itself are text."""
    spec = {
        "inputs": [{"note": note}],
        "resources": [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "a", "namespace": "shop"},
                "data": {"note": template, "<< inputs.note >>": "key"},
            }
        ],
    }
    text = (
        "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\n"
        f"metadata: {{name: apps, namespace: flux-system}}\nspec: {json.dumps(spec)}\n"
    )
    (north,) = follow({NORTH: text}).clusters
    made = [item.get("data", "note") for item in north.first.objects if item.made_by]
    assert made == ([] if meant is None else [meant])
    assert north.complete is (meant is not None)


def test_a_set_without_inputs_makes_what_it_says(follow: Followed) -> None:
    """Once."""
    text = SET.format(inputs="dependsOn: []")
    for name, plain in (("<< inputs.tenant >>", "blue"), ("<< inputs.closed >>", "false")):
        text = text.replace(name, plain)
    found = follow({NORTH: text + kustomization("other", path="./tenants/red"), **TENANTS})
    assert met(found) == ["flux-system", "other", "apps-blue"]


def test_variables_are_put_in_before_inputs_are(follow: Followed) -> None:
    """The set is applied by a Kustomization that replaces them (d2-fleet)."""
    flux = kustomization("sets", "  postBuild: {substitute: {TENANT: blue}}\n")
    text = SET.format(inputs="inputs: [{tenant: '${TENANT}', closed: false}]")
    assert met(follow({NORTH: flux, "sets/s.yaml": text, **TENANTS})) == [
        "flux-system",
        "sets",
        "apps-blue",
    ]


def test_a_few_lines_that_come_to_too_much_are_said(follow: Followed) -> None:
    """Nothing of them is made."""
    large = "x" * 50_000
    text = SET.format(inputs=f"inputs: [{{tenant: blue, closed: false, large: {large}}}]")
    text = text.replace(
        "    - apiVersion: v1\n",
        "    - apiVersion: v1\n      data: [" + "<< inputs.large >>, " * 100 + "]\n",
    )
    found = follow({NORTH: text, **TENANTS})
    assert met(found) == ["flux-system"]
    assert "more than 4000000 characters" in found.notices[0].message
