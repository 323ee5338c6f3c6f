"""Who calls, and what they may do: by a token, a JSON Web Token, or what a trusted proxy says."""

import hashlib
import hmac
import ipaddress
import os
import re
import secrets
import stat
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
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
# A file of tokens is looked at again after so long.
_FRESH_SECONDS = 1.0
# What a name in a commit cannot have (git-commit(1)): it would end there.
_UNNAMED = re.compile(r"[<>\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_LONGEST = 200
_HASH = re.compile(r"sha256:([0-9a-f]{64})")


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
    try:
        with suppress(FileNotFoundError):
            return _read_secret(path)
        folder.mkdir(exist_ok=True)
        made = folder / f"session-key.{secrets.token_hex(4)}"
        # Beside its place, and by its name only when it is whole.
        descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(_SECRET))
        # In one step, and only once: another service may begin at the same time.
        with suppress(FileExistsError):
            os.link(made, path)
        made.unlink()
        return _read_secret(path)
    except OSError:
        return secrets.token_bytes(_SECRET)


def _read_secret(path: Path) -> bytes:
    found = bounded.read_file(path, most=_SECRET)
    # Nobody else may have read it, and it was not cut off.
    if len(found) < _SECRET or path.stat().st_mode & 0o077:
        raise PermissionError(path)
    return found


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

    def caller(self, request: Request) -> Caller | None:
        """Return who makes a request; None where they do not say.

        Raises Problem for who is not who they say. Waits for what is `awaited`.
        """
        # What a caller says itself counts before what a proxy or a browser adds.
        header = request.headers.get("authorization")
        if header is not None:
            return self._bearer(header)
        proxied = self._proxied(request)
        if proxied is not None:
            return proxied
        cookie = request.cookies.get(COOKIE)
        if cookie is not None and self._tokens is not None:
            return self._session(cookie) or self._ways.anonymous
        return self._ways.anonymous

    def awaited(self, request: Request) -> "Future[None] | None":
        """Return what to wait for before `caller` is asked, None where it answers at once."""
        header = request.headers.get("authorization")
        if self._keys is None or header is None:
            return None
        token = _token(header)
        if not _is_jwt(token):
            return None
        return self._keys.awaited(token)

    def begin_session(self, token: str) -> str:
        """Return the value of a cookie for whoever has a token; raises Problem for a wrong one."""
        found = self._tokens.find(token) if self._tokens is not None else None
        if found is None:
            raise _unknown()
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

    def _bearer(self, header: str) -> Caller:
        token = _token(header)
        if not token:
            raise _unknown()
        if self._keys is not None and _is_jwt(token):
            return self._from_claims(self._keys, token)
        found = self._tokens.find(token) if self._tokens is not None else None
        if found is None:
            raise _unknown()
        return found.caller

    def _from_claims(self, keys: Keys, token: str) -> Caller:
        provider = self._ways.provider
        if provider is None:
            raise _unknown()
        try:
            claims = keys.claims(token, provider.audience)
        except UntrustedError as error:
            raise _unknown(str(error)) from None
        except UnreachableError as error:
            raise _unreachable(str(error)) from None
        # Nothing else is one person's for ever: an address, and the name that is preferred, are
        # what somebody says of themselves, and may become another's (OpenID Connect Core 1.0, 5.7).
        subject = claims.get("sub")
        if not isinstance(subject, str) or not subject.strip():
            raise _unknown("the token has no name")
        identity = _identity(subject)
        # For the commit, people have names that others can read.
        name = _named(claims, "name", "preferred_username", "email") or identity
        values = claims.get(provider.claim)
        granted = self._granted(_values(values))
        return Caller(identity, Person(name, _email(claims) or identity), granted)

    def _proxied(self, request: Request) -> Caller | None:
        proxy = self._ways.proxy
        if proxy is None or request.client is None:
            return None
        if not _is_from(request.client.host, proxy):
            return None
        user = _header(request, proxy.user)
        if user is None:
            return None
        if not user.strip():
            raise _unknown()
        name = _identity(user)
        email = clean(_header(request, proxy.email) or name)
        groups = _header(request, proxy.groups) or ""
        granted = self._granted(each.strip() for each in groups.split(","))
        # A browser behind a proxy of this kind sends its cookie by itself.
        return Caller(name, Person(name, email), granted, by_cookie=True)

    def _granted(self, values: Iterable[str]) -> frozenset[Scope]:
        # `*` is for everybody who is known.
        found: set[Scope] = set(self._ways.granted.get("*", ()))
        for each in values:
            found |= self._ways.granted.get(each, frozenset())
        return frozenset(found)

    def _session(self, cookie: str) -> Caller | None:
        try:
            content = jwt.decode(cookie, self._secret, [_SIGNED], {"require": ["exp", "sub"]})
        except (jwt.PyJWTError, ValueError):
            return None
        # In the file as it is now: a token that is taken out of it, or replaced, ends its sessions.
        found = self._tokens.named(content["sub"]) if self._tokens is not None else None
        if found is None or found.digest != content.get("token"):
            return None
        caller = found.caller
        return Caller(caller.name, caller.person, caller.scopes, by_cookie=True)


