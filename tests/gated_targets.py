"""Targets as tests want them."""

from krm_windows.gate.timetable import Target


def kustomization(namespace: str = "flux-system", name: str = "apps", **fields: object) -> Target:
    return Target(
        group="kustomize.toolkit.fluxcd.io",
        resource="kustomizations",
        kind="Kustomization",
        namespace=namespace,
        name=name,
        **fields,  # type: ignore[arg-type]
    )
