"""The DaemonSet that has nodes pull images is what Kubernetes takes, and no more than it needs."""

import shutil
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from effort import mostly_slow
from restricted import RELEASES, ROOT, Object, breaches

# Image volumes are in the schema since then (KEP 4639).
_SINCE = (1, 31)
KNOWING = [each for each in RELEASES if tuple(map(int, each.split(".")[:2])) >= _SINCE]
IMAGES = ("registry.example/shop/web:2", f"registry.example/shop/db@sha256:{'0' * 64}")


@pytest.fixture(scope="module")
def built(tool: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Object:
    """What kustomize builds of it for two images, as the how-to does it."""
    folder = tmp_path_factory.mktemp("built") / "new-images"
    shutil.copytree(ROOT / "examples/edge/new-images", folder)
    listed = "".join(f"{image}\n" for image in IMAGES)
    command = [tool("awk"), "-f", folder / "images.awk"]
    patch = subprocess.run(command, input=listed, capture_output=True, text=True, check=True)
    (folder / "images.yaml").write_text(patch.stdout)
    build = [tool("kustomize"), "build", folder]
    done = subprocess.run(build, capture_output=True, text=True, check=True)
    found: Object = yaml.load(done.stdout, yaml.CSafeLoader)
    return found


@pytest.mark.parametrize("release", mostly_slow(KNOWING, every=len(KNOWING) - 1))
def test_strict_schema(built: Object, release: str) -> None:
    """It satisfies the release's schema, without a field that it does not know."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the validator's own open files
        kubernetes_validate.validate(built, release, strict=True)


def test_its_pod_is_restricted(built: Object) -> None:
    """By the Pod Security Standards, to which a volume of an image is as good as any."""
    pod = built["spec"]["template"]["spec"]
    assert list(breaches({**pod, "volumes": []})) == []
    assert pod["automountServiceAccountToken"] is False


def test_every_image_is_mounted(built: Object) -> None:
    """Only what is mounted is in use for the kubelet, and kept; none is started."""
    pod = built["spec"]["template"]["spec"]
    [container] = pod["containers"]
    volumes = {each["name"]: each["image"] for each in pod["volumes"]}
    assert [each["reference"] for each in volumes.values()] == list(IMAGES)
    assert [each["name"] for each in container["volumeMounts"]] == list(volumes)
    assert all(each["readOnly"] for each in container["volumeMounts"])
    assert container["image"] not in IMAGES
