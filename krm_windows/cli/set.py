"""`krm-windows set`: a policy's file changed by a patch, once nothing is wrong with the result."""

import argparse

from krm_windows.cli import changed, inputs, policies, times
from krm_windows.cli.arguments import policy
from krm_windows.edit.patches import patched, patched_clusters
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import InputError, KubeObject, Value, parse, value
from krm_windows.krm.resource_list import check_encoding

# As curl and kubectl have it: `@FILE` names a file, `-` is standard input.
_FILE = "@"


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    policy(parser)
    parser.add_argument(
        "--patch",
        required=True,
        metavar="JSON|@FILE|-",
        help="a JSON merge patch (RFC 7386) of the object, or with --cluster of its spec there",
    )
    parser.add_argument("--cluster", metavar="NAME", help="change the policy only on this cluster")
    parser.add_argument("--reason", metavar="TEXT", help="why, as the commit's message")
    changed.options(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Change the file, or say what is wrong with the change."""
    policies.find(arguments)
    patch = _patch(arguments.patch)

    def change(policy: KubeObject) -> KubeObject:
        if arguments.cluster is None:
            return patched(policy, patch)
        return patched_clusters(policy, {arguments.cluster: patch})

    return changed.run(arguments, change, times.now())


def _patch(given: str) -> Value:
    """Read the patch: JSON, which may also be written as YAML."""
    source, content = "--patch", given.encode()
    if given == inputs.STDIN or given.startswith(_FILE):
        source = given.removeprefix(_FILE)
        content = inputs.content(source)
    # JSON is YAML (YAML 1.2), so one parser reads both.
    try:
        check_encoding(content)
        return value(parse(content.decode()))
    except InputError as error:
        raise inputs.in_file(error, source, content) from error
