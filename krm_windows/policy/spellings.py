"""How else people write moments: a text that is refused, as the grammar would have it.

Nothing here is accepted: what comes out is proposed, where it is a moment.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator
from datetime import date, time, timedelta

from krm_windows.policy.findings import is_slip
from krm_windows.schedule.cron import MONTHS

# The short and the long names of days in other languages, without accents: German, French, Dutch,
# Spanish and Italian. Not `mar`, which is Tuesday in some, and March in English.
_DAYS = {
    "Mon": "montag mo lundi lun lunes lunedi maandag",
    "Tue": "tues dienstag di die mardi martes martedi dinsdag",
    "Wed": "weds mittwoch mi mit mercredi mer miercoles mie mercoledi woensdag wo",
    "Thu": "thur thurs donnerstag do don jeudi jeu jueves jue giovedi gio donderdag",
    "Fri": "freitag fr frei vendredi ven viernes vie venerdi vrijdag vr",
    "Sat": "samstag sonnabend sa sam samedi sab sabado sabato zaterdag za",
    "Sun": "sonntag so son dimanche dim domingo dom domenica zondag zo",
}
_SPOKEN_DAYS: dict[str, str] = {}
for _day, _words in _DAYS.items():
    _SPOKEN_DAYS |= dict.fromkeys(_words.split(), _day)
# Likewise of months, by their first letters, as far as these are others than in English.
_SPOKEN_MONTHS = {
    **dict.fromkeys(("ene", "gen"), 1),
    "fev": 2,
    **dict.fromkeys(("avr", "abr"), 4),
    **dict.fromkeys(("mai", "mag"), 5),
    **dict.fromkeys(("juin", "giu"), 6),
    **dict.fromkeys(("juil", "lug"), 7),
    **dict.fromkeys(("aou", "ago"), 8),
    "set": 9,
    **dict.fromkeys(("okt", "ott"), 10),
    **dict.fromkeys(("dez", "dic"), 12),
}
_QUOTES = "\"'`\u00ab\u00bb\u2018\u2019\u201a\u201c\u201d\u201e"
# In both cases by themselves, so that a name has letters of ASCII alone: a search begins at its
# first one, and nowhere within it.
_MONTH = rf"(?P<name>{'|'.join((*MONTHS, *_SPOKEN_MONTHS))})(?-i:[A-Za-z]*)\.?"
_CLOCK_FACE = range(1, 13)
_TWELVE_HOURS = r"(\d{1,2})(?::(\d{2}))? ?([ap])\.?m\b\.?"
_Rewrite = str | Callable[[re.Match[str]], str]


def rewritten(text: str, known: Collection[str], proposed: Collection[str]) -> str | None:
    """Write a text as moments are written, each habit in its turn; None where that is not clear.

    `known` are the words that there are, `proposed` those that a mistyped one may stand for. What
    is proposed has to happen on the days that the words say, as people accept proposals: so only
    one word may be mistyped, it must be near to one of these, and no other word may be unknown.
    """
    changed = _in_habit(" ".join(_plain(text).split()))
    words = {word.lower() for word in _WORD.findall(changed)}
    mistyped = words - _CONNECTING - _SPOKEN_DAYS.keys() - set(known)
    meanings = dict(_SPOKEN_DAYS)
    for word in mistyped:
        meant = [name for name in proposed if is_slip(word, name.lower())]
        if len(mistyped) > 1 or len(meant) != 1:
            return None
        meanings[word] = meant[0]
    changed = _WORD.sub(lambda found: meanings.get(found[0].lower(), found[0]), changed)
    return _in_habit(changed)


def _in_habit(text: str) -> str:
    for pattern, replacement in _STEPS:
        text = pattern.sub(replacement, text)
    return text


def impossible(text: str) -> str | None:
    """Say of what recurs in a way that cannot be written how to write it all the same."""
    if _EVERY_FEW.search(text):
        return (
            "must recur in every week, month or year; for what recurs every two weeks, write "
            "dates, which `krm-windows import-ics` makes of a calendar; the second Monday of each "
            'month is "2nd Mon 08:00"'
        )
    if _MONTHLY.search(text):
        return (
            'must name the day of the month and a time, such as "1st Mon 08:00", "last day 18:00" '
            'or "0 8 15 * *" for the 15th'
        )
    return None


def _plain(text: str) -> str:
    """Write a text without accents, wide letters, long dashes and curly quotes."""
    # NFKD takes apart what is put together: the accent of an umlaut, and full width (UAX 15).
    letters = unicodedata.normalize("NFKD", text)
    bare = "".join(each for each in letters if not unicodedata.combining(each))
    return bare.replace("\u2013", "-").replace("\u2014", "-").strip(_QUOTES + " ")


def _iso(found: re.Match[str]) -> str:
    """Write a date as ISO 8601 has it; one that is no day stays as it is."""
    groups = found.groupdict()
    month = groups.get("month") or _number(groups["name"].lower())
    try:
        return date(int(found["year"]), int(month), int(found["day"])).isoformat()
    except ValueError:
        return found[0]


def _number(name: str) -> int:
    """Return the number of a month by the first letters of its name."""
    if name in _SPOKEN_MONTHS:
        return _SPOKEN_MONTHS[name]
    # cron's own names, January the first.
    return MONTHS.index(name) + 1


def _slashed(found: re.Match[str]) -> str:
    """Read `12/20/2026` and `20/12/2026`; of `01/02/2026` nobody knows which is the month."""
    first, second = int(found["first"]), int(found["second"])
    month, day = sorted((first, second))
    if day <= len(MONTHS) and first != second:
        return found[0]
    try:
        return date(int(found["year"]), month, day).isoformat()
    except ValueError:
        return found[0]


def _on_24_hours(found: re.Match[str]) -> str:
    """Write a time with am or pm; 12 am is midnight, and there is no 13 am."""
    hour = int(found[1])
    if hour not in _CLOCK_FACE:
        return found[0]
    hour %= 12
    if found[3] in "pP":
        hour += 12
    return f"{hour:02}:{found[2] or '00'}"


def _hour(found: re.Match[str]) -> str:
    """Write an hour alone as a time."""
    return f" {int(found[1]):02}:00"


# `Dec 1`, `24th of December 12:00`: some day, and of each year as likely as of this one.
_TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})"
_EVERY = "(?:(?:every|each|on) )?"
_DAY_FIRST = re.compile(
    rf"{_EVERY}(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)? (?:of )?{_MONTH}(?:,? {_TIME})?",
    re.ASCII | re.IGNORECASE,
)
_MONTH_FIRST = re.compile(
    rf"{_EVERY}{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,? {_TIME})?",
    re.ASCII | re.IGNORECASE,
)
# A month alone is spelt out: `mar` and `mai` are days or months in one language or another.
_ALONE = "january|february|march|april|may|june|july|august|september|october|november|december"
_WHOLE_MONTH = re.compile(rf"(?:(?:every|each|in|all of) )?(?P<name>{_ALONE})", re.IGNORECASE)
# The year of examples; it is no leap year.
_YEAR = 2026


def of_any_year(text: str, *, ends: bool) -> tuple[str, str] | None:
    """Return a day without a year as a date of an example, and as a schedule for each year.

    As an end it is the day's last instant, if it has no time; a month has a first and a last day.
    """
    words = " ".join(_plain(text).split())
    whole = _WHOLE_MONTH.fullmatch(words)
    if whole:
        return _whole_month(_number(whole["name"][:3].lower()), ends=ends)
    found = _DAY_FIRST.fullmatch(words) or _MONTH_FIRST.fullmatch(words)
    if not found:
        return None
    try:
        day = date(_YEAR, _number(found["name"].lower()), int(found["day"]))
        at = time(int(found["hour"] or 0), int(found["minute"] or 0))
    except ValueError:
        return None
    if found["hour"]:
        return f"{day}T{at:%H:%M}", _yearly(day, at)
    return day.isoformat(), _yearly(_counted(day, ends=ends))


def _whole_month(month: int, *, ends: bool) -> tuple[str, str]:
    day = date(_YEAR, month, 1)
    if ends:
        # 32 days after the first of a month it is the next one.
        day = (day + timedelta(days=32)).replace(day=1) - timedelta(days=1)
    return day.isoformat(), _yearly(_counted(day, ends=ends))


def _counted(day: date, *, ends: bool) -> date:
    """Return the day at whose midnight something begins or ends; an end includes its day."""
    if ends:
        return day + timedelta(days=1)
    return day


def _yearly(day: date, at: time = time()) -> str:
    """Return the schedule of a day of each year."""
    return f"{at.minute} {at.hour} {day.day} {day.month} *"


# `Mon-Fri 22:00-05:00`, `weekdays 22-05`, `2nd Tue 2am to 5am`; numbers alone may be a date. `9-5`
# is from nine in the morning to five in the afternoon, as likely as not.
_CLOCK = r"(?:\d{1,2}:\d{2}|\d{2}(?![\d:])|\d{1,2}(?::\d{2})? ?[ap]m)"
_SPAN = re.compile(
    rf"(?P<days>(?:\d[a-z]{{2}} )?[a-z][a-z, -]*|(?=\d{{1,2}}:))(?P<begins>{_CLOCK})"
    rf" ?(?:-|to|until|till) ?(?P<ends>{_CLOCK})",
    re.ASCII | re.IGNORECASE,
)
_BETWEEN = (" - ", " to ", " until ", " till ")


def span(text: str) -> Iterator[tuple[str, str]]:
    """Yield what may be the beginning and the end of a time that is written as one moment."""
    words = " ".join(_plain(text).split())
    found = _SPAN.fullmatch(words)
    # Of `2-5pm` nobody knows whether both are in the afternoon.
    if found and bool(_AM_OR_PM.search(found["begins"])) == bool(_AM_OR_PM.search(found["ends"])):
        days = found["days"].strip() or "every day"
        yield f"{days} {_clock(found['begins'])}", _clock(found["ends"])
    # `Fri 12:00 to Mon 06:00`
    for separator in _BETWEEN:
        begins, _, ends = words.partition(separator)
        yield begins, ends


def _clock(written: str) -> str:
    """Write a time with minutes and 24 hours."""
    for pattern, change in ((_AM_OR_PM, _on_24_hours), (_HOUR_ALONE, _on_the_hour)):
        written = pattern.sub(change, written)
    return written


_AM_OR_PM = re.compile(_TWELVE_HOURS, re.ASCII | re.IGNORECASE)
_HOUR_ALONE = re.compile(r"^\d{1,2}$", re.ASCII)


def _on_the_hour(found: re.Match[str]) -> str:
    return f"{int(found[0]):02}:00"


_DAY = "(?:(?:sun|mon|tue|wed|thu|fri|sat|(?:sun|mon|tues|wednes|thurs|fri|satur)days?)\\b)"
_NTH = r"(?:\d{1,2}(?:st|nd|rd|th)|first|second|third|fourth|fifth|last)(?: last)?"
_OF_NTH = "(?: (?!of|in|the|each|every|month)[a-z]{2,})?"
_MONTHS = "(?:(?:the|each|every|a) )?month"
_EACH = r"(?:\b(?:at|on|every|each|the) )"
_WORKDAY = "(?:working|business|week)[ -]?days?"
# Nothing is left out here that says on which days something is: "every" stands before a day of the
# week, and not before "second", and "of the month" behind an nth day.
# In this order: a date has dots, too, which stand for the colon of a time below.
_HABITS: tuple[tuple[str, _Rewrite], ...] = (
    # 20.12.2026, 2026/12/20, 12/20/2026, 20 December 2026, Dec 20th, 2026
    (r"\b(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>\d{4})\b", _iso),
    (r"\b(?P<year>\d{4})[/.](?P<month>\d{1,2})[/.](?P<day>\d{1,2})\b", _iso),
    (r"\b(?P<first>\d{1,2})/(?P<second>\d{1,2})/(?P<year>\d{4})\b", _slashed),
    (r"(?<!\S)(?P<first>\d{1,2})-(?P<second>\d{1,2})-(?P<year>\d{4})\b", _slashed),
    # 20261220, and with the signs for year, month and day in Chinese and Japanese
    (r"^(?P<year>[12]\d{3})(?P<month>\d{2})(?P<day>\d{2})$", _iso),
    (r"(?P<year>\d{4})\u5e74(?P<month>\d{1,2})\u6708(?P<day>\d{1,2})\u65e5", _iso),
    # 2nd Tue + 2 days, 2nd Tue +2
    (r" \+ ?(\d{1,2}) ?(?:d|days?)?(?= \d{1,2}:)", r" +\1d"),
    (rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)? {_MONTH},? (?P<year>\d{{4}})\b", _iso),
    (rf"\b{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{4}})\b", _iso),
    # at the end of every month, month end, EOM, and not "second month end"; on every last working
    # day of the month
    (
        rf"(?:^|(?<=\d )){_EACH}{{0,2}}(?:end of {_MONTHS}|month[ -]?end|eom)\b",
        "last day",
    ),
    (rf"\b({_NTH}) {_WORKDAY}\b", r"\1 workday"),
    (
        rf"{_EACH}{{0,4}}\b({_NTH}{_OF_NTH}) (?:of {_MONTHS}|(?:each|every) month)\b",
        r"\1",
    ),
    (rf"\b(?:(?:on|the) ){{1,2}}(?={_NTH}\b)", ""),
    (rf"\b(?:every|each) (?=(?:1st|first|last) {_DAY})", ""),
    # every workday, on weekdays, at the weekend, each day; every Monday at noon
    (rf"(?:^|\b(?:every|each) )workday\b|(?<!\S)workdays\b|\b{_WORKDAY}\b", "weekdays"),
    (r"\bweekends?\b", "weekends"),
    (r"\b(?:everyday|each day|all days)\b", "every day"),
    (rf"\b(?:(?:every|each|on|at|the) ){{1,2}}(?={_DAY}|week(?:day|end)s\b)", ""),
    (r"\bat (?=\d{1,2}[:.h ]|\d{1,2}[ap]|noon\b)", ""),
    (r"\bnoon\b", "12:00"),
    (r"\b(sun|mon|tues|wednes|thurs|fri|satur)days\b", r"\1day"),
    # Monday to Friday, Mon and Wed, Mon/Wed, Mon Wed, Mon, Wed
    (rf"\b({_DAY}) (?:to|thru|through|until|till) (?={_DAY})", r"\1-"),
    (rf"\b({_DAY}),? ?(?:and |& ?|\+ ?|[/|; ]) ?(?={_DAY})", r"\1,"),
    (r" ?([,-]) ?", r"\1"),
    # Mon-08:00, Mon 0800
    (r"([a-z])-(?=\d{1,2}:\d{2}$)", r"\1 "),
    (r"(?<=[a-z]) ([01]\d|2[0-3])([0-5]\d)$", r" \1:\2"),
    # 8h30, 8.30, 8am, at 8, Mon 8h; `Mon 8` may be a date
    (r"\b(\d{1,2})[.h](\d{2})\b", r"\1:\2"),
    (rf"\b{_TWELVE_HOURS}", _on_24_hours),
    (r" at (\d|[01]\d|2[0-3])(?: ?h)?$", _hour),
    (r"(?<=[a-z]) (\d|[01]\d|2[0-3]) ?h$", _hour),
    # Mon-Fri, 9:00
    (r"([a-z\d])[, ]+(?=\d{1,2}:\d{2}$)", r"\1 "),
    # 1st 9:00, of each month
    (
        r"^(?:day )?([1-9]|[12]\d|3[01])(?:st|nd|rd|th) 0?(\d{1,2}):0?(\d{1,2})$",
        r"\3 \2 \1 * *",
    ),
    # 2026-12-20 10:00
    (r"\b(\d{4}-\d{2}-\d{2}),? (?=\d{1,2}:\d{2}$)", r"\1T"),
)
_STEPS = tuple((re.compile(habit, re.ASCII | re.IGNORECASE), right) for habit, right in _HABITS)
_WORD = re.compile(r"\b[A-Za-z]{2,}\b")
# Words that a habit above takes once the mistyped one beside them is right; `days` are several.
_CONNECTING = {
    *("to", "thru", "through", "until", "till", "and"),
    *("on", "at", "the", "of", "in", "each", "month", "days"),
}
_EVERY_FEW = re.compile(
    r"\b(?:every|each) (?:other|second|third|fourth|fifth|two|three|four|\d+(?:st|nd|rd|th)?)\b"
    r"(?! ?(?:hours|minutes|min|h|m)\b)"
    r"|\bbi-?weekly|\bbi-?monthly|\bfortnight|\balternat|\b(?:odd|even) weeks?\b",
    re.ASCII | re.IGNORECASE,
)
_MONTHLY = re.compile(r"month|\beom\b", re.ASCII | re.IGNORECASE)
