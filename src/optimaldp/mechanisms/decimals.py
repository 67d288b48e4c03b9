"""Printing a mechanism as decimals that are still private: what a reader sees is what was checked.

An optimal mechanism meets its promises with equality, so rounding its numbers breaks them by a hair: 0.6667 is more than twice
0.3333. The attempts here, in order, each checked exactly by the referee on the decimal numbers themselves: round; pull every
row a hair towards the even distribution on the answers that it gives (on a logarithmic scale, which keeps small
probabilities, then on a plain one), or towards one row for all, and round, with more and more digits; give up, and print
exact ratios.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import partial
from math import log

from optimaldp.mechanisms.mechanism import Mechanism
from optimaldp.mechanisms.rows import FloatRows, Row, SharedRows, TwoSides, decimal_rows

Printed = tuple[Decimal, ...]
_MORE_DIGITS = (0, 8, 24)  # the hair becomes thinner, so that a long chain of them is still a hair
_GIVEN_DIGITS = 60  # of given rows beside floats: finer than the slack of an irrational level, 2^-160
_FINER = (0, 4)  # and rounding finer than the hair


Accept = Callable[[Mechanism], bool]


def printable(
    mechanism: Mechanism, *, digits: int = 17, accept: Accept | None = None
) -> list[Sequence[Decimal | Fraction]]:
    """One row per dataset, in the answers' fixed order, as decimals of about *digits* significant digits.

    **Guarantee.** Each row sums to exactly one, and the mechanism made of the decimal numbers is private exactly as the
    referee reads it (or passes *accept*, where more is asked of it). Where no attempt is, the rows are the exact rationals. A
    number that has few digits keeps them, and a probability that is not 0 is not printed as 0.
    """
    accept = accept or _is_private
    if not isinstance(mechanism.rows, SharedRows):
        printed = _printed_floats(mechanism, accept)
        if printed is not None:
            return list(printed)
    shared = as_shared(mechanism)
    for attempt in _attempts(digits, shared.rows):
        decimals = [attempt(row) for row in shared.rows]
        rows = SharedRows(tuple(tuple(map(Fraction, row)) for row in decimals), shared.of)
        if accept(Mechanism(mechanism.graph, mechanism.preferences, rows)):
            return [decimals[k] for k in shared.of.tolist()]
    return [shared.rows[k] for k in shared.of.tolist()]


def _printed_floats(mechanism: Mechanism, accept: Accept) -> list[Printed] | None:
    """Every float by its exact decimal, so that nothing new is printed; only given rows that are no floats are rounded."""
    rows = mechanism.rows
    if not isinstance(rows, FloatRows):
        assert isinstance(rows, TwoSides)
        return decimal_rows(rows, ())
    given_rows = [rounded_row(row, _GIVEN_DIGITS) for row in rows.exact]
    exact = tuple(tuple(map(Fraction, row)) for row in given_rows)
    again = FloatRows(rows.table, rows.likeliest, exact, rows.exact_of)
    if exact != rows.exact and not accept(Mechanism(mechanism.graph, mechanism.preferences, again)):
        return None
    return decimal_rows(rows, given_rows)


def as_shared(mechanism: Mechanism) -> SharedRows:
    """The rows as exact rationals, each different one once."""
    if isinstance(mechanism.rows, SharedRows):
        return mechanism.rows
    return SharedRows.from_rows([mechanism.rows.row(v) for v in range(len(mechanism.rows))])


def rounded_row(row: Row, digits: int) -> Printed:
    """All entries but the largest at *digits* significant digits; the largest is what is left to one, exactly.

    >>> rounded_row((Fraction(1, 3), Fraction(2, 3)), 4)
    (Decimal('0.3333'), Decimal('0.6667'))
    """
    largest = max(range(len(row)), key=row.__getitem__)
    printed = [Decimal(0) if i == largest else _round(entry, digits) for i, entry in enumerate(row)]
    with localcontext(_wide(printed)) as context:
        printed[largest] = 1 - sum(printed, Decimal(0))
        return tuple(context.normalize(entry) for entry in printed)


def _attempts(digits: int, rows: Sequence[Row]) -> Iterator[Callable[[Row], Printed]]:
    yield lambda row: rounded_row(row, digits)
    everywhere = [all(row[a] for row in rows) for a in range(len(rows[0]))]
    to_common = partial(_mixed_with, among=everywhere)
    to_all = partial(_mixed_with, among=[True] * len(everywhere))
    for more in _MORE_DIGITS:
        for finer in _FINER:
            hair = Fraction(1, 10 ** (digits - 1 + more))
            for pull in (_towards_even, _mixed, to_common):
                yield partial(_pulled, pull=pull, hair=hair, digits=digits + more + finer)
    for more in _MORE_DIGITS:  # last, because a sure answer would no longer be printed as sure
        yield partial(_pulled, pull=to_all, hair=Fraction(1, 10 ** (digits - 1 + more)), digits=digits + more + 4)


def _pulled(row: Row, *, pull: Callable[[Row, Fraction], Row], hair: Fraction, digits: int) -> Printed:
    return rounded_row(pull(row, hair), digits)


def _towards_even(row: Row, hair: Fraction) -> Row:
    """To first order ``p^(1 - hair)``, made to sum to one: ratios shrink, and what is small stays small.

    With ratios that are exactly at ``e^epsilon`` this leaves a relative slack of about hair times epsilon.
    """
    weights = [Fraction(_log(entry)) if entry else Fraction(0) for entry in row]
    mean = sum((entry * weight for entry, weight in zip(row, weights)), Fraction(0))
    return tuple(entry * (1 - hair * (weight - mean)) for entry, weight in zip(row, weights))


def _mixed(row: Row, hair: Fraction) -> Row:
    """A hair of the even distribution on the answers that the row gives."""
    share = hair / sum(1 for entry in row if entry)
    return tuple((1 - hair) * entry + share if entry else entry for entry in row)


def _mixed_with(row: Row, hair: Fraction, *, among: Sequence[bool]) -> Row:
    """A hair of the even distribution on some answers, the same for every row: a delta that is used up gets its slack."""
    if not any(among):
        return row
    share = hair / sum(among)
    return tuple((1 - hair) * entry + (share if included else 0) for entry, included in zip(row, among))


def _log(entry: Fraction) -> float:
    return log(entry.numerator) - log(entry.denominator)


def _round(entry: Fraction, digits: int) -> Decimal:
    context = Context(prec=digits)
    return context.divide(Decimal(entry.numerator), Decimal(entry.denominator))


def _wide(numbers: Sequence[Decimal]) -> Context:
    """A context in which one minus these numbers is exact."""
    places = [-int(number.as_tuple().exponent) for number in numbers]
    return Context(prec=max(28, *places) + 2)


def _is_private(mechanism: Mechanism) -> bool:
    from optimaldp.certify.graphs.privacy import is_private  # the referee stands above this package

    return is_private(mechanism)
