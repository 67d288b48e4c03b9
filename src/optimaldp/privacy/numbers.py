"""Exact numbers from what people type.

A float is read by its shortest decimal (``0.1`` is 1/10, as its author meant); strings, ``Fraction`` and
``Decimal`` are exact. Nothing here rounds.
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from typing import TypeGuard, TypeVar

from optimaldp.errors import InputError

Real = TypeVar("Real", float, Fraction)

# Python's Fraction also takes "1_000" and " 1/3 "; files that others read should not depend on that.
# Digits are those of ASCII: what looks like a number in another script is more often an accident than meant.
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,5})?|[+-]?\d+/\d+", re.ASCII)
TOO_SMALL = Fraction(1, 10**1000)  # of a privacy parameter: a mistyped exponent should not fill the screen
_READABLE = 64  # bits of a denominator: two numbers of twenty digits still stand in a line
_LONGEST = 100_000  # characters; a longer literal is a mistake or an attack


def is_whole(value: object, least: float = -math.inf, most: float = math.inf) -> TypeGuard[int]:
    """Whether *value* is a whole number between the two; ``True`` and ``False`` are none.

    >>> is_whole(3, 1), is_whole(True), is_whole(3.0), is_whole(0, 1)
    (True, False, False, False)
    """
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def read_number(value: object, *, name: str, error: type[InputError] = InputError) -> Fraction:
    """Read one finite number exactly.

    >>> read_number(0.1, name="delta"), read_number("1/3", name="delta")
    (Fraction(1, 10), Fraction(1, 3))
    """
    if isinstance(value, bool):
        raise error(name, value, "is not a number", "write 0.1, '1/3' or 1e-6")
    if isinstance(value, (int, Fraction)):
        return Fraction(value)
    if isinstance(value, numbers.Integral):
        return Fraction(int(value))
    if isinstance(value, (float, numbers.Real)) and not isinstance(value, Decimal):
        as_float = float(value)
        if not math.isfinite(as_float):
            raise error(name, value, "is not a finite number")
        # A float32 of numpy means what its own shortest decimal says, hence str(value) and not repr(float(value)).
        return Fraction(str(value))
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise error(name, value, "is not a finite number")
        if abs(value.adjusted()) > _LONGEST:  # 1e999999999 is short to write and endless to expand
            raise error(name, value, "is too large or too small to be meant", "write 0.1, '1/3' or 1e-6")
        return Fraction(value)
    if isinstance(value, str):
        return _read_text(value, name=name, error=error)
    raise error(name, value, "is not a number", "write 0.1, '1/3' or 1e-6")


def _read_text(text: str, *, name: str, error: type[InputError]) -> Fraction:
    stripped = text.strip()
    if len(stripped) > _LONGEST or not _NUMBER.fullmatch(stripped):
        raise error(name, text, "is not a number", _way_to_write(stripped))
    above, _, under = stripped.partition("/")
    try:
        # By way of Decimal: Python refuses to read whole numbers of more than 4300 digits, and exact rows grow longer.
        return Fraction(Decimal(above)) / Fraction(Decimal(under or 1))
    except (ZeroDivisionError, ValueError):
        raise error(name, text, "is not a number", "a denominator cannot be 0") from None


def _way_to_write(text: str) -> str:
    percent = text.removesuffix("%").rstrip()
    if (
        percent != text
        and len(percent) < 10
        and _NUMBER.fullmatch(percent)
        and "/" not in percent
        and "e" not in percent.lower()
    ):
        return f"write a percentage as a part of 1: {fraction_text(Fraction(percent) / 100)}"
    return "write 0.1, '1/3' or 1e-6"


def read_probability(value: object, *, name: str, error: type[InputError] = InputError, tiny: bool = True) -> Fraction:
    """Read one number in [0, 1] exactly; *tiny* says whether it may lie below 1e-1000 and above 0."""
    number = read_number(value, name=name, error=error)
    if not 0 <= number <= 1:
        raise error(name, value, "is not a probability", "it must lie between 0 and 1")
    if not tiny and 0 < number < TOO_SMALL:
        raise error(name, value, "is too small to mean anything", "write 0, or a number from 1e-1000 on")
    return number


def fraction_text(number: Fraction) -> str:
    """Write *number* so that :func:`read_number` gives it back exactly, as a decimal where that is short.

    >>> fraction_text(Fraction(1, 10)), fraction_text(Fraction(1, 3)), fraction_text(Fraction(1, 10**6))
    ('0.1', '1/3', '1e-06')
    """
    if number.denominator == 1:
        return str(Decimal(number.numerator))
    try:
        shortest = repr(float(number))
    except OverflowError:
        return _ratio_text(number)
    return shortest if Fraction(shortest) == number else _ratio_text(number)


def _ratio_text(number: Fraction) -> str:
    """``p/q`` with all digits; ``str`` itself refuses more than 4300 of them."""
    return f"{Decimal(number.numerator)}/{Decimal(number.denominator)}"


def shown_text(number: Fraction) -> str:
    """A probability for people: the exact ratio, or what can be read of one that would fill the screen.

    >>> shown_text(Fraction(2, 3)), shown_text(1 - Fraction(1, 3) ** 3000)
    ('2/3', '1 - about 4.32748769E-1432')
    """
    if number.denominator.bit_length() <= _READABLE:
        return str(number)
    rest = 1 - number
    return f"1 - {_about(rest)}" if 0 < rest < Fraction(1, 1000) else _about(number)


def _about(number: Fraction) -> str:
    return f"about {Context(prec=9).divide(Decimal(number.numerator), Decimal(number.denominator))}"


def first_where(holds: Callable[[int], bool], first: int, stop: int | None = None) -> int:
    """The least whole number from *first* on of which *holds* is true, or *stop*; from there on it must stay true.

    Without *stop* it is looked for in steps that double.

    >>> first_where(lambda number: number**2 >= 50, 0), first_where(lambda number: False, 3, 9)
    (8, 9)
    """
    step = 1
    while stop is None:
        if holds(first + step - 1):
            stop = first + step - 1
        else:
            first, step = first + step, 2 * step
    while first < stop:
        middle = (first + stop) // 2
        first, stop = (first, middle) if holds(middle) else (middle + 1, stop)
    return first


def narrowed(below: Callable[[Real], bool], low: Real, high: Real, halvings: int) -> tuple[Real, Real]:
    """The two ends of an interval that was halved so often, around the place from which on *below* is no longer true.

    >>> narrowed(lambda number: number**2 < 2, Fraction(1), Fraction(2), 3)
    (Fraction(11, 8), Fraction(3, 2))
    """
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return low, high


def root_below(number: int, degree: int) -> int:
    """The greatest whole number whose power is not above a number of 0 or more: halving between powers of two around it.

    >>> root_below(80, 4), root_below(81, 4)
    (2, 3)
    """
    return first_where(lambda root: root**degree > number, 1, 1 << (number.bit_length() // degree + 1)) - 1


def fraction_root(number: Fraction, degree: int) -> Fraction | None:
    """The root of a positive fraction where it is a fraction itself, else ``None``.

    >>> fraction_root(Fraction(8, 27), 3), fraction_root(Fraction(2), 3)
    (Fraction(2, 3), None)
    """
    root = Fraction(root_below(number.numerator, degree), root_below(number.denominator, degree))
    return root if root**degree == number else None
