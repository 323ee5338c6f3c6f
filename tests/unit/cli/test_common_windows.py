"""The windows that a page proposes are what their headings say."""

import re
from pathlib import Path

import pytest
from effort import mostly_slow

from krm_windows.cli import main

PAGE = Path(__file__).resolve().parents[3] / "docs/how-to/common-windows.md"
HEAD = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata:
  name: common
  namespace: flux-system
  annotations:
    config.kubernetes.io/local-config: "true"
spec:
  timeZone: Europe/Berlin
  targets:
  - kind: Kustomization
    names: [apps]
    mustExist: true
"""
RECIPE = re.compile(r"^## ([^\n]*)\n\n```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
RECIPES = dict(RECIPE.findall(PAGE.read_text()))
# A part of the heading, the instants at which it is open, and those at which it is not.
MEANT = {
    "Nights": (
        ["2026-11-28T04:59", "2026-11-30T22:00", "2027-01-01T22:00"],
        ["2026-11-28T05:00", "2026-11-29T23:00", "2026-12-01T00:00", "2026-12-31T23:00"],
    ),
    "second Tuesday": (
        ["2026-12-08T02:00", "2026-12-08T04:59"],
        ["2026-12-08T05:00", "2026-12-01T02:00"],
    ),
    "last working day": (
        ["2027-01-29T18:00", "2027-02-26T21:59", "2027-03-31T18:00", "2027-10-29T18:00"],
        ["2027-01-29T22:00", "2027-01-31T18:00", "2027-02-28T18:00", "2027-03-30T18:00"],
    ),
    "end of a month": (
        ["2027-01-28T23:59", "2027-02-02T06:00", "2027-02-25T23:59", "2028-02-26T23:59"],
        ["2027-01-29T00:00", "2027-02-02T05:59", "2027-02-26T00:00", "2028-02-27T00:00"],
    ),
    "Sundays": (["2026-12-06T03:00 tokyo"], ["2026-12-06T05:00 tokyo", "2026-12-05T03:00 berlin"]),
    "a day earlier": (
        ["2026-12-01T09:00 canary", "2026-12-02T09:00 production"],
        ["2026-12-02T09:00 canary", "2026-12-01T09:00 production"],
    ),
    "weekend": (["2026-12-04T11:59", "2026-12-07T06:00"], ["2026-12-04T12:00", "2026-12-07T05:59"]),
    "Christmas": (
        ["2026-12-19T23:59", "2027-01-04T00:00"],
        ["2026-12-20T00:00", "2027-01-03T23:59"],
    ),
    "somebody": ([], ["2026-12-02T12:00", "2027-06-01T12:00"]),
}


def written(folder: Path, heading: str) -> Path:
    (recipe,) = (text for title, text in RECIPES.items() if heading in title)
    path = folder / "policy.yaml"
    path.write_text(HEAD + "".join(f"  {line}\n" for line in recipe.splitlines()))
    return path


def test_every_recipe_is_tried() -> None:
    assert len(RECIPES) == len(MEANT)


@pytest.mark.slow
@pytest.mark.parametrize("heading", mostly_slow(MEANT, every=3))
def test_a_recipe_is_open_when_its_heading_says(
    heading: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, heading)
    assert main(["check", str(path), "--strict", "--from", "2026-11-23"]) == 0
    for instants, state in zip(MEANT[heading], ("open", "closed"), strict=True):
        for each in instants:
            at, _, cluster = each.partition(" ")
            options = ["--cluster", cluster] if cluster else []
            capsys.readouterr()
            main(["state", str(path), "--at", at, *options])
            assert f"should be {state}" in capsys.readouterr().out.splitlines()[0], each
