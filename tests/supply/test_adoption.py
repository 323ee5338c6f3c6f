"""The files by which others take krm-windows up, read by what each of them is for."""

import json
import re
from pathlib import Path

import pytest
import yaml
from calls import APPS, POLICY

ROOT = Path(__file__).resolve().parents[2]

PRESET = json.loads((ROOT / "renovate/images.json").read_text())
DIGEST = f"sha256:{'1' * 64}"


# Renovate


def found(text: str) -> list[tuple[re.Match[str], str]]:
    """As with Renovate's `recursive`, a pattern looks at what the one before has found."""
    matches = []
    for manager in PRESET["customManagers"]:
        *outer, last = (one.replace("(?<", "(?P<") for one in manager["matchStrings"])
        parts = [text]
        for pattern in outer:
            parts = [match[0] for part in parts for match in re.finditer(pattern, part)]
        template = manager["autoReplaceStringTemplate"]
        for part in parts:
            matches += [(match, template) for match in re.finditer(last, part)]
    return matches


def replaced(text: str, value: str, digest: str) -> str:
    for match, template in found(text):
        new = template.replace("{{{depName}}}", match["depName"])
        new = new.replace("{{{newValue}}}", value).replace("{{{newDigest}}}", digest)
        text = text.replace(match[0], new.replace("{{#if newDigest}}", "").replace("{{/if}}", ""))
    return text


@pytest.mark.parametrize(
    "written",
    [
        "image: {}",
        'image: "{}"',
        "image: '{}'",
        "type: Gate\n    image: {}  # ours",
        "{{image: {}, imagePullPolicy: Always}}",
        '{{imagePullPolicy: Always, image: "{}"}}',
    ],
)
@pytest.mark.parametrize("name", ["python", "127.0.0.1:5000/a/b.c"])
@pytest.mark.parametrize("digest", ["", f"@{DIGEST}"])
def test_renovate_finds_an_image_and_writes_it_anew(written: str, name: str, digest: str) -> None:
    indented = written.format(f"{name}:3.13-slim{digest}")
    space = " " if indented.startswith("{") else "\n    "
    text = f"{POLICY}  actuator:{space}{indented}\n"
    [(match, _)] = found(text)
    assert match["depName"] == name
    assert match["currentValue"] == "3.13-slim"
    assert match["currentDigest"] == (digest[1:] or None)
    before, after = yaml.safe_load(text), yaml.safe_load(replaced(text, "3.14", "sha256:2"))
    assert before["spec"]["actuator"].pop("image") == f"{name}:3.13-slim{digest}"
    assert after["spec"]["actuator"].pop("image") == f"{name}:3.14@sha256:2"
    assert before == after


@pytest.mark.parametrize(
    "text",
    [
        APPS,
        "apiVersion: apps/v1\nkind: Deployment\nspec: {image: docker.io/library/python:3.13}\n",
        f"# kind: WindowPolicy\n{APPS}  image: docker.io/library/python:3.13\n",
    ],
    ids=["no image", "no policy", "a comment"],
)
def test_renovate_leaves_other_files_alone(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize("written", ["{{image: {}, a: 1}}", "\n    image: '{}'"])
@pytest.mark.parametrize(
    "image",
    [
        "docker.io/library/python",
        f"docker.io/library/python@{DIGEST}",
        # What is behind the colon is a port, and before it no name: asked for it, Renovate gives up
        # the whole repository.
        "registry.test:5000/python",
        "python:${TAG}",
        "python:3.13@sha256:cut",
    ],
)
def test_renovate_leaves_an_image_without_a_tag_alone(image: str, written: str) -> None:
    """There is nothing to be renewed, and nothing in it may be taken for a tag."""
    text = f"{POLICY}  actuator: {written.format(image)}\n"
    if "$" not in image:
        assert yaml.safe_load(text)["spec"]["actuator"]["image"] == image
    assert found(text) == []


def test_renovate_leaves_what_is_rendered_alone() -> None:
    """It would go with the next `render`; the policy is where the image is named."""
    rendered = list((ROOT / "tests/fixtures").glob("*/expected.yaml"))
    assert len(rendered) > 20
    for path in rendered:
        text = path.read_text()
        # A policy that has no annotation local-config is an item of its own.
        assert "kind: WindowPolicy\n" in text or found(text) == []


# The catalogue of kpt


def test_the_entry_of_the_catalogue_is_whole() -> None:
    folder = ROOT / "function-config"
    entry = yaml.safe_load((folder / "metadata.yaml").read_text())
    demanded = {"image", "description", "tags", "sourceURL", "examplePackageURLs", "license"}
    assert demanded <= entry.keys()
    assert set(entry["tags"]) <= {"mutator", "validator", "generator"}
    examples = [
        url.removeprefix(f"{entry['sourceURL']}/tree/main/") for url in entry["examplePackageURLs"]
    ]
    assert examples
    for example in examples:
        assert (ROOT / example / "Kptfile").is_file()
    page = (folder / "README.md").read_text()
    assert f"image: {entry['image']}\n" in page
    # kpt's catalogue takes a function's help from between these marks, each of which is closed.
    marks = re.findall(r"^<!--mdtogo(:\w+)?-->$", page, re.MULTILINE)
    assert marks == [":Short", "", ":Long", "", ":Examples", ""]
