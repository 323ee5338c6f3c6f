"""docs/reference/licences.md: what comes with the function, and under which licences.

That is what is distributed with it, and what is installed beside it.
"""

import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import NormalizedName, canonicalize_name

from supply import packages
from supply.packages import Package

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/licences.md"
SITE = Path(sysconfig.get_paths()["purelib"])
OWN = canonicalize_name("krm-windows")
HEAD = """\
# Licences

The licence of krm-windows is [Apache-2.0](../../LICENSE). These are the licences of the packages
that it uses, at the versions with which it is tested; `make check` fails if one is not allowed. In
the image, the text of each is in `*.dist-info`, and for Debian's packages in
`/usr/share/doc/*/copyright`; the [SBOM](../how-to/supply-chain.md#sbom) names them all.
"""


@dataclass(frozen=True)
class Section:
    """Packages that come to a user in one way, and the licences that are allowed for them."""

    title: str
    text: str
    requirements: tuple[str, ...]
    allowed: frozenset[str]


SECTIONS = (
    Section(
        "Run time",
        "These are in the image, and are installed with the wheel.",
        ("krm-windows",),
        packages.PERMISSIVE,
    ),
    Section(
        "Extras",
        "Needed for some commands only, which name them; not in the image, and not changed by us.",
        ("krm-windows[completion,forge,git,holidays,ics,server]",),
        packages.PERMISSIVE | {packages.LINKABLE, "LGPL-3.0-or-later", "MPL-2.0"},
    ),
    Section(
        "Build",
        "These build the wheel; neither the wheel nor the image contains them.",
        ("hatchling",),
        packages.PERMISSIVE | {"MPL-2.0"},
    ),
)


def members(section: Section) -> dict[str, Package]:
    """Return the packages of a section, sorted by name, but for those of the sections before it."""
    known = {OWN: None}
    for earlier in SECTIONS[: SECTIONS.index(section)]:
        known.update(dict.fromkeys(_closure(earlier)))
    return {name: package for name, package in _closure(section).items() if name not in known}


def _closure(section: Section) -> dict[NormalizedName, Package]:
    found: dict[NormalizedName, Package] = {}
    for requirement in section.requirements:
        found |= packages.closure(SITE, requirement)
    return dict(sorted(found.items()))


def page() -> str:
    """Return the text of the page."""
    lines = [HEAD]
    for section in SECTIONS:
        lines += [
            f"## {section.title}",
            "",
            section.text,
            "",
        ]
        lines += [
            f"- {name} {found.version}: {found.licence}" for name, found in members(section).items()
        ]
        lines.append("")
    return "\n".join(lines)


def problems() -> Iterator[str]:
    """Yield a sentence for every licence that is not allowed, and where the page is out of date."""
    for section in SECTIONS:
        for name, package in members(section).items():
            if not packages.is_allowed(package.licence, section.allowed):
                yield (
                    f"{name} {package.version} is under {package.licence}, "
                    f"which is not allowed for: {section.title}"
                )
    if not PAGE.exists() or PAGE.read_text() != page():
        yield f"{PAGE.relative_to(ROOT)} is out of date: make generate"


def main() -> int:
    """Write the page again."""
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
