"""`krm-windows serve`: a configuration service over the policies of a Git repository."""

import argparse
import re
from pathlib import Path

from krm_windows.cli import output, rendered
from krm_windows.cli.arguments import person
from krm_windows.cli.inputs import UsageError
from krm_windows.exit_codes import ExitCode
from krm_windows.system.directories import Directory


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "--repo",
        type=Path,
        metavar="DIR",
        help="a clone of its own (git clone --bare), whose policies are served",
    )
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="a file with all settings: these and who may call, a remote, pull requests",
    )
    parser.add_argument("--host", metavar="ADDRESS", help="where to listen (default: 127.0.0.1)")
    parser.add_argument("--port", metavar="N", help="default: 8080; 0: any")
    parser.add_argument("--tokens", type=Path, metavar="FILE", help="a file with one token a line")
    group = parser.add_argument_group("a new token")
    group.add_argument(
        "--new-token",
        metavar="NAME",
        help="print a new token, and the line with its hash for that file; do not serve",
    )
    group.add_argument(
        "--scopes",
        metavar="LIST",
        help="the scopes of the new token: read,write,override,admin (default: read)",
    )
    group.add_argument(
        "--author",
        type=person,
        metavar="'NAME <EMAIL>'",
        help="the author of commits made with the new token",
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Serve until a signal comes."""
    # The extra `server`: no other command needs it.
    from krm_windows.service import access, application, server, settings  # noqa: PLC0415
    from krm_windows.service.log import Log  # noqa: PLC0415
    from krm_windows.service.windows import Windows  # noqa: PLC0415

    names = ("repo", "config", "host", "port", "tokens")
    given = {name: value for name in names if (value := vars(arguments)[name]) is not None}
    if arguments.new_token is not None:
        if given:
            raise UsageError("--new-token takes no option but --scopes and --author")
        return _new_token(arguments)
    for name in ("scopes", "author"):
        if vars(arguments)[name] is not None:
            raise UsageError(f"--{name} needs --new-token NAME")
    if not given.keys() & {"repo", "config"}:
        raise UsageError("--repo DIR or --config FILE is required")
    found = settings.read(given.pop("config", None), given)
    windows = Windows(found, rendered.renew, rendered.resources)
    ways = found.ways(windows.branch.person())
    with windows.alone():
        secret = access.kept_secret(Directory.named(windows.folder))
    log = Log(output.log_record)
    made = application.make(windows, access.Access(ways, secret, log), log)

    def started(host: str, port: int) -> None:
        # RFC 3986, 3.2.2.
        shown = f"[{host}]" if ":" in host else host
        output.log(f"serving on http://{shown}:{port}")

    server.run(made, (str(found.host), found.port), started, windows.stopping.set)
    return ExitCode.FINE


def _new_token(arguments: argparse.Namespace) -> ExitCode:
    """Print a token for whoever is to have it, and the line that knows it."""
    from krm_windows.service import access  # noqa: PLC0415 - the extra `server`

    name = arguments.new_token
    scopes = "read" if arguments.scopes is None else arguments.scopes
    if not re.fullmatch(r"[\w.@+-]{1,100}", name, re.ASCII):
        raise UsageError("--new-token must be a name of letters, digits and . _ @ + -")
    # Never one that a person thought of.
    token = access.new_token()
    try:
        line = access.token_line(name, scopes, token, arguments.author)
    except ValueError:
        raise UsageError(f"--scopes must be a list of {access.SCOPES}") from None
    # The line can go into a file as it is printed; the token into nothing but a safe place.
    output.log(f"the token, shown only once: {token}")
    output.show(f"{line}\n")
    return ExitCode.FINE
