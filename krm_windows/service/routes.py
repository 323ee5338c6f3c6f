"""The table of operations: what there is to be asked, who may, and every answer.

Routes and the OpenAPI document are made from it, so that neither has what the other lacks.
"""

import re

from krm_windows.preview import parameters
from krm_windows.service import handlers, operations
from krm_windows.service.access import Scope
from krm_windows.service.calls import (
    FORM,
    HTML,
    ICS,
    JSON,
    MERGE_PATCH,
    YAML,
    Body,
    Operation,
    Parameter,
    ResponseModel,
    Schema,
    schema_ref,
)

_POLICY = "/policies/{namespace}/{name}"
_MOST_DAYS = 400
_MOST_ROWS = 1000
# As far as a list can be followed.
_LAST_ROW = 10**8
# Characters of a reason, which becomes the first line of a commit, and of a key.
_LINE = 500
_TEXT: Schema = {"type": "string"}
# From 1970 to 2999: see `parameters.YEARS`.
_YEAR = r"^(19[7-9]\d|2\d{3})"
# A text of one line (no control character, nor what Unicode ends a line with) that is not blank.
_SIGN = r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]"
_VISIBLE = r"[^\x00-\x20\x7f-\xa0\u2028\u2029]"
_WORDS = rf"^[ \xa0]*{_VISIBLE}{_SIGN}*$"
# As a header comes, without the blanks around it (RFC 9110, 5.5).
_KEY = r"^[^\x00-\x20]"


def _flag(text: str) -> bool:
    # As the description has it, and neither `1` nor `yes`.
    if text not in ("true", "false"):
        raise ValueError(f"must be true or false, got {text[:40]!r}")
    return text == "true"


def _days(text: str) -> int:
    return parameters.count(text, "days", _MOST_DAYS)


def _rows(text: str) -> int:
    return parameters.count(text, "rows", _MOST_ROWS)


def _from(text: str) -> int:
    # As `next` of the page before gives it.
    return parameters.count(text, "rows", _LAST_ROW)


def _line(text: str) -> str:
    """Read a text of one line: it becomes the first line of a commit.

    What nobody sees there, or what turns the direction of writing, is left out; where nothing is
    left, no reason was given.
    """
    if len(text) > _LINE or not re.fullmatch(_WORDS, text):
        raise ValueError(f"must be one line of at most {_LINE} characters")
    seen = "".join(sign if sign.isprintable() else " " for sign in text)
    return " ".join(seen.split())


def _key(text: str) -> str:
    """Read a key: the caller's own, which is kept as a digest alone."""
    if not text or len(text) > _LINE:
        raise ValueError(f"must have from 1 to {_LINE} characters")
    return text


