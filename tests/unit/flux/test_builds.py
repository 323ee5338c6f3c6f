"""What is built is what kustomize builds, once, from nothing but the files that it was given."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from flux_texts import Write, config_map, policy

from krm_windows.flux.builds import Build, Builds, Request
from krm_windows.flux.locations import Locator
from krm_windows.system import programs
from krm_windows.system.cache import Cache
from krm_windows.system.checkout import Checkout
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.kustomize import Builder, BuildError, Inputs, reason

PLAIN = {
    "plain": {"apps/a.yaml": config_map("a") + config_map("b"), "apps/deep/c.yml": config_map("c")},
    "empty fields": {
        "apps/kustomization.yaml": "resources: [a.yaml]\nnamespace: null\nkind: ''\n",
        "apps/a.yaml": config_map("a"),
    },
    "local": {
        "apps/a.yaml": config_map("a")
        + (
            "apiVersion: v1\nkind: A\nmetadata: {name: b, "
            "annotations: {config.kubernetes.io/local-config: 'true'}}\n"
        )
    },
    "linked": {
        "apps/kustomization.yaml": "resources: [link, link/deep, link/deep/c.yaml, one.yaml]\n",
        "apps/link": "-> ../base",
        "apps/one.yaml": "-> ../base/b.yaml",
        "base/b.yaml": config_map("b"),
        "base/deep/kustomization.yaml": "resources: [d.yaml]\n",
        "base/deep/c.yaml": config_map("c"),
        "base/deep/d.yaml": config_map("d"),
        "base/a.yaml": config_map(),
        "base/kustomization.yaml": "resources: [a.yaml]\n",
    },
}
NESTED = "{apiVersion: v1, kind: List, items: [%s]}"
ITEM = "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}}"
LISTS = {
    "block": "apiVersion: v1\nkind: List\nitems:\n- " + ITEM % "a" + "\n- " + ITEM % "b" + "\n",
    "quoted": "'apiVersion': v1\n\"kind\" : 'List'\nitems: [%s]\n" % (ITEM % "a"),
    "json": '{"apiVersion": "v1", "kind": "List", "items": [%s]}' % (ITEM % "a"),
    "nested": NESTED % f"{ITEM % 'a'}, {NESTED % (NESTED % (ITEM % 'b'))}",
    "beside others": f"{config_map('c')}{NESTED % (ITEM % 'a')}\n---\n{config_map('d')}",
    "anchors": (
        "apiVersion: v1\nkind: List\nitems:\n"
        "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: &d {x: y}}\n"
        "- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: *d}\n"
    ),
    "empty": f"{config_map('c')}---\n{NESTED % ''}\n",
    "none": "apiVersion: a.example/v1\nkind: AllowList\nmetadata: {name: a}\nspec: {}\n",
    "local": f"{config_map('c')}---\n"
    + NESTED
    % (
        "{apiVersion: v1, kind: A, metadata: {name: b, annotations: "
        "{config.kubernetes.io/local-config: 'true'}}}"
    ),
}
PLAIN |= {f"list: {name}": {"apps/a.yaml": text} for name, text in LISTS.items()}
OVERLAY = {
    "apps/kustomization.yaml": (
        "resources: [../base]\nnamePrefix: north-\nconfigMapGenerator: [{name: g}]\n"
    ),
    "base/kustomization.yaml": "resources: [a.yaml]\n",
    "base/a.yaml": config_map("z") + config_map("a"),
}


def built(tree: Checkout, builder: Builder | None, **changes: str | list[object]) -> Build:
    builds = Builds(tree, builder, 1)
    request = Request.of("apps", changes)  # type: ignore[arg-type]
    builds.build([request])
    return builds.done[request]


@pytest.mark.parametrize("name", PLAIN)
def test_files_put_together_are_what_kustomize_puts_together(
    name: str, write: Write, builder: Builder
) -> None:
    tree = write(PLAIN[name])
    ours, theirs = built(tree, None), built(tree, builder, labels=[{"pairs": {"a": "b"}}])
    assert ours.objects
    assert {item.identity for item in ours.objects} == {item.identity for item in theirs.objects}
    assert ours.notices == theirs.notices == ()


ODD = (
    "resources: {a: b}",
    "resources: [1]",
    "resources: [a.yaml",
    "resources: [null]",
    "resources: true",
    "resources: null",
    "kind: Kustomization",
    *(
        f"resources: [a.yaml]\n{field}"
        for field in (
            "components: {}",
            "configMapGenerator: {}",
            "generatorOptions: []",
            "metadata: {name: 1}",
            "metadata: {annotations: {a: 1}}",
            "kind: Foo",
            "apiVersion: v9",
        )
    ),
)


@pytest.mark.parametrize("text", ODD)
def test_what_kustomize_refuses_is_not_put_together(
    text: str, write: Write, builder: Builder
) -> None:
    """A field of another type is no empty one: Flux would fail, so that is said."""
    tree = write({"apps/kustomization.yaml": f"{text}\n", "apps/a.yaml": config_map("a")})
    found = built(tree, builder)
    assert [notice.rule.id for notice in found.notices] == ["build-failed"]
    assert not found.objects


def test_what_was_built_is_known_by_the_file_it_came_from(write: Write, builder: Builder) -> None:
    tree = write(OVERLAY)
    locator = Locator(tree)
    found = {item.name: locator.locate(item) for item in built(tree, builder).objects}
    assert {name.rpartition("-")[0] or name: where.file for name, where in found.items()} == {
        "north": "base/a.yaml",
        "north-g": "apps/kustomization.yaml",
    }
    documents = {name: where.document for name, where in found.items()}
    assert {name: document.name for name, document in documents.items() if document} == {
        "north-z": "z",
        "north-a": "a",
    }


def test_what_a_flux_kustomization_changes_is_put_into_the_build(
    write: Write, builder: Builder
) -> None:
    patch = {
        "target": {"name": "a"},
        "patch": "- op: replace\n  path: /metadata/name\n  value: patched\n",
    }
    found = built(
        write(PLAIN["plain"]), builder, namespace="other", patches=[patch], nameSuffix="-x"
    )
    assert not found.notices
    assert {item.namespace for item in found.objects} == {"other"}
    assert {"patched-x", "b-x"} <= {item.name for item in found.objects}


@pytest.mark.parametrize("name", ["kustomize", "kubectl"])
def test_either_program_does(
    name: str,
    write: Write,
    tool: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / name).symlink_to(tool(name))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    found = Builder.find()
    assert found
    assert {item.name for item in built(write(OVERLAY), found).objects} > {"north-a", "north-z"}


def test_without_either_what_is_plain_is_read_and_the_rest_named(write: Write) -> None:
    assert built(write(PLAIN["linked"]), None).complete
    found = built(write(OVERLAY), None)
    assert [notice.rule.id for notice in found.notices] == ["build-failed"]
    assert not found.complete


def test_what_was_built_is_kept_by_the_content_of_all_that_it_read(
    builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"a/kustomization.yaml": b"resources: [a.yaml]\n", "a/a.yaml": config_map("a").encode()}
    cached = Builder.find(Cache(tmp_path / "cache"))
    assert cached
    output = cached.build(Inputs("a", files))
    assert output == builder.build(Inputs("a", files))
    monkeypatch.setattr(programs, "run", _fails)
    assert cached.build(Inputs("a", dict(reversed(files.items())))) == output
    others = (
        Inputs("a", {**files, "a/a.yaml": config_map("b").encode()}),
        Inputs("a", {**files, "b.yaml": b""}),
        Inputs("a", files, {"b": "a"}),
    )
    for other in others:
        with pytest.raises(BuildError):
            cached.build(other)
    cached.version = "another"
    with pytest.raises(BuildError):
        cached.build(Inputs("a", files))


def _fails(*_: object, **__: object) -> None:
    raise WorkspaceError("it was started")


def test_an_error_says_where_in_the_repository_it_is(write: Write, builder: Builder) -> None:
    files = {
        "apps/kustomization.yaml": "resources: [../base]\n",
        "base/kustomization.yaml": "resources: [gone.yaml]\n",
    }
    (notice,) = built(write(files), builder).notices
    assert "/tmp" not in notice.message  # noqa: S108 - that is what must not be in it
    assert "gone.yaml" in notice.message


@pytest.mark.parametrize(
    ("field", "rule", "said"),
    [
        ("patches: [{path: 'https://a.test/a'}]", "not-followed", "https://a.test/a is remote"),
        ("secretGenerator: [{name: a, envs: [../.hidden/a]}]", "not-followed", "hidden directory"),
        ("patches: [{path: ../../outside}]", "not-followed", "leads out of the repository"),
        ("commonAnnotations: {a: /}\npatches: [{path: gone}]", "build-failed", "no such file"),
        ("helmCharts: [{name: a, repo: 'https://a.test'}]", "build-failed", "--enable-helm"),
    ],
)
def test_a_file_that_the_sandbox_refuses_is_named(
    field: str, rule: str, said: str, write: Write, builder: Builder
) -> None:
    files = {
        "apps/kustomization.yaml": f"resources: [a.yaml]\n{field}\n",
        "apps/a.yaml": config_map("a"),
        ".hidden/a": "a=b\n",
    }
    (notice,) = built(write(files), builder).notices
    assert notice.rule.id == rule
    assert said in notice.message


def test_a_file_twice_is_left_to_kustomize(write: Write, builder: Builder) -> None:
    (notice,) = built(
        write({"apps/a.yaml": config_map("a"), "apps/b.yaml": config_map("a")}), builder
    ).notices
    assert "may not add resource with an already registered id" in notice.message


REMOTE = "resources: [a.yaml, https://example.com/remote.yaml]\n"
PATCH = "patches: [{patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: gone}}'}]\n"


@pytest.mark.parametrize(
    ("kustomization", "manifest", "reported"),
    [
        (REMOTE + PATCH, config_map("a"), ("not-followed", "apps/kustomization.yaml")),
        (REMOTE + "namePrefix: x-\n", "kind: *app\n", ("build-failed", "apps/kustomization.yaml")),
    ],
)
def test_a_failure_is_remote_only_if_what_failed_is(
    kustomization: str, manifest: str, reported: tuple[str, str], write: Write, builder: Builder
) -> None:
    found = built(
        write({"apps/kustomization.yaml": kustomization, "apps/a.yaml": manifest}), builder
    )
    last = found.notices[-1]
    assert (last.rule.id, last.file) == reported


@pytest.mark.parametrize(
    ("said", "reported"),
    [
        ("Error: running 'git': exit status 128", "exit status 128"),
        ("", "failed without an error message, with 1"),
        # As kubectl prints several lines.
        ('run.go:72] "command failed" err=<\n\ttwo lines\n\t`: no patch\n >\n', "`: no patch"),
    ],
)
def test_what_is_said_last_is_the_reason(said: str, reported: str) -> None:
    assert reason(said, 1) == reported


def test_a_policy_of_a_directory_of_plugins_may_be_local_config(
    write: Write, builder: Builder
) -> None:
    local = policy().replace("metadata: {", "metadata: {annotations: {LOCAL: 'true'}, ")
    files = {
        "windows/policy.yaml": local.replace("LOCAL", "config.kubernetes.io/local-config"),
        "windows/kustomization.yaml": "resources: [policy.yaml]\n",
        "apps/a.yaml": config_map("a"),
        "apps/kustomization.yaml": "resources: [a.yaml]\ntransformers: [../windows]\n",
    }
    assert "local-config" in files["windows/policy.yaml"]
    [(file, _)] = built(write(files), builder).policies
    assert file == "windows/policy.yaml"


@pytest.mark.parametrize(
    ("one", "other"), [(Inputs(".", {"b": b""}, {"a": "b"}), Inputs(".", {"a": b"b", "b": b""}))]
)
def test_what_differs_has_another_name_in_the_cache(one: Inputs, other: Inputs) -> None:
    assert one.digest("v5") != other.digest("v5")
    assert one.digest("v5") == replace(one).digest("v5")
