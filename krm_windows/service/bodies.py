"""What comes with a request: JSON, and the fields of a form."""

import json
from urllib.parse import parse_qsl

from krm_windows.krm import InputError, Value, plain_json
from krm_windows.service.problems import bad_request

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
ICS = "text/calendar"
HTML = "text/html"
FORM = "application/x-www-form-urlencoded"
# One for each cluster of a policy with a thousand, and those of the form.
_MOST_FIELDS = 1100


def parsed_object(body: bytes) -> dict[str, Value]:
    """Return a body as an object of JSON; raises Problem where it is none."""
    found = parsed_json(body)
    if not isinstance(found, dict):
        raise bad_request("the body must be a JSON object")
    return found


def parsed_json(body: bytes) -> Value:
    """Return what JSON says; raises Problem where it is none."""
    try:
        found: Value = json.loads(body.decode(), object_pairs_hook=_once)
        # `1e999` is infinity to the reader, and no JSON; nor is `NaN`.
        json.dumps(found, allow_nan=False)
        plain_json.check_depth(found)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise bad_request(f"the body is not JSON: see {where}") from None
    except (RecursionError, InputError):
        raise bad_request("the body is nested too deeply") from None
    except ValueError:
        raise bad_request(
            "the body is not JSON in UTF-8, or has a number that JSON lacks"
        ) from None
    return found


def _once(pairs: list[tuple[str, Value]]) -> dict[str, Value]:
    """Return an object of JSON; raises Problem for a name that comes twice."""
    found: dict[str, Value] = {}
    for name, value in pairs:
        if name in found:
            raise bad_request(f"{name!r} comes twice in the body")
        found[name] = value
    return found


def parsed_form(body: bytes) -> dict[str, str]:
    """Return the fields of a form; raises Problem for one that cannot be read."""
    try:
        pairs = parse_qsl(
            body.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
        )
    except ValueError:
        raise bad_request("the form cannot be read") from None
    # Of two fields of one name the last counts, as in the browser's own order.
    return dict(pairs)
