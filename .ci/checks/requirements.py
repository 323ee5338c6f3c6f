"""requirements/*.txt are complete and hashed, and fit constraints.txt and pyproject.toml.

None of them names an index.
"""

import re
import sysconfig
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import NormalizedName, canonicalize_name
from supply import packages, requirements

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(sysconfig.get_paths()["purelib"])
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
EXACT = re.compile(r"==[^*,]+")
RENEW = "make requirements"


@dataclass(frozen=True)
class Entry:
    """One package of a requirements file."""

    requirement: Requirement
    options: tuple[str, ...]

    @property
    def name(self) -> NormalizedName:
        """The package's normalized name."""
        return canonicalize_name(self.requirement.name)

    @property
    def version(self) -> str:
        """The one version that is allowed; an empty text where there is no such."""
        specifier = str(self.requirement.specifier)
        return specifier.removeprefix("==") if EXACT.fullmatch(specifier) else ""

    @property
    def is_needed_here(self) -> bool:
        """Whether this platform and Python install it."""
        return self.requirement.marker is None or self.requirement.marker.evaluate()


def entries(text: str) -> Iterator[Entry]:
    """Yield the entries of a requirements file.

    Raises InvalidRequirement for any other line, such as an option.
    """
    unfolded = text.replace("\\\n", " ")
    for line in unfolded.splitlines():
        content = line.partition("#")[0].strip()
        if content:
            named, *options = re.split(r"\s+(?=--)", content)
            yield Entry(Requirement(named), tuple(options))


def problems() -> Iterator[str]:
    """Yield a sentence for everything that is not so."""
    constraints = {
        entry.name: entry.version for entry in entries((ROOT / "constraints.txt").read_text())
    }
    for name, (source, wanted) in requirements.sources().items():
        place = f"requirements/{name}.txt"
        try:
            found = list(entries((ROOT / place).read_text()))
        except (InvalidRequirement, FileNotFoundError) as error:
            yield f"{place}: {error}"
            continue
        for problem in [*_unpinned(found, constraints), *_unmet(found, wanted, source)]:
            yield f"{place}: {problem}: {RENEW}"
    yield from _incomplete()


def _unpinned(found: list[Entry], constraints: dict[NormalizedName, str]) -> Iterator[str]:
    for entry in found:
        if not entry.version:
            yield f"{entry.name} is not pinned to one version"
        if not entry.options or not all(HASH.fullmatch(option) for option in entry.options):
            yield f"{entry.name} has no hashes, or something else beside them"
        if constraints.get(entry.name, entry.version) != entry.version:
            pinned = constraints[entry.name]
            yield f"{entry.name} is {entry.version} here, and {pinned} in constraints.txt"


def _unmet(found: list[Entry], wanted: list[str], source: str) -> Iterator[str]:
    versions = {entry.name: entry.version for entry in found}
    for text in wanted:
        requirement = Requirement(text)
        version = versions.get(canonicalize_name(requirement.name), "none")
        if version == "none" or not requirement.specifier.contains(version, prereleases=True):
            yield f"{source} wants {text}, and {version} is here"


def _incomplete() -> Iterator[str]:
    """Compare the versions for development with those that the image and the build install."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    roots = {
        "image": ["krm-windows"],
        "server": ["krm-windows[server]"],
        "forge": ["krm-windows[forge]"],
        "build": project["build-system"]["requires"],
    }
    for name, wanted in roots.items():
        needed: set[NormalizedName] = set()
        for requirement in wanted:
            needed.update(packages.closure(SITE, requirement))
        needed.discard(canonicalize_name("krm-windows"))
        text = (ROOT / f"requirements/{name}.txt").read_text()
        listed = {entry.name for entry in entries(text) if entry.is_needed_here}
        for missing in sorted(needed - listed):
            yield f"requirements/{name}.txt lacks {missing}: {RENEW}"
        for superfluous in sorted(listed - needed):
            yield f"requirements/{name}.txt has {superfluous}, which nothing needs: {RENEW}"
