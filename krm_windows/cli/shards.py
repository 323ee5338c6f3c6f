"""A shard of a fleet: which clusters one of many runs is to render."""

import argparse
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from krm_windows.krm import InputError

# Kubernetes sets the first in every Pod of an Indexed Job (batch/v1, completionMode).
INDEX, COUNT = "JOB_COMPLETION_INDEX", "COMPLETIONS"
# Six digits are more than any fleet has.
_SHARD = re.compile(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})")


@dataclass(frozen=True, slots=True)
class Shard:
    """One of `count` shards, `index` from 0 on.

    To which a cluster belongs depends on its name alone.
    """

    index: int = 0
    count: int = 1

    def has(self, cluster: str) -> bool:
        """Whether a cluster is in this shard."""
        # SHA-256 and not `hash()`, which is salted anew in every process (PYTHONHASHSEED).
        return (
            int.from_bytes(hashlib.sha256(cluster.encode()).digest()[:8]) % self.count == self.index
        )

    @property
    def has_base(self) -> bool:
        """Whether what all clusters share is in this shard: no two shards write one file."""
        return self.index == 0


def parse(text: str) -> Shard:
    """Read `3/16`: the third of sixteen; raises ArgumentTypeError."""
    found = _SHARD.fullmatch(text)
    if not found or int(found[1]) > int(found[2]):
        raise argparse.ArgumentTypeError(f"{text!r} is not a shard such as 3/16")
    # People count from 1, `JOB_COMPLETION_INDEX` from 0.
    return Shard(int(found[1]) - 1, int(found[2]))


def of(environ: Mapping[str, str]) -> Shard:
    """Return the shard of a Pod of an Indexed Job.

    Kubernetes says which one, its manifest of how many. Anywhere else it is the whole. Raises
    InputError where only one of the two is said.
    """
    if INDEX not in environ:
        return Shard()
    index, count = environ[INDEX], environ.get(COUNT, "")
    try:
        # The same reader, so the same limits hold for both.
        return parse(f"{int(index) + 1}/{count}")
    except (ValueError, argparse.ArgumentTypeError):
        message = (
            f"{INDEX} is {index!r}, so {COUNT} must be the number of shards, got {count!r}; or "
            "use --shard (1/1 for everything)"
        )
        raise InputError(message) from None
