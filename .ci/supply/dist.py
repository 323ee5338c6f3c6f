"""`make dist`: the files of a release, made from a commit, in dist/.

These are the wheel, the source archive, the SBOM and their checksums. They are made from what Git
has, in a folder of their own, so that nothing that lies about in the work tree gets in, and with
the time of the commit, so that the same commit gives the same bytes on every machine.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(sysconfig.get_paths()["purelib"])


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
        # The source archive first, and the wheel from it: what is shipped can be built from what is
        # shipped.
        backend = [sys.executable, "-m", "build", "--no-isolation", "--outdir", output, sources]
        subprocess.run(backend, env=environment, stdout=subprocess.DEVNULL, check=True)
        [wheel] = output.glob("*.whl")
        bom = wheel.with_suffix(".cdx.json")
        command = [sys.executable, "-m", "supply.sbom", "--site", SITE, bom]
        subprocess.run(command, env=environment, cwd=ROOT, check=True)
    checksums(output)


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
    build(arguments.commit, arguments.output)
    print((arguments.output / "SHA256SUMS").read_text(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
