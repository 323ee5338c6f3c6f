"""The image of the service: that of the function, with Git and the extra `server` on top.

It runs as nobody, on a root that cannot be written to, with one volume.
"""

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from checks import requirements
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from releases import ROOT
from supply import sbom
from test_image import bom_of, check_lists_all, inspect, installed_in, labels_of, output_of

pytestmark = pytest.mark.slow  # builds the image

GIT = "/usr/bin/git"
RESTRICTED = (
    "--read-only",
    "--read-only-tmpfs=false",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
    "--network=none",
    "--env=TMPDIR=/data/tmp",
)
# In the container, since nothing else is in its network: method, path, token, body.
ASK = """
import sys, urllib.error, urllib.request
method, path, token, body = sys.argv[1:]
headers = {"If-Match": "*", "Content-Type": "application/merge-patch+json"}
if token:
    headers["Authorization"] = "Bearer " + token
request = urllib.request.Request(
    "http://127.0.0.1:8080" + path, body.encode() or None, headers, method=method
)
try:
    print(urllib.request.urlopen(request, timeout=20).read().decode())
except urllib.error.HTTPError as error:
    print(error.code)
except OSError:
    sys.exit(3)
"""
NOT_YET = 3


@pytest.fixture(scope="module")
def installed(podman: Path, server_image: str) -> dict[str, tuple[str, int]]:
    return installed_in(podman, server_image)


def test_it_begins_with_the_layers_of_the_function(
    podman: Path, image: str, server_image: str
) -> None:
    """What is more lies on top, so that a machine that has the one has most of the other."""
    layers, own = [
        json.loads(inspect(podman, each, "{{json .RootFS.Layers}}"))
        for each in (server_image, image)
    ]
    assert layers[: len(own)] == own
    assert len(layers) > len(own)


def test_it_has_what_is_hashed_and_nothing_else(installed: dict[str, tuple[str, int]]) -> None:
    """Exactly requirements/server.txt and the function."""
    text = (ROOT / "requirements/server.txt").read_text()
    entries = [entry for entry in requirements.entries(text) if entry.is_needed_here]
    hashed = {entry.name: entry.version for entry in entries}
    versions = {name: version for name, (version, _) in installed.items()}
    del versions[sbom.OWN]
    assert versions == hashed


def test_it_carries_the_licence_of_everything(installed: dict[str, tuple[str, int]]) -> None:
    """Each package's text lies beside it."""
    assert [name for name, (_, texts) in installed.items() if texts == 0] == []


def test_its_bill_of_materials_lists_all_that_is_in_it(
    podman: Path, image: str, server_image: str, installed: dict[str, tuple[str, int]]
) -> None:
    """Git and what it needs, and the packages of the extra, are in it."""
    bom = bom_of(podman, server_image)
    assert not JsonStrictValidator(SchemaVersion.V1_6).validate_str(bom)
    check_lists_all(podman, server_image, bom, installed)
    names = {each["name"] for each in json.loads(bom)["components"]}
    before = {each["name"] for each in json.loads(bom_of(podman, image))["components"]}
    assert {"git", "openssh-client", "starlette", "uvicorn"} <= names - before


def test_it_says_what_it_is(podman: Path, server_image: str) -> None:
    """Its labels name it; it runs as nobody, and serves."""
    labels = labels_of(podman, server_image)
    assert labels["org.opencontainers.image.title"] == "krm-windows-server"
    assert inspect(podman, server_image, "{{.Config.User}}") == "65534:65534"
    entry = json.loads(inspect(podman, server_image, "{{json .Config.Entrypoint}}"))
    assert entry == ["/opt/krm-windows/bin/krm-windows", "serve"]
    assert "version 2." in output_of(podman, server_image, GIT, "--version")


def test_built_again_from_nothing_it_is_the_same_image(podman: Path, server_image: str) -> None:
    """No layer of the first build is used."""
    again = f"{server_image}-again"
    build = ["env", f"IMAGE_TAG={again}", "bash", ROOT / ".ci/image", "server", "--no-cache"]
    subprocess.run(build, capture_output=True, check=True)
    try:
        assert inspect(podman, again, "{{.RootFS.Layers}}") == inspect(
            podman, server_image, "{{.RootFS.Layers}}"
        )
    finally:
        subprocess.run([podman, "untag", again, again], capture_output=True, check=False)


@pytest.fixture
def volume(podman: Path, server_image: str, tmp_path: Path) -> Path:
    repository = tmp_path / "theirs"
    repository.mkdir()
    (tmp_path / "tmp").mkdir()
    text = (ROOT / "examples/no-deploy-friday/no-deploy-friday.yaml").read_text()
    (repository / "no-deploy-friday.yaml").write_text(text)
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.com"]
    for command in (
        ["init", "--quiet", "--initial-branch=main"],
        ["add", "."],
        [*identity, "commit", "--quiet", "--message=first"],
        ["clone", "--quiet", "--bare", ".", tmp_path / "repository"],
    ):
        subprocess.run(["git", "-C", repository, *command], check=True)
    options = ["--rm", "--network=none", "--entrypoint=/opt/krm-windows/bin/krm-windows"]
    making = ["serve", "--new-token", "ada", "--scopes", "read,write"]
    command = [podman, "run", *options, server_image, *making]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    (tmp_path / "tokens").write_text(made.stdout)
    (tmp_path / "token").write_text(made.stderr.rpartition(" ")[2].strip())
    subprocess.run(["chown", "--recursive", "65534:65534", tmp_path], check=True)
    return tmp_path


@pytest.fixture
def container(podman: Path, server_image: str, volume: Path) -> Iterator[str]:
    mount = f"--volume={volume}:/data"
    serving = ["--repo=/data/repository", "--host=0.0.0.0"]
    behind = "--env=KRM_WINDOWS_TLSBYPROXY=true"
    command = [podman, "run", "--detach", *RESTRICTED, mount, behind, server_image, *serving]
    started = [*command, "--tokens=/data/tokens"]
    name = subprocess.run(started, capture_output=True, text=True, check=True).stdout.strip()
    try:
        yield name
    finally:
        subprocess.run([podman, "rm", "--force", "--time=5", name], capture_output=True, check=True)


def test_it_serves_and_writes_to_its_volume_alone(
    podman: Path, container: str, volume: Path
) -> None:
    """It answers probes, refuses who has no token, and commits a change of who has one."""

    def ask(method: str, path: str, token: str = "", body: str = "") -> str:
        command = [podman, "exec", container, "python3", "-c", ASK, method, path, token, body]
        for _ in range(60):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != NOT_YET:
                return done.stdout.strip()
            time.sleep(0.5)
        return pytest.fail("it does not answer")

    assert json.loads(ask("GET", "/healthz"))["status"] == "alive"
    assert json.loads(ask("GET", "/readyz"))["status"] == "ready"
    assert ask("GET", "/policies") == "401"
    token = (volume / "token").read_text()
    patch = json.dumps({"spec": {"windows": {"working-week": {"closes": "Thu 16:00"}}}})
    place = "/policies/flux-system/no-deploy-friday"
    written = json.loads(ask("PATCH", place, token, patch))
    assert written["written"] is True
    repository = volume / "repository"
    git = ["git", "-c", f"safe.directory={repository}", "-C", repository]
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    assert head.stdout.strip() == written["commit"]
    show = [*git, "show", "HEAD:no-deploy-friday.yaml"]
    shown = subprocess.run(show, capture_output=True, text=True, check=True)
    assert "closes: Thu 16:00" in shown.stdout
