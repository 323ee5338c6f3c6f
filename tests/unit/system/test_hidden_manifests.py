"""A kustomization that is new hides nothing that Flux applies so far."""

from pathlib import Path

import pytest

from krm_windows.system.errors import WorkspaceError
from krm_windows.system.files import Folder

HEADER = "# ours"
OURS = b"# ours\napiVersion: v1\nkind: ConfigMap\n"
WANTED = {"kustomization.yaml": OURS, "a.yaml": OURS}
CONFIG = "apiVersion: v1\nkind: ConfigMap\n"


def lay(folder: Path, name: str, text: str) -> Path:
    path = folder / "plant" / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("apps/web.yml", f"# a comment\n---\n{CONFIG}"),
        ("apps/kustomization.yml", "resources: []\n"),
        ("both.yaml", f"apiVersion: krm-windows.dev/v1alpha1\n---\n{CONFIG}"),
        ("quoted.yaml", '"apiVersion": "v1"\n'),
        ("flow.yaml", "{apiVersion: v1, kind: ConfigMap}\n"),
        ("begun.yaml", "--- {apiVersion: v1, kind: ConfigMap}\n"),
        ("marked.yaml", "\ufeffapiVersion: v1\nkind: ConfigMap\n"),
        ("below.yaml", "kind: ConfigMap\napiVersion:\n  v1\n"),
        ("broken.yaml", "apiVersion: v1\nkind: {\n"),
    ],
)
def test_nothing_is_written_where_it_would_hide_a_manifest(
    name: str, text: str, tmp_path: Path
) -> None:
    """Flux would delete what it has applied of it; both ways of writing say which and where."""
    path = lay(tmp_path, name, text)
    with pytest.raises(WorkspaceError, match=f"would hide {path} from Flux"):
        Folder(tmp_path / "plant", HEADER.__eq__).write(WANTED)
    tree = Folder(tmp_path, HEADER.__eq__, branches=("plant",))
    with pytest.raises(WorkspaceError, match=f"would hide {path} from Flux"):
        tree.put({}, {f"plant/{each}": content for each, content in WANTED.items()})
    assert not (tmp_path / "plant/kustomization.yaml").exists()
    assert not (tmp_path / "plant/a.yaml").exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("policy.yaml", "apiVersion: krm-windows.dev/v1alpha1\nkind: WindowPolicy\n"),
        ("README.md", CONFIG),
        ("policy.yaml", '{"apiVersion": "krm-windows.dev/v1alpha1", "a": {"apiVersion": "v1"}}'),
        ("values.yaml", "replicas: 1\n"),
        ("values.yaml", "ingress:\n  apiVersion: networking.k8s.io/v1\n"),
        ("old.yaml", OURS.decode()),
    ],
)
def test_what_flux_does_not_apply_may_lie_beside_it(name: str, text: str, tmp_path: Path) -> None:
    lay(tmp_path, name, text)
    Folder(tmp_path / "plant", HEADER.__eq__).write(WANTED)
    assert (tmp_path / "plant/kustomization.yaml").read_bytes() == OURS
