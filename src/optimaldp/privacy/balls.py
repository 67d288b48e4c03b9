"""The one home of ball arithmetic: rigorous enclosures of real numbers, by python-flint, or by plain Python without it.

A ball carries its own error bound, so a comparison that comes out true *is* true. Every function here that
gives a rational says on which side of the real number it lies.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

try:
    from flint import arb, arb_poly, ctx, fmpq, fmpz

    ARITHMETIC = "balls of python-flint"
except ImportError:  # in a reader's browser, where a wheel may not be had
    from optimaldp.privacy import plain_balls

    arb, arb_poly, fmpq, fmpz = plain_balls.Ball, plain_balls.BallPolynomial, plain_balls.Rational, None  # type: ignore[misc, assignment]
    ctx = plain_balls.ctx  # type: ignore[assignment]
    ARITHMETIC = "balls in plain Python"
"""Which arithmetic computes: both enclose every number, and both prove the same."""

Ball = arb
BallPolynomial = arb_poly
Rational = fmpq  # exact as Fraction and about ten times as quick; the two do not mix in one expression
context = ctx  # context.prec: the precision in force, in bits; a block of precision alone changes it

WORKING_BITS = 128  # enough for 30 decimal digits with room for a few hundred operations


@dataclass(slots=True, eq=False)
class precision:  # noqa: N801  (a block, written like a function; a generator would take four times as long to enter)
    """Compute with *bits* of precision inside the block.

    The precision is one number for the whole process, so one thread at a time is inside such a block: another one would change it
    in the middle of a computation. Balls would stay right, but too wide to decide anything.
    """

    bits: int
    _before: int = field(init=False, repr=False)
    _lock: threading.RLock = field(init=False, repr=False)

    def __enter__(self) -> None:
        self._lock = _one_thread
        self._lock.acquire()
        self._before = context.prec
        context.prec = self.bits

    def __exit__(self, *_: object) -> None:
        context.prec = self._before
        self._lock.release()


_one_thread = threading.RLock()


def _forget_threads() -> None:
    """In a forked process: whichever thread was inside a block is not there any more."""
    global _one_thread
    _one_thread = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


def ball(number: Fraction | int | fmpq | arb) -> arb:
    """Enclose a rational at the current precision; a ball is one already."""
    if isinstance(number, (arb, fmpq)):
        return number if isinstance(number, arb) else arb(number)
    if not isinstance(number, (Fraction, int)):
        number = Fraction(number)
    return arb(fmpq(number.numerator, number.denominator))


def rational(number: Fraction | int) -> fmpq:
    """The same number as a :data:`Rational`."""
    return fmpq(number.numerator, number.denominator)


def fraction(number: fmpq) -> Fraction:
    """The same number as a ``Fraction``."""
    return Fraction(int(number.p), int(number.q))


def prime_powers(number: int) -> list[tuple[int, int]]:
    """The primes of a positive integer, and their powers."""
    if fmpz is None:
        from optimaldp.privacy.plain_balls import factors

        return factors(number)
    return [(int(prime), int(power)) for prime, power in fmpz(number).factor()]


def dyadic(point: arb) -> Fraction:
    """The exact value of a ball without radius."""
    mantissa, exponent = map(int, point.man_exp())
    return Fraction(mantissa << exponent) if exponent >= 0 else Fraction(mantissa, 1 << -exponent)


def lower(enclosure: arb) -> Fraction:
    """A rational that is certainly not above the real number."""
    return dyadic(enclosure.lower())


def upper(enclosure: arb) -> Fraction:
    """A rational that is certainly not below the real number."""
    return dyadic(enclosure.upper())


def integer_below(enclosure: arb) -> int:
    """An integer that is certainly not above the real number. Unlike :func:`lower` it stays small when the number is tiny."""
    return int(str(enclosure.lower().floor().unique_fmpz()))


def integer_above(enclosure: arb) -> int:
    """An integer that is certainly not below the real number."""
    return int(str(enclosure.upper().ceil().unique_fmpz()))


def sign(number: Callable[[], arb], *, start_bits: int = 64, most_bits: int = 1 << 20) -> int:
    """The sign of a real number that is known not to be 0, by raising the precision until it shows.

    *number* is evaluated at the current precision. The caller must know that the number is not 0; the limit only
    turns a broken promise into an error instead of an endless loop.
    """
    bits = start_bits
    while bits <= most_bits:
        with precision(bits):
            value = number()
            if value > 0:
                return 1
            if value < 0:
                return -1
        bits *= 2
    raise ArithmeticError(f"two real numbers agree to {most_bits} bits: they are equal and were promised not to be")
