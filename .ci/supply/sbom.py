"""The software bill of materials, CycloneDX 1.6: what krm-windows and its image are made of.

It is made from what is installed, not from what was asked for. The same content gives the same
bytes: the time in it is `SOURCE_DATE_EPOCH`, and its serial number is a hash of the rest.
"""

import argparse
import json
import os
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from packaging.utils import NormalizedName, canonicalize_name

from supply import packages
from supply.packages import Package

Tree = dict[str, object]
OWN = canonicalize_name("krm-windows")
# The namespace of the serial numbers, version 5 of RFC 9562.
NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "https://krm-windows.dev/sbom")


def bom(
    site: Path, system: Path | None, extras: Sequence[str] = (), version: str | None = None
) -> Tree:
    """Return the bill of materials of a `site-packages` and of a Debian system.

    The first holds the function, and what its extras need; the second is the tree below a folder.
    The function has the version that is named, or the one that is installed.
    """
    found = packages.closure(site, f"{OWN}[{','.join(extras)}]")
    own = found.pop(OWN)
    own = replace(own, version=version or own.version)
    components: list[Tree] = [_component(package) for package in found.values()]
    dependencies = [
        {"ref": _ref(package), "dependsOn": _refs(package, found)}
        for package in (own, *found.values())
    ]
    if system is not None:
        components.append(_interpreter())
        components.extend(_debian(system))
    tree: Tree = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": _timestamp(),
            "lifecycles": [{"phase": "build"}],
            "component": _component(own, "application"),
        },
        "components": components,
        "dependencies": dependencies,
    }
    content = json.dumps(tree, sort_keys=True)
    return {**tree, "serialNumber": f"urn:uuid:{uuid.uuid5(NAMESPACE, content)}"}


def _timestamp() -> str:
    moment = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _ref(package: Package) -> str:
    """Return a package's URL.

    krm-windows is on no public index, so its own is `generic`: under `pypi` a scanner would take it
    for whatever somebody registers there.
    """
    kind = "generic" if package.name == OWN else "pypi"
    return f"pkg:{kind}/{package.name}@{package.version}"


def _refs(package: Package, found: Mapping[NormalizedName, Package]) -> list[str]:
    return [_ref(found[name]) for name in package.needs]


def _component(package: Package, kind: str = "library") -> Tree:
    reference = _ref(package)
    return {
        "type": kind,
        "bom-ref": reference,
        "name": package.name,
        "version": package.version,
        "licenses": [_licence(package.licence)],
        "purl": reference,
    }


def _licence(expression: str) -> Tree:
    """Return an SPDX expression as the specification wants it.

    One licence is given by its id, several as an expression.
    """
    if " " in expression:
        return {"expression": expression}
    return {"license": {"id": expression}}


def _interpreter() -> Tree:
    version = ".".join(str(part) for part in sys.version_info[:3])
    reference = f"pkg:generic/python@{version}"
    licences = [{"license": {"id": "PSF-2.0"}}]
    return {
        "type": "platform",
        "bom-ref": reference,
        "name": "python",
        "version": version,
        "licenses": licences,
        "purl": reference,
    }


def _debian(system: Path) -> Iterator[Tree]:
    """Yield the system's packages from dpkg's own list.

    It is in the format of Debian's control files.
    """
    status = (system / "var/lib/dpkg/status").read_text()
    release = _release(system)
    for paragraph in sorted(status.strip().split("\n\n")):
        fields = dict(
            line.split(": ", 1)
            for line in paragraph.splitlines()
            if ": " in line and line[0] != " "
        )
        if fields["Status"] != "install ok installed":
            continue
        name, version, architecture = fields["Package"], fields["Version"], fields["Architecture"]
        reference = (
            f"pkg:deb/debian/{name}@{quote(version, safe='')}?arch={architecture}&distro={release}"
        )
        yield {
            "type": "library",
            "bom-ref": reference,
            "name": name,
            "version": version,
            "purl": reference,
        }


def _release(system: Path) -> str:
    lines = (system / "etc/os-release").read_text().splitlines()
    fields = dict(line.split("=", 1) for line in lines if "=" in line)
    return f"{fields['ID']}-{fields['VERSION_ID']}".replace('"', "")


def main() -> int:
    """Write the bill of materials to a file."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "--site", type=Path, required=True, help="the site-packages that has krm-windows"
    )
    parser.add_argument(
        "--system", type=Path, help="the root of a Debian system, whose packages are listed too"
    )
    parser.add_argument(
        "--extra", action="append", default=[], metavar="NAME", help="an extra that is in it"
    )
    parser.add_argument("--own", metavar="VERSION", help="the version of krm-windows itself")
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    tree = bom(arguments.site, arguments.system, arguments.extra, arguments.own)
    text = json.dumps(tree, indent=2, ensure_ascii=False)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
