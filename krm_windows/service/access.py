"""Who calls, and what they may do: by a token, a JSON Web Token, or what a trusted proxy says."""

import hashlib
import hmac
import ipaddress
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from http import HTTPStatus
from pathlib import Path
from typing import Annotated

import jwt
import pydantic.dataclasses
from pydantic import ConfigDict, Field, IPvAnyNetwork
from starlette.requests import Request

from krm_windows.service.keys import Keys, UnreachableError, UntrustedError
from krm_windows.service.problems import Problem
from krm_windows.system import bounded
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
    """Somebody who calls: `name` is unique, `person` is the author of their commits.

    `by_cookie` is for one whom a browser names by itself, so that a form has to prove that it is
    ours.
    """

    name: str
    person: Person
    scopes: frozenset[Scope]
    by_cookie: bool = False

    def may(self, scope: Scope) -> bool:
        """Say whether they may do what takes a scope."""
        return scope in self.scopes or Scope.ADMIN in self.scopes


@pydantic.dataclasses.dataclass(frozen=True, config=_CLOSED)
class Provider:
    """An identity provider whose JSON Web Tokens are taken; `claim` has what scopes are made of."""

    issuer: str
    audience: Annotated[str, Field(min_length=1)]
    keys: str | None = None
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
    line = f"{name} {granted} sha256:{_digest(token)}"
    if author is not None:
        line += f" {author.name} <{author.email}>"
    return line


def new_token() -> str:
    """Return a token that nobody can guess."""
    # 256 bits: a plain hash of it can be published, as there is nothing to be tried.
    return f"kw_{secrets.token_urlsafe(32)}"


def kept_secret(folder: Path) -> bytes:
    """Return the secret that is kept in a directory, made at the first time.

    So a session, and a form that somebody is filling in, outlive a restart of the service. Where
    nothing can be kept, it is a new one each time.
    """
    path = folder / "session-key"
    made = secrets.token_bytes(_SECRET)
    with suppress(OSError):
        folder.mkdir(exist_ok=True)
        with suppress(FileExistsError):
            # Once, however many services begin at the same time.
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(made)
        found = bounded.read_file(path, most=_SECRET)
        # Nobody else may have read it, and it was not cut off.
        if len(found) == _SECRET and not path.stat().st_mode & 0o077:
            return found
    return made


@dataclass(frozen=True, slots=True)
class _Token:
    caller: Caller
    digest: str


class Access:
    """Says who calls."""

    def __init__(self, ways: Ways, secret: bytes | None = None) -> None:
        """Take callers in some ways; raises WorkspaceError for a file that cannot be read.

        `secret` is what sessions and forms are signed with: another one ends them.
        """
        self._ways = ways
        self._tokens = _TokenFile(ways.tokens) if ways.tokens is not None else None
        self._keys = Keys(ways.provider.issuer, ways.provider.keys) if ways.provider else None
        self._secret = secret or secrets.token_bytes(_SECRET)

    async def caller(self, request: Request) -> Caller | None:
        """Return who makes a request; None where they do not say.

        Raises Problem for who is not who they say.
        """
        # What a caller says itself counts before what a proxy or a browser adds.
        header = request.headers.get("authorization")
        if header is not None:
            return await self._bearer(header)
        proxied = self._proxied(request)
        if proxied is not None:
            return proxied
        cookie = request.cookies.get(COOKIE)
        if cookie is not None and self._tokens is not None:
            return self._session(self._tokens, cookie) or self._ways.anonymous
        return self._ways.anonymous

    def begin_session(self, token: str) -> str:
        """Return the value of a cookie for whoever has a token; raises Problem for a wrong one."""
        found = self._find(token)
        # The name and no scope: what the line of the token says then is what counts. And the hash
        # of the token, which is no secret: where the line gets another one, the session ends.
        content = {
            "sub": found.caller.name,
            "token": found.digest,
            "exp": int(time.time()) + _SESSION_SECONDS,
        }
        # Signed and not encrypted: the browser's owner may read who they are.
        return jwt.encode(content, self._secret, _SIGNED)

    def form_token(self, caller: Caller) -> str:
        """Return what a form of ours has, and a form of another site cannot know."""
        message = f"form\n{caller.name}".encode(errors="replace")
        return hmac.new(self._secret, message, hashlib.sha256).hexdigest()

    def is_form_token(self, caller: Caller, token: str) -> bool:
        """Say whether a form is ours."""
        return hmac.compare_digest(token.encode(), self.form_token(caller).encode())

    async def _bearer(self, header: str) -> Caller:
        kind, _, token = header.partition(" ")
        token = token.strip() if kind.lower() == "bearer" else ""
        provider = self._ways.provider
        # A JSON Web Token has three parts (RFC 7519, 3); a token of ours has no dot.
        if provider is not None and self._keys is not None and token.count(".") == 2:  # noqa: PLR2004
            try:
                claims = await self._keys.claims(token, provider.audience)
            except UntrustedError as error:
                raise _unknown(str(error)) from None
            except UnreachableError as error:
                raise _unreachable(str(error)) from None
            return self._claimed(claims, provider)
        return self._find(token).caller

    def _find(self, token: str) -> "_Token":
        """Return what a token is for; raises Problem for one that is not ours."""
        found = self._tokens.find(token) if self._tokens is not None else None
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
        proxy = self._ways.proxy
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
        # A browser behind a proxy of this kind sends its cookie by itself.
        return Caller(name, Person(name, clean(email or name)), granted, by_cookie=True)

    def _granted(self, values: Iterable[object]) -> frozenset[Scope]:
        # `*` is for everybody who is known.
        names = ["*", *(each for each in values if isinstance(each, str))]
        return frozenset().union(*(self._ways.granted.get(each, ()) for each in names))

    def _session(self, tokens: "_TokenFile", cookie: str) -> Caller | None:
        try:
            content = jwt.decode(cookie, self._secret, [_SIGNED], {"require": ["exp", "sub"]})
        except (jwt.PyJWTError, ValueError):
            return None
        # In the file as it is now: a token that is taken out of it, or replaced, ends its sessions.
        for each in tokens.current():
            if (each.caller.name, each.digest) == (content["sub"], content.get("token")):
                return replace(each.caller, by_cookie=True)
        return None


