"""The line that a finding is about, in the file that a person has open."""

import pytest

from krm_windows.checks.report import line
from krm_windows.krm import documents

FILE = """\
# The windows of plant 7.
kind: ConfigMap
---
kind: WindowPolicy
spec:
  targets:
  - kind: Kustomization
    names: [infra,
      apps]
  windows:
    # Monday to Thursday.
    week: {opens: Mon 08:00,
      closes: Thu 17:00}
"""


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("", 4),
        ("spec.targets[0]", 7),
        ("spec.targets[0].names[1]", 9),
        ("spec.windows.week", 12),
        ("spec.windows.week.closes", 13),
        # What is not there: the nearest that is, which holds it or will.
        ("spec.freezes.christmas", 5),
        ("spec.windows.night.opens", 10),
        ("spec.targets[3].kind", 6),
    ],
)
def test_the_line_of_a_field(path: str, number: int) -> None:
    [_, policy] = documents(FILE.encode())
    assert line(policy, path) == number
