"""What has to repeat a pin of versions.toml says the same as versions.toml."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from krm_windows.policy.images import DEFAULTS, Image

ROOT = Path(__file__).resolve().parents[2]
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
# What jobs of CI run in: ours, and those of a user of the component.
JOBS = (
    ".github/workflows/ci.yaml",
    ".github/workflows/night.yaml",
    "templates/krm-windows.yml",
)
IN_A_JOB = re.compile(r"^ +(?:image|default): ([^\s@]+/[^\s@]+:[^\s@]+)(?:@(\S+))?$", re.MULTILINE)


def problems() -> Iterator[str]:
    """Yield a sentence for every pin that differs."""
    pins = tomllib.loads((ROOT / "versions.toml").read_text())
    yield from images(pins)
    kubectl = "v0." + pins["tools"]["kubectl"].removeprefix("1.")
    if f"k8s.io/kubectl {kubectl}\n" not in (ROOT / ".ci/kubectl/go.mod").read_text():
        yield f".ci/kubectl/go.mod: k8s.io/kubectl is not {kubectl}"
    prometheus = f"github.com/prometheus/prometheus v{pins['tools']['promtool']}"
    if prometheus not in (ROOT / ".ci/promtool/go.mod").read_text():
        yield f".ci/promtool/go.mod: {prometheus} is not there"
    gitea = f"code.gitea.io/gitea v{pins['tools']['gitea']}\n"
    if gitea not in (ROOT / ".ci/gitea/go.mod").read_text():
        yield f".ci/gitea/go.mod: {gitea.strip()} is not there"
    alertmanager = f"github.com/prometheus/alertmanager v{pins['tools']['amtool']}"
    if alertmanager not in (ROOT / ".ci/amtool/go.mod").read_text():
        yield f".ci/amtool/go.mod: {alertmanager} is not there"
    for file in (".ci/axe/package.json", ".ci/axe/package-lock.json"):
        if f'"axe-core": "{pins["npm"]["axe-core"]}"' not in (ROOT / file).read_text():
            yield f"{file}: axe-core is not {pins['npm']['axe-core']}"
    for module, pin in _modules(pins["cluster"]).items():
        required = re.compile(rf"^(?:require )?\s*{re.escape(pin)} // indirect$", re.MULTILINE)
        if not required.search((ROOT / f"tests/cluster/lab/go/{module}/go.mod").read_text()):
            yield f"tests/cluster/lab/go/{module}/go.mod: {pin} is not there"
    if f"## {_version()}" not in (ROOT / "CHANGELOG.md").read_text():
        yield f"CHANGELOG.md: has no heading for {_version()}"


def images(pins: dict[str, dict[str, str]]) -> Iterator[str]:
    """Yield a sentence for every image that is named otherwise than versions.toml pins it."""
    digests = pins["images"]
    base = pins["image"]["base"]
    in_dockerfile = (
        f"\nARG BASE={Image(base, digests.get(base, '')).reference}\n"
        in (ROOT / "Dockerfile").read_text()
    )
    # One image may be both, the base and a default.
    repeated = [(base, in_dockerfile)]
    repeated += [(image.tag, image.digest == digests.get(image.tag)) for image in DEFAULTS.values()]
    repeated += [(tag, digest == digests.get(tag)) for tag, digest in _in_jobs()]
    for tag, is_same in repeated:
        if tag not in digests:
            yield f"versions.toml: {tag} is not in the table images"
        elif not is_same:
            yield (
                f"{tag}: Dockerfile, krm_windows/policy/images.py or {' or '.join(JOBS)} do not "
                "repeat versions.toml: make renew-images"
            )
    for tag in sorted(digests.keys() - dict(repeated).keys()):
        yield f"versions.toml: nothing uses the image {tag}"
    for tag, digest in digests.items():
        if digest and not DIGEST.fullmatch(digest):
            yield f"versions.toml: {digest} of {tag} is no digest"


def _in_jobs() -> Iterator[tuple[str, str]]:
    """Yield the tag and the digest of each image that a job runs in."""
    for job in JOBS:
        yield from IN_A_JOB.findall((ROOT / job).read_text())


def _modules(cluster: dict[str, str]) -> dict[str, str]:
    flux = ("kustomize-controller", "source-controller", "helm-controller")
    return {
        "kubernetes": f"k8s.io/kubernetes v{cluster['kubernetes']}",
        **{name: f"github.com/fluxcd/{name} v{cluster[name]}" for name in flux},
    }


def _version() -> str:
    found = re.search(r'__version__ = "([^"]+)"', (ROOT / "krm_windows/__init__.py").read_text())
    return found[1] if found else "a version (krm_windows/__init__.py has none)"
