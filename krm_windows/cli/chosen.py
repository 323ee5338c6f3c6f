"""Which clusters a command is about: one, or all."""

import argparse

from krm_windows.krm import InputError


def check(arguments: argparse.Namespace, *others: str) -> None:
    """Refuse `--cluster` beside any option that names more than one."""
    if arguments.cluster is None:
        return
    for option in ("--all-clusters", *others):
        # As argparse names it in the namespace: `--all-clusters` is `all_clusters`.
        if getattr(arguments, option.removeprefix("--").replace("-", "_")):
            raise InputError(
                f"--cluster is about one cluster, {option} about more: give one of the two"
            )
