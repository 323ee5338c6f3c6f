"""The image, made from hashed packages only, and twice the same.

Its bill of materials has what is really in it.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from checks import requirements
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.utils import canonicalize_name
from releases import EPOCH, ROOT
from supply import licences, sbom

pytestmark = pytest.mark.slow  # builds the image

LABEL = "dev.krm-windows.sbom"
# Run in the image, by its own Python: what is installed beside the function, and what of a licence
# comes with it.
INSTALLED = """
import json, pathlib, sysconfig
from importlib.metadata import distributions
site = sysconfig.get_paths()["purelib"]
found = {}
for distribution in distributions(path=[site]):
    folder = pathlib.Path(str(distribution._path))
    texts = [str(path) for path in folder.rglob("*") if "LICEN" in path.name.upper()]
    found[distribution.metadata["Name"]] = [distribution.version, len(texts)]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def labels(podman: Path, image: str) -> dict[str, str]:
    return labels_of(podman, image)


@pytest.fixture(scope="module")
def bom(podman: Path, image: str) -> str:
    return bom_of(podman, image)


@pytest.fixture(scope="module")
def installed(podman: Path, image: str) -> dict[str, tuple[str, int]]:
    return installed_in(podman, image)


def labels_of(podman: Path, image: str) -> dict[str, str]:
    found: dict[str, str] = json.loads(inspect(podman, image, "{{json .Config.Labels}}"))
    return found


def bom_of(podman: Path, image: str) -> str:
    return output_of(podman, image, "/bin/cat", labels_of(podman, image)[LABEL])


def installed_in(podman: Path, image: str) -> dict[str, tuple[str, int]]:
    found = json.loads(output_of(podman, image, "/opt/krm-windows/bin/python3", "-c", INSTALLED))
    return {canonicalize_name(name): (version, texts) for name, (version, texts) in found.items()}


def output_of(podman: Path, image: str, program: str, *arguments: str) -> str:
    command = [podman, "run", "--rm", "--network=none", f"--entrypoint={program}", image]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def inspect(podman: Path, image: str, template: str) -> str:
    command = [podman, "image", "inspect", "--format", template, image]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_built_again_from_nothing_it_is_the_same_image(podman: Path, image: str) -> None:
    """No layer of the first build is used."""
    again = f"{image}-again"
    build = ["env", f"IMAGE_TAG={again}", "bash", ROOT / ".ci/image", "--no-cache"]
    subprocess.run(build, capture_output=True, check=True)
    try:
        assert inspect(podman, again, "{{.RootFS.Layers}}") == inspect(
            podman, image, "{{.RootFS.Layers}}"
        )
        assert inspect(podman, again, "{{.Id}}") == inspect(podman, image, "{{.Id}}")
    finally:
        subprocess.run([podman, "untag", again, again], capture_output=True, check=False)


def test_it_has_what_is_hashed_and_nothing_else(installed: dict[str, tuple[str, int]]) -> None:
    """Exactly requirements/image.txt and the function: no pip, no build tool."""
    text = (ROOT / "requirements/image.txt").read_text()
    hashed = {entry.name: entry.version for entry in requirements.entries(text)}
    versions = {name: version for name, (version, _) in installed.items()}
    del versions[sbom.OWN]
    assert versions == hashed


def test_it_carries_the_licence_of_everything(installed: dict[str, tuple[str, int]]) -> None:
    """Each package's text lies beside it, as the licences ask for."""
    assert [name for name, (_, texts) in installed.items() if texts == 0] == []


def test_its_bill_of_materials_is_valid(bom: str) -> None:
    """Against the schema of CycloneDX 1.6."""
    assert not JsonStrictValidator(SchemaVersion.V1_6).validate_str(bom)


def test_its_bill_of_materials_lists_all_that_is_in_it(
    podman: Path, image: str, bom: str, installed: dict[str, tuple[str, int]]
) -> None:
    """Every Python package, the interpreter, and every package of the base, at their versions."""
    check_lists_all(podman, image, bom, installed)


def check_lists_all(
    podman: Path, image: str, bom: str, installed: dict[str, tuple[str, int]]
) -> None:
    components = json.loads(bom)["components"]
    by_kind: dict[str, dict[str, str]] = {}
    for component in components:
        kind = component["purl"].partition("/")[0]
        by_kind.setdefault(kind, {})[component["name"]] = component["version"]
    python = {name: version for name, (version, _) in installed.items() if name != sbom.OWN}
    assert by_kind["pkg:pypi"] == python
    show = ["--show", "--showformat", "${Package} ${Version}\\n"]
    listed = output_of(podman, image, "/usr/bin/dpkg-query", *show)
    assert by_kind["pkg:deb"] == dict(line.split(" ") for line in listed.splitlines())
    assert set(by_kind) == {"pkg:deb", "pkg:generic", "pkg:pypi"}
    assert set(by_kind["pkg:generic"]) == {"python"}


def test_its_labels_say_what_it_is(labels: dict[str, str], pins: dict[str, dict[str, str]]) -> None:
    """Version, licence, base, and where the bill of materials lies."""
    base = labels["org.opencontainers.image.base.name"]
    assert base.partition("@")[0] == pins["image"]["base"]
    assert labels["org.opencontainers.image.created"] == "2020-02-02T00:00:00Z"
    assert labels["org.opencontainers.image.version"] == version()
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
    # Known where a release is built; these sources may be of no commit.
    assert labels["org.opencontainers.image.revision"] == ""
    # What Artifact Hub lists an image by.
    readme = labels["io.artifacthub.package.readme-url"]
    assert readme.endswith(f"/v{version()}/README.md")
    assert labels["org.opencontainers.image.description"]


def version() -> str:
    match = re.search(r'__version__ = "(.+)"', (ROOT / "krm_windows/__init__.py").read_text())
    assert match
    return match[1]


def commands() -> Iterator[str]:
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    for line in text.splitlines():
        if line.startswith("RUN "):
            yield from (command.strip() for command in line.removeprefix("RUN ").split("&&"))


def test_nothing_is_fetched_without_a_hash() -> None:
    """Every command that could reach an index demands hashes and wheels, or has no index."""
    fetching = [
        command
        for command in commands()
        if re.search(r"\bpip\b.*\b(install|wheel|download)\b", command)
    ]
    assert len(fetching) == 5
    for command in fetching:
        hashed = {"--require-hashes", "--no-deps", "--only-binary"} <= set(command.split())
        assert hashed or {"--no-index", "--no-deps"} <= set(command.split()), command
    others = [
        command.split()
        for command in commands()
        if re.search(r"\b(curl|wget|apt|apt-get|git)\b", command) and "rm" not in command.split()
    ]
    assert [words[words.index("apt-get") + 1] for words in others] == ["update", "install"]


def test_a_bill_of_materials_is_the_same_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its time is SOURCE_DATE_EPOCH, its serial number a hash: no clock, no chance."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", EPOCH)
    first, second = sbom.bom(licences.SITE, None), sbom.bom(licences.SITE, None)
    assert json.dumps(first) == json.dumps(second)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert sbom.bom(licences.SITE, None)["serialNumber"] != first["serialNumber"]
