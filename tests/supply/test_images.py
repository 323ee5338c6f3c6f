"""`make renew-images` against a real registry, and against answers that no registry should give."""

import json
import re
import runpy
import socket
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import registry as lab
from checks import pins
from releases import ROOT
from supply import images

BOTH = ("linux/amd64", "linux/arm64")
FILES = (
    "versions.toml",
    "Dockerfile",
    "krm_windows/policy/images.py",
    ".github/workflows/ci.yaml",
    ".github/workflows/night.yaml",
    "templates/krm-windows.yml",
)


@pytest.fixture
def port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture
def registry(tool: Callable[[str], Path], tmp_path: Path, port: int) -> Iterator[str]:
    """A registry without an account."""
    with lab.running(tool("docker-registry"), tmp_path, port) as address:
        yield address


@pytest.fixture
def project(tmp_path: Path, port: int) -> Path:
    """The files of this project that name images, here those of a registry on loopback."""
    folder = tmp_path / "project"
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / name).read_text()
        for host in ("docker.io", "ghcr.io"):
            text = text.replace(f"{host}/", f"127.0.0.1:{port}/")
        (folder / name).write_text(text)
    return folder


def named(project: Path) -> dict[str, str]:
    """Return the images of versions.toml with their digests."""
    found: dict[str, str] = tomllib.loads((project / "versions.toml").read_text())["images"]
    return found


