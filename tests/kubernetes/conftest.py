"""What these tests share: the schemas of Kubernetes."""

from collections.abc import Iterator
from functools import cache

import pytest
from kubernetes_validate import utils


@pytest.fixture(scope="session", autouse=True)
def schemas() -> Iterator[None]:
    """Each file is read once: the validator reads a megabyte of them for every object."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(utils, "schema_contents", cache(utils.schema_contents))
        yield
