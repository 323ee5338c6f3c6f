"""`krm-windows schema`: the fields of WindowPolicy and ChangeClasses, for editors and readers."""

import argparse

from krm_windows.cli import output
from krm_windows.exit_codes import ExitCode
from krm_windows.function import catalogue
from krm_windows.function.catalogue import Kind

# A KRMFunctionDefinition (KEP-2906) is what catalogues of functions list.
FORMS = {"json": Kind.json_schema, "definition": Kind.definition, "reference": Kind.reference}


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "--kind",
        choices=sorted(catalogue.KINDS),
        default="WindowPolicy",
        help="default: WindowPolicy",
    )
    parser.add_argument(
        "-o",
        "--output",
        choices=sorted(FORMS),
        default="json",
        help="JSON Schema, KRMFunctionDefinition or Markdown",
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the form asked for."""
    output.show(FORMS[arguments.output](catalogue.KINDS[arguments.kind]))
    return ExitCode.FINE
