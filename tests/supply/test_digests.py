"""An image by digest arrives in every Pod as it was written.

From the policy, as a default, and through kustomize.
"""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from calls import APPS, call, spec, wire

from krm_windows.policy.images import DEFAULTS, Image

DIGEST = "sha256:" + "0123456789abcdef" * 4
TYPES = {"Gate": "", "Kubectl": "actuator: {type: Kubectl}"}


def pods(text: str) -> Iterator[str]:
    """Yield the image of every container in a stream of objects."""
    for item in yaml.load_all(text, yaml.CSafeLoader):
        objects = item["items"] if item["kind"] == "ResourceList" else [item]
        for found in objects:
            template = (
                found.get("spec", {}).get("jobTemplate", found).get("spec", {}).get("template")
            )
            for container in template["spec"]["containers"] if template else ():
                yield container["image"]


def with_field(field: str) -> str:
    """Return what the function answers to a policy with a field more."""
    return call(wire(APPS, config=spec().rstrip("\n") + (f"\n  {field}\n" if field else "\n"))).out


@pytest.mark.parametrize(
    "name", ["python", "python:3.13-slim-trixie", "mirror.example:5000/a/python:3.13-slim-trixie"]
)
def test_a_policys_digest_is_what_every_pod_has(name: str) -> None:
    """With a tag beside it or without, from any registry."""
    image = f"{name}@{DIGEST}"
    assert set(pods(with_field(f'actuator: {{image: "{image}"}}'))) == {image}


@pytest.mark.parametrize("actuator", TYPES)
def test_a_default_is_named_by_its_digest_where_there_is_one(
    actuator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `make renew-images` writes it; without one by its tag."""
    image = DEFAULTS[actuator]
    monkeypatch.setitem(DEFAULTS, actuator, Image(image.tag, DIGEST))
    assert set(pods(with_field(TYPES[actuator]))) == {f"{image.tag}@{DIGEST}"}
    monkeypatch.setitem(DEFAULTS, actuator, Image(image.tag, ""))
    assert set(pods(with_field(TYPES[actuator]))) == {image.tag}


@pytest.mark.parametrize(
    "digest", ["sha256:0123", "sha512:" + "a" * 64, "sha256:" + "G" * 64, "latest", ""]
)
def test_what_is_no_digest_is_refused(digest: str) -> None:
    """Half of a digest pins nothing."""
    said = call(
        wire(APPS, config=spec().rstrip("\n") + f'\n  actuator: {{image: "python@{digest}"}}\n')
    ).err
    assert "(image-pinned)" in said


def test_a_mirror_set_by_kustomize_keeps_the_digest(
    tool: Callable[[str], Path], tmp_path: Path
) -> None:
    """`images` with `newName` changes where it is pulled from, and not what is pulled."""
    field = f'actuator: {{image: "docker.io/library/python:3.13-slim-trixie@{DIGEST}"}}'
    items = yaml.load(with_field(field), yaml.CSafeLoader)["items"]
    (tmp_path / "windows.yaml").write_text(yaml.dump_all(items, Dumper=yaml.CSafeDumper))
    mirror = "images: [{name: docker.io/library/python, newName: mirror.example:5000/python}]\n"
    (tmp_path / "kustomization.yaml").write_text(f"resources: [windows.yaml]\n{mirror}")
    for command in ([tool("kustomize"), "build"], [tool("kubectl"), "kustomize"]):
        built = subprocess.run(
            [*command, tmp_path], capture_output=True, text=True, check=True
        ).stdout
        assert set(pods(built)) == {f"mirror.example:5000/python:3.13-slim-trixie@{DIGEST}"}
