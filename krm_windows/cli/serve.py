"""`krm-windows serve`: a configuration service over the policies of a Git repository."""

import argparse
import ipaddress
from pathlib import Path

from krm_windows.cli import output
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import InputError

_PORT = 8080


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "--repo",
        type=Path,
        required=True,
        metavar="DIR",
        help="a directory of a Git working tree: the policies below it are served",
    )
    parser.add_argument(
        "--branch", metavar="NAME", help="the branch (default: the one that is checked out)"
    )
    parser.add_argument(
        "--push", metavar="REMOTE", help="push every change there first; what it refuses is undone"
    )
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (%(default)s)"
    )
    parser.add_argument(
        "--port", type=int, default=_PORT, metavar="N", help="0: any that is free (%(default)s)"
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Serve until a signal comes."""
    try:
        # The extra `server`: no other command needs it.
        from krm_windows.service import access, application, server  # noqa: PLC0415
        from krm_windows.service.settings import Settings  # noqa: PLC0415
        from krm_windows.service.windows import Windows  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise InputError(
            f"{error.name} is not installed: serve needs the extra `server` "
            "(see docs/how-to/run-the-service.md)"
        ) from None
    if not ipaddress.ip_address(arguments.host).is_loopback:
        raise InputError("--host must be an address of this machine alone, such as 127.0.0.1")
    settings = Settings(directory=arguments.repo, branch=arguments.branch, remote=arguments.push)
    windows = Windows(settings)
    person = settings.committer
    anonymous = access.Caller("local", person, access.EVERYTHING)
    made = application.make(windows, access.Access(anonymous))
    server.run(made, server.Address(arguments.host, arguments.port), _started)
    return ExitCode.FINE


def _started(host: str, port: int) -> None:
    output.log(f"serving on http://{host}:{port}")
