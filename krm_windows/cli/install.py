"""`krm-windows install`: make kustomize find this installation as a legacy exec plugin."""

import argparse
import shlex
import sys
from pathlib import Path

from krm_windows import escape
from krm_windows.cli import output
from krm_windows.exit_codes import ExitCode

API = Path("krm-windows.dev/v1alpha1")
KINDS = ("WindowPolicy", "ChangeClasses")


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "--plugin-home",
        type=Path,
        required=True,
        metavar="DIR",
        help="what KUSTOMIZE_PLUGIN_HOME points at; kustomize's own default is ~/.config/kustomize/plugin",
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Write a plugin for each kind: a launcher of the Python that runs this command."""
    for kind in KINDS:
        plugin = arguments.plugin_home / API / kind.lower() / kind
        plugin.parent.mkdir(parents=True, exist_ok=True)
        # kustomize starts it in the kustomization's directory: -P keeps modules that lie there from being imported.
        plugin.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m krm_windows "$@"\n')
        plugin.chmod(0o755)
        output.show(f"{escape.word(str(plugin))}\n")
    return ExitCode.FINE
