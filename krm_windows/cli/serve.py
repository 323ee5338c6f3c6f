"""`krm-windows serve`: a configuration service over the policies of a Git repository."""

import argparse
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from krm_windows.cli import builds, inputs, output, rendered, times
from krm_windows.cli.arguments import person
from krm_windows.cli.inputs import UsageError
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import InputError
from krm_windows.system import addresses, bounded, programs
from krm_windows.system.reading import SUFFIXES

if TYPE_CHECKING:
    from krm_windows.service.access import Scope, Ways
    from krm_windows.service.proposals import PullRequests
    from krm_windows.service.settings import Clusters, Settings

_PORT = 8080
_MOST_PORT = 65535
_MOST_TOKEN = 1 << 20
# Options that say more about a way in, and the option that opens it. Without that they would be
# left out without a word, and on loopback everybody be let in.
_PARTS = {
    "oidc_audience": "oidc_issuer",
    "oidc_jwks": "oidc_issuer",
    "oidc_claim": "oidc_issuer",
    "proxy_from": "proxy_user",
    "proxy_email": "proxy_user",
    "proxy_groups": "proxy_user",
    "propose_token": "propose",
}
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "--repo",
        type=Path,
        metavar="DIR",
        help="a directory in a Git working tree, whose policies are served",
    )
    parser.add_argument(
        "--branch", metavar="NAME", help="the branch (default: the one checked out)"
    )
    parser.add_argument(
        "--new-file",
        default="{namespace}-{name}.yaml",
        metavar="PATH",
        help="the path of a new policy below DIR (default: %(default)s)",
    )
    parser.add_argument("--committer", type=person, metavar="'NAME <EMAIL>'", help="the committer")
    parser.add_argument(
        "--rate",
        type=_rate,
        default=600,
        metavar="N",
        help="changes per minute and caller, 0 for no limit (default: %(default)s)",
    )
    for name in ("--render", "--render-resources"):
        parser.add_argument(name, type=_no_place, help=argparse.SUPPRESS)
    _waiting(parser)
    _remote(parser)
    _address(parser)
    _access(parser)


