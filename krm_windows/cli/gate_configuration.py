"""The file of `merge-gate --config`: what is gated, and how it is merged."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from krm_windows.cli import inputs
from krm_windows.krm import InputError, documents
from krm_windows.preview import parameters

# What connections the client keeps.
_MOST_JOBS = 64


class Configuration(BaseModel):
    """What a file says; the names of its fields begin with a small letter (`mergeMethod`)."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True)

    paths: tuple[str, ...] = ()
    """Globs of the paths that the policies gate; by default, what they gate in the checkout."""

    clusters: str | None = None
    """A glob of the clusters' directories."""

    cluster: str | None = None
    """The one cluster whose windows count."""

    resources: str | None = None
    """A directory with the targets' timeouts, for `closesEarly: auto`."""

    trust: bool = False
    """Whether to build where the system has no sandbox."""

    branches: tuple[str, ...] = ()
    """The branches whose changes are gated; by default, the repository's default branch."""

    context: str = "krm-windows"
    """The name of the status."""

    link: str = ""
    """The URL that the status links to."""

    jobs: Annotated[int, Field(ge=1, le=_MOST_JOBS)] = 16
    """How many requests are sent to the forge at the same time."""

    merge: bool = False
    """Whether open changes that have the label `window:NAME` of a policy are merged."""

    approve_only: bool = False
    """Whether they are approved, and merging is left to the forge."""

    merge_method: Literal["merge", "squash", "rebase"] | None = None
    """How to merge, as the forge calls it; its own default where nothing is said."""

    timeout: Annotated[timedelta, BeforeValidator(parameters.length)] = timedelta(hours=1)
    """How long to wait for the checks of a change."""


def read(path: str | None, place: str | None = None) -> Configuration:
    """Return what a file says, the defaults without one; raises InputError for what is wrong.

    It is read at a place, where that is another one than messages say.
    """
    if path is None:
        return Configuration()
    try:
        items = documents(inputs.content(place or path))
        return Configuration.model_validate(items[0].get() if items else {})
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except InputError as error:
        raise error.in_file(path) from error
    except ValidationError as error:
        wrong = [
            f"{'.'.join(map(str, each['loc']))}: {each['msg'].removeprefix('Value error, ')}"
            for each in error.errors()
        ]
        raise InputError(f"{path}: {'; '.join(wrong)}") from None
