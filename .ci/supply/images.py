"""`make renew-images`: write today's digest of each tag of versions.toml where it is named.

`make renew-images IMAGES=--check` reports which are not what their tag is today, and exits 1 if
any is not. Registries are asked over HTTPS, without an account (OCI distribution specification
1.1); one on this machine may speak HTTP.
"""

import argparse
import hashlib
import json
import re
import sys
import tomllib
from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

ROOT = Path(__file__).resolve().parents[2]
INDEXES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
REFERENCE = re.compile(
    r"(?P<registry>[a-z0-9.-]+(?::[0-9]+)?)/(?P<repository>[a-z0-9._/-]+)"
    r":(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})"
)
PARAMETER = re.compile(r'(\w+)="([^"]*)"')
# Where a registry has its interface under another name than the one in references.
HOSTS = {"docker.io": "registry-1.docker.io"}
LOCAL = frozenset({"localhost", "127.0.0.1"})
PLATFORMS = frozenset({"linux/amd64", "linux/arm64"})
SECONDS, BYTES = 30, 4 * 1024 * 1024


class LookupFailedError(Exception):
    """A registry did not say what a tag is, or what it said does not fit."""


@dataclass(frozen=True)
class Answer:
    """What a registry answers."""

    status: int
    headers: Message
    body: bytes


def digest(reference: str) -> str:
    """Return the digest of the index that a tag names; raises `LookupFailedError`.

    It is computed from what was read, so that it is right whatever the registry's headers say. The
    index has to cover every platform that is supported here: the digest of one platform's manifest
    would not run on the other.
    """
    match = REFERENCE.fullmatch(reference)
    if match is None:
        raise LookupFailedError("is not of the form registry/repository:tag")
    answer = _manifest(match["registry"], match["repository"], match["tag"])
    found = f"sha256:{hashlib.sha256(answer.body).hexdigest()}"
    stated = answer.headers.get("Docker-Content-Digest", found)
    if stated != found:
        raise LookupFailedError(f"the registry says {stated}, and sent {found}")
    try:
        platforms = _platforms(json.loads(answer.body))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise LookupFailedError(f"what the registry sent is no manifest: {error!r}") from error
    if not platforms >= PLATFORMS:
        raise LookupFailedError(f"has nothing for {', '.join(sorted(PLATFORMS - platforms))}")
    return found


def _platforms(index: dict[str, Any]) -> set[str]:
    """Return what an index is for; raises LookupFailedError for a manifest of one platform."""
    if index["mediaType"] not in INDEXES:
        raise LookupFailedError(f"is for one platform only ({index['mediaType']})")
    platforms = [entry["platform"] for entry in index["manifests"]]
    return {f"{platform['os']}/{platform['architecture']}" for platform in platforms}


def _manifest(registry: str, repository: str, tag: str) -> Answer:
    host = HOSTS.get(registry, registry)
    scheme = "http" if _is_local(host) else "https"
    address = f"{scheme}://{host}/v2/{repository}/manifests/{tag}"
    headers = {"Accept": ", ".join(INDEXES)}
    answer = _get(address, headers)
    if answer.status == HTTPStatus.UNAUTHORIZED:
        # Public registries give everybody a token to read with, and say where to ask for it.
        headers["Authorization"] = f"Bearer {_token(answer.headers.get('WWW-Authenticate', ''))}"
        answer = _get(address, headers)
    if answer.status != HTTPStatus.OK:
        raise LookupFailedError(f"{host} answers {answer.status}")
    return answer


def _token(challenge: str) -> str:
    parameters = dict(PARAMETER.findall(challenge))
    realm = urlsplit(parameters.pop("realm", ""))
    if realm.scheme != "https" and not _is_local(realm.netloc):
        raise LookupFailedError(
            f"wants a token from {realm.geturl() or 'nowhere'}, which is not https"
        )
    answer = _get(f"{realm.geturl()}?{urlencode(parameters)}", {})
    if answer.status != HTTPStatus.OK:
        raise LookupFailedError(f"{realm.netloc} gives no token: {answer.status}")
    try:
        given = json.loads(answer.body)
        return str(given.get("token") or given["access_token"])
    except (ValueError, LookupError, AttributeError) as error:
        raise LookupFailedError(f"{realm.netloc} gives no token: {error!r}") from error


def _is_local(host: str) -> bool:
    return host.partition(":")[0] in LOCAL


def _get(address: str, headers: dict[str, str]) -> Answer:
    request = Request(address, headers=headers)  # noqa: S310 - the callers make it http or https
    try:
        with urlopen(request, timeout=SECONDS) as answer:  # noqa: S310 - likewise
            body = answer.read(BYTES + 1)
            found = Answer(answer.status, answer.headers, body)
    except HTTPError as error:
        found = Answer(error.code, error.headers, b"")
    except OSError as error:
        raise LookupFailedError(f"{urlsplit(address).netloc} cannot be asked: {error}") from error
    if len(found.body) > BYTES:
        raise LookupFailedError(f"{urlsplit(address).netloc} sends more than {BYTES} bytes")
    return found


def write(root: Path, reference: str, found: str) -> None:
    """Write the digest of an image into the files that name it."""
    name = re.escape(reference)
    of_a_job = rf"^( +(?:image|default): {name})(@.*)?$"
    places = {
        ".github/workflows/ci.yaml": (of_a_job, rf"\1@{found}"),
        ".github/workflows/night.yaml": (of_a_job, rf"\1@{found}"),
        "templates/krm-windows.yml": (of_a_job, rf"\1@{found}"),
        "versions.toml": (rf'^("{name}" = )".*"$', rf'\1"{found}"'),
        "Dockerfile": (rf"^(ARG BASE={name})(@.*)?$", rf"\1@{found}"),
        "krm_windows/policy/images.py": (rf'^( +"{name}",\n +)".*",$', rf'\1"{found}",'),
    }
    for place, (pattern, replacement) in places.items():
        path = root / place
        path.write_text(re.sub(pattern, replacement, path.read_text(), flags=re.MULTILINE))


def main(root: Path = ROOT) -> int:
    """Look every image up; write what is new, or only report."""
    parser = argparse.ArgumentParser(prog="make renew-images", description=main.__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 where a digest is not the tag's"
    )
    parser.add_argument(
        "references", nargs="*", metavar="IMAGE", help="of versions.toml; default: all"
    )
    arguments = parser.parse_args()
    pinned: dict[str, str] = tomllib.loads((root / "versions.toml").read_text())["images"]
    failed = False
    for reference in arguments.references or pinned:
        try:
            found = digest(reference)
        except LookupFailedError as error:
            failed = True
            print(f"{reference}: {error}", file=sys.stderr)
            continue
        if found == pinned[reference]:
            print(f"{reference}: still {found}")
            continue
        print(f"{reference}: is {found} now, was {pinned[reference] or 'not pinned'}")
        failed = failed or arguments.check
        if not arguments.check:
            write(root, reference, found)
    if not failed and not arguments.check:
        print("Now run `make generate`, and look at what has changed.")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
