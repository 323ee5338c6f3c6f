"""`krm-windows schema`: what a WindowPolicy may hold, for editors, catalogues and readers."""

import argparse
import sys

from krm_windows.exit_codes import ExitCode
from krm_windows.policy import schema

FORMS = {
    "json": schema.json_schema_text,
    "definition": schema.definition_text,
    "reference": schema.reference_text,
}


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "-o", "--output", choices=sorted(FORMS), default="json", help="JSON Schema, KRMFunctionDefinition or Markdown"
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the form asked for."""
    sys.stdout.write(FORMS[arguments.output]())
    return ExitCode.FINE
