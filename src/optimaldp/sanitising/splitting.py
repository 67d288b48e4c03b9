"""Which tables are measured, and how epsilon is divided among them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from optimaldp.errors import QuestionError
from optimaldp.privacy.balls import lower, precision
from optimaldp.privacy.epsilon import ZERO, Epsilon
from optimaldp.sanitising.columns import Column

_DIGITS = 10**9  # a share of epsilon is rounded down to this fraction of it


def all_pairs(columns: Sequence[Column]) -> tuple[tuple[str, ...], ...]:
    """Every column, and every pair of columns."""
    names = [column.name for column in columns]
    return (*((name,) for name in names), *combinations(names, 2))


def read_marginals(marginals: str | Sequence[Sequence[str]], columns: Sequence[Column]) -> tuple[tuple[str, ...], ...]:
    """Tables from a list of lists of names, or from a text: ``"sex,age; age,smokes"``. Columns in none are measured alone."""
    if isinstance(marginals, str):
        marginals = [[name.strip() for name in table.split(",")] for table in marginals.split(";") if table.strip()]
    known = [column.name for column in columns]
    tables = [tuple([table] if isinstance(table, str) else table) for table in marginals]
    for table in tables:
        if not table or len(set(table)) < len(table) or not set(table) <= set(known):
            rule = "is no table of the named columns"
            raise QuestionError("marginals", list(table), rule, f"use names of {', '.join(known)}, each once")
    if len({frozenset(table) for table in tables}) < len(tables):
        raise QuestionError("marginals", [list(table) for table in tables], "names a table twice")
    covered = {name for table in tables for name in table}
    return (*tables, *((name,) for name in known if name not in covered))


def split_epsilon(epsilon: Epsilon, sizes: Sequence[int]) -> tuple[Epsilon, ...]:
    """The shares with the least sum of expected L1 errors: in proportion to ``sqrt(cells - 1)``, exactly so for small shares.

    **Guarantee.** The shares add up to epsilon at most.

    >>> split_epsilon(Epsilon.read(1), [10, 10, 37])
    (Epsilon(0.25), Epsilon(0.25), Epsilon(0.5))
    """
    if len(sizes) == 1:
        return (epsilon,)
    weights = [math.sqrt(max(size - 1, 1)) for size in sizes]
    units = [math.floor(_DIGITS * weight / math.fsum(weights)) for weight in weights]
    with precision(256 + 2 * epsilon.leading_zeros()):
        whole = lower(epsilon.ball())
    # A rational not above epsilon, cut to a readable number of digits.
    shares = tuple(Epsilon(_short(whole * Fraction(unit, _DIGITS)), Fraction(1)) for unit in units)
    assert sum(shares, ZERO) <= epsilon
    return shares


def _short(share: Fraction) -> Fraction:
    """Rounded down to ten significant digits."""
    if not share:
        return share
    scale = Fraction(10) ** (10 - math.floor(math.log10(float(share))))
    return Fraction(math.floor(share * scale)) / scale
