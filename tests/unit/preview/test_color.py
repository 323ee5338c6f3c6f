"""Colour adds to the text calendar and takes nothing away."""

from krm_windows.preview.color import paint

PAGE = """\
flux-system/week, Europe/Berlin, 2026-12-14 to 2026-12-20

           Mon          Tue
2026-12-14 ....###+.... xxxxxxxxxxxx
# open  + partly  . closed

Mon 2026-12-14 08:00  ....
"""


def test_only_the_signs_of_weeks_are_colored() -> None:
    painted = paint(PAGE)
    assert painted.plain == PAGE
    colored = {(PAGE[span.start : span.end], str(span.style)) for span in painted.spans}
    assert colored == {("....", "dim"), ("###", "green"), ("+", "yellow"), ("x" * 12, "red")}
