"""Which tables are measured, and how epsilon is divided among them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from optimaldp.errors import QuestionError
from optimaldp.privacy.balls import lower, precision
from optimaldp.privacy.epsilon import ZERO, Epsilon
from optimaldp.questions.columns import Column

_SHARE_UNITS = 10**9  # a share of epsilon is rounded down to this fraction of it
_JOINT_SHARE = Fraction(3, 4)  # of epsilon for a joint table that is drawn sparsely; its margins share the rest


def all_pairs(columns: Sequence[Column]) -> tuple[tuple[str, ...], ...]:
    """Every column, and every pair of columns."""
    names = [column.name for column in columns]
    return (*((name,) for name in names), *combinations(names, 2))


def read_marginals(marginals: str | Sequence[Sequence[str]], columns: Sequence[Column]) -> tuple[tuple[str, ...], ...]:
    """Tables from a list of lists of names, or from a text: ``"sex,age; age,smokes"``. Columns in none are measured alone."""
    tables = _read_tables("marginals", marginals, columns)
    known = [column.name for column in columns]
    covered = {name for table in tables for name in table}
    return (*tables, *((name,) for name in known if name not in covered))


def read_margins(
    margins: str | Sequence[Sequence[str]] | None, columns: Sequence[Column], *, sparse: bool, most: int
) -> tuple[tuple[str, ...], ...]:
    """The tables that are measured beside a joint table which is drawn sparsely: each column by itself if nothing is said.

    Sums of its cells would be useless, for most of them are never drawn: a million million cells in a thousand rows are a
    thousand million noisy cells each, off by 40,000 people at epsilon 1.
    """
    if not sparse:
        if margins:
            rule = "go with a joint table that is drawn sparsely"
            raise QuestionError("margins", margins, rule, "margins of a smaller table are sums of its noisy cells")
        return ()
    if margins is None:
        return tuple((column.name,) for column in columns if column.size <= most) if len(columns) > 1 else ()
    return _read_tables("margins", margins, columns)


def _read_tables(
    field: str, tables: str | Sequence[Sequence[str]], columns: Sequence[Column]
) -> tuple[tuple[str, ...], ...]:
    if isinstance(tables, str):
        tables = [[name.strip() for name in table.split(",")] for table in tables.split(";") if table.strip()]
    known = [column.name for column in columns]
    made = tuple(tuple([table] if isinstance(table, str) else table) for table in tables)
    for table in made:
        if not table or len(set(table)) < len(table) or not set(table) <= set(known):
            rule = "is no table of the named columns"
            raise QuestionError(field, list(table), rule, f"use names of {', '.join(known)}, each once")
    if len({frozenset(table) for table in made}) < len(made):
        raise QuestionError(field, [list(table) for table in made], "names a table twice")
    return made


def split_beside(epsilon: Epsilon, sizes: Sequence[int]) -> tuple[Epsilon, ...]:
    """Shares of a joint table, the first of *sizes*, and of the margins beside it: three quarters, and the rest in equal parts.

    Not by size: a count of two values is as much worth as one of ten thousand, and would be off by hundreds.

    **Guarantee.** The shares add up to epsilon at most.
    """
    if len(sizes) == 1:
        return (epsilon,)
    whole = _not_above(epsilon)
    parts = [_JOINT_SHARE, *[(1 - _JOINT_SHARE) / (len(sizes) - 1)] * (len(sizes) - 1)]
    shares = tuple(Epsilon(_short(whole * part), Fraction(1)) for part in parts)
    assert sum(shares, ZERO) <= epsilon
    return shares


def split_epsilon(epsilon: Epsilon, sizes: Sequence[int]) -> tuple[Epsilon, ...]:
    """The shares with the least sum of expected L1 errors: in proportion to ``sqrt(cells - 1)``, exactly so for small shares.

    **Guarantee.** The shares add up to epsilon at most.

    >>> split_epsilon(Epsilon.read(1), [10, 10, 37])
    (Epsilon(0.25), Epsilon(0.25), Epsilon(0.5))
    """
    if len(sizes) == 1:
        return (epsilon,)
    weights = [math.sqrt(max(size - 1, 1)) for size in sizes]
    units = [math.floor(_SHARE_UNITS * weight / math.fsum(weights)) for weight in weights]
    whole = _not_above(epsilon)
    shares = tuple(Epsilon(_short(whole * Fraction(unit, _SHARE_UNITS)), Fraction(1)) for unit in units)
    assert sum(shares, ZERO) <= epsilon
    return shares


def _not_above(epsilon: Epsilon) -> Fraction:
    """A rational not above epsilon."""
    with precision(256 + 2 * epsilon.leading_zeros):
        return lower(epsilon.ball())


def _short(share: Fraction) -> Fraction:
    """Rounded down to ten significant digits."""
    if not share:
        return share
    scale = Fraction(10) ** (10 - math.floor(math.log10(float(share))))
    return Fraction(math.floor(share * scale)) / scale