def renew(project: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the command on some files."""
    monkeypatch.setattr(sys, "argv", ["make renew-images", *arguments])
    return images.main(project)


def published(registry: str, project: Path, note: str = "") -> dict[str, str]:
    """Push every image that is named, and return the digests."""
    digests = {}
    for reference in named(project):
        repository, _, tag = reference.partition("/")[2].rpartition(":")
        digests[reference] = lab.push(registry, repository, tag, BOTH, note + reference)
    return digests


def test_digests_are_written_wherever_images_are_named(
    registry: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """versions.toml, the Dockerfile, the defaults of policies, and what jobs of CI run in.

    The check of pins sees that they agree.
    """
    digests = published(registry, project)
    assert len(set(digests.values())) == len(digests) == 4
    assert renew(project, monkeypatch) == 0
    assert named(project) == digests
    base = tomllib.loads((project / "versions.toml").read_text())["image"]["base"]
    assert f"\nARG BASE={base}@{digests[base]}\n" in (project / "Dockerfile").read_text()
    defaults = runpy.run_path(str(project / "krm_windows/policy/images.py"))["DEFAULTS"]
    assert {image.tag: image.digest for image in defaults.values()}.items() <= digests.items()
    references = {f"{tag}@{digest}" for tag, digest in digests.items()}
    assert {image.reference for image in defaults.values()} <= references
    # A container of a workflow, and the default of the component.
    for path, where in ((FILES[3], "image"), (FILES[4], "image"), (FILES[5], "default")):
        assert re.findall(rf"^ +{where}: (\S+@.+)$", (project / path).read_text(), re.MULTILINE)[
            0
        ] in (references)
    monkeypatch.setattr(pins, "ROOT", project)
    monkeypatch.setattr(pins, "DEFAULTS", defaults)
    found = tomllib.loads((project / "versions.toml").read_text())
    assert list(pins.images(found)) == []
    for path in (FILES[1], *FILES[3:]):
        before = (project / path).read_text()
        (project / path).write_text(before.replace("@sha256:", "@sha256:0"))
        assert len(list(pins.images(found))) == 1
        (project / path).write_text(before)


def test_a_second_time_nothing_changes(
    registry: str,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Until a tag is moved: then `--check` says so and writes nothing.

    The command writes it.
    """
    published(registry, project)
    assert renew(project, monkeypatch) == 0
    before = {name: (project / name).read_bytes() for name in FILES}
    assert renew(project, monkeypatch) == 0
    assert renew(project, monkeypatch, "--check") == 0
    assert {name: (project / name).read_bytes() for name in FILES} == before
    moved = published(registry, project, note="later")
    capsys.readouterr()
    assert renew(project, monkeypatch, "--check") == 1
    printed = capsys.readouterr().out
    assert [digest for digest in moved.values() if digest not in printed] == []
    assert {name: (project / name).read_bytes() for name in FILES} == before
    assert renew(project, monkeypatch) == 0
    assert named(project) == moved


def test_one_that_cannot_be_looked_up_stays(
    registry: str,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The others are written, the exit code is 1, and the message says which and why."""
    digests = published(registry, project)
    absent = next(iter(digests))
    write(project / "versions.toml", f'"{absent}" =', f'"{absent}-absent" =')
    assert renew(project, monkeypatch) == 1
    assert named(project) == {
        f"{absent}-absent": "",
        **{tag: digests[tag] for tag in digests if tag != absent},
    }
    assert capsys.readouterr().err == f"{absent}-absent: {registry} answers 404\n"


def test_an_image_for_one_platform_is_refused(registry: str) -> None:
    """Its digest would not run on the other; an index that lacks a platform is no better."""
    config = json.dumps(
        {"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": []}}
    )
    lab.push_manifest(registry, "one", config.encode(), "1.0")
    lab.push(registry, "some", "1.0", ("linux/amd64", "windows/amd64"))
    with pytest.raises(images.LookupFailedError, match=r"for one platform only|answers 404"):
        images.digest(f"{registry}/one:1.0")
    with pytest.raises(images.LookupFailedError, match="has nothing for linux/arm64"):
        images.digest(f"{registry}/some:1.0")


def test_no_registry_is_no_digest(port: int) -> None:
    """Nothing is written for a registry that does not answer."""
    with pytest.raises(images.LookupFailedError, match="cannot be asked"):
        images.digest(f"127.0.0.1:{port}/some:1.0")


Reply = tuple[int, Mapping[str, str], bytes]
CONTENT = json.dumps(
    {
        "schemaVersion": 2,
        "mediaType": lab.INDEX,
        "manifests": [
            {
                "platform": {"os": "linux", "architecture": architecture},
                "digest": lab.digest(b""),
                "size": 0,
            }
            for architecture in ("amd64", "arm64")
        ],
    }
).encode()


@pytest.fixture
def answers(port: int) -> Iterator[dict[str, Callable[[str], Reply]]]:
    """A server on loopback.

    Fill in what it answers to a path, given the request's Authorization.
    """
    table: dict[str, Callable[[str], Reply]] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = table[self.path](self.headers.get("Authorization", ""))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield table
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_token_is_fetched_where_the_registry_says(
    port: int, answers: dict[str, Callable[[str], Reply]]
) -> None:
    """As Docker Hub and GitHub want it, of everybody."""
    challenge = (
        f'Bearer realm="http://127.0.0.1:{port}/token",service="here",scope="repository:some:pull"'
    )

    def manifest(authorization: str) -> Reply:
        if authorization != "Bearer let-me-in":
            return 401, {"WWW-Authenticate": challenge}, b""
        return 200, {"Content-Type": lab.INDEX}, CONTENT

    answers["/v2/some/manifests/1.0"] = manifest
    answers["/token?service=here&scope=repository%3Asome%3Apull"] = lambda _: (
        200,
        {},
        b'{"token": "let-me-in"}',
    )
    assert images.digest(f"127.0.0.1:{port}/some:1.0") == lab.digest(CONTENT)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (
            (200, {"Docker-Content-Digest": lab.digest(b"other")}, CONTENT),
            "the registry says sha256:",
        ),
        ((200, {}, CONTENT + b" " * images.BYTES), "sends more than"),
        (
            (401, {"WWW-Authenticate": 'Bearer realm="http://elsewhere.example/token"'}, b""),
            "is not https",
        ),
        ((401, {"WWW-Authenticate": 'Bearer realm="file:///etc/passwd"'}, b""), "is not https"),
        ((401, {}, b""), "is not https"),
        ((500, {}, b""), "answers 500"),
        ((200, {}, b"<html>"), "is no manifest"),
        ((200, {}, b"[]"), "is no manifest"),
        (
            (200, {}, json.dumps({"mediaType": lab.INDEX, "manifests": [{}]}).encode()),
            "is no manifest",
        ),
    ],
)
def test_an_odd_answer_is_no_digest(
    reply: Reply, said: str, port: int, answers: dict[str, Callable[[str], Reply]]
) -> None:
    """Another digest than that of the bytes, too much, or a token from elsewhere.

    Or an error, or no manifest.
    """
    answers["/v2/some/manifests/1.0"] = lambda _: reply
    with pytest.raises(images.LookupFailedError, match=said):
        images.digest(f"127.0.0.1:{port}/some:1.0")


def write(path: Path, old: str, new: str) -> None:
    """Replace a text in a file."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
