"""Quantities in the one form in which Kubernetes writes them: `500m`, `64Mi`, `1Gi`.

The API server rewrites every other one (`0.5Gi` as `512Mi`: k8s.io/apimachinery, pkg/api/resource,
quantity.go), and then what is in the cluster is not equal to what was emitted.
"""

import re
from typing import NamedTuple

from krm_windows import rules
from krm_windows.policy.findings import Finding, RefusedError

# What a suffix stands for, in thousandths.
_UNITS = {sign: 1000**power for power, sign in enumerate(("m", "", "k", "M", "G", "T"))}
_UNITS |= {f"{sign}i": 1000 * 1024**power for power, sign in enumerate("KMGT", start=1)}
PATTERN = "^(0|[1-9][0-9]{0,14}(m|[kMGT]|[KMGT]i)?)$"
_QUANTITY = re.compile("(0|[1-9][0-9]{0,14})(m|[kMGT]|[KMGT]i|)", re.ASCII)


class Quantity(NamedTuple):
    """An amount of processors or bytes, as it was written and in thousandths of one."""

    text: str
    thousandths: int

    def __str__(self) -> str:
        """Return it as it was written."""
        return self.text


def read(text: str) -> Quantity:
    """Read a quantity; raises `RefusedError` for any other text."""
    found = _QUANTITY.fullmatch(text)
    number, suffix = (int(found[1]), found[2]) if found else (0, "?")
    step = 1024 if suffix.endswith("i") else 1000
    # What the next suffix says as well is never written with this one.
    if suffix not in _UNITS or (suffix and not number) or (number and number % step == 0):
        must = (
            "must be a Kubernetes quantity such as 100m, 1, 64Mi or 1Gi: a whole number with the "
            "largest suffix (1536Mi for 1.5Gi, 1Gi for 1024Mi)"
        )
        raise RefusedError(Finding(rules.QUANTITY_SYNTAX, must, text))
    return Quantity(text, number * _UNITS[suffix])


def size(text: str) -> Quantity:
    """Read a number of bytes; raises `RefusedError` for what is none, or part of a byte."""
    found = read(text)
    if text.endswith("m"):
        must = "must be a number of bytes: the suffix m means thousandths"
        # It is hardly ever meant.
        raise RefusedError(Finding(rules.QUANTITY_SYNTAX, must, text, f"{text[:-1]}Mi"))
    return found
