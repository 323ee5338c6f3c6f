"""`krm-windows install`: make kustomize find this installation as a legacy exec plugin."""

import argparse
import shlex
import sys
from pathlib import Path

from krm_windows import escape
from krm_windows.cli import destinations, output
from krm_windows.exit_codes import ExitCode
from krm_windows.system.files import put

# kustomize looks for `$KUSTOMIZE_PLUGIN_HOME/<apiVersion>/<lower-case kind>/<Kind>`.
API = Path("krm-windows.dev/v1alpha1")
KINDS = ("WindowPolicy", "ChangeClasses")


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "--plugin-home",
        type=destinations.directory,
        required=True,
        metavar="DIR",
        help=(
            "the value of KUSTOMIZE_PLUGIN_HOME; kustomize's default is ~/.config/kustomize/plugin"
        ),
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Write a plugin for each kind: a launcher of the Python that runs this command."""
    for kind in KINDS:
        # kustomize starts it in the kustomization's directory: -P keeps modules that are there from
        # being imported.
        launcher = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m krm_windows "$@"\n'
        path = API / kind.lower() / kind
        put(arguments.plugin_home, {path.as_posix(): launcher.encode()}, mode=0o755)
        output.show(f"{escape.word(str(arguments.plugin_home / path))}\n")
    return ExitCode.FINE
