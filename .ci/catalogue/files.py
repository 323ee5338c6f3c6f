"""What the function says of the kinds it takes.

JSON Schema, KRMFunctionDefinition, metadata and field reference. All of it is generated and
committed; `make generate` writes it, `make check` says what is stale. What `krm-windows schema`
prints is in the package, too.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from catalogue import moments_page, reference, schema
from krm_windows import SOURCE, __version__, escape
from krm_windows.classes.model import ChangeClasses
from krm_windows.krm.writer import render
from krm_windows.policy.model import API_VERSION, WindowPolicy
from krm_windows.policy.parts import Part

SUMMARY = (
    "Reconciliation windows for GitOps: when changes may reach a cluster, as plain CronJobs and "
    "RBAC."
)
# `krm-windows.dev` and `v1alpha1`.
GROUP, _, VERSION = API_VERSION.partition("/")
# The image is built from a checkout and pushed by whoever uses it: no registry is named here.
# Before a release it is the one to come: `0.1.0.dev0+g1a2b` is no tag (OCI distribution, "tag").
_PACKAGE = "krm_windows/function/kinds"
_IMAGE = f"localhost/krm-windows:{__version__.partition('.dev')[0]}"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind that the function takes: its model, and what its documents say beside the fields."""

    model: type[Part]
    plural: str
    summary: str
    note: str
    example: str
    tags: tuple[str, ...]

    @property
    def name(self) -> str:
        """The kind as it is written in an object."""
        return self.model.__name__

    def json_schema(self) -> str:
        """Return the JSON Schema as a file."""
        return escape.json_page(schema.json_schema(self.model))

    def definition(self) -> str:
        """Return the KRMFunctionDefinition (KEP-2906) as a file."""
        version = {
            # A KRMFunctionDefinition has fields like those of a CustomResourceDefinition, and says
            # how the function is run.
            "name": VERSION,
            # Run on its own output, the function changes nothing more.
            "idempotent": True,
            "usage": f"{SOURCE}/blob/main/docs/reference/{self.name.lower()}.md",
            "examples": [f"{SOURCE}/tree/main/examples/{self.example}"],
            "license": "Apache-2.0",
            "schema": {"openAPIV3Schema": schema.open_api(self.model)},
            "runtime": {
                # Nothing is fetched and nothing stored, so an orchestrator need give it neither.
                "container": {
                    "image": _IMAGE,
                    "requireNetwork": False,
                    "requireStorageMount": False,
                }
            },
        }
        definition = {
            "apiVersion": "config.kubernetes.io/v1alpha1",
            "kind": "KRMFunctionDefinition",
            # As a CustomResourceDefinition is named: `windowpolicies.krm-windows.dev`.
            "metadata": {"name": f"{self.plural}.{GROUP}"},
            "spec": {
                "group": GROUP,
                "names": {"kind": self.name},
                "description": self.summary,
                "publisher": GROUP,
                "home": SOURCE,
                "maintainers": ["The krm-windows authors"],
                "tags": list(self.tags),
                "versions": [version],
            },
        }
        return render(definition)

    def reference(self) -> str:
        """Return the field reference as Markdown."""
        return reference.fields(schema.tree(self.model), self.name, API_VERSION, self.note)


WINDOW_POLICY = Kind(
    WindowPolicy,
    plural="windowpolicies",
    summary=SUMMARY,
    note=(
        "Windows, freezes, overrides and clusters are maps keyed by name, so that a patch can "
        "change one entry; `null` removes one."
    ),
    example="no-deploy-friday",
    tags=("gitops", "flux", "change window", "freeze"),
)
CHANGE_CLASSES = Kind(
    ChangeClasses,
    plural="changeclasses",
    summary=(
        "Change classes for GitOps: which resources may change at once, and which wait for a "
        "window."
    ),
    note=(
        "The annotation `krm-windows.dev/change-class` on a resource takes precedence over all "
        "rules."
    ),
    example="change-classes",
    tags=("gitops", "flux", "change window", "change class"),
)
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in (WINDOW_POLICY, CHANGE_CLASSES)}


def metadata_text() -> str:
    """Return the catalogue entry as kpt's function catalogue reads it."""
    return render(
        {
            "image": _IMAGE,
            "description": SUMMARY,
            # A mutator changes what is there, a generator adds what is not.
            "tags": ["mutator", "generator"],
            "sourceURL": SOURCE,
            "examplePackageURLs": [f"{SOURCE}/tree/main/examples/kpt-pipeline"],
            "emails": [],
            "license": "Apache-2.0",
            "hidden": False,
        }
    )


def _of(kind: Kind) -> dict[str, Callable[[], str]]:
    name = kind.name.lower()
    return {
        f"function-config/{name}.schema.json": kind.json_schema,
        f"function-config/{name}.definition.yaml": kind.definition,
        f"docs/reference/{name}.md": kind.reference,
        f"{_PACKAGE}/{name}.schema.json": kind.json_schema,
        f"{_PACKAGE}/{name}.definition.yaml": kind.definition,
        f"{_PACKAGE}/{name}.md": kind.reference,
    }


FILES: Mapping[str, Callable[[], str]] = {
    **_of(WINDOW_POLICY),
    **_of(CHANGE_CLASSES),
    "function-config/metadata.yaml": metadata_text,
    "docs/reference/kinds.md": reference.kinds,
    "docs/reference/moments.md": moments_page.page,
    "docs/reference/rules.md": reference.rules,
}


def problems() -> Iterator[str]:
    """Yield the generated files of the checkout that are stale."""
    for name in stale(Path.cwd()):
        yield f"{name} is stale: make generate"


def stale(root: Path) -> list[str]:
    """Return the generated files below `root` that are not what the models say."""
    files = {name: root / name for name in FILES}
    return [
        name
        # As the models say it now; a file that a person edited is stale, too.
        for name, make in FILES.items()
        if not files[name].is_file() or files[name].read_text() != make()
    ]


def write(root: Path) -> None:
    """Write every generated file below `root`."""
    for name, make in FILES.items():
        # For a new kind the directory may not be there yet.
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(make(), encoding="utf-8")
