"""What other tools call the fields of a policy: a key that is unknown may be one of these."""

from collections.abc import Container

# Words in lower case by the fields that they may mean, of which a part has at most one: CronJobs,
# Argo CD, Rancher, Alertmanager, cloud providers and calendars have them.
_WORDS = {
    (
        "opens",
        "starts",
    ): "open opens opening start starts starttime begin begins from since schedule cron",
    (
        "closes",
        "ends",
    ): "close closes closing end ends endtime until till to stop stops finish expires",
    ("duration",): "length lasts period",
    ("timeZone",): "tz zone location",
    ("reason", "description"): "reason description comment note message why summary",
    ("windows",): "schedules maintenancewindows allow allowed",
    ("freezes",): "blackouts exclusions exclude excludes exceptions deny denied holidays",
    ("targets",): "resources objects selectors kustomizations helmreleases",
    ("names", "matchLabels"): "name resources selector labels labelselector",
    ("overrides",): "breakglass exemptions",
    ("state",): "suspend suspended paused",
}
_FIELDS: dict[str, list[str]] = {}
for _names, _spoken in _WORDS.items():
    for _word in _spoken.split():
        _FIELDS.setdefault(_word, []).extend(_names)


def field(key: str, known: Container[str]) -> str | None:
    """Return the field that a key means elsewhere, if it is one of the known ones."""
    found = (name for name in _FIELDS.get(key.lower(), ()) if name in known)
    return next(found, None)
