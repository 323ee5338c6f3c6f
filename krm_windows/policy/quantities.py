"""Quantities as Kubernetes writes them.

`500m`, `64Mi`, `1.5Gi`, `1e3`, and the one form in which it gives each back.

The grammar and the form are those of k8s.io/apimachinery, pkg/api/resource (quantity.go). The API
server rewrites what it is given (`0.5Gi` as `512Mi`), so only what is in that form compares equal
to what is in the cluster.
"""

import re
from typing import NamedTuple

from krm_windows import rules
from krm_windows.policy.findings import Finding, RefusedError

# `Ki` is 1024, `Mi` its square, and so on.
_BINARY: dict[str, int] = {f"{sign}i": 1024**power for power, sign in enumerate("KMGTPE", start=1)}
# A thousand is a small `k`, as in the SI; the others are capitals.
_DECIMAL: dict[str, int] = {
    sign: 1000**power for power, sign in enumerate(["", "k", "M", "G", "T", "P", "E"])
}
# Kubernetes knows nothing finer than a thousand-millionth, and rounds up to it.
_NANO = 1000**3
_MILLI = _NANO // 1000
# How many of them are one of what a suffix stands for.
_PARTS = {"m": 1000**2, "u": 1000, "n": 1}
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
        # Below 1Ki Kubernetes writes a binary amount like any other.
        whole, rest = divmod(self.nanos, _NANO)
        if self.is_binary and whole >= _BINARY["Ki"]:
            return _written(whole, _BINARY)
        # Thousandths of a processor; of bytes there are none (see `size`).
        if rest:
            return f"{self.nanos // _MILLI}m"
        # Any suffix would divide zero.
        if not whole:
            return "0"
        return _written(whole, _DECIMAL)


def _written(amount: int, units: dict[str, int]) -> str:
    # Greater units come later, and the greatest that fits is taken.
    fitting = [suffix for suffix, unit in units.items() if amount % unit == 0]
    suffix = ""
    if fitting:
        suffix = fitting[-1]
    return f"{amount // units.get(suffix, 1)}{suffix}"


def processors(text: str) -> Quantity:
    """Read a number of processors.

    Raises `RefusedError` for what is none, or finer than a thousandth.
    """
    found = read(text)
    if found.nanos % _MILLI:
        raise _refused("must be a multiple of 1m, a thousandth of a CPU", text)
    return found


def size(text: str) -> Quantity:
    """Read a number of bytes; raises `RefusedError` for what is none, or part of a byte."""
    found = read(text)
    if found.nanos % _NANO:
        must = "must be a whole number of bytes: the suffix m means thousandths"
        # `64m` is less than a byte, and hardly ever meant.
        meant = None
        if text.endswith("m"):
            meant = f"{text[:-1]}Mi"
        raise _refused(must, text, meant)
    return found


def read(text: str) -> Quantity:
    """Read a quantity that is not less than nothing; raises `RefusedError` for any other text."""
    found = None
    if len(text) <= _LONGEST:
        found = _QUANTITY.fullmatch(text)
    if not found:
        must = "must be a Kubernetes quantity such as 100m, 1, 64Mi or 1Gi"
        raise _refused(must, text)
    number, suffix = found.groups()
    nanos = _nanos(number, suffix)
    if not 0 <= nanos <= _MOST * _NANO:
        raise _refused(f"must be from 0 to {_MOST}", text)
    return Quantity(nanos, is_binary=suffix in _BINARY)


def _nanos(number: str, suffix: str) -> int:
    """Return how many thousand-millionths `1.5` with a suffix is, rounded up."""
    whole, _, decimals = number.partition(".")
    unit, divisor = _unit(suffix)
    # In whole numbers: 1.5 is 15 of a tenth.
    numerator = int(f"{whole}{decimals}") * unit
    denominator: int = 10 ** len(decimals) * divisor
    return -(-numerator // denominator)


def _unit(suffix: str) -> tuple[int, int]:
    """Return how many thousand-millionths a suffix stands for, as numerator and denominator."""
    if suffix in _PARTS:
        return _PARTS[suffix], 1
    unit = _BINARY.get(suffix) or _DECIMAL.get(suffix)
    if unit:
        return unit * _NANO, 1
    # `1e3`: a power of ten.
    exponent = int(suffix[1:])
    power: int = 10 ** abs(exponent)
    if exponent < 0:
        return _NANO, power
    return power * _NANO, 1


def _refused(
    must: str,
    text: str,
    proposed: str | None = None,
) -> RefusedError:
    return RefusedError(Finding(rules.QUANTITY_SYNTAX, must, text, proposed))
