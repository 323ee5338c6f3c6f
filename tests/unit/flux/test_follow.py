"""Flux Kustomizations are followed as Flux would, as far as they lead into the repository."""

import pytest
from flux_texts import Followed, config_map, kustomization, names

NORTH = "clusters/north/flux.yaml"
SOURCE = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {{name: {name}, namespace: flux-system}}
spec: {{url: "{url}"}}
---
"""
SYNC = SOURCE.format(name="flux-system", url="ssh://git@example.com/fleet.git") + kustomization(
    "flux-system", path="./clusters/north"
)


def test_a_cluster_leads_to_what_its_kustomizations_apply(follow: Followed) -> None:
    found = follow(
        {
            NORTH: SYNC + kustomization("apps"),
            "apps/a.yaml": kustomization("more"),
            "more/b.yaml": config_map(),
        }
    )
    (north,) = found.clusters
    assert [(each.key, each.parent) for each in north.kustomizations.values()] == [
        ("flux-system/flux-system", None),
        ("flux-system/apps", "flux-system/flux-system"),
        ("flux-system/more", "flux-system/apps"),
    ]
    assert names(north, "more") == {"ConfigMap shop/settings"}
    assert north.complete
    assert not found.notices


@pytest.mark.parametrize(
    ("path", "rule"),
    [("../outside", "build-failed"), ("./gone", "build-failed"), ("./out", "not-followed")],
)
def test_a_path_that_leads_nowhere_is_named_and_the_rest_followed(
    path: str, rule: str, follow: Followed
) -> None:
    text = kustomization("lost", path=path) + kustomization("apps")
    found = follow({NORTH: text, "apps/a.yaml": config_map(), "out": "-> /etc"})
    assert [(notice.rule.id, notice.about and notice.about.name) for notice in found.notices] == [
        (rule, "lost")
    ]
    assert names(found.clusters[0], "apps")


def test_variables_decide_paths_and_names(follow: Followed) -> None:
    variables = (
        '  postBuild: {substituteFrom: [{kind: ConfigMap, name: vars}], substitute: {TEAM: "a"}}\n'
    )
    brought = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vars, namespace: flux-system}\n"
        "data: {TEAM: b, ZONE: n}\n"
    )
    files = {
        NORTH: kustomization("apps", variables) + kustomization("config"),
        "apps/a.yaml": config_map("${TEAM}-${ZONE}")
        + kustomization("below", path="./below/${ZONE}"),
        "below/n/b.yaml": config_map("below"),
        "config/vars.yaml": brought,
    }
    (north,) = follow(files).clusters
    assert names(north, "apps") == {"ConfigMap shop/a-n", "Kustomization flux-system/below"}
    assert names(north, "below") == {"ConfigMap shop/below"}


_SUBSTITUTE = "kustomize.toolkit.fluxcd.io/substitute"


@pytest.mark.parametrize(
    ("metadata", "run"),
    [
        (f"annotations: {{{_SUBSTITUTE}: disabled}}", "echo ${TEAM}"),
        (f"labels: {{{_SUBSTITUTE}: disabled}}", "echo ${TEAM}"),
        (f"annotations:\n    {_SUBSTITUTE}:   disabled # as it has a script\n", "echo ${TEAM}"),
        (
            f"annotations: {{{_SUBSTITUTE}: enabled}}\n  labels: {{{_SUBSTITUTE}: disabled}}",
            "echo ${TEAM}",
        ),
        # Not the same words elsewhere in the object, nor another value.
        (f"annotations: {{note: '{_SUBSTITUTE}: disabled'}}", "echo a"),
        (f"annotations: {{{_SUBSTITUTE}: Disabled}}", "echo a"),
    ],
)
def test_an_object_can_forbid_substitution(follow: Followed, metadata: str, run: str) -> None:
    """By a label or an annotation, however YAML spells it (fluxcd/pkg/kustomize, varsub)."""
    text = f"""apiVersion: v1
kind: ConfigMap
metadata:
  name: script
  {metadata}