class _TokenFile:
    """A file with a line for each token: name, scopes, hash, and the author of its commits."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._tokens: tuple[_Token, ...] = ()
        self._load()

    def find(self, token: str) -> _Token | None:
        """Return what a token is for, in a time that says nothing about any."""
        digest = _digest(token)
        found: _Token | None = None
        for each in self.current():
            # All of them, whichever it is.
            if hmac.compare_digest(each.digest, digest):
                found = each
        return found

    def current(self) -> tuple[_Token, ...]:
        """Return the tokens as the file has them now; as it had them, where it is broken now."""
        # Half written, or gone for a moment: whoever was known is known.
        with suppress(WorkspaceError, OSError):
            self._load()
        return self._tokens

    def _load(self) -> None:
        state = self._path.stat()
        seen = (state.st_ctime_ns, state.st_size, state.st_ino)
        if seen == self._seen:
            return
        self._seen = seen
        # Whoever may write it may let themselves in, as `admin`.
        if stat.S_ISREG(state.st_mode) and state.st_mode & _OTHERS_MAY_WRITE:
            raise WorkspaceError(f"{self._path}: others may write it: chmod go-w {self._path}")
        text = bounded.read_file(self._path, most=_MOST).decode(errors="replace")
        self._tokens = _read_tokens(self._path, text)


def _read_tokens(path: Path, text: str) -> tuple[_Token, ...]:
    found: dict[str, _Token] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        token = _read_token(line.strip())
        if token is None or token.caller.name in found:
            # The line itself may hold a token that was not hashed: it is not repeated.
            raise WorkspaceError(
                f"{path}:{number}: must be NAME SCOPES sha256:HASH [AUTHOR <EMAIL>], as from "
                f"--new-token, with scopes from {SCOPES}, and each name once"
            )
        found[token.caller.name] = token
    return tuple(found.values())


def _read_token(line: str) -> _Token | None:
    """Read `ada read,write sha256:9f86… Ada Lovelace <ada@example.com>`; None for another line."""
    found = _LINE.fullmatch(line)
    if found is None or not set(found["scopes"].split(",")) <= EVERYTHING:
        return None
    name = clean(found["name"])
    author = Person.read(found["author"] or f"{name} <{name}@krm-windows>")
    if author is None:
        return None
    return _Token(Caller(name, author, scopes(found["scopes"])), found["hash"])


def _digest(token: str) -> str:
    # No salt: of 256 random bits no table can be made.
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def _is_from(host: str, proxy: Proxy) -> bool:
    # A socket of this machine has no address.
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return any(address in network for network in proxy.networks)


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
    return f"{found}-{_digest(name)[:16]}"


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


def _unreachable(why: str) -> Problem:
    return Problem(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "cannot fetch the identity provider's keys; try again later",
        headers={"Retry-After": "30"},
        reason=f"cannot fetch the identity provider's keys: {why}",
    )


def _unknown(why: str = "unknown token") -> Problem:
    return Problem(
        HTTPStatus.UNAUTHORIZED,
        why,
        headers={"WWW-Authenticate": 'Bearer realm="krm-windows", error="invalid_token"'},
    )
