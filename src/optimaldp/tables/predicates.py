"""SQL predicates: text in, a checked expression out; everything that is not on a short list is refused by name.

The text is parsed by sqlglot, typed against the table's public schema and rebuilt as an Ibis expression. No part of it ever
reaches an engine as text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from optimaldp.errors import QuestionError
from optimaldp.tables.schema import Schema
from optimaldp.tables.terms import Build

_LONGEST = 1_000_000  # characters: an IN with ten thousand options fits, a file given by mistake does not


@dataclass(frozen=True)
class Predicate:
    """A checked predicate: its text, the columns that it names, and how to build it on an Ibis table."""

    text: str
    columns: tuple[str, ...]
    build: Build = field(repr=False, compare=False)

    def on(self, table: object) -> Any:
        """The predicate as an Ibis expression that is never NULL: where it is unknown it does not hold."""
        return self.build(table).fill_null(False)


def parse_predicate(text: str, schema: Schema) -> Predicate:
    """Check a SQL predicate against a schema, before anything is read.

    **Guarantee.** The expression consists of the schema's columns, literals, comparisons, ``and or not in between like is``,
    arithmetic and a short list of functions; it is typed; and it does not raise errors on some rows but not on others.

    >>> from optimaldp.tables.schema import ColumnType
    >>> schema = Schema((("age", ColumnType("whole", "int64")), ("order", ColumnType("text", "string"))))
    >>> parse_predicate("age between 18 and 65 and order = 'it''s'", schema).columns
    ('age', 'order')
    """
    from optimaldp.tables.grammar import Reader

    reader = Reader(schema)
    term = refuse_deep_nesting(text, lambda: reader.truth(parse(text)))
    if not reader.named:
        raise QuestionError("predicate", text, "names no column", "a predicate says something about each person")
    return Predicate(text, tuple(reader.named), term.build)


def refuse_deep_nesting(text: str, work: Callable[[], Any]) -> Any:
    """Run *work*; an expression that is nested too deeply for Python is refused like any other."""
    try:
        return work()
    except RecursionError:
        pass
    raise QuestionError("predicate", text, "is nested too deeply", "write a list with IN, or ask a simpler question")


def parse(text: str) -> Any:
    """One SQL expression as a sqlglot tree: no comments, no second statement."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    if not isinstance(text, str) or not text.strip():
        raise QuestionError("predicate", text, "is empty", "write a SQL expression such as age >= 18")
    if len(text) > _LONGEST:
        raise QuestionError("predicate", text, f"is longer than {_LONGEST} characters")
    try:
        for token in sqlglot.tokenize(text, read="duckdb"):
            if token.comments:
                raise QuestionError("predicate", text, "holds a comment, which is not allowed")
            if token.token_type.name in ("SEMICOLON", "HINT"):
                raise QuestionError("predicate", text, "holds more than one expression", "leave out the semicolon")
        trees = sqlglot.parse(text, read="duckdb")
    except SqlglotError as error:
        problem = _describe(error)
    else:
        if len(trees) == 1 and trees[0] is not None:
            return trees[0]
        problem = "it is not one expression"
    raise QuestionError("predicate", text, f"is not a SQL expression: {problem}", _KEYWORDS)


_KEYWORDS = "put text into single quotes, and a column that is named like a keyword into double quotes"


def _describe(error: object) -> str:
    problems = getattr(error, "errors", None)
    if not problems:
        return "it cannot be read"
    first = problems[0]
    description = str(first.get("description", "")).split(" <")[0].split(" but got")[0].rstrip(".")
    if not description or description.startswith("Required keyword"):  # the parser's own names of its parts
        description = "something is missing"
    return f"{description} (column {first.get('col')})"
