"""What a service is started with."""

from dataclasses import dataclass, field
from pathlib import Path

import pydantic.dataclasses
from pydantic import ConfigDict

from krm_windows.service.proposals import PullRequests
from krm_windows.service.rendering import Renew
from krm_windows.system.git_branch import Person

SERVICE = Person("krm-windows", "krm-windows@localhost")
"""Who makes a commit, if nobody else is named: the author is the caller."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What callers may take at most: bytes, seconds, requests."""

    body: int = 1 << 20
    # A body has to be here after so long.
    receive_seconds: float = 10.0
    # Of each caller, over a minute: reading, and what costs an audit or a commit.
    reads_a_minute: int = 60_000
    writes_a_minute: int = 600


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Clusters:
    """Where Flux enters the repository, as `krm-windows pending` takes it.

    `directories` is a glob below the directory that is served; `sources` are `NAME=DIR`, of sources
    that are this repository.
    """

    directories: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """What a service serves, and how.

    `directory` is in a Git repository; only policies below it are served. `branch` is the one
    that is checked out if it is None. `created` is the path of the file of a new policy below
    `directory`, with `{namespace}` and `{name}`.
    """

    directory: Path
    branch: str | None = None
    committer: Person = SERVICE
    created: str = "{namespace}-{name}.yaml"
    remote: str | None = None
    # Renders again what was rendered of a policy, with every change; None: it is left alone.
    renew: Renew | None = None
    # Where the clusters are, for what waits for them; None: nobody looks for it.
    clusters: Clusters | None = None
    # Changes are proposed at the remote, and not made.
    pull_requests: PullRequests | None = None
    # What browsers know the service by, `https://windows.example.com`; None is whatever they say.
    public_url: str | None = None
    # The names by which it may be called; None is any.
    hosts: frozenset[str] | None = None
    # Whether callers come over TLS, which a proxy ends.
    secure: bool = False
    # How often the branch is looked at, its remote fetched, and Git asked whether there is anything
    # to be packed, in seconds.
    poll_seconds: float = 1.0
    fetch_seconds: float = 30.0
    maintain_seconds: float = 3600.0
    limits: Limits = field(default_factory=Limits)
    # Hours of a change that are shown: four weeks, as `set` does.
    days_compared: int = 28