def _waiting(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what waits")
    group.add_argument(
        "--clusters",
        metavar="GLOB",
        help="the directories of the clusters below DIR, such as clusters/*: show what waits "
        "for each target of a closed policy, like `krm-windows pending` (default: not "
        "shown)",
    )
    group.add_argument(
        "--source",
        action="append",
        default=[],
        type=_source,
        metavar="NAME=DIR",
        help="map a Flux source to a directory of the repository, as for `pending` (repeatable)",
    )


def _remote(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("a remote")
    group.add_argument(
        "--push",
        metavar="REMOTE",
        help="push every change there first; a change that it rejects is undone",
    )
    group.add_argument(
        "--fetch-every",
        type=_seconds,
        default=30,
        metavar="SECONDS",
        help="how often to fetch the remote (default: %(default)s)",
    )
    group.add_argument(
        "--propose",
        metavar="URL",
        help="open a pull request for each change instead of committing to the branch: the URL "
        "of the repository in the REST API of GitHub, Gitea or Forgejo",
    )
    group.add_argument("--propose-token", type=Path, metavar="FILE", help="a file with the token")
    group.add_argument(
        "--propose-command",
        metavar="PROGRAM",
        help="open the pull request with this program, which is called with the branch, the "
        "base branch, the title and the text",
    )


def _address(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("where to listen")
    group.add_argument(
        "--host", type=_host, default="127.0.0.1", metavar="ADDRESS", help="default: %(default)s"
    )
    group.add_argument(
        "--port", type=_port, default=_PORT, metavar="N", help="default: %(default)s; 0: any"
    )
    group.add_argument(
        "--tls-by-proxy", action="store_true", help="a proxy in front of the service terminates TLS"
    )
    group.add_argument(
        "--public-url", metavar="URL", help="the URL in the browser, such as https://windows.test"
    )


def _access(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("who may call")
    group.add_argument("--tokens", type=Path, metavar="FILE", help="a file with one token per line")
    group.add_argument(
        "--new-token",
        metavar="NAME",
        help="print a new token, and the line with its hash for that file; do not serve",
    )
    group.add_argument(
        "--scopes",
        default="read",
        metavar="LIST",
        help="the scopes of the new token: read,write,override,admin",
    )
    group.add_argument(
        "--author",
        type=person,
        metavar="'NAME <EMAIL>'",
        help="the author of commits made with the new token",
    )
    group.add_argument("--oidc-issuer", metavar="URL", help="accept JSON Web Tokens of this issuer")
    group.add_argument("--oidc-audience", metavar="TEXT", help="the audience of these tokens")
    group.add_argument(
        "--oidc-jwks",
        metavar="URL|FILE",
        help="the URL of its keys (default: from the issuer's discovery document)",
    )
    group.add_argument(
        "--oidc-claim", metavar="NAME", help="the claim with the scopes (default: scope)"
    )
    group.add_argument(
        "--proxy-user", metavar="HEADER", help="the header with the caller, set by a proxy"
    )
    group.add_argument(
        "--proxy-email", metavar="HEADER", help="the header with the caller's email address"
    )
    group.add_argument(
        "--proxy-groups", metavar="HEADER", help="the header with the caller's groups"
    )
    group.add_argument(
        "--proxy-from",
        type=_network,
        action="append",
        default=[],
        metavar="CIDR",
        help="the addresses of that proxy",
    )
    group.add_argument(
        "--grant",
        action="append",
        default=[],
        metavar="VALUE=SCOPES",
        help="the scopes of a value of the claim, or of a group; * is every authenticated "
        "caller (default: krm-windows:read, …:write, …:override and …:admin)",
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Serve until a signal comes."""
    # The extra `server`: no other command needs it.
    from krm_windows.service import access, application, server  # noqa: PLC0415
    from krm_windows.service.log import Log  # noqa: PLC0415
    from krm_windows.service.windows import Windows  # noqa: PLC0415

    if arguments.new_token is not None:
        return _new_token(arguments)
    _check(arguments)
    ways = _ways(arguments)
    windows = Windows(_settings(arguments, ways))
    if ways.anonymous is not None:
        person = windows.branch.person() or ways.anonymous.person
        ways = replace(ways, anonymous=replace(ways.anonymous, person=person))
    secret = access.kept_secret(windows.forward.folder)
    made = application.make(windows, access.Access(ways, secret), Log(output.log_record))
    address = server.Address(arguments.host, arguments.port)

    def started(host: str, port: int) -> None:
        shown = host
        # RFC 3986, 3.2.2.
        if ":" in host:
            shown = f"[{host}]"
        output.log(f"serving on http://{shown}:{port}")

    server.run(made, address, started)
    return ExitCode.FINE


def _new_token(arguments: argparse.Namespace) -> ExitCode:
    """Print a token for whoever is to have it, and the line that knows it."""
    from krm_windows.service import access  # noqa: PLC0415 - the extra `server`

    name = arguments.new_token
    if not re.fullmatch(r"[\w.@+-]{1,100}", name, re.ASCII):
        raise UsageError("--new-token must be a name of letters, digits and . _ @ + -")
    # Never one that a person thought of.
    token = access.new_token()
    try:
        line = access.token_line(name, arguments.scopes, token, arguments.author)
    except ValueError:
        raise UsageError(f"--scopes must be a list of {access.SCOPES}") from None
    # The line can go into a file as it is printed; the token into nothing but a safe place.
    output.log(f"the token, shown only once: {token}")
    output.show(f"{line}\n")
    return ExitCode.FINE


def _check(arguments: argparse.Namespace) -> None:
    """Refuse a call that would let everybody in, or send secrets for everybody to read."""
    if arguments.repo is None:
        raise UsageError("--repo DIR is required")
    _check_proposals(arguments)
    _check_access(arguments)
    # Only this machine gets to its own loopback addresses.
    if ipaddress.ip_address(arguments.host).is_loopback:
        return
    # No line begins with `::`, the address: that would be a command of GitHub's, and is escaped.
    reached = f"the address {arguments.host} can be reached by others"
    if not _has_access(arguments):
        raise UsageError(
            f"{reached}: configure authentication with --tokens, --oidc-issuer or --proxy-user"
        )
    if not arguments.tls_by_proxy:
        raise UsageError(f"{reached}: put it behind a proxy with TLS, and give --tls-by-proxy")


def _check_access(arguments: argparse.Namespace) -> None:
    """Refuse ways of access of which a half is missing."""
    _check_parts(arguments)
    if arguments.oidc_issuer is not None and not arguments.oidc_audience:
        raise UsageError(
            "--oidc-issuer needs --oidc-audience, so that tokens for other services are not "
            "accepted"
        )
    if arguments.proxy_user is not None and not arguments.proxy_from:
        raise UsageError("--proxy-user needs --proxy-from, because anyone can send a header")


def _check_parts(arguments: argparse.Namespace) -> None:
    for part, whole in _PARTS.items():
        if getattr(arguments, part) and getattr(arguments, whole) is None:
            raise UsageError(f"{_option(part)} has no effect without {_option(whole)}")
    if arguments.grant and arguments.oidc_issuer is None and arguments.proxy_user is None:
        raise UsageError("--grant has no effect without --oidc-issuer or --proxy-user")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _check_proposals(arguments: argparse.Namespace) -> None:
    if arguments.propose and arguments.propose_command:
        raise UsageError("--propose and --propose-command cannot be used together")
    if not (arguments.propose or arguments.propose_command):
        return
    if arguments.push is None:
        raise UsageError("a pull request needs a branch at a remote: give --push REMOTE")
    if arguments.propose and arguments.propose_token is None:
        raise UsageError("--propose needs --propose-token FILE")


def _has_access(arguments: argparse.Namespace) -> bool:
    # Each of them alone is enough.
    ways = (arguments.tokens, arguments.oidc_issuer, arguments.proxy_user)
    return any(way is not None for way in ways)


def _ways(arguments: argparse.Namespace) -> "Ways":
    from krm_windows.service import access  # noqa: PLC0415 - the extra `server`
    from krm_windows.service.settings import SERVICE  # noqa: PLC0415 - likewise

    anonymous = None
    if not _has_access(arguments):
        anonymous = access.Caller("local", SERVICE, access.EVERYTHING)
    provider = None
    if arguments.oidc_issuer is not None:
        provider = access.Provider(
            issuer=arguments.oidc_issuer,
            audience=arguments.oidc_audience,
            keys=arguments.oidc_jwks,
            claim=arguments.oidc_claim or "scope",
        )
    proxy = None
    if arguments.proxy_user is not None:
        proxy = access.Proxy(
            user_header=arguments.proxy_user,
            networks=tuple(arguments.proxy_from),
            groups_header=arguments.proxy_groups,
            email_header=arguments.proxy_email,
        )
    return access.Ways(
        anonymous=anonymous,
        tokens=arguments.tokens,
        provider=provider,
        proxy=proxy,
        granted=_granted(arguments.grant),
    )


def _granted(given: list[str]) -> "Mapping[str, frozenset[Scope]]":
    """Return the scopes that a value of a claim, or a group, gives; raises InputError."""
    from krm_windows.service import access  # noqa: PLC0415 - the extra `server`

    if not given:
        return {f"krm-windows:{scope.value}": frozenset({scope}) for scope in access.Scope}
    found = {}
    for each in given:
        value, _, scopes = each.rpartition("=")
        try:
            found[value] = access.scopes(scopes)
        except ValueError:
            raise InputError(
                f"--grant must be VALUE=SCOPES, such as ops=read,override, got {each!r}"
            ) from None
    return found


def _settings(arguments: argparse.Namespace, ways: "Ways") -> "Settings":
    from krm_windows.service.settings import SERVICE, Limits, Settings  # noqa: PLC0415

    inputs.check_directory(arguments.repo)
    _check_new_file(arguments.new_file)
    _check_public_url(arguments.public_url)
    # Where everybody is let in, no other name may lead here (DNS rebinding).
    hosts = None
    if ways.anonymous is not None:
        hosts = frozenset(addresses.LOCAL)
    return Settings(
        directory=arguments.repo,
        branch=arguments.branch,
        committer=arguments.committer or SERVICE,
        created=arguments.new_file,
        remote=arguments.push,
        renew=rendered.renew,
        clusters=_clusters(arguments),
        pull_requests=_pull_requests(arguments),
        public_url=arguments.public_url,
        hosts=hosts,
        secure=arguments.tls_by_proxy,
        fetch_seconds=arguments.fetch_every,
        limits=Limits(writes_a_minute=arguments.rate),
    )


def _check_new_file(template: str) -> None:
    """Refuse a path at which no new policy could be put, or found again."""
    try:
        path = PurePosixPath(template.format(namespace="a", name="b"))
    except (KeyError, IndexError, ValueError):
        raise InputError("--new-file takes only {namespace} and {name}") from None
    if path.is_absolute() or ".." in path.parts or path.suffix not in SUFFIXES:
        raise UsageError(
            f"--new-file must be a path below DIR that ends in .yaml, got {template!r}"
        )


def _check_public_url(address: str | None) -> None:
    """Refuse an address that no browser has as its origin: every form would be refused."""
    if address is None:
        return
    wrong = UsageError(
        f"--public-url must be a URL such as https://windows.example, got {address!r}"
    )
    try:
        parts = urlsplit(address)
    except ValueError:
        raise wrong from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise wrong
    origin = f"{parts.scheme}://{parts.netloc}"
    if address.rstrip("/") != origin:
        raise UsageError(f"--public-url must not have a path: {origin}")


def _clusters(arguments: argparse.Namespace) -> "Clusters | None":
    from krm_windows.service.settings import Clusters  # noqa: PLC0415 - the extra `server`

    if arguments.clusters is None:
        if arguments.source:
            raise InputError("--source needs --clusters")
        return None
    return Clusters(arguments.clusters, tuple(arguments.source))


def _source(text: str) -> str:
    # Read here for what is wrong with it; `pending` reads it again.
    builds.source(text)
    return text


def _pull_requests(arguments: argparse.Namespace) -> "PullRequests | None":
    from krm_windows.service import proposals  # noqa: PLC0415 - the extra `server`

    if arguments.propose:
        forge = proposals.forge(arguments.propose, arguments.propose_token)
        # Now, and not at the first change: it is read again for each, as it may be replaced.
        bounded.read_file(arguments.propose_token, most=_MOST_TOKEN)
        return forge
    if arguments.propose_command:
        program = arguments.propose_command
        if not Path(program).is_absolute():
            program = programs.find(program)
        if program is None:
            raise InputError(f"{arguments.propose_command}: no such program")
        return proposals.Command(program)
    return None


def _no_place(_: str) -> str:
    raise argparse.ArgumentTypeError(
        "there is no such option: what was rendered of a policy says how, and is rendered again "
        "with every change; remove the option"
    )


def _host(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be an address such as 127.0.0.1 or ::, got {text!r}"
        ) from None


def _network(text: str) -> _Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be addresses such as 10.0.0.0/8, got {text!r}"
        ) from None


def _port(text: str) -> int:
    if text == "0":
        return 0
    return times.count(text, "a port", _MOST_PORT)


def _seconds(text: str) -> int:
    return times.count(text, "seconds", 86400)


def _rate(text: str) -> int:
    if text == "0":
        return 0
    return times.count(text, "changes", 10**6)
