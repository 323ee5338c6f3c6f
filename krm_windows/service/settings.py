"""What a service is started with: by a file, by the environment, and by a few options."""

from collections.abc import Mapping
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    Field,
    IPvAnyAddress,
    NonNegativeInt,
    PositiveInt,
    ValidationError,
    model_validator,
)
from pydantic.dataclasses import dataclass
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from krm_windows.flux import Given
from krm_windows.krm import InputError, documents
from krm_windows.service.access import EVERYTHING, Caller, Provider, Proxy, Scope, Ways
from krm_windows.service.problems import invalid_words
from krm_windows.service.proposals import PullRequests
from krm_windows.system import bounded
from krm_windows.system.git_branch import Person

_MOST = 1 << 20
SERVICE = Person("krm-windows", "krm-windows@localhost")
"""Who makes a commit, if the clone names nobody: the author is the caller."""


@dataclass(frozen=True, config={"extra": "forbid"})
class Clusters:
    """Where Flux enters the repository, as `krm-windows pending` takes it.

    `directories` is a glob below the directory that is served; `sources` are `NAME=DIR`, of sources
    that are this repository.
    """

    directories: str
    sources: tuple[str, ...] = ()


def _clusters(found: Clusters) -> Clusters:
    try:
        for each in found.sources:
            Given.parse(each)
    except InputError as error:
        raise ValueError(str(error)) from None
    return found


class Settings(BaseSettings):
    """What a service serves, how, and to whom.

    Each field may be in the environment, as `KRM_WINDOWS_REPO`.
    """

    model_config = SettingsConfigDict(
        env_prefix="KRM_WINDOWS_", env_nested_delimiter="__", extra="forbid", frozen=True
    )

    # A directory in a Git repository; only policies below it are served.
    repo: Path
    # The one that is checked out, if it is None.
    branch: str | None = None
    # What costs an audit or a commit, of each caller over a minute.
    rate: NonNegativeInt = 600
    # Where the clusters are, for what waits for them; None: nobody looks for it.
    clusters: Annotated[Clusters, AfterValidator(_clusters)] | None = None
    remote: str | None = None
    fetchSeconds: PositiveInt = 30  # noqa: N815 - as the file has it
    # Changes are proposed at the remote, and not made.
    proposals: PullRequests | None = None
    # Where a browser finds a commit, where the remote does not say it.
    commitUrl: (  # noqa: N815 - likewise
        Annotated[str, Field(pattern=r"^https?://[^\s@/]+/\S*\{commit\}\S*$")] | None
    ) = None
    host: IPvAnyAddress = IPv4Address("127.0.0.1")
    port: Annotated[int, Field(ge=0, le=65535)] = 8080
    # Whether callers come over TLS, which a proxy ends.
    tlsByProxy: bool = False  # noqa: N815 - likewise
    tokens: Path | None = None
    oidc: Provider | None = None
    proxy: Proxy | None = None
    grants: dict[str, frozenset[Scope]] = {}

    @model_validator(mode="after")
    def _whole(self) -> Self:
        """Refuse what would let everybody in, or send secrets for everybody to read."""
        if self.grants and not (self.oidc or self.proxy):
            raise ValueError("grants has no effect without oidc or proxy")
        if self.proposals is not None and self.remote is None:
            raise ValueError("a pull request needs a branch at a remote: give remote")
        # Only this machine gets to its own loopback addresses.
        if self.host.is_loopback:
            return self
        reached = f"the address {self.host} can be reached by others"
        if self.is_open:
            raise ValueError(f"{reached}: configure authentication with tokens, oidc or proxy")
        if not self.tlsByProxy:
            raise ValueError(f"{reached}: put it behind a proxy with TLS, and set tlsByProxy")
        return self

    @property
    def is_open(self) -> bool:
        """Whether everybody who gets here may do everything."""
        return not (self.tokens or self.oidc or self.proxy)

    def ways(self, user: Person | None) -> Ways:
        """Return the ways in which callers may say who they are, `user` where nobody has to."""
        return Ways(
            anonymous=Caller("local", user or SERVICE, EVERYTHING) if self.is_open else None,
            tokens=self.tokens,
            provider=self.oidc,
            proxy=self.proxy,
            granted=self.grants
            or {f"krm-windows:{scope.value}": frozenset({scope}) for scope in Scope},
        )


def read(file: Path | None, options: Mapping[str, object]) -> Settings:
    """Read settings, of which options count before the file; raises InputError."""
    found = {} if file is None else _read(file)
    try:
        return Settings(**{**found, **options})
    except ValidationError as error:
        first = error.errors()[0]
        wrong = InputError(invalid_words(first["loc"], first["msg"]))
    except SettingsError as error:
        wrong = InputError(str(error))
    raise wrong if file is None else wrong.in_file(str(file))


def _read(file: Path) -> dict[str, Any]:
    try:
        [document] = documents(bounded.read_file(file, most=_MOST))
        found = document.get()
    except InputError as error:
        raise error.in_file(str(file)) from None
    except ValueError:
        raise InputError(f"{file}: must be one YAML document") from None
    if not isinstance(found, dict):
        raise InputError(f"{file}: must be a mapping")
    return found
