"""Quantities as Kubernetes writes them.

`500m`, `64Mi`, `1.5Gi`, `1e3`, and the one form in which it gives each back.

The grammar and the form are those of k8s.io/apimachinery, pkg/api/resource (quantity.go). The API
server rewrites what it is given (`0.5Gi` as `512Mi`), so only what is in that form compares equal
to what is in the cluster.
"""

import re
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from krm_windows import rules
from krm_windows.policy.findings import Finding, RefusedError

_THOUSANDS = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_UNITS = {sign: Fraction(1000) ** power for power, sign in enumerate(_THOUSANDS, start=-3)}
_UNITS |= {f"{sign}i": Fraction(1024) ** power for power, sign in enumerate("KMGTPE", start=1)}
"""What a suffix stands for, the smaller ones first."""
# Kubernetes knows nothing finer than a thousand-millionth, and rounds up to it.
_NANO = 1000**3
_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_SUFFIX = r"[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2}|"
_QUANTITY = re.compile(rf"({_NUMBER})({_SUFFIX})", re.ASCII)
# No amount that a machine has takes more, and one that does could be made to cost time.
_LONGEST = 30
# An int64, beyond which Kubernetes cuts.
_MOST = 2**63 - 1
PATTERN = rf"^\+?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:{_SUFFIX})$"


class Quantity(NamedTuple):
    """An amount of processors or bytes, counted in thousand-millionths of one (`n`).

    `is_binary`: whether it was written with a suffix such as `Mi`.
    """

    nanos: int
    is_binary: bool = False

    def __str__(self) -> str:
        """Write it as Kubernetes does: with the greatest suffix that leaves a whole number."""
        amount = Fraction(self.nanos, _NANO)
        # Below 1Ki Kubernetes writes a binary amount like any other.
        is_binary = self.is_binary and amount >= _UNITS["Ki"] and amount.denominator == 1
        suffixes = [""]
        for suffix, unit in _UNITS.items():
            # Any suffix would divide zero.
            if suffix.endswith("i") == is_binary and amount and amount % unit == 0:
                suffixes.append(suffix)
        return f"{amount / _UNITS[suffixes[-1]]}{suffixes[-1]}"


def processors(text: str) -> Quantity:
    """Read a number of processors.

    Raises `RefusedError` for what is none, or finer than a thousandth.
    """
    found = read(text)
    if found.nanos % (_NANO // 1000):
        raise _refused("must be a multiple of 1m, a thousandth of a CPU", text)
    return found


def size(text: str) -> Quantity:
    """Read a number of bytes; raises `RefusedError` for what is none, or part of a byte."""
    found = read(text)
    if found.nanos % _NANO:
        must = "must be a whole number of bytes: the suffix m means thousandths"
        # `64m` is less than a byte, and hardly ever meant.
        raise _refused(must, text, f"{text[:-1]}Mi" if text.endswith("m") else None)
    return found


def read(text: str) -> Quantity:
    """Read a quantity that is not less than nothing; raises `RefusedError` for any other text."""
    found = _QUANTITY.fullmatch(text)
    if not found or len(text) > _LONGEST:
        must = "must be a Kubernetes quantity such as 100m, 1, 64Mi or 1Gi"
        raise _refused(must, text)
    number, suffix = found.groups()
    # `1e3` is a number that Python reads as it is.
    amount = Fraction(number) * _UNITS[suffix] if suffix in _UNITS else Fraction(text)
    nanos = ceil(amount * _NANO)
    if not 0 <= nanos <= _MOST * _NANO:
        raise _refused(f"must be from 0 to {_MOST}", text)
    return Quantity(nanos, is_binary=suffix.endswith("i"))


def _refused(
    must: str,
    text: str,
    proposed: str | None = None,
) -> RefusedError:
    return RefusedError(Finding(rules.QUANTITY_SYNTAX, must, text, proposed))
