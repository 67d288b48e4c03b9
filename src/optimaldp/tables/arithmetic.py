"""Arithmetic of terms that fails on no row.

Sums of whole numbers are computed exactly where the types prove that they fit, and in double precision otherwise; a double
that could overflow or underflow is cut off first; dividing by zero gives NULL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from optimaldp.errors import QuestionError
from optimaldp.tables.canonical import Kind
from optimaldp.tables.sql import SqlTable, Value
from optimaldp.tables.terms import Term, number_term, read_as

# Doubles beyond these are NULL (or 0) in arithmetic: some engines raise an error on overflow and underflow, others do not.
HUGE, TINY = 1e100, 1e-100
_EDGE = 1e290  # a result whose bound stays below needs no cutting off
_FITS = 2.0**62  # whole numbers below stay whole
_WHOLE_DOUBLE = 2.0**52  # from here on every double is a whole number


def cut(term: Term) -> Term:
    """The same double without what could overflow (NULL) or underflow (0); NaN becomes NULL too."""
    if term.literal is not None or (term.largest <= HUGE and term.smallest >= TINY):
        return term

    def build(table: SqlTable) -> Value:
        write = table.dialect
        value = term.build(table)
        size = value.abs()
        return write.cases((size < TINY, 0.0), (size <= HUGE, value))

    return replace(term, build=build, largest=HUGE, smallest=TINY)


def plus(left: Term, right: Term, text: str, *, minus: bool = False) -> Term:
    """Sum or difference: exact for whole numbers that fit, else of doubles."""
    combine: Callable[[Any, Any], Any] = (lambda a, b: a - b) if minus else (lambda a, b: a + b)
    largest = left.largest + right.largest
    if _whole(left, right) and largest < _FITS:
        return _combined("whole", combine, left, right, text, largest, 1.0)
    left, right = _safe(left, right, largest, 1.0)
    # The difference of two unequal doubles is at least a unit in the last place of the smaller bound.
    smallest = min(left.smallest, right.smallest) * 1e-17
    return _combined("real", combine, left, right, text, left.largest + right.largest, smallest)


def times(left: Term, right: Term, text: str) -> Term:
    """Product: exact for whole numbers that fit, else of doubles."""
    largest, smallest = left.largest * right.largest, left.smallest * right.smallest
    if _whole(left, right) and largest < _FITS:
        return _combined("whole", lambda a, b: a * b, left, right, text, largest, 1.0)
    left, right = _safe(left, right, largest, smallest)
    bounds = left.largest * right.largest, left.smallest * right.smallest
    return _combined("real", lambda a, b: a * b, left, right, text, *bounds)


def divided(left: Term, right: Term, text: str) -> Term:
    """Quotient of doubles; NULL where the divisor is zero."""
    if right.literal == 0:
        raise QuestionError("predicate", text, "divides by zero")
    left, right = cut(read_as(left, "real")), cut(read_as(right, "real"))
    # A divisor that is always 0 (x * 0) gives NULL everywhere; its bounds do not matter.
    bounds = (left.largest / right.smallest, left.smallest / right.largest) if right.largest else (0.0, 1.0)
    return _combined("real", lambda a, b: a / b.nullif(0.0), left, right, text, *bounds)


def remainder(left: Term, right: Term, text: str) -> Term:
    """Remainder of whole numbers (with the sign of the first) by a fixed one; NULL where a number is not whole."""
    if right.literal is None or right.literal == 0 or not _whole(right):
        raise QuestionError(
            "predicate", text, "takes the remainder by something else than a fixed whole number", _MODULO
        )
    left = left if left.kind == "whole" else _whole_part(left)
    if left.largest > 2.0**63:
        raise QuestionError("predicate", text, "takes the remainder of numbers that do not fit into 64 bits")
    # A divisor of -1 overflows on the smallest number; the remainder does not depend on the divisor's sign.
    divisor = number_term(abs(right.literal), right.text)
    size = max(1.0, float(divisor.literal))
    return _combined("whole", lambda a, b: a % b, left, divisor, text, size, 1.0)


_MODULO = "write for example: number % 2 = 0"


def _whole_part(term: Term) -> Term:
    """The doubles that are whole numbers; NULL for the others, so that a missing value in a column of whole numbers (which some
    libraries then store as doubles) changes nothing for the rest."""

    def build(table: SqlTable) -> Value:
        write = table.dialect
        value = term.build(table)
        small = write.cases((value.abs() < _WHOLE_DOUBLE, value))
        near = small.cast("int64")
        return write.cases((near.cast("float64") == small, near))

    return Term("whole", build, term.text, _WHOLE_DOUBLE, 1.0)


def negated(term: Term, text: str) -> Term:
    if term.literal is not None:
        return number_term(-term.literal, text)
    safe = term if term.kind == "whole" and term.largest < _FITS else read_as(term, "real")
    return replace(safe, text=text, listed=None, build=lambda table: -safe.build(table))


def size_of(term: Term, text: str) -> Term:
    """The absolute value."""
    safe = term if term.kind == "whole" and term.largest < _FITS else read_as(term, "real")
    return replace(safe, text=text, literal=None, listed=None, build=lambda table: safe.build(table).abs())


def rounded(term: Term, digits: int, text: str) -> Term:
    """Rounded half away from zero, by the same double-precision steps on every engine."""
    if term.kind == "whole":
        return term
    scale = 10.0**digits
    safe = cut(term)

    def build(table: SqlTable) -> Value:
        write = table.dialect
        value = safe.build(table)
        size = value.abs() * scale
        near = (size + 0.5).floor().cast("float64") / scale
        # A double that large is whole already, and its floor might not fit the engine's integers.
        result = write.cases((size < _WHOLE_DOUBLE, near), else_=value.abs())
        return write.cases((value < 0, -result), else_=result)

    return Term("real", build, text, safe.largest + 1, 1 / scale)


def _whole(*terms: Term) -> bool:
    return all(term.kind == "whole" for term in terms)


def _safe(left: Term, right: Term, largest: float, smallest: float) -> tuple[Term, Term]:
    left, right = read_as(left, "real"), read_as(right, "real")
    return (left, right) if largest < _EDGE and smallest > 1 / _EDGE else (cut(left), cut(right))


def _combined(
    kind: Kind, combine: Callable[[Any, Any], Any], left: Term, right: Term, text: str, largest: float, smallest: float
) -> Term:
    constant = left.constant and right.constant
    return Term(
        kind, lambda table: combine(left.build(table), right.build(table)), text, largest, smallest, constant=constant
    )
