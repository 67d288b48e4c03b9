"""The API described for programs (OpenAPI 3.1)."""

from __future__ import annotations

from typing import Any

from optimaldp import __version__
from optimaldp.studio.api_calls import CALLS, ApiCall

_TEXT = {"type": "string"}
_ERRORS = {
    "400": "A field breaks a rule.",
    "403": "Another origin, a strange host, or no token.",
    "409": "The budget does not cover it, the ledger refuses, it was sent twice, or another file was opened meanwhile.",
    "413": "More than 5 MB, of a file more than 200 MB.",
    "504": "Stopped after 30 s.",
}


def openapi_document() -> dict[str, Any]:
    """The OpenAPI document of the studio."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "optimaldp studio",
            "version": __version__,
            "description": "The studio's calls for programs.",
        },
        "paths": {f"/api/{call.name}": {call.method.lower(): _operation(call)} for call in CALLS},
        "components": {"schemas": {"Error": _error_schema()}},
    }


def _operation(call: ApiCall) -> dict[str, Any]:
    problem = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    document: dict[str, Any] = {"operationId": call.name, "summary": call.summary}
    if call.method == "POST":
        schema = {"type": "object", "properties": call.properties, "required": list(call.required)}
        content: dict[str, Any] = {"application/json": {"schema": schema, "example": call.example}}
        if call.name == "upload":
            content = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
        document["requestBody"] = {"required": True, "content": content}
    good = {"description": call.answer, "content": {"application/json": {"schema": {"type": "object"}}}}
    document["responses"] = {"200": good} | {s: {"description": w, "content": problem} for s, w in _ERRORS.items()}
    return document


def _error_schema() -> dict[str, Any]:
    fields = {
        "kind": _TEXT,
        "message": _TEXT,
        "field": {"type": ["string", "null"]},
        "remedy": {"type": ["string", "null"]},
    }
    error = {"type": "object", "properties": fields, "required": ["kind", "message"]}
    return {"type": "object", "properties": {"error": error}, "required": ["error"]}
