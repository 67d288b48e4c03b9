"""The grammar of predicates: text in, typed terms out, kind by kind of the sqlglot nodes that are allowed."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import sqlglot
from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from optimaldp.errors import QuestionError
from optimaldp.tables import arithmetic, functions, terms
from optimaldp.tables.schema import Meaning, Schema
from optimaldp.tables.terms import Term

_DEEPEST = 100
_DIALECT = sqlglot.Dialect.get_or_raise("duckdb")
_SWALLOWS = {TokenType.COMMAND, TokenType.EXECUTE, TokenType.FETCH}
_NAMES_HERE = {
    getattr(TokenType, name)
    for name in [
        "ALTER",
        "COMMAND",
        "DROP",
        "EXECUTE",
        "FETCH",
        "FOR",
        "FORCE",
        "GRANT",
        "HAVING",
        "INTO",
        "LATERAL",
        "ON",
        "QUALIFY",
        "SUMMARIZE",
        "USING",
    ]
}
_COMPARISONS: dict[type, Callable[[Any, Any], Any]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
}
_ARITHMETIC: dict[type, Callable[[Term, Term, str], Term]] = {
    exp.Add: arithmetic.plus,
    exp.Sub: lambda left, right, text: arithmetic.plus(left, right, text, minus=True),
    exp.Mul: arithmetic.times,
    exp.Div: arithmetic.divided,
    exp.Mod: arithmetic.remainder,
}
_TEXT_FUNCTIONS: dict[type, str] = {exp.Lower: "lower", exp.Upper: "upper", exp.Trim: "strip"}
_DATE_PARTS: dict[type, str] = {exp.Year: "year", exp.Month: "month", exp.Day: "day", exp.DayOfMonth: "day"}
_ALLOWED = (
    "allowed are columns, literals, comparisons, and, or, not, in, between, like, is null, + - * / %, "
    "and the functions abs, coalesce, day, length, lower, month, round, trim, upper, year"
)
_KEYWORDS = "put text into single quotes, and a column that is named like a keyword into double quotes"
_LONGEST = 1_000_000  # characters: an IN with ten thousand options fits, a file given by mistake does not
_MOST_JOINED = 1_000  # conditions joined by and, or: 30,000 of them would take half a minute to read
_MOST_BRACKETS = 2_000  # the parser would run out of stack on more


def parse(text: str) -> Any:
    """One SQL expression as a sqlglot tree: no comments, no second statement."""
    if not isinstance(text, str) or not text.strip():
        raise QuestionError("predicate", text, "is empty", "write a SQL expression such as age >= 18")
    if len(text) > _LONGEST:
        raise QuestionError("predicate", text, f"is longer than {_LONGEST} characters")
    try:
        tokens = _tokens(text)
        kinds = [token.token_type.name for token in tokens]
        if kinds.count("AND") + kinds.count("OR") >= _MOST_JOINED:
            rule = f"joins more than {_MOST_JOINED} conditions"
            raise QuestionError("predicate", text, rule, "write a list with IN, or ask a simpler question")
        if kinds.count("L_PAREN") > _MOST_BRACKETS or kinds.count("NOT") + kinds.count("DASH") > _MOST_BRACKETS:
            raise QuestionError("predicate", text, "is nested too deeply", "ask a simpler question")
        for token in tokens:
            if token.comments:
                raise QuestionError("predicate", text, "holds a comment, which is not allowed")
            if token.text.upper() == "IF" and token.token_type.name not in ("STRING", "IDENTIFIER"):
                raise QuestionError("predicate", text, "uses IF, which is not allowed", _KEYWORDS)
            if token.token_type.name in ("SEMICOLON", "HINT"):
                raise QuestionError("predicate", text, "holds more than one expression", "leave out the semicolon")
        trees = _DIALECT.parser().parse_into(exp.Condition, tokens, text)
    except RecursionError:
        problem = "it is nested too deeply"
    except SqlglotError as error:
        problem = _describe(error)
    else:
        if trees and trees[0] is not None:
            if _is_deep(trees[0]):
                raise QuestionError("predicate", text, "is nested too deeply", "ask a simpler question")
            return trees[0]
        problem = "it is not one expression"
    raise QuestionError("predicate", text, f"is not a SQL expression: {problem}", _KEYWORDS)


def _is_deep(tree: Any) -> bool:
    """Whether parts lie in parts more often than they are read; told before any is written out, which takes long for each."""
    waiting = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > _DEEPEST:
            return True
        within = depth + (not isinstance(node, exp.And | exp.Or))  # of which a thousand are read side by side
        waiting.extend((part, within) for part in node.iter_expressions())
    return False


def _tokens(text: str) -> list[Any]:
    """The tokens of an expression; words that begin a statement are names here: a column may be called "alter"."""
    tokens = _DIALECT.tokenize(text)
    if tokens and tokens[0].token_type in _SWALLOWS:  # the rest was taken for the text of a command
        tokens = _DIALECT.tokenize(f"({text})")[1:-1]
    return [
        Token(TokenType.VAR, one.text, one.line, one.col, one.start, one.end, one.comments)
        if one.token_type in _NAMES_HERE
        else one
        for one in tokens
    ]


def _describe(error: object) -> str:
    problems = getattr(error, "errors", None)
    if not problems:
        return "it cannot be read"
    first = problems[0]
    description = str(first.get("description", "")).split(" <")[0].split(" but got")[0].rstrip(".")
    if not description or description.startswith("Required keyword"):  # the parser's own names of its parts
        description = "something is missing"
    return f"{description} (column {first.get('col')})"


@dataclass
class Reader:
    """Reads a sqlglot tree into terms, and remembers the columns that it names."""

    schema: Schema
    named: dict[str, None] = field(default_factory=dict)
    meant: dict[str, Meaning] = field(default_factory=dict)
    """How the cells of columns without a type are read."""
    depth: int = 0

    def truth(self, node: exp.Expr) -> Term:
        """Read a node that must be true or false."""
        term = self.read(node)
        if term.kind != "truth":
            raise no_condition(term)
        return term

    def number(self, node: exp.Expr) -> Term:
        """Read a node that must be a number."""
        term = terms.read_as(self.read(node), "whole")  # open text is a number here; whole numbers stay whole
        if term.kind not in ("whole", "real"):
            raise QuestionError("predicate", term.text, "is not a number", "arithmetic needs number columns")
        return term

    def read(self, node: exp.Expr) -> Term:
        """Read a node of any kind that is allowed: literals, columns and comparisons here, the others by a method each."""
        if self.depth >= _DEEPEST:
            raise RecursionError
        if isinstance(node, exp.Literal):
            text = str(node.this)
            return terms.literal_term("text", text, text) if node.is_string else terms.number_term(text, text)
        kind, text = type(node), node.sql(dialect="duckdb")
        if kind is exp.Column:
            if node.args.get("table") is not None:
                raise QuestionError("predicate", text, "names a table or a field", "write the column alone")
            quoted = bool(node.this.args.get("quoted"))
            name, column = self.schema.find(node.name, field="predicate", exactly=quoted)
            if column.kind == "other":
                raise QuestionError("predicate", name, f"is a column of type {column.name}, which cannot be compared")
            self.named[name] = None
            if column.open:
                noted = partial(self.meant.__setitem__, name)
                listed = column.described_options
                return Term(
                    "text", lambda table: column.value(table, name), text, open=True, noted=noted, listed=listed
                )
            return terms.column_term(name, column, text)
        self.depth += 1
        try:
            if kind in _COMPARISONS:
                left, right = self.read(node.this), self.read(node.expression)
                if kind in (exp.EQ, exp.NEQ):
                    terms.check_listed(left, right)
                    terms.check_listed(right, left)
                left, right = terms.sides(left, right, text)
                if kind is exp.EQ:
                    return terms.equal(left, right, text)
                if left.kind == "truth" and kind not in (exp.EQ, exp.NEQ):
                    raise _unordered(text)
                return Term("truth", lambda table: _COMPARISONS[kind](left.build(table), right.build(table)), text)
            method: Callable[[Any, str], Term] | None = getattr(self, f"_{kind.__name__.lower()}", None)
            if method is None:
                raise _refused(node, text)
            return method(node, text)
        finally:
            self.depth -= 1

    def _paren(self, node: exp.Paren, text: str) -> Term:
        return self.read(node.this)

    def _arithmetic(self, node: exp.Binary, text: str) -> Term:
        return _ARITHMETIC[type(node)](self.number(node.this), self.number(node.expression), text)

    _add = _sub = _mul = _div = _mod = _arithmetic

    def _text_function(self, node: exp.Func, text: str) -> Term:
        if not _only(node, "this"):
            raise _refused(node, text)
        return functions.text_function(_TEXT_FUNCTIONS[type(node)], self.read(node.this), text)

    _lower = _upper = _trim = _text_function

    def _date_part(self, node: exp.Func, text: str) -> Term:
        return functions.date_part(_DATE_PARTS[type(node)], self.read(node.this), text)

    _year = _month = _day = _dayofmonth = _date_part

    def _boolean(self, node: exp.Boolean, text: str) -> Term:
        return terms.literal_term("truth", bool(node.this), text)

    def _cast(self, node: exp.Cast, text: str) -> Term:
        """Only ``DATE '2024-01-31'`` and ``TIMESTAMP '…'``: any other cast could fail on some rows."""
        target, inner = node.to.this.name, node.this
        if target not in ("DATE", "TIMESTAMP", "TIMESTAMPNTZ") or not (
            isinstance(inner, exp.Literal) and inner.is_string
        ):
            raise QuestionError("predicate", text, "casts a value, which could fail on some rows", _ALLOWED)
        return terms.moment(self.read(inner), "date" if target == "DATE" else "time")

    def _and(self, node: exp.And, text: str) -> Term:
        return terms.joined("and", [self.truth(part) for part in node.flatten()], text)

    def _or(self, node: exp.Or, text: str) -> Term:
        return terms.joined("or", [self.truth(part) for part in node.flatten()], text)

    def _not(self, node: exp.Not, text: str) -> Term:
        inner = self.truth(node.this)
        return Term("truth", lambda table: ~inner.build(table), text)

    def _neg(self, node: exp.Neg, text: str) -> Term:
        return arithmetic.negated(self.number(node.this), text)

    def _is(self, node: exp.Is, text: str) -> Term:
        term = self.read(node.this)
        if isinstance(node.expression, exp.Null):
            return Term("truth", lambda table: term.build(table).isnull(), text)
        term = terms.read_as(term, "truth")
        if isinstance(node.expression, exp.Boolean) and term.kind == "truth":
            wanted = bool(node.expression.this)
            return Term("truth", lambda table: (term.build(table) == wanted).fill_null(False), text)
        raise QuestionError("predicate", text, "tests IS with something else than NULL, TRUE or FALSE")

    def _null(self, node: exp.Null, text: str) -> Term:
        raise QuestionError("predicate", "NULL", "is never equal to anything", "write: column IS NULL")

    def _between(self, node: exp.Between, text: str) -> Term:
        if not _only(node, "this", "low", "high"):
            raise QuestionError("predicate", text, "uses a special BETWEEN, which is not allowed")
        value = self.read(node.this)
        low, high = (terms.sides(value, self.read(node.args[end]), text) for end in ("low", "high"))
        if value.open and low[0].kind != high[0].kind:
            raise QuestionError("predicate", text, "lies between different kinds of values", "write two of one kind")
        if low[0].kind == "truth":
            raise _unordered(text)
        above = Term("truth", lambda table: low[0].build(table) >= low[1].build(table), text)
        below = Term("truth", lambda table: high[0].build(table) <= high[1].build(table), text)
        return terms.joined("and", [above, below], text)

    def _in(self, node: exp.In, text: str) -> Term:
        if not node.expressions or not _only(node, "this", "expressions"):
            raise QuestionError("predicate", text, "uses IN with something else than a list", _ALLOWED)
        return functions.among(self.read(node.this), [self.read(item) for item in node.expressions], text)

    def _like(self, node: exp.Like, text: str) -> Term:
        return functions.like(self.read(node.this), self.read(node.expression), text)

    def _length(self, node: exp.Length, text: str) -> Term:
        return functions.length(self.read(node.this), text)

    def _abs(self, node: exp.Abs, text: str) -> Term:
        return arithmetic.size_of(self.number(node.this), text)

    def _round(self, node: exp.Round, text: str) -> Term:
        digits = self.read(node.args["decimals"]).literal if node.args.get("decimals") is not None else 0
        if not isinstance(digits, int) or not 0 <= digits <= 9:
            raise QuestionError("predicate", text, "rounds to something else than 0 to 9 digits")
        return arithmetic.rounded(self.number(node.this), digits, text)

    def _coalesce(self, node: exp.Coalesce, text: str) -> Term:
        parts = [self.read(part) for part in (node.this, *node.expressions)]
        return functions.first_known(parts, text)

    def _extract(self, node: exp.Extract, text: str) -> Term:
        part = node.this.name.lower()
        if part not in ("year", "month", "day"):
            raise QuestionError("predicate", text, "extracts something else than YEAR, MONTH or DAY")
        return functions.date_part(part, self.read(node.expression), text)


def meanings_of(text: str, schema: Schema) -> dict[str, Meaning]:
    """How a condition reads the cells of columns that have no type."""
    reader = Reader(schema)
    reader.read(parse(text))
    return reader.meant


def no_condition(term: Term) -> QuestionError:
    """What a term is refused with that must be true or false and is not."""
    return QuestionError(
        "predicate", term.text, "is not true or false", "compare it with something, for example = 'yes'"
    )


def _unordered(text: str) -> QuestionError:
    return QuestionError("predicate", text, "puts true and false into an order", "use = or <>")


def _refused(node: exp.Expr, text: str) -> QuestionError:
    return QuestionError("predicate", text, f"uses {_name(node)}, which is not allowed", _ALLOWED)


def _only(node: exp.Expr, *names: str) -> bool:
    """Whether a node has no argument but those named: the others would change its meaning."""
    return all(name in names or not value for name, value in node.args.items())


def _name(node: exp.Expr) -> str:
    if isinstance(node, exp.Query | exp.Subquery | exp.Exists):
        return "a subquery"
    if isinstance(node, exp.Anonymous):
        return f"the function {node.name}"
    if isinstance(node, exp.Func):
        return f"the function {node.sql_name().lower()}"
    if isinstance(node, exp.Placeholder | exp.Parameter):
        return "a parameter"
    return type(node).__name__.upper()
