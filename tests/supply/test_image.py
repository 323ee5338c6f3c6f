"""The images of the function and of the service: of hashed packages only, and twice the same."""

import json
import re
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
from checks import requirements
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.utils import canonicalize_name
from supply import sbom

from krm_windows import __version__

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.slow  # builds the images

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


@dataclass(frozen=True)
class Image:
    podman: Path
    name: str
    target: list[str]
    requirements: Path

    def output(self, program: str, *arguments: str) -> str:
        command = [self.podman, "run", "--rm", "--network=none", f"--entrypoint={program}"]
        done = subprocess.run(
            [*command, self.name, *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout

    def inspect(self, template: str, name: str = "") -> str:
        command = [self.podman, "image", "inspect", "--format", template, name or self.name]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    @cached_property
    def labels(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(self.inspect("{{json .Config.Labels}}"))
        return found

    @cached_property
    def bom(self) -> str:
        return self.output("/bin/cat", self.labels["dev.krm-windows.sbom"])

    @cached_property
    def components(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for each in json.loads(self.bom)["components"]:
            found.setdefault(each["purl"].partition("/")[0], {})[each["name"]] = each["version"]
        return found

    @cached_property
    def installed(self) -> dict[str, tuple[str, int]]:
        found = json.loads(self.output("/opt/krm-windows/bin/python3", "-c", INSTALLED))
        del found[sbom.OWN]
        return {canonicalize_name(name): each for name, each in found.items()}


@pytest.fixture(scope="session")
def of_function(podman: Path, image: str) -> Image:
    return Image(podman, image, [], ROOT / "requirements/image.txt")


@pytest.fixture(scope="session")
def of_service(podman: Path, server_image: str) -> Image:
    return Image(podman, server_image, ["server"], ROOT / "requirements/server.txt")


@pytest.fixture(params=["of_function", "of_service"])
def either(request: pytest.FixtureRequest) -> Image:
    found: Image = request.getfixturevalue(request.param)
    return found


def test_built_again_from_nothing_it_is_the_same_image(either: Image) -> None:
    """The history of the service's names the stages before, which have ids of their own."""
    again = f"{either.name}-again"
    build = ["env", f"IMAGE_TAG={again}", "bash", ROOT / ".ci/image", *either.target, "--no-cache"]
    subprocess.run(build, capture_output=True, check=True)
    try:
        for same in ("{{.RootFS.Layers}}", *([] if either.target else ["{{.Id}}"])):
            assert either.inspect(same, again) == either.inspect(same)
    finally:
        subprocess.run([either.podman, "untag", again, again], capture_output=True, check=False)


def test_it_has_what_is_hashed_and_nothing_else(either: Image) -> None:
    entries = requirements.entries(either.requirements.read_text())
    hashed = {entry.name: entry.version for entry in entries if entry.is_needed_here}
    assert {name: version for name, (version, _) in either.installed.items()} == hashed
    assert all(texts for _, texts in either.installed.values())


def test_its_bill_of_materials_lists_all_that_is_in_it(either: Image) -> None:
    assert not JsonStrictValidator(SchemaVersion.V1_6).validate_str(either.bom)
    python = {name: version for name, (version, _) in either.installed.items()}
    show = ["--show", "--showformat", "${Package} ${Version}\\n"]
    listed = either.output("/usr/bin/dpkg-query", *show).splitlines()
    found = dict(either.components)
    assert found.pop("pkg:generic").keys() == {"python"}
    assert found == {"pkg:pypi": python, "pkg:deb": dict(line.split(" ") for line in listed)}


def test_the_function_says_what_it_is(of_function: Image, pins: dict[str, dict[str, str]]) -> None:
    labels = of_function.labels
    opencontainers = "org.opencontainers.image."
    assert labels[f"{opencontainers}base.name"].partition("@")[0] == pins["image"]["base"]
    assert labels[f"{opencontainers}created"] == "2020-02-02T00:00:00Z"
    assert labels[f"{opencontainers}version"] == __version__
    assert labels[f"{opencontainers}licenses"] == "Apache-2.0"
    assert labels[f"{opencontainers}revision"] == ""
    # What Artifact Hub lists an image by.
    readme = labels["io.artifacthub.package.readme-url"]
    assert readme.endswith(f"/v{__version__}/README.md")
    assert labels[f"{opencontainers}description"]


def test_the_service_says_what_it_is(of_service: Image) -> None:
    assert of_service.labels["org.opencontainers.image.title"] == "krm-windows-server"
    assert of_service.inspect("{{.Config.User}}") == "65534:65534"
    entry = json.loads(of_service.inspect("{{json .Config.Entrypoint}}"))
    assert entry == ["/opt/krm-windows/bin/krm-windows", "serve"]
    assert "version 2." in of_service.output("/usr/bin/git", "--version")


def test_the_service_lies_on_top_of_the_function(of_service: Image, of_function: Image) -> None:
    """A machine that has the one has most of the other."""
    template = "{{json .RootFS.Layers}}"
    layers, own = [json.loads(each.inspect(template)) for each in (of_service, of_function)]
    assert layers[: len(own)] == own
    more = [
        name
        for kind, names in of_service.components.items()
        for name in names.keys() - of_function.components[kind].keys()
    ]
    assert {"git", "openssh-client", "starlette", "uvicorn"} <= {*more}


def test_nothing_is_fetched_without_a_hash() -> None:
    """Debian's Git, in the service's image alone, is what apt verifies by its signatures."""
    lines = (ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    commands = [
        command.split()
        for line in lines
        if line.startswith("RUN ")
        for command in line.removeprefix("RUN ").split("&&")
    ]
    fetching = [
        words
        for words in commands
        if re.search(r"\bpip\b.*\b(install|wheel|download)\b", " ".join(words))
    ]
    assert len(fetching) == 5
    for words in fetching:
        hashed = {"--require-hashes", "--no-deps", "--only-binary"} <= {*words}
        assert hashed or {"--no-index", "--no-deps"} <= {*words}, words
    others = [
        words
        for words in commands
        if re.search(r"\b(curl|wget|apt|apt-get|git)\b", " ".join(words)) and "rm" not in words
    ]
    assert [words[words.index("apt-get") + 1] for words in others] == ["update", "install"]
