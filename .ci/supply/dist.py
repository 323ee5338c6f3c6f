"""`make dist`: the files of a release, made from a commit, in dist/.

These are the wheel, the source archive, the SBOM and their checksums. They are made from what Git
has, in a folder of their own, so that nothing that lies about in the work tree gets in, and with
the time of the commit, so that the same commit gives the same bytes on every machine.

The version is that of the commit's tag. Without a tag it says which commit it is, and sorts before
the release that the source is on its way to.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(sysconfig.get_paths()["purelib"])
SOURCE = "krm_windows/__init__.py"
VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)


class ReleaseError(Exception):
    """A commit cannot be released as it is."""


def git(*arguments: str) -> bytes:
    """Return what a git command on the repository prints."""
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout


def build(commit: str, output: Path) -> None:
    """Make everything of a commit in a folder, which must not be there yet or be empty."""
    epoch = git("log", "-1", "--format=%ct", commit).decode().strip()
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch}
    with tempfile.TemporaryDirectory() as folder:
        sources = Path(folder, "sources")
        archive = Path(folder, "sources.tar")
        git("archive", "--format=tar", f"--output={archive}", commit)
        with tarfile.open(archive) as members:
            members.extractall(sources, filter="data")
        version = write_version(sources / SOURCE, commit)
        # The source archive first, and the wheel from it: what is shipped can be built from what is
        # shipped.
        backend = [sys.executable, "-m", "build", "--no-isolation", "--outdir", output, sources]
        subprocess.run(backend, env=environment, stdout=subprocess.DEVNULL, check=True)
        [wheel] = output.glob("*.whl")
        bom = wheel.with_suffix(".cdx.json")
        command = [sys.executable, "-m", "supply.sbom", "--site", SITE, "--own", version, bom]
        subprocess.run(command, env=environment, cwd=ROOT, check=True)
    checksums(output)


def write_version(source: Path, commit: str) -> str:
    """Write the version of a commit into what `git archive` made of it, and return it."""
    text = source.read_text()
    [planned] = VERSION.findall(text)
    version = version_of(planned, tags(commit), git("rev-parse", commit).decode().strip())
    source.write_text(VERSION.sub(f'__version__ = "{version}"', text))
    return version


def version_of(planned: str, tagged: list[str], commit: str) -> str:
    """Return the version of a commit, by its tags and by what its source is on the way to.

    Raises ReleaseError for a tag of another version: pages and examples name the source's.
    """
    others = [tag for tag in tagged if tag != f"v{planned}"]
    if others:
        raise ReleaseError(f"the tag {others[0]} is on a commit whose source says {planned}")
    if tagged:
        return planned
    # PEP 440: before the release, and local, as no index takes it.
    return f"{planned}.dev0+g{commit[:12]}"


def tags(commit: str) -> list[str]:
    """Return the tags of releases that name a commit."""
    return git("tag", "--points-at", commit, "--list", "v[0-9]*").decode().split()


def checksums(folder: Path) -> None:
    """Write SHA256SUMS, as `sha256sum --check` reads it."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / "SHA256SUMS").write_text("".join(lines))


def main() -> int:
    """Make dist/ again."""
    parser = argparse.ArgumentParser(prog="make dist", description=main.__doc__)
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    arguments = parser.parse_args()
    shutil.rmtree(arguments.output, ignore_errors=True)
    try:
        build(arguments.commit, arguments.output)
    except ReleaseError as error:
        sys.exit(f"dist: {error}")
    print((arguments.output / "SHA256SUMS").read_text(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
