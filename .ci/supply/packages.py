"""The Python packages that are installed somewhere: what needs what, and their licences."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

LGPL = "License :: OSI Approved :: GNU Lesser General Public License v3 or later (LGPLv3+)"
# What the metadata of packages that state no SPDX expression say instead, and what it means.
CLASSIFIERS = {
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: BSD License": "BSD-3-Clause",
    LGPL: "LGPL-3.0-or-later",
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
# What the licence of libgit2 and pygit2 is: who links to them is under no terms of theirs.
LINKABLE = "GPL-2.0-only WITH GCC-exception-2.0"
# What metadata say in words of their own.
WORDS = {"GPLv2 with linking exception": LINKABLE}
PERMISSIVE = frozenset(
    {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "PSF-2.0"}
)


class UnknownLicenceError(Exception):
    """A package does not say its licence in a way that is known here."""


@dataclass(frozen=True)
class Package:
    """A package as it is installed."""

    name: NormalizedName
    version: str
    licence: str
    """An SPDX expression."""
    needs: tuple[NormalizedName, ...]
    """Sorted; those of the asked extras included."""


def installed(folder: Path) -> Mapping[NormalizedName, Distribution]:
    """Return every package of a `site-packages` folder, by its normalized name."""
    found = distributions(path=[str(folder)])
    return {
        canonicalize_name(distribution.metadata["Name"]): distribution for distribution in found
    }


def closure(folder: Path, requirement: str) -> dict[NormalizedName, Package]:
    """Return what a requirement needs, itself included, sorted by name.

    Raises KeyError for what is not installed.
    """
    present = installed(folder)
    found: dict[NormalizedName, Package] = {}
    waiting = [Requirement(requirement)]
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        distribution = present[name]
        needed = list(_needed(distribution, wanted.extras))
        names = {canonicalize_name(requirement.name) for requirement in needed}
        if name in found:
            # Asked for again: with an extra it may need more than it did.
            names.update(found[name].needs)
            needed = [other for other in needed if canonicalize_name(other.name) not in found]
        found[name] = Package(
            name, distribution.version, licence(distribution), tuple(sorted(names))
        )
        waiting.extend(needed)
    return dict(sorted(found.items()))


def _needed(distribution: Distribution, extras: set[str]) -> Iterator[Requirement]:
    for line in distribution.requires or ():
        requirement = Requirement(line)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield requirement


def licence(distribution: Distribution) -> str:
    """Return the licence of a package as an SPDX expression; raises `UnknownLicenceError`."""
    metadata = distribution.metadata
    expression = metadata.get("License-Expression")
    if expression:
        return str(expression)
    written = str(metadata.get("License") or "")
    if written in WORDS:
        return WORDS[written]
    if written in {*PERMISSIVE, *CLASSIFIERS.values()}:
        return written
    classifiers = _licence_classifiers(distribution)
    unknown = [text for text in classifiers if text not in CLASSIFIERS]
    if unknown or not classifiers:
        what = ", ".join([written, *classifiers])
        raise UnknownLicenceError(f"{metadata['Name']} {distribution.version}: {what}")
    # More than one classifier is how "at your choice" was written before there were expressions.
    return " OR ".join(sorted({CLASSIFIERS[text] for text in classifiers}))


def _licence_classifiers(distribution: Distribution) -> list[str]:
    found = distribution.metadata.get_all("Classifier") or []
    return [text for text in found if text.startswith("License ::")]


def is_allowed(expression: str, allowed: frozenset[str]) -> bool:
    """Return whether the allowed licences cover one of the choices of an SPDX expression.

    Expressions with parentheses or exceptions are refused: somebody has to read them first.
    """
    choices = [set(choice.split(" AND ")) for choice in expression.split(" OR ")]
    return any(choice <= allowed for choice in choices)
