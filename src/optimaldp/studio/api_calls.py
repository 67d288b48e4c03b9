"""The calls that the studio offers: what each is for, what it takes, and an example."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
    "aim": {
        "description": "What an answer for people's own levels is good at; a prior for small tables.",
        "oneOf": [
            {"enum": ["typical", "every-table"]},
            {"type": "object", "properties": {"prior": {}}, "required": ["prior"], "additionalProperties": False},
        ],
    },
}
_OF_TABLE = _REQUEST | dict.fromkeys(("levels", "part"), _TEXT)
_QUESTIONS = {
    "questions": {"type": "array", "description": "Each an object with question, epsilon and the options of release."}
}
_COLUMNS = {
    "columns": {"type": "array", "description": "\"sex: ['m', 'f']\", \"age: bins=[0, 18, 65, 120]\", or a bare name."},
    "epsilon": _NUMBER,
    "marginals": _TEXT
    | {"description": "Measure these tables instead of the joint one: sex,age; age,smokes; or choose"},
}
_OF_PEOPLE = dict.fromkeys(("where", "reduce", "reduce_order", "levels", "part"), _TEXT)
_CONFIRM = {"confirm": {"const": True}}
_BASKET = {"questions": [{"question": "majority(age < 45)", "epsilon": "0.5"}]}
_SANITISE = {"columns": ["sex: ['m', 'f']", "age: bins=[0, 18, 65, 120]"], "epsilon": "1"}
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
        "sheets",
        "Questions to fill in: for each kind what it asks, its text with blanks, and what goes into them.",
        "sheets, most asked first.",
        {},
        method="GET",
    ),
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
        "The least epsilon for a wanted accuracy at a wanted margin (a share of n), or for a number within a wanted distance.",
        "The epsilon, rounded up to three digits, and a sentence.",
        {name: what for name, what in _ASKED.items() if name != "epsilon"}
        | {"accuracy": _NUMBER, "margin": _NUMBER, "within": _NUMBER},
        ("question", "n"),
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
        "estimate",
        "What a sanitised table of some columns would be off. Reads and spends nothing.",
        "What optimaldp sanitise --estimate prints.",
        _COLUMNS | {name: _ASKED[name] for name in ("n", "neighbours")},
        ("columns", "epsilon"),
        _SANITISE | {"n": 5000},
    ),
    ApiCall(
        "session",
        "The table that is open: columns and types, budget and history. Nothing from its rows.",
        "data and ledger, both null without a table; made: sanitised tables of this session, at /made/clean-1.csv and .json.",
        {},
        method="GET",
    ),
    ApiCall(
        "settled",
        "As session, as soon as no release is under way any more: what was spent, whatever became of an answer.",
        "As session.",
        {},
        method="GET",
    ),
    ApiCall(
        "upload",
        "Give a CSV or Parquet file to the studio: its bytes, its name in the header X-File-Name. Needs the token. It stays on "
        "this machine and is removed when the studio ends.",
        "As session: the public names and types of its columns.",
        {},
    ),
    ApiCall(
        "proposal",
        "How each column seems to be written, before a ledger is made. For the steward's eyes: reads the data, shows no cell. "
        "Needs the token.",
        "columns with their proposed type and way of writing, and the ways that can be chosen.",
        {"encoding": _TEXT},
        example={},
    ),
    ApiCall(
        "open",
        "Make the ledger: who is one person, how cells are written, and what may be spent. Needs the token.",
        "As session.",
        {
            "unit": _TEXT,
            "neighbours": _ASKED["neighbours"],
            "budget": _NUMBER,
            "budget_delta": _NUMBER,
            "encoding": _TEXT,
        }
        | {
            "fields": {"type": "object", "description": "By column: keys of a field of a Data Package description."},
            "reduce": {"type": "object", "description": "How several rows of a person become one value, by column."},
            "public": {"type": "array", "description": "Columns whose values anybody may know."},
        },
        example={"unit": "patient", "budget": "3"},
    ),
    ApiCall(
        "check",
        "Check a question against the table's schema and preview it. Reads no row and spends nothing.",
        "The preview, who is protected, what a careful colleague would say, whether the budget covers it, and the ledger.",
        _ASKED | _OF_TABLE | _LEVELS,
        ("question", "epsilon"),
        {"question": "majority(age < 45)", "epsilon": "0.5"},
    ),
    ApiCall(
        "rules",
        "Which rules fit a question where a person has several rows. Reads no row and spends nothing.",
        "The question in words, rules, and what the description of the table says already.",
        {"question": _TEXT},
        ("question",),
        {"question": "majority(age < 45)"},
    ),
    ApiCall(
        "rehearse",
        "Draw the answer from made-up people by the same path. Reads no row and spends nothing.",
        "The answer as release gives it, what is true of the made-up people, and how they were made up.",
        _ASKED | _OF_TABLE,
        ("question", "epsilon"),
        {"question": "majority(age < 45)", "epsilon": "0.5", "n": 1000},
    ),
    ApiCall(
        "release",
        "Spend, sample, record: one private answer. Needs the header X-Studio-Token.",
        "The answer, the four sentences to know, its proof, whether anything was spent, and the ledger.",
        {"question": _TEXT, "epsilon": _NUMBER, "delta": _NUMBER} | _CONFIRM | _OF_TABLE,
        ("question", "epsilon", "confirm"),
        {"question": "majority(age < 45)", "epsilon": "0.5", "confirm": True},
    ),
    ApiCall(
        "check_plan",
        "What several questions cost together, and whether the budget covers them. Reads no row and spends nothing.",
        "For each question its level or its error; the price together, and the ledger.",
        _QUESTIONS,
        ("questions",),
        _BASKET,
    ),
    ApiCall(
        "release_plan",
        "Spend for several questions together or for none, then sample, then record. Needs the header X-Studio-Token.",
        "answers, each as release gives it, and the ledger.",
        _QUESTIONS | _CONFIRM,
        ("questions", "confirm"),
        _BASKET | {"confirm": True},
    ),
    ApiCall(
        "read_plan",
        "The questions of a plan file (TOML). Paths in it are not looked at.",
        "questions, and a sentence about the source that the plan names.",
        {"plan": _TEXT},
        ("plan",),
        {"plan": 'source = "survey.csv"\n\n[[question]]\ntext = "majority(age < 45)"\nepsilon = "0.5"\n'},
    ),
    ApiCall(
        "write_plan",
        "Several questions as a plan file, for optimaldp preview --plan and optimaldp release --plan.",
        "plan: the text of the file.",
        _QUESTIONS,
        ("questions",),
        _BASKET,
    ),
    ApiCall(
        "check_sanitise",
        "What a sanitised table would be off, and whether the budget covers it. Reads no row and spends nothing.",
        "The estimate, the price and the ledger.",
        _COLUMNS | {"n": _ASKED["n"]} | _OF_PEOPLE,
        ("columns", "epsilon"),
        _SANITISE,
    ),
    ApiCall(
        "sanitise",
        "Spend, draw, record: a table of the same kind that may be published. Needs the header X-Studio-Token.",
        "The number under which it is downloaded, its statement, one-way counts, and the ledger.",
        _COLUMNS | _CONFIRM | {"labels": {"type": "boolean"}} | _OF_PEOPLE,
        ("columns", "epsilon", "confirm"),
        _SANITISE | {"confirm": True},
    ),
    ApiCall(
        "report",
        "What the ledger has recorded, to hand over: a page that stands alone, and a sheet. Reads no data.",
        "html and csv.",
        {},
        example={},
    ),
)