FILE = Parameter("file", "The file, if several contain a policy of this name.", _TEXT)
CLUSTER = Parameter("cluster", "A cluster of the policy.", _TEXT)
AT = Parameter(
    "at",
    "The instant to decide for (default: now).",
    {
        "type": "string",
        "format": "date-time",
        "pattern": _YEAR + r"-\d{2}-\d{2}T\d{2}:\d{2}",
    },
    parameters.instant,
)
FROM = Parameter(
    "from",
    "The first day, or an instant; after an instant, a day is 24 hours (default: today).",
    {"type": "string", "format": "date", "pattern": _YEAR + r"-\d{2}-\d{2}$"},
    parameters.day_or_instant,
)
DAYS = Parameter(
    "days",
    "How many days (default: 7).",
    {"type": "integer", "minimum": 1, "maximum": _MOST_DAYS},
    _days,
)
# `limit` and `continue`, as in the API of Kubernetes ("API Concepts", large collections).
LIMIT = Parameter(
    "limit",
    "The maximum number of rows (default: 500).",
    {"type": "integer", "minimum": 1, "maximum": _MOST_ROWS},
    _rows,
)
CONTINUE = Parameter(
    "continue",
    "`next` of the previous page.",
    {"type": "integer", "minimum": 1, "maximum": _LAST_ROW},
    _from,
)
NEXT = Parameter("next", "The page of this service to return to.", _TEXT)
NAMESPACE = Parameter("namespace", "Only policies of this namespace.", _TEXT)
REASON = Parameter(
    "reason",
    "Why; used as the commit message.",
    {"type": "string", "maxLength": _LINE, "pattern": _WORDS},
    _line,
)
STRICT = Parameter("strict", "Reject the change on warnings too.", {"type": "boolean"}, _flag)
# Without it two people who began alike would undo each other (RFC 9110, 13.1.1).
MUST_MATCH = Parameter(
    "If-Match", "The ETag of the policy as it was read.", _TEXT, place="header", required=True
)
IF_MATCH = Parameter("If-Match", "The ETag of the policy as it was read.", _TEXT, place="header")
# A caller who got no answer can ask again (draft-ietf-httpapi-idempotency-key-header).
IDEMPOTENCY_KEY = Parameter(
    "Idempotency-Key",
    "A request repeated with the same key is carried out once.",
    {"type": "string", "minLength": 1, "maxLength": _LINE, "pattern": _KEY},
    _key,
    place="header",
)
IF_NONE_MATCH = Parameter("If-None-Match", "`*` to create a new policy.", _TEXT, place="header")
_TAGGED = ("ETag",)
_CHANGED = ResponseModel("The result.", {JSON: schema_ref("Change")}, _TAGGED)
# Accepted and not yet acted upon (RFC 9110, 15.3.3): a person merges it, or does not.
_PROPOSED = ResponseModel(
    "The change was proposed, as a branch or a pull request.", {JSON: schema_ref("Change")}
)
# The caller has it already: it was asked with If-None-Match (RFC 9110, 15.4.5).
_UNCHANGED = ResponseModel("Not modified.", headers=_TAGGED)
# What is sent as YAML is the same object; what is answered as YAML is the text of a file.
_POLICY_BODY = {JSON: schema_ref("WindowPolicy"), YAML: schema_ref("WindowPolicy")}
_POLICY_TEXT = {JSON: schema_ref("WindowPolicy"), YAML: _TEXT}

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "GET",
        "/policies",
        "listPolicies",
        "The policies of the branch, page by page.",
        handlers.list_policies,
        Scope.READ,
        {200: ResponseModel("A page of policies.", {JSON: schema_ref("PolicyList")})},
        (NAMESPACE, LIMIT, CONTINUE),
    ),
    Operation(
        "GET",
        _POLICY,
        "getPolicy",
        "A policy: the file's text as YAML, or its meaning as JSON.",
        handlers.get_policy,
        Scope.READ,
        {200: ResponseModel("The policy.", _POLICY_TEXT, _TAGGED), 304: _UNCHANGED},
        (FILE,),
    ),
    Operation(
        "PUT",
        _POLICY,
        "putPolicy",
        "Replace a policy (If-Match), or create one (If-None-Match: *; scope `admin`).",
        handlers.put_policy,
        Scope.WRITE,
        {200: _CHANGED, 201: _CHANGED, 202: _PROPOSED},
        (FILE, REASON, STRICT, IF_MATCH, IF_NONE_MATCH),
        Body(
            _POLICY_BODY,
            "The policy: JSON keeps the comments of the file; YAML is its text, without the scope "
            "`admin` only its values.",
        ),
    ),
    Operation(
        "PATCH",
        _POLICY,
        "patchPolicy",
        "Change a policy with a JSON merge patch of the whole object, or of its spec on a cluster.",
        handlers.patch_policy,
        Scope.WRITE,
        {200: _CHANGED, 202: _PROPOSED},
        (FILE, CLUSTER, REASON, STRICT, MUST_MATCH),
        Body({MERGE_PATCH: {"type": "object"}}, "A merge patch (RFC 7396)."),
    ),
    Operation(
        "DELETE",
        _POLICY,
        "deletePolicy",
        "Remove a policy from its file.",
        handlers.delete_policy,
        Scope.ADMIN,
        {200: _CHANGED, 202: _PROPOSED},
        (FILE, REASON, MUST_MATCH),
    ),
    Operation(
        "POST",
        f"{_POLICY}/preview",
        "preview",
        "Preview a change: findings and hours. Nothing is saved.",
        handlers.preview,
        Scope.READ,
        {200: ResponseModel("The preview.", {JSON: schema_ref("Preview")}, _TAGGED)},
        (FILE, CLUSTER, STRICT),
        Body({MERGE_PATCH: {"type": "object"}, **_POLICY_BODY}, "A merge patch, or a policy."),
    ),
    Operation(
        "GET",
        f"{_POLICY}/state",
        "getState",
        "Whether a policy should be open by what is in Git, by which rule, since when, until when.",
        handlers.get_state,
        Scope.READ,
        {200: ResponseModel("The state.", {JSON: schema_ref("State")}, _TAGGED), 304: _UNCHANGED},
        (FILE, CLUSTER, AT),
    ),
    Operation(
        "GET",
        f"{_POLICY}/calendar",
        "getCalendar",
        "When a policy should be open by what is in Git: as JSON, as iCalendar, or as a page.",
        handlers.get_calendar,
        Scope.READ,
        {
            200: ResponseModel(
                "The calendar.", {JSON: schema_ref("Calendar"), ICS: _TEXT, HTML: _TEXT}, _TAGGED
            ),
            304: _UNCHANGED,
        },
        (FILE, CLUSTER, FROM, DAYS),
    ),
    Operation(
        "GET",
        f"{_POLICY}/pending",
        "getPending",
        "The commits since a policy should have closed, and what its targets will apply of them.",
        handlers.get_pending,
        Scope.READ,
        {200: ResponseModel("What waits.", {JSON: schema_ref("Pending")})},
        (FILE, CLUSTER),
    ),
    Operation(
        "GET",
        f"{_POLICY}/rendered",
        "getRendered",
        "The directories that are rendered from a policy, and whether they are current.",
        handlers.get_rendered,
        Scope.READ,
        {200: ResponseModel("What is rendered.", {JSON: schema_ref("Rendered")})},
        (FILE,),
    ),
    Operation(
        "GET",
        f"{_POLICY}/overrides",
        "listOverrides",
        "The overrides that a policy has in Git: future, active and over.",
        handlers.list_overrides,
        Scope.READ,
        {200: ResponseModel("The overrides.", {JSON: schema_ref("OverrideList")})},
        (FILE,),
        tag="overrides",
    ),
    Operation(
        "POST",
        f"{_POLICY}/overrides",
        "addOverride",
        "Open or close a policy until a given time: in Git now, in a cluster once it is applied.",
        handlers.add_override,
        Scope.OVERRIDE,
        {201: _CHANGED, 202: _PROPOSED},
        (FILE, IF_MATCH, IDEMPOTENCY_KEY),
        Body({JSON: schema_ref("Override")}, "The override."),
        tag="overrides",
    ),
    Operation(
        "DELETE",
        f"{_POLICY}/overrides/{{override}}",
        "endOverride",
        "End an override: remove it from the file.",
        handlers.end_override,
        Scope.OVERRIDE,
        {200: _CHANGED, 202: _PROPOSED},
        (FILE, CLUSTER, REASON, IF_MATCH),
        tag="overrides",
    ),
    Operation(
        "GET",
        "/fleet",
        "getFleet",
        "What should be open now by what is in Git, for all policies and clusters, page by page.",
        handlers.get_fleet,
        Scope.READ,
        {200: ResponseModel("A page of rows.", {JSON: schema_ref("Fleet")})},
        (LIMIT, CONTINUE),
        tag="fleet",
    ),
    Operation(
        "GET",
        "/healthz",
        "getHealth",
        "Whether the service is alive.",
        operations.get_health,
        None,
        {200: ResponseModel("It is alive.", {JSON: schema_ref("Health")})},
        tag="operations",
    ),
    Operation(
        "GET",
        "/readyz",
        "getReadiness",
        "Whether the repository can be read and written.",
        operations.get_readiness,
        None,
        {200: ResponseModel("It is ready.", {JSON: schema_ref("Health")})},
        tag="operations",
    ),
    Operation(
        "GET",
        "/metrics",
        "getMetrics",
        "Metrics for Prometheus.",
        operations.get_metrics,
        None,
        {200: ResponseModel("The metrics.", {"text/plain": _TEXT})},
        tag="operations",
    ),
    Operation(
        "GET",
        "/openapi.json",
        "getDescription",
        "This document.",
        operations.get_description,
        None,
        {200: ResponseModel("The document.", {JSON: {"type": "object"}})},
        tag="operations",
    ),
)

# Answered with 303, so that the browser goes on by GET, and a reload sends nothing again (RFC 9110,
# 15.4.4).
SESSIONS: tuple[Operation, ...] = (
    Operation(
        "POST",
        "/ui/login",
        "beginSession",
        "Sign in with a browser.",
        operations.begin_session,
        None,
        {303: ResponseModel("The cookie is set.")},
        (NEXT,),
        body=Body({FORM: {"type": "object"}}, "The token."),
        tag="pages",
    ),
    Operation(
        "POST",
        "/ui/logout",
        "endSession",
        "Sign out.",
        operations.end_session,
        None,
        {303: ResponseModel("The cookie is removed.")},
        body=Body({FORM: {"type": "object"}}, "Nothing."),
        tag="pages",
    ),
)
