"""What comes with a request: JSON, one policy as YAML or JSON, and the fields of a form."""

import json
from urllib.parse import parse_qsl

from krm_windows.krm import InputError, KubeObject, Value, documents, plain_json
from krm_windows.krm.errors import ExcessError
from krm_windows.service.problems import bad_request

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
YAML = "application/yaml"
ICS = "text/calendar"
HTML = "text/html"
FORM = "application/x-www-form-urlencoded"
_MOST_FIELDS = 1000


def parsed_policy(body: bytes, media_type: str) -> KubeObject:
    """Return a body as one object, YAML or JSON; raises Problem where it is none."""
    # YAML keeps its text, with comments; JSON is written into the text that is there.
    if media_type == YAML:
        return _only(body)
    return KubeObject.from_value(parsed_object(body))


def parsed_object(body: bytes) -> dict[str, Value]:
    """Return a body as an object of JSON; raises Problem where it is none."""
    found = parsed_json(body)
    if not isinstance(found, dict):
        raise bad_request("the body must be a JSON object")
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


def parsed_json(body: bytes) -> Value:
    """Return what JSON says; raises Problem for what RFC 8259 leaves to the reader, too."""
    try:
        found: Value = json.loads(body.decode(), object_pairs_hook=_once)
        # The decoder takes more levels than a text may have, and than is written without failing.
        plain_json.check_depth(found)
        # A lone surrogate is no character; NaN and infinity (as Python reads `1e999`) are no JSON.
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except (RecursionError, ExcessError):
        raise bad_request("the body is nested too deeply") from None
    except UnicodeError:
        raise bad_request("the body is not valid UTF-8") from None
    except ValueError as error:
        raise bad_request(f"the body is not JSON: {error}") from None
    return found


def _once(pairs: list[tuple[str, Value]]) -> Value:
    # Readers differ in which of two they take (RFC 8259, 4).
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a duplicate name")
    return found


def _only(body: bytes) -> KubeObject:
    try:
        found = documents(body)
        if len(found) != 1:
            raise bad_request(f"the body must be one YAML document, found {len(found)}")
        # Read now, so that what cannot be read is found here.
        found[0].get()
    except InputError as error:
        raise bad_request(f"the body cannot be read: {error}") from None
    return found[0]
