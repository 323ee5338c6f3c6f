"""The next public holidays of a region, of which some become freezes in one commit."""

from dataclasses import replace
from itertools import compress
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from krm_windows.edit import entries, overrides, public_holidays
from krm_windows.edit.entries import DatedEntry
from krm_windows.edit.patches import rules_on
from krm_windows.krm import KubeObject, Value
from krm_windows.plan.clocks import Today
from krm_windows.service import routing
from krm_windows.service.admission import Call, Fields, ReadCluster, WriteCluster
from krm_windows.service.pages import scope
from krm_windows.service.pages.forms import Form
from krm_windows.service.pages.scope import Where
from krm_windows.service.pages.spans import Lack
from krm_windows.service.writing import Order, entity_tag

# So many clusters are on the page without a search, so that those that are ticked are seen.
_FEW = 12
_HOLIDAYS = "/ui/policies/{namespace}/{name}/holidays"
router = routing.pages()


@router.get(_HOLIDAYS)
def show_holidays(
    call: WriteCluster,
    country: Annotated[str | None, Query()] = None,
    region: Annotated[str, Query()] = "",
) -> Response:
    """Show the next holidays of a region; without a country, of that of the policy's time zone."""
    if country is None:
        zone = overrides.zone_of_ends(call.stored().config, call.cluster)
        country = public_holidays.country_of(zone.key)
    where = _in_country(call, country) if call.cluster is None else scope.offered(call)
    return _page(call, Form({"country": country, "region": region}, where=where))


# Apart from saving: it changes nothing, so that no line of the log says it did.
@router.post(f"{_HOLIDAYS}/preview")
def preview_holidays(call: ReadCluster, fields: Fields) -> Response:
    """Say what would come of some holidays as freezes."""
    return _answer(call, fields, "preview")


@router.post(_HOLIDAYS)
def freeze_holidays(call: WriteCluster, fields: Fields) -> Response:
    """Make freezes of some holidays, or say why not."""
    return _answer(call, fields, "save")


def _in_country(call: Call, country: str) -> Where:
    """Return the clusters whose clocks are a country's; all where that says nothing of the few."""
    where, config = scope.offered(call), call.stored().config
    if len(where.clusters) > _FEW:
        return where
    zones = [overrides.zone_of_ends(config, each).key for each in where.clusters]
    there = [public_holidays.country_of(zone) == country for zone in zones]
    if all(there) or not any(there):
        return where
    return replace(where, kind=scope.SOME, chosen=tuple(compress(where.clusters, there)))


def _answer(call: Call, sent: dict[str, str], action: str) -> Response:
    where = scope.sent(call, sent)
    texts = {name: sent.get(name, "") for name in ("country", "region")}
    form = Form(texts, action, "freezes", where=where)
    chosen = [each for each in _offered(call, form) if _key(each) in sent]
    texts |= {_key(each): "yes" for each in chosen}
    if not chosen:
        form.lacks(Lack("days", "Choose at least one day."))

    def change(config: KubeObject) -> KubeObject:
        def part(cluster: str | None) -> Value:
            there = rules_on(config, "freezes", cluster)
            new: dict[str, Value] = {}
            for entry in chosen:
                record: Value = dict(entries.record(entry))
                # Chosen a second time, it is there already.
                if record not in there.values():
                    name = entries.name(entry.reason, str(entry.starts.year), {*there, *new})
                    new[name] = record
            return {"freezes": new} if new else {}

        return where.applied(config, part)

    names = ", ".join(each.reason for each in chosen)
    order = Order(call.caller, f"Freeze {names}", if_match=entity_tag(call.stored()))
    return form.answer(call, change, order) or _page(call, form)


def _key(entry: DatedEntry) -> str:
    """Return the field of the form by which an entry is chosen."""
    return f"{entry.starts}/{entry.ends}"


def _offered(call: Call, form: Form) -> list[DatedEntry]:
    """Return the holidays of the year from today on where the form says; none for no such place."""
    country, region = form.texts["country"], form.texts["region"]
    if country not in public_holidays.countries():
        return []
    # Of another country before.
    known = region if region in public_holidays.regions(country) else None
    zone = overrides.zone_of_ends(call.stored().config, call.cluster)
    return public_holidays.coming(country, known, Today(call.windows.now()).on(zone))


def _page(call: Call, form: Form) -> Response:
    countries = public_holidays.countries()
    country = form.texts["country"]
    config = call.stored().config
    places = form.where.clusters or (None,)
    return form.page(
        call,
        "holidays.html",
        there={each: [*rules_on(config, "freezes", each).values()] for each in places},
        record=entries.record,
        file=call.place.file,
        countries=countries,
        regions=public_holidays.regions(country) if country in countries else {},
        offered=[(_key(each), each) for each in _offered(call, form)],
    )
