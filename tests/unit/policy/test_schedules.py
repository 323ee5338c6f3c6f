"""Refused schedules: what is proposed in place of one is accepted as it stands."""

from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from krm_windows.policy import moments
from krm_windows.policy.findings import RefusedError
from krm_windows.policy.moments import Role

# Numbers in and beyond every field, and what other crons know, or a slip of the keyboard makes.
NUMBERS = st.sampled_from(["0", "1", "2", "5", "6", "7", "8", "23", "24", "30", "59", "75", "99"])
NAMES = st.sampled_from(["MON", "fri", "sun", "feb", "NOV"])
RANGES = st.tuples(NUMBERS | NAMES, NUMBERS | NAMES).map("-".join)
ODD = st.sampled_from(["*", "?", "*-5", "+8", "", "1,,2", "*/2", "5/0", "L", "15W", "H"])
FIELDS = st.lists(NUMBERS | RANGES | NAMES | ODD, min_size=1, max_size=2).map(",".join)
NTH = st.tuples(NUMBERS | NAMES, st.sampled_from(["#1", "#2", "#5", "#6", "L", "l"])).map("".join)

SCHEDULES = st.lists(FIELDS | st.just("*"), min_size=4, max_size=7).map(" ".join)
NTH_SCHEDULES = st.tuples(NUMBERS, NUMBERS, st.sampled_from("*?"), st.just("*"), NTH).map(" ".join)
ZONED = st.tuples(
    st.sampled_from(["TZ=UTC ", "CRON_TZ=Europe/Berlin  ", "TZ=UTC CRON_TZ=UTC "]),
    SCHEDULES | NTH_SCHEDULES | st.sampled_from(["@daily", "@every 5m", "@Daily"]),
).map("".join)


@settings(max_examples=examples(1000))
@given(SCHEDULES | NTH_SCHEDULES | ZONED)
def test_what_is_proposed_for_a_schedule_is_accepted(text: str) -> None:
    """Whatever is wrong with the schedule: nobody is sent from one refusal to the next."""
    try:
        moments.parse(text, Role.BEGIN)
    except RefusedError as refused:
        for finding in refused.findings:
            if finding.proposed is not None:
                assert moments.parse(finding.proposed, Role.BEGIN).text == finding.proposed