data: {{run: "echo ${{TEAM}}"}}
"""
    files = {
        NORTH: kustomization("apps", "  postBuild: {substitute: {TEAM: a}}\n"),
        "apps/a.yaml": text,
    }
    (north,) = follow(files).clusters
    found = north.kustomizations["flux-system/apps"].objects
    assert [item.get("data", "run") for item in found] == [run]


def test_what_only_the_cluster_knows_is_named(follow: Followed) -> None:
    variables = "  postBuild: {substituteFrom: [{kind: Secret, name: vars}]}\n"
    found = follow(
        {
            NORTH: kustomization("apps", variables),
            "apps/a.yaml": kustomization("b", path="./${ZONE}"),
        }
    )
    assert ["known only in the cluster" in notice.message for notice in found.notices] == [True]


def test_a_text_that_is_yaml_only_when_all_is_replaced_is_read(follow: Followed) -> None:
    """With the defaults of what only the cluster knows: the names in it count."""
    variables = (
        "  postBuild:\n    substituteFrom: [{kind: Secret, name: vars}]\n"
        "    substitute: {APP: shop, ADDED: '[{name: a}, {name: b}]'}\n"
    )
    nested = (
        "  postBuild:\n    substitute:\n"
        "      OWNER: ${OWNER:=${APP}}\n"
        "      ADDED: ${q:='}${ADDED}${q:='}\n"
    )
    below = kustomization('"${APP}-db"', nested, path="./db")
    found = follow({NORTH: kustomization("apps", variables), "apps/a.yaml": below})
    assert "Kustomization flux-system/shop-db" in names(found.clusters[0], "apps")


def test_components_sops_files_and_values_of_charts_are_what_they_are(follow: Followed) -> None:
    encrypted = (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: key, namespace: shop}\n"
        "sops: {version: 3.9.0}\n"
    )
    files = {
        NORTH: kustomization("apps", "  components: [../part]\n"),
        "apps/kustomization.yaml": (
            "resources: [secret.yaml]\nconfigMapGenerator: [{name: v, files: [values.yaml]}]\n"
            "generatorOptions: {disableNameSuffixHash: true}\n"
        ),
        "apps/secret.yaml": encrypted,
        "apps/values.yaml": "replicas: 3\n",
        "part/kustomization.yaml": (
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: a-\n"
        ),
    }
    found = follow(files)
    assert not found.notices
    assert names(found.clusters[0], "apps") == {"Secret shop/a-key", "ConfigMap a-v"}


GENERATOR = """\
apiVersion: source.extensions.fluxcd.io/v1beta1
kind: ArtifactGenerator
metadata: {{name: all, namespace: flux-system}}
spec:
  sources: [{{alias: fleet, kind: GitRepository, name: flux-system}}]
  artifacts: [{{name: apps, copy: [{copies}]}}]
---
"""


@pytest.mark.parametrize(
    ("copies", "path", "directory"),
    [
        ('{from: "@fleet/**", to: "@artifact/here"}', "./here/apps", "apps"),
        ('{from: "@fleet/deploy/**", to: "@artifact/"}', "./", "deploy"),
        ('{from: "@fleet/apps/", to: "@artifact/"}', "./", None),
        ('{from: "@fleet/apps/**", to: "@artifact/", exclude: ["*.yaml"]}', "./", None),
        (
            (
                '{from: "@fleet/apps/**", to: "@artifact/a"}, '
                '{from: "@fleet/more/**", to: "@artifact/a/b"}'
            ),
            "./a",
            None,
        ),
    ],
)
def test_a_path_of_an_artifact_is_what_was_copied_there(
    copies: str, path: str, directory: str | None, follow: Followed
) -> None:
    apps = kustomization("lost", path=path, source="apps").replace(
        "GitRepository", "ExternalArtifact"
    )
    files = {NORTH: SYNC + GENERATOR.format(copies=copies) + apps}
    if directory is not None:
        files[f"{directory}/a.yaml"] = config_map()
    found = follow(files)
    assert names(found.clusters[0], "lost") == (
        {"ConfigMap shop/settings"} if directory is not None else set()
    )
    assert found.clusters[0].complete is (directory is not None)


def test_a_generator_may_be_delivered_by_a_sibling(follow: Followed) -> None:
    apps = kustomization("apps", path="./apps", source="apps").replace(
        "GitRepository", "ExternalArtifact"
    )
    generator = GENERATOR.format(copies='{from: "@fleet/apps/**", to: "@artifact/apps"}')
    files = {
        NORTH: SYNC + apps + kustomization("later"),
        "later/g.yaml": generator,
        "apps/a.yaml": config_map(),
    }
    found = follow(files)
    assert names(found.clusters[0], "apps") == {"ConfigMap shop/settings"}
    assert not found.notices


def test_a_root_is_built_as_its_own_kustomization_changes_it(follow: Followed) -> None:
    patch = (
        "  patches:\n    - target: {kind: Kustomization, name: apps}\n"
        "      patch: |\n        - {op: replace, path: /spec/path, value: ./other}\n"
    )
    root = SYNC.replace("  prune: true\n", f"  prune: true\n{patch}")
    (north,) = follow({NORTH: root + kustomization("apps"), "other/a.yaml": config_map()}).clusters
    assert names(north, "apps") == {"ConfigMap shop/settings"}


@pytest.mark.parametrize("ignored", [True, False])
def test_components_that_are_not_there_may_be_ignored(
    ignored: bool,  # noqa: FBT001
    follow: Followed,
) -> None:
    """Where the Kustomization says so (Flux 2.7)."""
    spec = f"  components: [../gone, ../part]\n  ignoreMissingComponents: {str(ignored).lower()}\n"
    part = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: a-\n"
    files = {
        NORTH: kustomization("apps", spec),
        "apps/a.yaml": config_map(),
        "part/kustomization.yaml": part,
    }
    found = follow(files)
    assert names(found.clusters[0], "apps") == ({"ConfigMap shop/a-settings"} if ignored else set())
    assert bool(found.notices) is not ignored
