"""The grammar of predicates: one method for each kind of sqlglot node that is allowed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import expressions as exp

from optimaldp.errors import QuestionError
from optimaldp.tables import comparing, terms
from optimaldp.tables.schema import Schema
from optimaldp.tables.terms import Term

_DEEPEST = 100
_COMPARISONS: dict[type, str] = {exp.EQ: "=", exp.NEQ: "<>", exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<="}
_ARITHMETIC: dict[type, Callable[[Term, Term, str], Term]] = {
    exp.Add: terms.plus,
    exp.Sub: lambda left, right, text: terms.plus(left, right, text, minus=True),
    exp.Mul: terms.times,
    exp.Div: terms.divided,
    exp.Mod: terms.remainder,
}
_TEXT_FUNCTIONS: dict[type, str] = {exp.Lower: "lower", exp.Upper: "upper", exp.Trim: "strip"}
_DATE_PARTS: dict[type, str] = {exp.Year: "year", exp.Month: "month", exp.Day: "day", exp.DayOfMonth: "day"}
_ALLOWED = (
    "allowed are columns, literals, comparisons, and, or, not, in, between, like, is null, + - * / %, "
    "and the functions abs, coalesce, day, length, lower, month, round, trim, upper, year"
)


@dataclass
class Reader:
    """Reads a sqlglot tree into terms, and remembers the columns that it names."""

    schema: Schema
    named: dict[str, None] = field(default_factory=dict)
    depth: int = 0

    def truth(self, node: exp.Expr) -> Term:
        """Read a node that must be true or false."""
        term = self.read(node)
        if term.kind != "truth":
            remedy = "compare it with something, for example = 'yes'"
            raise QuestionError("predicate", term.text, "is not true or false", remedy)
        return term

    def number(self, node: exp.Expr) -> Term:
        """Read a node that must be a number."""
        term = terms.read_as(self.read(node), "number")
        if term.kind not in ("whole", "real"):
            raise QuestionError("predicate", term.text, "is not a number", "arithmetic needs number columns")
        return term

    def read(self, node: exp.Expr) -> Term:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise RecursionError
        try:
            return self._dispatch(node)
        finally:
            self.depth -= 1

    def _dispatch(self, node: exp.Expr) -> Term:
        kind = type(node)
        if kind in _COMPARISONS:
            sides = comparing.sides(self.read(node.this), self.read(node.expression), _text(node))
            return comparing.compare(_COMPARISONS[kind], *sides, _text(node))
        if kind in _ARITHMETIC:
            return _ARITHMETIC[kind](self.number(node.this), self.number(node.expression), _text(node))
        if kind in _TEXT_FUNCTIONS and (kind is not exp.Trim or _only(node, "this")):
            return comparing.text_function(_TEXT_FUNCTIONS[kind], self.read(node.this), _text(node))
        if kind in _DATE_PARTS:
            return comparing.date_part(_DATE_PARTS[kind], self.read(node.this), _text(node))
        method = getattr(self, f"_{kind.__name__.lower()}", None)
        if method is None:
            raise QuestionError("predicate", _text(node), f"uses {_name(node)}, which is not allowed", _ALLOWED)
        term: Term = method(node)
        return term

    def _paren(self, node: exp.Paren) -> Term:
        return self.read(node.this)

    def _column(self, node: exp.Column) -> Term:
        if node.args.get("table") is not None:
            raise QuestionError("predicate", _text(node), "names a table or a field", "write the column alone")
        quoted = bool(node.this.args.get("quoted"))
        name, column = self.schema.find(node.name, field="predicate", exactly=quoted)
        if column.kind == "other":
            raise QuestionError("predicate", name, f"is a column of type {column.name}, which cannot be compared")
        self.named[name] = None
        return terms.column_term(name, column, _text(node))

    def _literal(self, node: exp.Literal) -> Term:
        if node.is_string:
            return terms.literal_term("text", node.this, "string", str(node.this))
        text = str(node.this)
        try:
            value = int(text) if text.isdecimal() else float(text)
        except ValueError:
            raise QuestionError("predicate", text, "is not a number") from None
        return terms.number_term(value, text)

    def _boolean(self, node: exp.Boolean) -> Term:
        return terms.literal_term("truth", bool(node.this), "boolean", _text(node))

    def _cast(self, node: exp.Cast) -> Term:
        """Only ``DATE '2024-01-31'`` and ``TIMESTAMP '…'``: any other cast could fail on some rows."""
        target, inner = node.to.this.name, node.this
        if target not in ("DATE", "TIMESTAMP", "TIMESTAMPNTZ") or not (
            isinstance(inner, exp.Literal) and inner.is_string
        ):
            raise QuestionError("predicate", _text(node), "casts a value, which could fail on some rows", _ALLOWED)
        return comparing.moment(self.read(inner), "date" if target == "DATE" else "time")

    def _and(self, node: exp.And) -> Term:
        return comparing.joined("and", [self.truth(part) for part in node.flatten()], _text(node))

    def _or(self, node: exp.Or) -> Term:
        return comparing.joined("or", [self.truth(part) for part in node.flatten()], _text(node))

    def _not(self, node: exp.Not) -> Term:
        inner = self.truth(node.this)
        return Term("truth", lambda table: ~inner.build(table), _text(node))

    def _neg(self, node: exp.Neg) -> Term:
        return terms.negated(self.number(node.this), _text(node))

    def _is(self, node: exp.Is) -> Term:
        term = self.read(node.this)
        if isinstance(node.expression, exp.Null):
            return Term("truth", lambda table: term.build(table).isnull(), _text(node))
        term = terms.read_as(term, "truth")
        if isinstance(node.expression, exp.Boolean) and term.kind == "truth":
            wanted = bool(node.expression.this)
            return Term("truth", lambda table: (term.build(table) == wanted).fill_null(False), _text(node))
        raise QuestionError("predicate", _text(node), "tests IS with something else than NULL, TRUE or FALSE")

    def _null(self, node: exp.Null) -> Term:
        raise QuestionError("predicate", "NULL", "is never equal to anything", "write: column IS NULL")

    def _between(self, node: exp.Between) -> Term:
        text = _text(node)
        if not _only(node, "this", "low", "high"):
            raise QuestionError("predicate", text, "uses a special BETWEEN, which is not allowed")
        value = self.read(node.this)
        low, high = (comparing.sides(value, self.read(node.args[end]), text) for end in ("low", "high"))
        if value.open and low[0].kind != high[0].kind:
            raise QuestionError("predicate", text, "lies between different kinds of values", "write two of one kind")
        ends = [comparing.compare(">=", *low, text), comparing.compare("<=", *high, text)]
        return comparing.joined("and", ends, text)

    def _in(self, node: exp.In) -> Term:
        if not node.expressions or not _only(node, "this", "expressions"):
            raise QuestionError("predicate", _text(node), "uses IN with something else than a list", _ALLOWED)
        return comparing.among(self.read(node.this), [self.read(item) for item in node.expressions], _text(node))

    def _like(self, node: exp.Like) -> Term:
        return comparing.like(self.read(node.this), self.read(node.expression), _text(node))

    def _length(self, node: exp.Length) -> Term:
        return comparing.length(self.read(node.this), _text(node))

    def _abs(self, node: exp.Abs) -> Term:
        return terms.size_of(self.number(node.this), _text(node))

    def _round(self, node: exp.Round) -> Term:
        digits = self.read(node.args["decimals"]).literal if node.args.get("decimals") is not None else 0
        if not isinstance(digits, int) or not 0 <= digits <= 9:
            raise QuestionError("predicate", _text(node), "rounds to something else than 0 to 9 digits")
        return terms.rounded(self.number(node.this), digits, _text(node))

    def _coalesce(self, node: exp.Coalesce) -> Term:
        parts = [self.read(part) for part in (node.this, *node.expressions)]
        return comparing.first_known(parts, _text(node))

    def _extract(self, node: exp.Extract) -> Term:
        part = node.this.name.lower()
        if part not in ("year", "month", "day"):
            raise QuestionError("predicate", _text(node), "extracts something else than YEAR, MONTH or DAY")
        return comparing.date_part(part, self.read(node.expression), _text(node))


def _text(node: exp.Expr) -> str:
    return node.sql(dialect="duckdb")


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
