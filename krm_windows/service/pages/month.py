"""The page of a month: one sheet of A4 that a plant hangs on its wall."""

from calendar import monthrange
from datetime import timedelta

from starlette.responses import Response

from krm_windows.preview import month as sheet
from krm_windows.preview.calendar import Period, calendars
from krm_windows.service import routing
from krm_windows.service.admission import ReadCluster
from krm_windows.service.pages import groups
from krm_windows.service.pages.rendering import here, page
from krm_windows.service.parameters import Month

router = routing.pages()


@router.get("/ui/policies/{namespace}/{name}/month")
def show_month(call: ReadCluster, month: Month = None) -> Response:
    """Show the hours of a month for a cluster, or else for the first group of those alike."""
    stored, windows, cluster = call.stored(), call.windows, call.cluster
    now = windows.now()
    # An unknown one is a problem, and said to be one.
    windows.evaluator.check(stored, cluster)
    every = groups.every(call, stored, now)
    # One that is wrong does not keep the others from the wall.
    chosen = next((each for each in every if each.timetable), every[0])
    if cluster is not None:
        chosen = groups.of(call, stored, (cluster,), now)
    timetable = windows.evaluator.timetable(stored, chosen.cluster)
    today = now.astimezone(timetable.zone).date()
    first = month or today.replace(day=1)
    length = monthrange(first.year, first.month)[1]
    [calendar] = calendars([timetable], Period(first, length))
    values = {
        "stored": stored,
        "here": here(call),
        "cluster": cluster,
        "groups": every,
        "chosen": chosen,
        "first": first,
        "today": today,
        "months": (first - timedelta(days=1), first + timedelta(days=length)),
        "weeks": sheet.weeks(calendar),
    }
    return page(call, "month.html", values)
