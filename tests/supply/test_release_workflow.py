"""The scripts of the workflow of a release, run as a runner does, against a registry of ours."""

import base64
import hashlib
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from runners import GITHUB_BASH

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.slow  # a container engine and a registry
JOBS: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows/release.yaml").read_text())["jobs"]
BOM = '{"bomFormat": "CycloneDX"}'
INDEX = "application/vnd.oci.image.index.v1+json"
USER, PASSWORD = "ada", "p4ss:word"
# Of that password, as htpasswd has it.
HASH = "$2b$04$OVd5G3tV13iGy4ZXWw6C/eR/ZG15r1hOo5e6/WP2qJa4DSv50nIMy"


@pytest.fixture
def address(tool: Callable[[str], Path], tmp_path: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        found_at = f"127.0.0.1:{free.getsockname()[1]}"
    (tmp_path / "htpasswd").write_text(f"{USER}:{HASH}\n")
    settings = {
        "version": 0.1,
        "log": {"level": "error", "accesslog": {"disabled": True}},
        "storage": {"filesystem": {"rootdirectory": str(tmp_path / "blobs")}},
        "http": {"addr": found_at},
        "auth": {"htpasswd": {"realm": "test", "path": str(tmp_path / "htpasswd")}},
    }
    (tmp_path / "registry.yml").write_text(json.dumps(settings))
    command = [tool("docker-registry"), "serve", tmp_path / "registry.yml"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        wait = ["curl", "--silent", "--retry", "60", "--retry-delay", "1", "--retry-connrefused"]
        try:
            subprocess.run([*wait, f"http://{found_at}/v2/"], capture_output=True, check=True)
            yield found_at
        finally:
            process.terminate()


@pytest.fixture
def environment(address: str, tmp_path: Path) -> dict[str, str]:
    settings = tmp_path / "registries.conf"
    settings.write_text(f'[[registry]]\nlocation = "{address}"\ninsecure = true\n')
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "CONTAINERS_REGISTRIES_CONF": str(settings),
        "IMAGE": f"{address}/Acme/KW",
        "TOKEN": PASSWORD,
        "GITHUB_ACTOR": USER,
        "GITHUB_REF_NAME": "v1.2.3",
        "GITHUB_OUTPUT": str(tmp_path / "output"),
    }


def script(job: str, address: str) -> str:
    [found] = [step["run"] for step in JOBS[job]["steps"] if "podman" in step.get("run", "")]
    assert "ghcr.io" in found
    return str(found).replace("ghcr.io", address)


def run(text: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    (folder / "script.sh").write_text(text)
    command = [*GITHUB_BASH, "script.sh"]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def pushed(base: str, second: str, folder: Path, environment: dict[str, str]) -> None:
    (folder / "bom").write_text(BOM)
    keys = {**environment, "REGISTRY_AUTH_FILE": str(folder / "keys")}
    host = environment["IMAGE"].partition("/")[0]
    login = ["podman", "login", host, "--username", USER, "--password-stdin"]
    subprocess.run(login, input=PASSWORD, env=keys, text=True, check=True, capture_output=True)
    for tag, platform, start in (("amd64", "amd64", base), ("arm64", second, "scratch")):
        name = f"{environment['IMAGE'].lower()}:1.2.3-{tag}"
        (folder / "Containerfile").write_text(
            f"FROM {start}\nCOPY bom /opt/krm-windows/share/krm-windows.cdx.json\n"
        )
        build = ["podman", "build", "--quiet", "--platform", f"linux/{platform}", "--tag", name]
        for command in ([*build, "--pull=never", folder], ["podman", "push", "--quiet", name]):
            subprocess.run(command, env=keys, check=True, capture_output=True)
        subprocess.run(["podman", "rmi", name], env=keys, check=True, capture_output=True)


@pytest.mark.usefixtures("podman")
@pytest.mark.parametrize("second", ["arm64", "amd64"])
def test_a_release_is_one_tag_for_two_platforms(
    second: str,
    pins: dict[str, dict[str, str]],
    address: str,
    environment: dict[str, str],
    tmp_path: Path,
) -> None:
    """`actions/attest` reads Docker's file in the home, and of Podman's own it knows nothing."""
    work = tmp_path / "work"
    shutil.copytree(ROOT / ".ci", work / ".ci")
    pushed(pins["image"]["base"], second, tmp_path, environment)
    done = run(script("index", address), work, environment)
    if second == "amd64":
        assert "publish: the images are for linux/amd64 linux/amd64\n" in done.stderr
        assert done.returncode == 1
        return
    assert done.returncode == 0, done.stdout + done.stderr
    assert (work / "image.cdx.json").read_text() == BOM
    said = dict(line.split("=") for line in (tmp_path / "output").read_text().splitlines())
    assert said["name"] == f"{address}/acme/kw"
    found = json.loads((tmp_path / "home/.docker/config.json").read_text())["auths"][address]
    assert base64.b64decode(found["auth"]).decode() == f"{USER}:{PASSWORD}"
    ask = ["curl", "-fsS", "-u", f"{USER}:{PASSWORD}", "-H", f"Accept: {INDEX}"]
    manifest = f"http://{address}/v2/acme/kw/manifests/1.2.3"
    content = subprocess.run([*ask, manifest], capture_output=True, check=True).stdout
    assert f"sha256:{hashlib.sha256(content).hexdigest()}" == said["digest"]
    platforms = [one["platform"]["architecture"] for one in json.loads(content)["manifests"]]
    assert sorted(platforms) == ["amd64", "arm64"]
    image = ["podman", "rmi", f"{said['name']}@{said['digest']}"]
    subprocess.run(image, env=environment, check=True, capture_output=True)


def test_both_jobs_sign_in_alike() -> None:
    index, image = (script(job, "").splitlines()[:2] for job in ("index", "image"))
    assert index == image
    assert "podman login" in index[0]


def test_what_is_signed_is_what_was_pushed() -> None:
    signed = [step for step in JOBS["index"]["steps"] if "attest" in step.get("uses", "")]
    assert len(signed) == 2
    for step in signed:
        given = step["with"]
        assert given["subject-name"] == "${{ steps.push.outputs.name }}"
        assert given["subject-digest"] == "${{ steps.push.outputs.digest }}"
        assert given["push-to-registry"] is True
        # It would want `artifact-metadata: write`, and serves a page of organisations alone.
        assert given["create-storage-record"] is False


def test_an_image_of_another_version_is_not_built() -> None:
    """A tag that the source does not know: `make dist` refuses it, and so does this job."""
    command = ["bash", ROOT / ".ci/publish", "image", "registry.test/acme/kw", "99.0.0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "publish: the tag is of 99.0.0, and krm_windows/__init__.py is of another version\n"
    )
