"""Every call of the service in one table, and OpenAPI made from it and from the fields of an Ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from typing import Any

from optimaldp import __version__
from optimaldp.asking.ask import FIELDS, LEVEL, key_of, meaning_of
from optimaldp.service.asked import ASK_KEYS, PREVIEW_KEYS, SANITISE_KEYS
from optimaldp.service.configuration import Role
from optimaldp.service.store import STATUSES

Schema = dict[str, Any]
_ASKER, _APPROVER, _STEWARD, _AUDITOR = Role.ASKER, Role.APPROVER, Role.STEWARD, Role.AUDITOR
EVERYBODY = tuple(Role)
_TEXT: Schema = {"type": "string"}
_MAYBE_TEXT: Schema = {"type": ["string", "null"]}
_OBJECT: Schema = {"type": "object"}
_TRUTH: Schema = {"type": "boolean"}


def _object(properties: Mapping[str, Schema], *required: str, closed: bool = False) -> Schema:
    made: Schema = {"type": "object", "properties": dict(properties), "required": list(required)}
    return made | ({"additionalProperties": False} if closed else {})


def _list_of(name: str, item: Schema = _OBJECT) -> Schema:
    return _object({name: {"type": "array", "items": item}}, name)


_BESIDE: dict[str, Schema] = {
    "n": {"type": "integer", "description": "The number of people, to write margins as shares."},
    "margins": {"type": "array", "items": {"type": "integer"}},
    "level_sizes": {"type": "object", "additionalProperties": {"type": "integer"}},
    "columns": {"type": "array", "items": _TEXT, "minItems": 1, "description": "Columns: ward, age: bins=[0, 18, 65]."},
    "marginals": _TEXT,
    "among": _TEXT,
    "labels": _TRUTH,
}


def _fields(keys: tuple[str, ...], *required: str) -> Schema:
    """The body of a question, from the one list of options."""
    by_key = {key_of(name): name for name in FIELDS}
    properties: dict[str, Schema] = {"dataset": {**_TEXT, "description": "The name of the data set."}}
    needed = ["dataset", *required]
    for key in keys:
        if key not in by_key:
            properties[key] = _BESIDE[key]
            continue
        meaning = meaning_of(by_key[key])
        properties[key] = {**meaning.form.schema, "description": meaning.words}
        if FIELDS[by_key[key]].default is MISSING:
            needed.append(key)
    # "margins" of a sanitised table are texts, those of a preview whole numbers.
    if "columns" in keys:
        properties["margins"] = _TEXT
    return _object(properties, *dict.fromkeys(needed), closed=True)


@dataclass(frozen=True)
class ApiRoute:
    """One call: where it is, who may use it, what it takes and what it answers."""

    method: str
    path: str
    name: str
    summary: str
    roles: tuple[Role, ...] | None = EVERYBODY
    """Whose key opens it; ``None``: no key is needed."""
    body: Schema | None = None
    query: tuple[tuple[str, bool], ...] = ()
    """Names of query parameters, and whether each is needed."""
    answers: Mapping[int, Schema] = field(default_factory=lambda: {200: _OBJECT})
    media: str = "application/json"

    @property
    def named(self) -> list[str]:
        """The names in its path."""
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]


_WAITS = _object({"request": _TEXT, "status": {"const": "waiting"}}, "request", "status")
_PAID = {"replayed": _TRUTH, "request": _TEXT, "remaining": _OBJECT}
_RELEASE = _object({"answer": {}, "question": _TEXT, "certificate": _OBJECT, **_PAID}, "answer", "question", *_PAID)
_TABLE = _object(
    {"columns": {"type": "array"}, "rows": {"type": "array"}, "statement": _OBJECT, **_PAID}, "columns", "rows", *_PAID
)
_REQUEST = _object(
    {
        "request": _TEXT,
        "kind": {"enum": ["ask", "sanitise"]},
        "asker": _TEXT,
        "dataset": _TEXT,
        "ask": _OBJECT,
        "status": {"enum": list(STATUSES)},
        "reason": _MAYBE_TEXT,
        "approver": _MAYBE_TEXT,
    },
    "request",
    "status",
)
_ASKER_BODY = _object(
    {
        "datasets": {"type": "object", "additionalProperties": _OBJECT},
        "approve_above": dict(LEVEL.schema),
        "approve_kinds": {"type": "array", "items": _TEXT},
    },
    "datasets",
    closed=True,
)
_KEY_BODY = _object({"name": _TEXT, "days": {"type": "integer", "minimum": 1, "maximum": 366}}, "name", closed=True)
_NEW_KEY = _object({"id": _TEXT, "name": _TEXT, "key": _TEXT, "expires": _TEXT}, "id", "name", "key", "expires")
_OF_DATASET = (("dataset", True),)

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute("GET", "/v1/me", "me", "Who the key belongs to."),
    ApiRoute(
        "GET",
        "/v1/datasets",
        "datasets",
        "The data sets that you may see, by their descriptions.",
        answers={200: _list_of("datasets")},
    ),
    ApiRoute(
        "POST",
        "/v1/preview",
        "preview",
        "How far off an answer would be. Reads no data and spends nothing.",
        (_ASKER, _APPROVER, _STEWARD),
        _fields((*ASK_KEYS, *PREVIEW_KEYS)),
    ),
    ApiRoute(
        "POST",
        "/v1/ask",
        "ask",
        "Ask a question and pay for it.",
        (_ASKER,),
        _fields(ASK_KEYS),
        answers={200: _RELEASE, 202: _WAITS},
    ),
    ApiRoute(
        "POST",
        "/v1/sanitise",
        "sanitise",
        "Ask for a sanitised table and pay for it.",
        (_ASKER,),
        _fields(SANITISE_KEYS, "columns"),
        answers={200: _TABLE, 202: _WAITS},
    ),
    ApiRoute(
        "GET",
        "/v1/requests",
        "requests",
        "Your requests, or those of your data sets.",
        query=(("dataset", False), ("status", False)),
        answers={200: _list_of("requests", _REQUEST)},
    ),
    ApiRoute(
        "GET", "/v1/requests/{id}", "request", "One request; with its answer if it is yours.", answers={200: _REQUEST}
    ),
    ApiRoute(
        "POST",
        "/v1/requests/{id}/approve",
        "approve",
        "Let a waiting question through.",
        (_APPROVER,),
        _object({}, closed=True),
        answers={200: _REQUEST},
    ),
    ApiRoute(
        "POST",
        "/v1/requests/{id}/refuse",
        "refuse",
        "Refuse a waiting question, with the reason.",
        (_APPROVER,),
        _object({"reason": _TEXT}, "reason", closed=True),
        answers={200: _REQUEST},
    ),
    ApiRoute("GET", "/v1/remaining", "remaining", "What is left of your budget.", query=_OF_DATASET),
    ApiRoute(
        "GET",
        "/v1/history",
        "history",
        "What you asked; for a steward and an auditor what everybody asked.",
        (_ASKER, _STEWARD, _AUDITOR),
        query=_OF_DATASET,
    ),
    ApiRoute(
        "GET",
        "/v1/entries",
        "entries",
        "Every entry of the ledger with its hash.",
        (_STEWARD, _AUDITOR),
        query=_OF_DATASET,
        answers={200: _list_of("entries")},
    ),
    ApiRoute(
        "GET",
        "/v1/log",
        "log",
        "Who did what, and how it went.",
        (_STEWARD, _AUDITOR),
        query=(("after", False),),
        answers={200: _list_of("log")},
    ),
    ApiRoute("POST", "/v1/verify", "verify", "Have the referee examine a published release again.", body=_OBJECT),
    ApiRoute("GET", "/v1/askers", "askers", "Who may ask what.", (_STEWARD,), answers={200: _list_of("askers")}),
    ApiRoute("PUT", "/v1/askers/{name}", "put_asker", "Let somebody ask, within a budget.", (_STEWARD,), _ASKER_BODY),
    ApiRoute("DELETE", "/v1/askers/{name}", "drop_asker", "Take the right to ask away.", (_STEWARD,)),
    ApiRoute(
        "GET",
        "/v1/keys",
        "keys",
        "The keys that were made, without the keys themselves.",
        (_STEWARD,),
        answers={200: _list_of("keys")},
    ),
    ApiRoute(
        "POST",
        "/v1/keys",
        "create_key",
        "Make a key for an asker; it is shown this once.",
        (_STEWARD,),
        _KEY_BODY,
        answers={201: _NEW_KEY},
    ),
    ApiRoute("DELETE", "/v1/keys/{id}", "revoke_key", "Revoke a key.", (_STEWARD,)),
    ApiRoute("GET", "/v1/openapi.json", "openapi", "This description.", None),
    ApiRoute("GET", "/health", "health", "Whether the service works.", None, answers={200: _OBJECT, 503: _OBJECT}),
    ApiRoute(
        "GET",
        "/metrics",
        "metrics",
        "Counters for Prometheus.",
        (_STEWARD, _AUDITOR),
        answers={200: _TEXT},
        media="text/plain",
    ),
)

_ERRORS = {
    400: "A field breaks a rule, or a key was sent in the URL.",
    401: "The key is missing, wrong, expired or revoked.",
    403: "The key's role may not do this.",
    404: "There is no such thing for you.",
    408: "The body came too slowly.",
    409: "The budget does not cover it, or a state does not allow it.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    429: "Too many calls.",
    500: "No answer was given; one fixed sentence.",
    503: "The data set or the ledger cannot be reached; one fixed sentence.",
}
_PARTS = ("message", "field", "value", "rule", "remedy")
_ERROR = _object({"error": _object({"message": _TEXT, **dict.fromkeys(_PARTS[1:], _MAYBE_TEXT)}, *_PARTS)}, "error")


def openapi_document() -> Schema:
    """The OpenAPI document of the service."""
    paths: dict[str, Schema] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "optimaldp curator",
            "version": __version__,
            "description": "Private answers about tables that nobody who asks can see, within budgets that hold.",
        },
        "paths": paths,
        "components": {
            "schemas": {"Error": _ERROR},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: ApiRoute) -> Schema:
    problem = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    good = {
        str(status): {"description": "The answer.", "content": {route.media: {"schema": schema}}}
        for status, schema in route.answers.items()
    }
    refused = {str(status): {"description": words, "content": problem} for status, words in _ERRORS.items()}
    made: Schema = {
        "operationId": route.name,
        "summary": route.summary,
        "responses": refused | good,
        "parameters": [*_parameters(route)],
        "security": [] if route.roles is None else [{"key": []}],
    }
    if route.roles is not None:
        made["description"] = f"For: {', '.join(route.roles)}."
    if route.body is not None:
        made["requestBody"] = {"required": True, "content": {"application/json": {"schema": route.body}}}
    return made


def _parameters(route: ApiRoute) -> list[Schema]:
    """What stands in the path, then what is asked for behind it."""
    taken = [("path", name, True) for name in route.named] + [("query", *one) for one in route.query]
    return [{"name": name, "in": place, "required": needed, "schema": _TEXT} for place, name, needed in taken]
