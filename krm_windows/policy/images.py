"""The images that Jobs run on where a policy names none.

`make renew-images` writes their digests.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Image(NamedTuple):
    """An image as it is published, and what it was when it was last looked up."""

    tag: str
    """Registry, repository and tag."""
    digest: str
    """`sha256:…` of its index, which covers all platforms.

    Empty where no registry could be asked for it yet.
    """

    @property
    def reference(self) -> str:
        """What a Pod names: tag and digest, of which the digest counts, or the tag alone."""
        if self.digest:
            return f"{self.tag}@{self.digest}"
        return self.tag


# The gate needs any Python from 3.11 on; flux-cli carries kubectl, and this is its newest release.
DEFAULTS: Mapping[str, Image] = {
    "Gate": Image(
        "docker.io/library/python:3.13-slim-trixie",
        "",
    ),
    "Kubectl": Image(
        "ghcr.io/fluxcd/flux-cli:v2.9.5",
        "",
    ),
}
