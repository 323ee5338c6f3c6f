"""What a source leaves out, by the cases of fluxcd/pkg/sourceignore/gitignore/pattern_test.go."""

from pathlib import Path

import pytest
from flux_texts import lay

from krm_windows.flux.artifact_files import FILE, Artifact, ArtifactFiles
from krm_windows.flux.model import Object
from krm_windows.krm import KubeObject
from krm_windows.system.checkout import Checkout


def source(spec: dict[str, object]) -> Object:
    text = {"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository"}
    metadata: dict[str, object] = {"name": "a", "namespace": "b"}
    return Object.of(KubeObject.from_value({**text, "metadata": metadata, "spec": spec}))


@pytest.mark.parametrize(
    ("ignore", "path", "left_out"),
    [
        ("vul?ano", "value/vulkano/tail", True),
        ("value/", "value/tail", True),
        ("value/", "head/value", False),
        ("val", "head/value/tail", False),
        ("v[ou]l[kc]ano", "value/volcano", True),
        ("v[^o]lcano", "value/volcano", False),
        (r"\*.yaml", "a.yaml", False),
        (r"\*.yaml", "*.yaml", True),
        ("/value/vul?ano", "value/vulkano/tail", True),
        ("/value/volcano", "value/value/volcano", False),
        ("**/*lue/vol?ano", "head/value/volcano/tail", True),
        ("**/*lue/vol?ano/", "head/value/volcano", False),
        ("**/*lue/vol?ano/", "head/value/volcano/tail", True),
        ("/*lue/vol?ano/**", "value/volcano/tail/moretail", True),
        ("/*lue/**/vol?ano", "value/middle1/middle2/volcano", True),
        ("/*lue/**/vol?ano/", "value/middle1/middle2/volcano", False),
        ("/a**/b", "a/b", False),
        ("/a/b  ", "a/b", True),
        ("# a\n\na", "a", True),
        ("#a", "#a", False),
        # What is in a directory that is left out may be taken in again; the last one decides.
        ("/*\n!/a", "a/b", False),
        ("/*\n!/a", "b/a", True),
        ("!/a\n/*", "a/b", True),
    ],
)
def test_a_pattern(ignore: str, path: str, *, left_out: bool, tmp_path: Path) -> None:
    of_spec = ArtifactFiles(Checkout.at(tmp_path), Artifact.of(".", source({"ignore": ignore})))
    assert of_spec.leaves_out(path) == left_out
    (tmp_path / FILE).write_text(ignore)
    of_file = ArtifactFiles(Checkout.at(tmp_path), Artifact.of(".", None))
    assert of_file.leaves_out(path) == left_out


@pytest.mark.parametrize(
    ("path", "left_out"),
    [
        ("deploy/a/x.yaml", True),
        ("deploy/b/x.yaml", False),
        ("deploy/b/y.yaml", True),
        # `spec.ignore` comes last.
        ("deploy/a/kept.yaml", False),
        # The top of the repository is not in the artifact.
        ("deploy/z.yaml", False),
        ("elsewhere/y.yaml", False),
    ],
)
def test_files_in_directories_of_a_source(path: str, *, left_out: bool, tmp_path: Path) -> None:
    lay(
        tmp_path,
        {FILE: "z.yaml", f"deploy/{FILE}": "y.yaml", f"deploy/a/{FILE}": "/x.yaml\nkept.yaml"},
    )
    files = ArtifactFiles(
        Checkout.at(tmp_path), Artifact.of("deploy", source({"ignore": "!kept.yaml"}))
    )
    assert files.leaves_out(path) == left_out


@pytest.mark.parametrize(
    ("path", "left_out"), [("a/x", False), ("b/c/x", False), ("b/x", True), ("ab/x", True)]
)
def test_a_sparse_checkout(path: str, *, left_out: bool, tmp_path: Path) -> None:
    files = ArtifactFiles(
        Checkout.at(tmp_path), Artifact.of(".", source({"sparseCheckout": ["a", "./b/c/"]}))
    )
    assert files.leaves_out(path) == left_out