class _TokenFile:
    """A file with a line for each token: name, scopes, hash, and the author of its commits."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._looked = 0.0
        self._seen: tuple[int, int, int] | None = None
        self._tokens: tuple[_Token, ...] = ()
        self._load()

    def find(self, token: str) -> _Token | None:
        """Return what a token is for, in a time that says nothing about any."""
        digest = _digest(token)
        found: _Token | None = None
        for each in self._current():
            # All of them, whichever it is.
            if hmac.compare_digest(each.digest, digest):
                found = each
        return found

    def named(self, name: str) -> _Token | None:
        for each in self._current():
            if each.caller.name == name:
                return each
        return None

    def _current(self) -> tuple[_Token, ...]:
        """Return the tokens as the file has them now; as it had them, where it is broken now."""
        if time.monotonic() - self._looked > _FRESH_SECONDS:
            with self._lock:
                try:
                    self._load()
                except (WorkspaceError, OSError):
                    # Half written, or gone for a moment: whoever was known is known.
                    self._looked = time.monotonic()
        return self._tokens

    def _load(self) -> None:
        self._looked = time.monotonic()
        state = self._path.stat()
        # Whoever may write it may let themselves in, as `admin`.
        if stat.S_ISREG(state.st_mode) and state.st_mode & _OTHERS_MAY_WRITE:
            raise WorkspaceError(f"{self._path}: others may write it: chmod go-w {self._path}")
        seen = (state.st_mtime_ns, state.st_size, state.st_ino)
        if seen == self._seen:
            return
        text = bounded.read_file(self._path, most=_MOST).decode(errors="replace")
        self._tokens = tuple(_token_lines(self._path, text))
        self._seen = seen


def _token_lines(path: Path, text: str) -> Iterable[_Token]:
    names: set[str] = set()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        # `ada read,write sha256:9f86… Ada Lovelace <ada@example.com>`
        try:
            name, granted, hashed, *rest = line.split(maxsplit=3)
            author = _author(name, *rest)
        except ValueError:
            must = "must be: NAME SCOPES sha256:HASH [AUTHOR <EMAIL>]"
            raise _bad_line(path, number, must) from None
        digest = _HASH.fullmatch(hashed)
        if digest is None:
            # The line itself may hold a token that was not hashed: it is not repeated.
            raise _bad_line(path, number, "has no hash: create the line with --new-token")
        if name in names:
            raise _bad_line(path, number, f"has the duplicate name {clean(name)!r}")
        names.add(name)
        try:
            allowed = scopes(granted)
        except ValueError:
            raise _bad_line(path, number, f"must have scopes from {SCOPES}") from None
        yield _Token(Caller(clean(name), author, allowed), digest[1])


def _author(name: str, written: str | None = None) -> Person:
    """Return the author that a line names, or has by its name; raises ValueError for none."""
    if written is None:
        return Person(clean(name), clean(f"{name}@krm-windows"))
    author = Person.read(written)
    if author is None:
        raise ValueError(written)
    return author


def _bad_line(path: Path, number: int, why: str) -> WorkspaceError:
    return WorkspaceError(f"{path}:{number}: {why}")


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


def _token(header: str) -> str:
    """Return the token of the header `Authorization`, empty where it has none."""
    kind, _, token = header.partition(" ")
    if kind.lower() != "bearer":
        return ""
    return token.strip()


def _is_jwt(token: str) -> bool:
    # It has three parts (RFC 7519, 3); a token of ours has no dot.
    return token.count(".") == 2  # noqa: PLR2004


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


def _email(claims: Mapping[str, object]) -> str:
    """Return the address that a token has; empty where the provider says that nobody has seen it.

    Some write `"false"` (OpenID Connect Core 1.0, 5.1, has a boolean).
    """
    if claims.get("email_verified") in (False, "false"):
        return ""
    return _named(claims, "email")


def _values(claim: object) -> list[str]:
    """Return the values of a claim: a list, or words with spaces between (RFC 8693, 4.2)."""
    if isinstance(claim, str):
        return claim.split()
    if isinstance(claim, list):
        return [each for each in claim if isinstance(each, str)]
    return []


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
