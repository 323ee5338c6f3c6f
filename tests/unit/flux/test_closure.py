"""A build is given every file that it reads, and nothing that lies outside or is fetched."""

import pytest
from flux_texts import Write, config_map, policy

from krm_windows.flux.artifact_files import Artifact, ArtifactFiles
from krm_windows.flux.closure import close

BASE = {"base/kustomization.yaml": "resources: [a.yaml]\n", "base/a.yaml": config_map("a")}


def test_a_plain_directory_gets_the_kustomization_that_flux_generates(write: Write) -> None:
    files = {
        "one.yaml": config_map("a"),
        "deep/two.yml": config_map("b"),
        "notes.md": "",
        ".sops.yaml": "a: b",
    }
    tree = write({f"apps/{path}": text for path, text in files.items()} | BASE_IN_APPS)
    closure = close(ArtifactFiles(tree, Artifact()).checkout, "apps", {})
    assert closure.resources == ["apps/base/a.yaml", "apps/deep/two.yml", "apps/one.yaml"]
    assert not closure.notices


BASE_IN_APPS = {f"apps/{path}": text for path, text in BASE.items()}


@pytest.mark.parametrize(
    "entry",
    [
        "https://example.com/a.yaml",
        "git@example.com:a/b",
        "github.com/a/b//c?ref=v1",
        "git::https://example.com/a",
        "file:///etc/kustomization",
    ],
)
@pytest.mark.parametrize("field", ["components", "bases"])
def test_what_is_remote_is_named_and_left_out(write: Write, field: str, entry: str) -> None:
    text = f"resources: [../base]\n{field}: ['{entry}']\n"
    closure = close(write(BASE | {"apps/kustomization.yaml": text}), "apps", {})
    assert [notice.line for notice in closure.notices] == [2]
    assert entry in closure.notices[0].message
    assert entry.encode() not in closure.files["apps/kustomization.yaml"]
    assert "base/a.yaml" in closure.files


@pytest.mark.parametrize("entry", ["../../outside", "/etc", "../outside"])
def test_what_leads_out_of_the_repository_is_named_and_left_out(write: Write, entry: str) -> None:
    tree = write(
        BASE
        | {"apps/kustomization.yaml": f"resources: [../base, '{entry}']\n", "outside": "-> /etc"}
    )
    closure = close(tree, "apps", {})
    assert ["leads out" in notice.message for notice in closure.notices] == [True]
    assert not any(path.startswith(("..", "/", "outside")) for path in closure.files)


def test_of_a_kustomization_the_first_document_counts(write: Write) -> None:
    """As kustomize builds it; an empty one it refuses."""
    second = "resources: [a.yaml]\n---\nresources: [missing.yaml]\n"
    closure = close(write(BASE | {"base/kustomization.yaml": second}), "base", {})
    assert closure.resources == ["base/a.yaml"]
    assert not closure.notices
    closure = close(write(BASE | {"base/kustomization.yaml": "# nothing\n"}), "base", {})
    assert ["is empty" in notice.message for notice in closure.notices] == [True]


def test_a_cycle_ends(write: Write) -> None:
    tree = write(
        {
            "a/kustomization.yaml": "resources: [../b]\n",
            "b/kustomization.yaml": "resources: [../a]\n",
        }
    )
    closure = close(tree, "a", {})
    assert sorted(closure.files) == ["a/kustomization.yaml", "b/kustomization.yaml"]
    assert not closure.plain


def test_files_of_generators_patches_and_plugins_are_taken_in(write: Write) -> None:
    text = """\
resources: [../base]
components: [part]
configMapGenerator: [{name: a, files: [one.txt, key=two.txt], envs: [three.env]}]
patches: [{path: patch.yaml}]
transformers: [replace.yaml]
"""
    files = {
        "kustomization.yaml": text,
        "part/kustomization.yaml": "kind: Component\npatches: [{path: inner.yaml}]\n",
        "part/inner.yaml": "a: b\n",
        "replace.yaml": (
            "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: a}\n"
            "path: deep/patch.yaml\n"
        ),
        "deep/patch.yaml": "a: b\n",
        **dict.fromkeys(("one.txt", "two.txt", "three.env", "patch.yaml"), "a: b\n"),
    }
    closure = close(
        write(BASE | {f"apps/{path}": text for path, text in files.items()}), "apps", {}
    )
    assert set(closure.files) == {*BASE, *(f"apps/{path}" for path in files)}
    assert not closure.plain


@pytest.mark.parametrize("inline", [True, False])
def test_a_policy_among_the_plugins_is_read_and_not_run(
    write: Write,
    inline: bool,  # noqa: FBT001
) -> None:
    entry = "\n  - |\n    " + policy().replace("\n", "\n    ") if inline else " [policy.yaml]"
    files = {
        "apps/kustomization.yaml": f"resources: [../base]\ntransformers:{entry}\n",
        "apps/policy.yaml": policy(),
    }
    closure = close(write(BASE | files), "apps", {})
    assert [item.name for _, item in closure.policies] == ["window"]
    assert closure.resources == ["base/a.yaml"]


def test_a_directory_of_plugins_with_a_policy_is_read_and_not_run(write: Write) -> None:
    files = {
        "apps/kustomization.yaml": "resources: [../base]\ntransformers: [../windows]\n",
        "windows/kustomization.yaml": "resources: [policy.yaml]\ntransformers: [../apps]\n",
        "windows/policy.yaml": policy(),
    }
    closure = close(write(BASE | files), "apps", {})
    assert closure.resources == ["base/a.yaml"]
    assert closure.changed == ["windows"]
    assert not closure.policies
    listed = {"windows/kustomization.yaml": "resources: [policy.yaml]\n"}
    closure = close(write(listed), "apps", {})
    assert [item.name for _, item in closure.policies] == ["window"]
    assert closure.run == {"windows/kustomization.yaml", "windows/policy.yaml"}


def test_a_file_that_is_broken_or_no_object_is_named_and_the_rest_stays(write: Write) -> None:
    files = {
        "apps/a.yaml": config_map("a"),
        "apps/b.yaml": "a: {\n\nb\n",
        "apps/values.yaml": "replicas: 3\n",
    }
    closure = close(write(files), "apps", {})
    assert closure.resources == ["apps/a.yaml"]
    assert [(notice.file, notice.rule.id) for notice in closure.notices] == [
        ("apps/b.yaml", "build-failed"),
        ("apps/values.yaml", "build-failed"),
    ]
