"""What scripts fetch is verified by whoever publishes it.

Nothing turns a check of hashes or signatures off.
"""

import re
from pathlib import Path

import pytest
from releases import ROOT

# Each with what would be loosened by it.
LOOSE = {
    "Go's checksum database": re.compile(
        r"GO(?:NOSUMDB|NOSUMCHECK|INSECURE|PRIVATE|NOPROXY)\b|GOSUMDB=off|GONOSUM|-mod=mod\b"
        r"|\s-insecure\b"
    ),
    "signatures of Debian": re.compile(
        r"--allow-unauthenticated|--allow-insecure-repositories|--force-yes|--no-check-gpg"
        r"|trusted=yes|AllowInsecure"
    ),
    "certificates": re.compile(
        r"--trusted-host|--no-check-certificate|--no-verify\b|curl\b[^\n]*\s(?:-k|--insecure)\b"
        r"|verify=False|CERT_NONE|_create_unverified_context|--tls-verify=false|sslVerify=false"
        r"|PYTHONHTTPSVERIFY=0"
    ),
}
# Where such words stand as data: this test, what it is about, and tests of the refusal.
EXEMPT = ("tests/supply/test_scripts.py", "tests/supply/test_pinned.py")
SCRIPTS = (
    ".ci/",
    "bench/",
    "tests/",
    "Makefile",
    "Dockerfile",
    "krm_windows/",
    "docs/",
    "examples/",
    "README.md",
)


def loosened(text: str) -> list[str]:
    """Return every place of a text that turns a check off."""
    return [match[0] for pattern in LOOSE.values() for match in pattern.finditer(text)]


def test_no_check_is_turned_off(tracked: list[str]) -> None:
    """In scripts, sources, tests and pages."""
    paths = [
        path
        for path in tracked
        if path.startswith(SCRIPTS) and path not in EXEMPT and not path.endswith(".sum")
    ]
    found = {path: loosened((ROOT / path).read_bytes().decode(errors="replace")) for path in paths}
    assert {path: words for path, words in found.items() if words} == {}


# Tests run such scripts and pages, and a container with a network changes the machine's.
NETWORKED = re.compile(r"\b(?:podman|docker) run\b(?![^\n]*--network)[^\n]*")


def test_no_container_has_a_network(tracked: list[str]) -> None:
    """In workflows, scripts and pages: bridge, packet filter and forwarding stay as they are."""
    places = (".ci/", ".github/", "Makefile", "README.md", "action", "docs/", "examples/")
    paths = [path for path in tracked if path.startswith(places)]
    found = {path: NETWORKED.findall((ROOT / path).read_bytes().decode()) for path in paths}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "line",
    [
        "GONOSUMDB=* go install example.org/x@latest",
        "GOSUMDB=off go build",
        "GOFLAGS=-mod=mod go build",
        "apt-get install --allow-unauthenticated make",
        "debootstrap --no-check-gpg trixie tree",
        "pip install --trusted-host index.example pydantic",
        "curl -s -k https://files.example/tool",
        "podman pull --tls-verify=false python",
    ],
)
def test_turning_one_off_is_found(line: str) -> None:
    """The test above can fail."""
    assert loosened(line)


def test_signatures_are_demanded(tracked: list[str]) -> None:
    """debootstrap goes on without a keyring unless asked not to.

    Every Go program is built from committed sums.
    """
    setup = (ROOT / ".ci/setup").read_text()
    assert re.findall(r"debootstrap (--\S+)", setup) == ["--force-check-gpg"]
    assert "debian-archive-keyring" in (ROOT / "versions.toml").read_text()
    modules = [ROOT / path for path in tracked if Path(path).name == "go.mod"]
    assert modules
    for module in modules:
        if "require" in module.read_text():
            assert module.with_name("go.sum").is_file(), module
    assert not re.findall(r"go [^\n]*\bbuild\b(?![^\n]*-mod=readonly)", setup)
