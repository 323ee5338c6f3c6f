"""The images that Pods run, as archives for containerd."""

import fcntl
import shutil
import subprocess
import tempfile
from pathlib import Path

from krm_windows.policy.images import DEFAULTS
from lab.processes import run
from lab.settings import BIN, IMAGES, PINS, ROOT

PAUSE = "docker.io/library/pause:lab"
SERVER = PINS["image"]["server_tag"]
FUNCTION = PINS["image"]["tag"]
ARCHIVES = {
    "function": FUNCTION,
    "gate": DEFAULTS["Gate"].tag,
    "kubectl": DEFAULTS["Kubectl"].tag,
    "pause": PAUSE,
    "server": SERVER,
}
# The stand-ins have other digests than what they replace, so containerd is given under which digest
# each is asked for.
PINNED = {
    image.tag: f"{image.tag.rpartition(':')[0]}@{image.digest}"
    for image in DEFAULTS.values()
    if image.digest
}


def build() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    made = {"gate": _gate, "kubectl": _program, "pause": _program}
    for name, make in made.items():
        if not archive(name).exists():
            print(f"lab: making the image {ARCHIVES[name]}", flush=True)
            make(name, ARCHIVES[name])
    _ours("function")
    _ours("server", "server")


def pinned() -> dict[str, str]:
    """Return by which reference with a digest each image is asked for, by its tag."""
    digest = (IMAGES / "function.id").read_text()
    return {**PINNED, FUNCTION: f"{FUNCTION.rpartition(':')[0]}@sha256:{digest}"}


def archive(name: str) -> Path:
    """Return where the archive of an image lies; its name carries what it is made of."""
    version = f"-{PINS['cluster']['kubernetes']}" if name == "kubectl" else ""
    made_of = f"{ARCHIVES[name]}{version}"
    return IMAGES / f"{made_of.replace('/', '_').replace(':', '_')}.tar"


def _gate(name: str, tag: str) -> None:
    """The function's base image carries Python and tzdata, as the gate's does."""
    base = PINS["image"]["base"]
    run("podman", "tag", base, tag)
    _save(name, tag)
    if tag != base:
        run("podman", "untag", tag, tag)


def _ours(name: str, *target: str) -> None:
    """Other tests that run meanwhile build it, too: one does, the others wait for it."""
    with (ROOT / ".cache/image.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["bash", ROOT / ".ci/image", *target], check=True)
    image = run("podman", "image", "inspect", "--format", "{{.Id}}", ARCHIVES[name]).strip()
    saved = IMAGES / f"{name}.id"
    if not archive(name).exists() or not saved.exists() or saved.read_text() != image:
        _save(name, ARCHIVES[name])
        saved.write_text(image)


def _program(name: str, tag: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree/bin")
        tree.mkdir(parents=True)
        shutil.copy(BIN / name, tree / name)
        tar = Path(folder, "tree.tar")
        run("tar", "--directory", tree.parent, "--create", "--file", tar, ".")
        entry = ["--change", 'ENTRYPOINT ["/bin/pause"]'] if name == "pause" else []
        changes = ["--change", "ENV PATH=/bin", *entry]
        run("podman", "import", "--quiet", *changes, tar, tag)
    _save(name, tag)
    run("podman", "image", "rm", tag)


def _save(name: str, tag: str) -> None:
    unfinished = archive(name).with_suffix(".part")
    unfinished.unlink(missing_ok=True)
    run("podman", "save", "--quiet", "--format", "docker-archive", "-o", unfinished, tag)
    unfinished.rename(archive(name))
