"""What is picked in a form, and what a policy says, are the same moments."""

from string import Template

from changes import CHANGES, Change
from effort import examples
from hypothesis import given, settings
from shapes import POLICY, SHAPE, SHAPES, compiled, dates

from krm_windows.krm import KubeObject, Value
from krm_windows.schedule import table
from krm_windows.service.pages import spans
from krm_windows.service.pages.spans import Span

NAMES = {"windows": ("opens", "closes", "duration"), "freezes": ("starts", "ends", "duration")}


@settings(max_examples=examples(200))
@given(SHAPE, CHANGES)
def test_what_is_picked_is_what_the_policy_says(shape: str, change: Change) -> None:
    text = Template(POLICY % SHAPES[shape]).substitute(dates(change))
    policy = KubeObject.parse(text.encode())
    for field, names in NAMES.items():
        entries: Value = policy.get("spec", field) or {}
        assert isinstance(entries, dict)
        for name in entries:
            texts = [policy.get("spec", field, name, each) or "" for each in names]
            span = Span(*map(str, texts))
            picked = spans.picked(span)
            # Saved as it began, a form changes no letter.
            assert spans.written(picked, span) == (span, [])
            anew, lacks = spans.written(picked)
            assert not lacks
            for key, moment in zip(names, anew, strict=True):
                policy.set(moment or None, "spec", field, name, key)
    ours, theirs = (compiled(each).timetable for each in (policy.span.decode(), text))
    day = change.wall.date().toordinal()
    days = range(day - 400, day + 400)
    for rule, other in zip(
        ours.windows + ours.freezes, theirs.windows + theirs.freezes, strict=True
    ):
        assert table.intervals((rule,), ours.zone, days) == table.intervals(
            (other,), ours.zone, days
        )
