"""Time zones whose rules were changed lately.

A CronJob controller with older zone data reads them otherwise.
"""

from collections.abc import Iterator

from krm_windows import rules
from krm_windows.plan.model import Plan
from krm_windows.results import Result

# Source: https://data.iana.org/time-zones/tzdb/NEWS, releases 2022b to 2026f. These are the names
# for which the data of 2022a and that of 2026f show another offset anywhere in 2024 to 2031, or
# which 2022a does not have.
CHANGED = frozenset(
    [
        "Africa/Cairo",
        "Africa/Casablanca",
        "Africa/El_Aaiun",
        "America/Asuncion",
        "America/Bahia_Banderas",
        "America/Chihuahua",
        "America/Ciudad_Juarez",
        "America/Coyhaique",
        "America/Edmonton",
        "America/Godthab",
        "America/Havana",
        "America/Inuvik",
        "America/Mazatlan",
        "America/Merida",
        "America/Mexico_City",
        "America/Monterrey",
        "America/Nuuk",
        "America/Ojinaga",
        "America/Rainy_River",
        "America/Scoresbysund",
        "America/Vancouver",
        "America/Winnipeg",
        "America/Yellowknife",
        "Antarctica/Casey",
        "Antarctica/Vostok",
        "Asia/Almaty",
        "Asia/Amman",
        "Asia/Damascus",
        "Asia/Gaza",
        "Asia/Hebron",
        "Asia/Qostanay",
        "Asia/Tehran",
        "Canada/Central",
        "Canada/Mountain",
        "Canada/Pacific",
        "Cuba",
        "Egypt",
        "Europe/Chisinau",
        "Europe/Kyiv",
        "Europe/Tiraspol",
        "Iran",
        "Mexico/BajaSur",
        "Mexico/General",
        "Pacific/Fiji",
    ]
)


def unsettled(plan: Plan) -> Iterator[Result]:
    """Yield a warning for such a zone where the controller's zone data decide.

    That is so with the actuator `Kubectl` only.
    """
    zone = plan.timetable.time_zone
    # With `Gate` the triggers in UTC need no zone data of the controller.
    if not plan.runs_gate and zone in CHANGED:
        yield rules.KUBECTL_ZONE.result(
            "has different rules since 2022: a CronJob controller with zone data older than "
            f"release {plan.zone_release} runs Jobs at other times, and the actuator Kubectl does "
            "not correct that; use Gate, or make sure that the control plane is newer",
            path="spec.timeZone",
            current=zone,
        )
