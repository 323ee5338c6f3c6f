"""Who calls, and what they may do: by a token, a JSON Web Token, or what a trusted proxy says."""

import hashlib
import ipaddress
import re
import secrets
import stat
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus
from pathlib import Path
from typing import Annotated

import jwt
import pydantic.dataclasses
from pydantic import ConfigDict, Field, IPvAnyNetwork
from starlette.requests import Request

from krm_windows.service.keys import Keys, UnreachableError, UntrustedError
from krm_windows.service.log import Log
from krm_windows.service.problems import Problem
from krm_windows.system import bounded
from krm_windows.system.directories import Directory
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_branch import Person

# What a file says of them, and no more.
_CLOSED = ConfigDict(extra="forbid")
COOKIE = "krm-windows-session"
# A working day: whoever closes the browser has to say again who they are.
_SESSION_SECONDS = 8 * 3600
_SIGNED = "HS256"
_MOST = 1 << 20
_SECRET = 32
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
# What a name in a commit cannot have (git-commit(1)): it would end there.
_UNNAMED = re.compile(r"[<>\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_LONGEST = 200
# A line of a file of tokens.
_LINE = re.compile(
    r"(?P<name>\S+)\s+(?P<scopes>\S+)\s+sha256:(?P<hash>[0-9a-f]{64})(\s+(?P<author>\S.*))?"
)


class Scope(StrEnum):
    """What a caller may do; `admin` is everything, and all of a policy that is not hours."""

    READ = "read"
    WRITE = "write"
    OVERRIDE = "override"
    ADMIN = "admin"


EVERYTHING = frozenset(Scope)
SCOPES = ",".join(Scope)
"""All of them, as they are listed for a token."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who calls: `name` is unique, `person` is the author of their commits."""

    name: str
    person: Person
    scopes: frozenset[Scope]

    def may(self, scope: Scope) -> bool:
        """Say whether they may do what takes a scope."""
        return scope in self.scopes or Scope.ADMIN in self.scopes


@pydantic.dataclasses.dataclass(frozen=True, config=_CLOSED)
class Provider:
    """An identity provider whose JSON Web Tokens are taken; `claim` has what scopes are made of."""

    issuer: str
    audience: Annotated[str, Field(min_length=1)]
    claim: str = "scope"


@pydantic.dataclasses.dataclass(frozen=True, config=_CLOSED)
class Proxy:
    """A proxy that says who calls, by headers, and is believed only where it calls from."""

    user: str
    networks: tuple[IPvAnyNetwork, ...]
    groups: str | None = None
    email: str | None = None


@dataclass(frozen=True, slots=True)
class Ways:
    """The ways in which callers may say who they are.

    `anonymous` is whom everybody is taken for, for a service that only its own machine can reach.
    `granted` are the scopes that a value of a claim, or a group, gives.
    """

    anonymous: Caller | None = None
    tokens: Path | None = None
    provider: Provider | None = None
    proxy: Proxy | None = None
    granted: Mapping[str, frozenset[Scope]] = field(default_factory=dict)


def scopes(text: str) -> frozenset[Scope]:
    """Read `read,write`; raises ValueError for an unknown one."""
    return frozenset(Scope(part) for part in text.split(","))


def token_line(name: str, granted: str, token: str, author: Person | None = None) -> str:
    """Return the line of a file of tokens for a token: without it, as its hash.

    Raises ValueError for scopes that do not exist.
    """
    scopes(granted)
    line = f"{name} {granted} sha256:{digest(token)}"
    if author is not None:
        line += f" {author.name} <{author.email}>"
    return line


def new_token() -> str:
    """Return a token that nobody can guess."""
    # 256 bits: a plain hash of it can be published, as there is nothing to be tried.
    return f"kw_{secrets.token_urlsafe(32)}"


def kept_secret(folder: Directory) -> bytes:
    """Return what sessions are signed with: kept in a directory, so that they outlive a restart."""
    secret = folder.read("session-key")
    if secret is None:
        secret = secrets.token_bytes(_SECRET)
        folder.put("session-key", secret, mode=0o600)
    return secret


class Access:
    """Says who calls."""

    def __init__(self, ways: Ways, secret: bytes | None = None, log: Log | None = None) -> None:
        """Take callers in some ways; raises WorkspaceError or OSError for a file that is wrong.

        `secret` is what sessions are signed with: another one ends them. The log says what is wrong
        with the file later.
        """
        self.ways = ways
        self._tokens = _TokenFile(ways.tokens, log)
        _, problem = self._tokens.current()
        if problem:
            raise problem
        self.keys = Keys(ways.provider.issuer) if ways.provider else None
        self._secret = secret or secrets.token_bytes(_SECRET)

    def caller(self, request: Request) -> Caller | None:
        """Return who makes a request; None where they do not say.

        Raises Problem for who is not who they say.
        """
        # What a caller says itself counts before what a proxy or a browser adds.
        header = request.headers.get("authorization")
        if header is not None:
            return self._bearer(header)
        proxied = self._proxied(request)
        if proxied is not None:
            return proxied
        cookie = request.cookies.get(COOKIE)
        found = self._session(cookie) if cookie is not None else None
        return found or self.ways.anonymous

    def is_right(self) -> bool:
        """Say whether the file of tokens can be read now, and every line of it."""
        return not self._tokens.current()[1]

    def holder(self, name: str) -> Caller | None:
        """Return who has the line of a name in the file of tokens, as it is now."""
        found, _ = self._tokens.current()
        return next((caller for caller in found.values() if caller.name == name), None)

    def begin_session(self, token: str) -> str:
        """Return the value of a cookie for whoever has a token; raises Problem for a wrong one."""
        self._find(digest(token))
        # The hash of the token, which is no secret: what its line says then is what counts, and
        # without the line, the session ends.
        content = {"sub": digest(token), "exp": int(time.time()) + _SESSION_SECONDS}
        # Signed and not encrypted: the browser's owner may read who they are.
        return jwt.encode(content, self._secret, _SIGNED)

    def _bearer(self, header: str) -> Caller:
        kind, _, token = header.partition(" ")
        token = token.strip() if kind.lower() == "bearer" else ""
        provider = self.ways.provider
        # A JSON Web Token has three parts (RFC 7519, 3); a token of ours has no dot.
        if provider is not None and self.keys is not None and token.count(".") == 2:  # noqa: PLR2004
            try:
                claims = self.keys.claims(token, provider.audience)
            except UntrustedError as error:
                raise _unknown(str(error)) from None
            except UnreachableError as error:
                why = "cannot fetch the identity provider's keys"
                raise Problem(
                    HTTPStatus.SERVICE_UNAVAILABLE,
                    f"{why}; try again later",
                    headers={"Retry-After": "30"},
                    reason=f"{why}: {error}",
                ) from None
            return self._claimed(claims, provider)
        return self._find(digest(token))

    def _find(self, digest: str) -> Caller:
        """Return whose token has a hash; raises Problem where nobody's has."""
        found = self._tokens.current()[0].get(digest)
        if found is None:
            raise _unknown()
        return found

    def _claimed(self, claims: Mapping[str, object], provider: Provider) -> Caller:
        # Nothing else is one person's for ever: an address, and the name that is preferred, are
        # what somebody says of themselves, and may become another's (OpenID Connect Core 1.0, 5.7).
        subject = claims.get("sub")
        if not isinstance(subject, str) or not subject.strip():
            raise _unknown("the token has no name")
        identity = _identity(subject)
        # For the commit, people have names that others can read.
        name = _named(claims, "name", "preferred_username", "email") or identity
        # Nor does an address count that nobody has seen; some write `"false"` (the same, 5.1).
        email = ""
        if claims.get("email_verified") not in (False, "false"):
            email = _named(claims, "email")
        values = claims.get(provider.claim)
        # A list, or words with spaces between (RFC 8693, 4.2).
        listed = values.split() if isinstance(values, str) else values
        granted = self._granted(listed if isinstance(listed, list) else [])
        return Caller(identity, Person(name, email or identity), granted)

    def _proxied(self, request: Request) -> Caller | None:
        proxy = self.ways.proxy
        if proxy is None or request.client is None:
            return None
        if not _is_from(request.client.host, proxy):
            return None
        user, groups, email = (
            _header(request, name) for name in (proxy.user, proxy.groups, proxy.email)
        )
        if user is None:
            return None
        if not user.strip():
            raise _unknown()
        name = _identity(user)
        granted = self._granted(each.strip() for each in (groups or "").split(","))
        return Caller(name, Person(name, clean(email or name)), granted)

    def _granted(self, values: Iterable[object]) -> frozenset[Scope]:
        # `*` is for everybody who is known.
        names = ["*", *(each for each in values if isinstance(each, str))]
        return frozenset().union(*(self.ways.granted.get(each, ()) for each in names))

    def _session(self, cookie: str) -> Caller | None:
        try:
            content = jwt.decode(cookie, self._secret, [_SIGNED], {"require": ["exp", "sub"]})
        except (jwt.PyJWTError, ValueError):
            return None
        # In the file as it is now: a token that is taken out of it, or replaced, ends its sessions.
        return self._tokens.current()[0].get(content["sub"])


# Who has which token, by its hash, and what is wrong with the file.
_Tokens = tuple[Mapping[str, Caller], Exception | None]


class _TokenFile:
    """A file with a line for each token: name, scopes, hash, and the author of its commits."""

    def __init__(self, path: Path | None, log: Log | None) -> None:
        self._path = path
        self._log = log or Log()
        # The state of the file, or why it could not be read; with what `current` returned then.
        # One value, as several threads ask.
        self._known: tuple[object, _Tokens] = (None, ({}, None))

    def current(self) -> _Tokens:
        """Return who has which token, by its hash, and what is wrong with the file, as it is now.

        A line that is wrong lets nobody in, nor does a file that cannot be read.
        """
        before, found = self._known
        if self._path is None:
            return found
        try:
            state = self._path.stat()
            now: object = (state.st_ctime_ns, state.st_size, state.st_ino)
            if now != before:
                found = _read_tokens(self._path, state.st_mode)
        except (WorkspaceError, OSError) as error:
            now, found = str(error), ({}, error)
        # What is wrong at the start is an error there.
        if found[1] and before not in (None, now):
            self._log.record("tokens", detail=str(found[1]))
        self._known = now, found
        return found


def _read_tokens(path: Path, mode: int) -> _Tokens:
    # Whoever may write it may let themselves in, as `admin`.
    if stat.S_ISREG(mode) and mode & _OTHERS_MAY_WRITE:
        raise WorkspaceError(f"{path}: others may write it: chmod go-w {path}")
    found: dict[str, Caller] = {}
    names: set[str] = set()
    problem = None
    text = bounded.read_file(path, most=_MOST).decode(errors="replace")
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if line[:1] in ("", "#"):
            continue
        parts = _LINE.fullmatch(line)
        caller = _read_caller(parts) if parts else None
        if parts is not None and caller is not None and caller.name not in names:
            names.add(caller.name)
            found[parts["hash"]] = caller
        elif not problem:
            # The line itself may hold a token that was not hashed: it is not repeated.
            problem = WorkspaceError(
                f"{path}:{number}: must be NAME SCOPES sha256:HASH [AUTHOR <EMAIL>], as from "
                f"--new-token, with scopes from {SCOPES}, and each name once"
            )
    return found, problem


def _read_caller(parts: re.Match[str]) -> Caller | None:
    """Read `ada read,write sha256:9f86… Ada Lovelace <ada@example.com>`; None for another line."""
    name = clean(parts["name"])
    author = Person.read(parts["author"] or f"{name} <{name}@krm-windows>")
    if author is None or not set(parts["scopes"].split(",")) <= EVERYTHING:
        return None
    return Caller(name, author, scopes(parts["scopes"]))


def digest(token: str) -> str:
    """Return the hash by which a token is known."""
    # No salt: of 256 random bits no table can be made.
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def _is_from(host: str, proxy: Proxy) -> bool:
    # A socket of this machine has no address.
    with suppress(ValueError):
        address = ipaddress.ip_address(host)
        return any(address in network for network in proxy.networks)
    return False


def clean(text: str) -> str:
    """Return a text as a name in a commit, and in a line of a log, may be."""
    # A name of nothing but `.` or spaces is none to Git.
    found = _UNNAMED.sub("", text).strip(" .,;:\"'\\")[:_LONGEST]
    return found or "unknown"


def _identity(name: str) -> str:
    """Return what somebody is known by: `clean`, and another one for each name."""
    found = clean(name)
    if found == name:
        return found
    return f"{found}-{digest(name)[:16]}"


def _header(request: Request, name: str | None) -> str | None:
    """Return a header that a proxy sets, such as `ops,dev`; None where it is not there.

    Raises Problem for one that comes twice: one of both is the caller's own, and nobody knows
    which.
    """
    found = request.headers.getlist(name) if name is not None else []
    if len(found) > 1:
        raise _unknown(f"the header {name} comes {len(found)} times")
    return found[0] if found else None


def _named(claims: Mapping[str, object], *names: str) -> str:
    for name in names:
        found = claims.get(name)
        if isinstance(found, str) and found.strip():
            return clean(found)
    return ""


def _unknown(why: str = "unknown token") -> Problem:
    return Problem(
        HTTPStatus.UNAUTHORIZED,
        why,
        headers={"WWW-Authenticate": 'Bearer realm="krm-windows", error="invalid_token"'},
    )
