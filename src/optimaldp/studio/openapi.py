"""The API described for programs (OpenAPI 3.1), and the list of calls that the application offers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from optimaldp import __version__

_NUMBER = {"type": ["string", "number"], "description": "A decimal, a ratio such as 1/3, or for epsilon ln(2)."}
_TEXT = {"type": "string"}
_ASKED = {
    "question": _TEXT | {"description": "For example share(smokes = 'yes') >= 0.3"},
    "epsilon": _NUMBER,
    "delta": _NUMBER,
    "n": {"type": "integer", "description": "The public number of people."},
    "neighbours": {"enum": ["substitution", "add-remove"]},
}
_LEVELS = {
    "level_sizes": {
        "type": "object",
        "description": 'How many people have each level of their own: {"0.2": 100, "1": 900}.',
    }
}
_REQUEST = {
    **dict.fromkeys(("where", "reduce", "reduce_order", "by"), _TEXT),
    "groups": {"type": "array", "description": "The public values of by: one answer for each."},
    "public_groups": {"type": "boolean", "description": "Whether membership in a group is declared public."},
    "aim": {"enum": ["typical", "every-table"]},
}
_OF_TABLE = _REQUEST | dict.fromkeys(("levels", "part"), _TEXT)
_PROBLEM = {
    "answers": ["yes", "no"],
    "privacy": {"epsilon": "ln(2)", "delta": "0.1"},
    "edges": [["111", "112"], ["112", "122"], ["122", "222"]],
    "prefers": {"111": "yes", "112": "yes", "122": "no", "222": "no"},
    "boundary": "balanced",
}


@dataclass(frozen=True)
class ApiCall:
    """One call of the API: what it is for, what it takes, and an example."""

    name: str
    summary: str
    answer: str
    properties: dict[str, Any]
    required: tuple[str, ...] = ()
    example: dict[str, Any] | None = None
    method: str = "POST"


CALLS = (
    ApiCall(
        "preview",
        "How often the answer will be wrong, by margin, next to the usual mechanisms. Reads and spends nothing.",
        "What optimaldp preview prints, with sentences, what an attacker gains, and the phases.",
        _ASKED | _REQUEST | _LEVELS | {"unit": _TEXT, "margins": {"type": "array", "items": {"type": "integer"}}},
        ("question", "epsilon"),
        {"question": "majority(smokes = 'yes')", "epsilon": "0.5", "n": 1000},
    ),
    ApiCall(
        "epsilon",
        "The least epsilon for a wanted accuracy at a wanted margin (a share of n).",
        "The epsilon, rounded up to three digits, and a sentence.",
        {name: what for name, what in _ASKED.items() if name != "epsilon"} | {"accuracy": _NUMBER, "margin": _NUMBER},
        ("question", "accuracy", "margin", "n"),
        {"question": "majority(smokes = 'yes')", "accuracy": "0.95", "margin": "0.01", "n": 1000},
    ),
    ApiCall(
        "universe",
        "The graph of all datasets of a few people with what would be answered, or the boundary graph.",
        "Vertices with their rows, edges, points, and where each bound comes from; or chains of probabilities.",
        _ASKED | _REQUEST | _LEVELS | {"unit": _TEXT},
        ("question", "epsilon"),
        {"question": "majority(smokes = 'yes')", "epsilon": "ln(2)", "n": 3},
    ),
    ApiCall(
        "design",
        "Solve a problem file: the best private mechanism with its certificate, or why there is none.",
        "What optimaldp design --exact prints; under studio: points, rows, the referee's verdict, a Python program.",
        {
            "answers": {"type": "array"},
            "privacy": {"type": "object"},
            "edges": {"type": "array"},
            "prefers": {"type": "object"},
        }
        | {"fixed": {"type": "object"}, "boundary": _TEXT},
        ("answers", "edges", "prefers"),
        _PROBLEM,
    ),
    ApiCall(
        "leakage",
        "What a channel tells an attacker: all measures, in bits and in words.",
        "What optimaldp leakage prints; under studio: the matrix and the words.",
        {name: {"type": ["array", "null"]} for name in ("inputs", "outputs", "rows", "prior")},
        ("rows",),
        {"inputs": ["sick", "well"], "outputs": ["yes", "no"], "rows": [["3/4", "1/4"], ["1/4", "3/4"]], "prior": None},
    ),
    ApiCall(
        "optimal",
        "The most useful private channel on a graph of answers, with a proof.",
        "What optimaldp channel optimal prints; under studio: the matrix.",
        {"graph": {"description": "path:6, ring:7, clique:5, hypercube:3, grid:3x4, tree:2x2, or a graph"}}
        | {
            "epsilon": _NUMBER,
            "prior": {"description": "uniform, or probabilities"},
            "gain": {"description": "binary, …"},
        },
        ("graph", "epsilon"),
        {"graph": "path:5", "epsilon": "ln(2)", "prior": "1/10,1/5,2/5,1/5,1/10"},
    ),
    ApiCall(
        "session",
        "The table that the studio was started with: columns and types, budget and history. Nothing from its rows.",
        "data and ledger; both null without a table.",
        {},
        method="GET",
    ),
    ApiCall(
        "check",
        "Check a question against the table's schema and preview it. Reads no row and spends nothing.",
        "The preview, who is protected, what a careful colleague would say, whether the budget covers it, and the ledger.",
        _ASKED | _OF_TABLE,
        ("question", "epsilon"),
        {"question": "majority(age < 45)", "epsilon": "0.5"},
    ),
    ApiCall(
        "release",
        "Spend, sample, record: one private answer. Needs the header X-Studio-Token.",
        "The answer, the four sentences to know, its proof, whether anything was spent, and the ledger.",
        {"question": _TEXT, "epsilon": _NUMBER, "delta": _NUMBER, "confirm": {"const": True}} | _OF_TABLE,
        ("question", "epsilon", "confirm"),
        {"question": "majority(age < 45)", "epsilon": "0.5", "confirm": True},
    ),
    ApiCall(
        "report",
        "What the ledger has recorded, to hand over: a page that stands alone, and a sheet. Reads no data.",
        "html and csv.",
        {},
        example={},
    ),
)

_ERRORS = {
    "400": "A field breaks a rule.",
    "403": "Another origin, a strange host, or no token.",
    "409": "The budget does not cover it, or the ledger refuses.",
    "413": "More than 5 MB.",
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
        content = {"application/json": {"schema": schema, "example": call.example}}
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
