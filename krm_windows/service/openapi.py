"""The OpenAPI document (3.1) of the interface, made from the table of operations."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache

from krm_windows import __version__
from krm_windows.function import kinds
from krm_windows.service.access import Scope
from krm_windows.service.calls import Operation, Parameter, ResponseModel, Schema, schema_ref
from krm_windows.service.problems import MEDIA_TYPE, json_body
from krm_windows.service.routes import OPERATIONS
from krm_windows.service.windows import Reach

_PATH = re.compile(r"\{(\w+)\}")
_TEXT: Schema = {"type": "string"}
_INSTANT: Schema = {"type": "string", "format": "date-time"}
_FLAG: Schema = {"type": "boolean"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
# What any request may get, whatever it asks. 428 and 429 are of RFC 6585, all others of RFC
# 9110.
_ALWAYS = {
    400: "The request is invalid.",
    403: "The caller has no permission, such as `admin` for a change of more than hours; or the "
    "request comes from another site.",
    405: "The method is not allowed for this path.",
    500: "Internal error; see the log of the service.",
    503: "The service or its repository is busy: try again later.",
}
_PLACE = {
    404: "The policy, cluster or override was not found.",
    409: "The policy is in several files, has errors, or has changed in the meantime; or the body "
    "is another policy.",
}
_IDENTITY = {
    401: "The caller is not authenticated.",
    429: "The caller sends too many requests.",
}
_BODY = {
    408: "Reading the body timed out.",
    413: "The body is too large.",
    415: "The media type of the body is not supported.",
}
_CHANGE = {
    412: "The policy has changed since it was read.",
    422: "The policy would be invalid: nothing was written; see `findings`.",
    502: "The remote could not be reached, or rejected the change: nothing was written.",
}
_HEADERS = {
    "ETag": "The name of this version (RFC 9110, 8.8.3).",
}


@cache
def document() -> dict[str, object]:
    """Return the document."""
    paths: dict[str, dict[str, object]] = {}
    for operation in OPERATIONS:
        # Methods of one path are members of one object (OpenAPI 3.1, 4.8.8).
        place = paths.setdefault(operation.path, {})
        place[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "krm-windows",
            "version": __version__,
            "description": "Read and change the reconciliation windows of a Git repository.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        # Wherever it is served from.
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token of the service, or a JWT of its identity provider; "
                    "not needed if the service can be reached only from its own "
                    "machine. The scope `write` is for hours; `admin` is for everything.",
                }
            },
        },
    }


@cache
def text() -> bytes:
    """Return the document as it is sent: to write it takes seven milliseconds."""
    return json_body(document())


def refusals(operation: Operation) -> dict[int, str]:
    """Return every answer of an operation that is a problem, with what it means."""
    # By what an operation does, so that none can forget one.
    found = dict(_ALWAYS)
    if operation.scope is not None:
        found |= _IDENTITY
    if _PATH.search(operation.path):
        found |= _PLACE
    if operation.body is not None:
        found |= _BODY
    if operation.changes:
        found |= _CHANGE
    if operation.name == "preview":
        found[422] = "The change cannot be made."
    if any(parameter.name == "If-Match" for parameter in operation.parameters):
        found[428] = "If-Match is missing."
    if any(len(answer.content) > 1 for answer in operation.answers.values()):
        found[406] = "No available format is acceptable to the caller."
    return found


def _operation(operation: Operation) -> dict[str, object]:
    answers: dict[str, object] = {}
    for status, answer in operation.answers.items():
        answers[str(status)] = _answer(answer)
    # All of one form: RFC 9457.
    for status, text in sorted(refusals(operation).items()):
        answers[str(status)] = {
            "description": text,
            "content": {MEDIA_TYPE: {"schema": schema_ref("Problem")}},
        }
    made: dict[str, object] = {
        # Clients that are generated name a function by it.
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.tag],
        "parameters": list(_parameters(operation)),
        "responses": answers,
        "security": _security(operation.scope),
    }
    if operation.body is not None:
        made["requestBody"] = {
            "description": operation.body.description,
            "required": True,
            "content": _content(operation.body.content),
        }
    return made


def _security(scope: Scope | None) -> list[dict[str, list[str]]]:
    if scope is None:
        return []
    # Nothing is needed, or a token: the former where only the machine itself gets here. An empty
    # requirement makes the others optional (OpenAPI 3.1, Security Requirement Object).
    return [{}, {"token": [scope.value]}]


def _parameters(operation: Operation) -> Iterator[dict[str, object]]:
    for name in _PATH.findall(operation.path):
        yield {
            "name": name,
            "in": "path",
            # A parameter of the path always is (OpenAPI 3.1, Parameter Object).
            "required": True,
            "schema": {"type": "string", "minLength": 1, "pattern": "^[^/]+$"},
            "description": _PLACES[name],
        }
    for parameter in operation.parameters:
        yield _parameter(parameter)


_PLACES = {
    "namespace": "The namespace; `-` where the file names none.",
    "name": "The name of the policy.",
    "override": "The name of the override.",
}


def _parameter(parameter: Parameter) -> dict[str, object]:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.required,
        "schema": parameter.schema,
        "description": parameter.description,
    }


def _answer(answer: ResponseModel) -> dict[str, object]:
    made: dict[str, object] = {"description": answer.description}
    if answer.content:
        made["content"] = _content(answer.content)
    if answer.headers:
        made["headers"] = {
            name: {"description": _HEADERS[name], "schema": _TEXT} for name in answer.headers
        }
    return made


def _content(found: Mapping[str, Schema]) -> dict[str, object]:
    return {media_type: {"schema": schema} for media_type, schema in found.items()}


def _object(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    # Closed: a member that is not described would be one that nobody knows of.
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": sorted(required),
        "additionalProperties": False,
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _or_null(schema: Schema) -> Schema:
    # OpenAPI 3.1 takes JSON Schema 2020-12, which has a type `null` and no `nullable`.
    return {"anyOf": [schema, {"type": "null"}]}


def _schemas() -> dict[str, Schema]:
    policy: Schema = json.loads(kinds.read("WindowPolicy", "json"))
    # Of a document of its own; here it is a part of another.
    policy.pop("$schema", None)
    policy.pop("$id", None)
    return {"WindowPolicy": policy, **_records(), **_lists()}


def _records() -> dict[str, Schema]:
    change = _object(
        {
            "from": _INSTANT,
            "until": _or_null(_INSTANT),
            "rules": _list(_TEXT),
            "instead": _list(_TEXT),
        }
    )
    field = _object({"path": _TEXT}, {"currentValue": _TEXT, "proposedValue": _TEXT})
    reference = _object({"apiVersion": _TEXT, "kind": _TEXT, "name": _TEXT}, {"namespace": _TEXT})
    outcome: dict[str, Schema] = {
        "policy": _TEXT,
        "file": _TEXT,
        "differences": _list(schema_ref("Difference")),
        "findings": _list(schema_ref("Finding")),
    }
    return {
        "Problem": _object(
            {"type": _TEXT, "title": _TEXT, "status": {"type": "integer"}, "detail": _TEXT},
            {"findings": _list(schema_ref("Finding"))},
        ),
        "Finding": _object(
            {
                "rule": _TEXT,
                "severity": {"type": "string", "enum": ["error", "warning", "info"]},
                "message": _TEXT,
            },
            {"field": field, "resourceRef": reference, "file": _TEXT, "line": _COUNT},
        ),
        "Difference": _object(
            {
                "policy": _TEXT,
                "cluster": _or_null(_TEXT),
                "timeZone": _TEXT,
                "from": _INSTANT,
                "until": _INSTANT,
                "opens": _list(change),
                "closes": _list(change),
            }
        ),
        "Change": _object(
            {
                **outcome,
                "written": _described(_FLAG, "The branch has it. Clusters may not: see `missing`."),
                "commit": _or_null(_TEXT),
                "missing": _described(
                    _list({"type": "string", "enum": ["merge", "push", "reconcile"]}),
                    "What has to happen before a cluster knows of the change, in this order.",
                ),
                "rendered": _rendered(),
            },
            {"override": _TEXT, "summary": _TEXT, "pullRequest": _TEXT, "branch": _TEXT},
        ),
        "Preview": _object({**outcome, "writable": _FLAG, "changes": _FLAG}),
        "State": _state({}),
        "Rendered": _object(
            {
                "policy": _TEXT,
                "file": _TEXT,
                "commit": _TEXT,
                "rendered": _rendered(),
                "inCluster": _in_cluster(),
            }
        ),
        "RenderedDirectory": _object(
            {
                "directory": _TEXT,
                "stale": _described(
                    _or_null(_FLAG), "Whether it is not what the policy yields; null: unknown."
                ),
                "files": _described(_list(_TEXT), "What is out of date, or what a change renders."),
                "reason": _described(_or_null(_TEXT), "Why it is unknown."),
                "command": _described(_or_null(_TEXT), "What renders it; null: unknown."),
                "inGit": _described(_or_null(_FLAG), "Whether the branch has it so."),
            }
        ),
        "Commit": _object(
            {"commit": _TEXT, "committed": _COUNT, "author": _TEXT, "subject": _TEXT}
        ),
        "Pending": _pending(),
        "Override": _wanted(),
        "Calendar": _object(
            {
                "policy": _TEXT,
                "cluster": _or_null(_TEXT),
                "timeZone": _TEXT,
                "zoneRelease": _TEXT,
                "from": _INSTANT,
                "until": _INSTANT,
                "intervals": _list(
                    _object(
                        {
                            "opens": _or_null(_INSTANT),
                            "closes": _or_null(_INSTANT),
                            "rules": _list(_TEXT),
                        }
                    )
                ),
                "exceptions": _list(
                    _object(
                        {
                            "rule": _TEXT,
                            "kind": _TEXT,
                            "reason": _or_null(_TEXT),
                            "from": _INSTANT,
                            "until": _INSTANT,
                        }
                    )
                ),
            }
        ),
    }


def _reach() -> Schema:
    # Without a remote the field is left out.
    words = [each.value for each in Reach if each is not Reach.NONE]
    return {"type": "string", "enum": words}


def _described(schema: Schema, text: str) -> Schema:
    return {**schema, "description": text}


def _rendered() -> Schema:
    return _described(
        _or_null(_list(schema_ref("RenderedDirectory"))),
        "The directories that are rendered from the policy; null: unknown.",
    )


def _in_cluster() -> Schema:
    return _described(_or_null(_FLAG), "Always null, for unknown: no cluster is asked.")


def _state(more: dict[str, Schema]) -> Schema:
    return _object(
        {
            "policy": _TEXT,
            "cluster": _or_null(_TEXT),
            "timeZone": _TEXT,
            "open": _described(_FLAG, "Whether it should be open by what is in Git."),
            "rule": _or_null(_TEXT),
            "reason": _TEXT,
            "since": _or_null(_INSTANT),
            "until": _or_null(_INSTANT),
            "inGit": _FLAG,
            "inCluster": _in_cluster(),
            **more,
        }
    )


def _pending() -> Schema:
    commits = _list(schema_ref("Commit"))
    target = _object(
        {
            "kind": _TEXT,
            "namespace": _TEXT,
            "name": _TEXT,
            "pending": _or_null(_FLAG),
            "count": _described(_or_null(_COUNT), "Null: unknown."),
            "commits": _or_null(commits),
            "reverted": commits,
            "newImages": _or_null(_list(_TEXT)),
            "notes": _list(_TEXT),
        }
    )
    return _state(
        {
            "branch": _TEXT,
            "from": _or_null(_TEXT),
            "to": _TEXT,
            "count": _described(
                _or_null(_COUNT), "How many commits came since it closed; null: unknown."
            ),
            "complete": _described(_FLAG, "Whether `commits` are all that came."),
            "commits": commits,
            "targets": _or_null(_list(target)),
            "notes": _list(_TEXT),
        }
    )


def _wanted() -> Schema:
    texts = {
        "until": "Until when: 18:00, 2026-12-24, or an instant with an offset.",
        "ticket": "The ticket with the request.",
        "requestedBy": "Who requested it (default: the caller).",
        "name": "Its name (default: made from state and time).",
        "cluster": "Only on this cluster (default: on all).",
    }
    optional: dict[str, Schema] = {
        name: {"type": ["string", "null"], "description": text} for name, text in texts.items()
    }
    optional["for"] = {
        "type": ["string", "null"],
        "description": "How long, from now: 2h, 90m, 1d.",
        # Not nothing, such as `0h` or `00d`.
        "pattern": r"^(?=\d*[dhm\d]*[1-9])(\d{1,2}d)?(\d{1,3}h)?(\d{1,5}m)?$",
        "examples": ["2h"],
    }
    reason: Schema = {"type": "string", "minLength": 1, "maxLength": 500}
    state: Schema = {"type": "string", "enum": ["open", "closed"]}
    made = _object({"state": state, "reason": reason}, optional)
    # Exactly one of the two says when it ends.
    length: Schema = {"required": ["for"], "properties": {"for": _TEXT}}
    until: Schema = {"required": ["until"], "properties": {"until": _TEXT}}
    return {**made, "oneOf": [length, until]}


def _lists() -> dict[str, Schema]:
    more = {"next": _or_null(_TEXT)}
    listed = _object({"namespace": _TEXT, "name": _TEXT, "file": _TEXT, "etag": _TEXT})
    unreadable = _object({"file": _TEXT, "detail": _TEXT})
    override = _object(
        {
            "name": _TEXT,
            "cluster": _or_null(_TEXT),
            "state": _TEXT,
            "begins": _or_null(_INSTANT),
            "ends": _INSTANT,
            "phase": {
                "type": "string",
                "enum": ["coming", "active", "over"],
                "description": "By what is in Git.",
            },
            "reason": _TEXT,
        }
    )
    failed = _object({"policy": _TEXT, "cluster": _or_null(_TEXT), "error": _TEXT})
    return {
        "PolicyList": _object(
            {
                "commit": _TEXT,
                "policies": _list(listed),
                "unreadable": _list(unreadable),
                **more,
            }
        ),
        "OverrideList": _object({"policy": _TEXT, "overrides": _list(override)}),
        "Fleet": _object(
            {
                "commit": _TEXT,
                "at": _INSTANT,
                "count": _COUNT,
                "rows": _list({"anyOf": [schema_ref("State"), failed]}),
                **more,
            }
        ),
        "Health": _object({"status": _TEXT, "commit": _TEXT}, {"remote": _reach()}),
    }
