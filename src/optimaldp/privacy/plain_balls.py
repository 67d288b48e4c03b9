"""Ball arithmetic in plain Python, for places that python-flint cannot reach: a reader's browser, for example.

The same words as flint's where this project uses them, and the same promise: a ball holds the number that it stands for, so a
comparison that comes out true is true. A ball is a midpoint ``mid * 2^exponent`` and a radius ``rad * 2^rad_exponent``, which is
always rounded up.
"""

from __future__ import annotations

import builtins
import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

_RAD_BITS = 30  # of a radius: more would say nothing about how far off the midpoint is
_GUARD = 16
_MANY_BITS = 1 << 62  # what flint says of a number without a radius
_FACTORIALS = 500  # of smaller numbers the factorial itself is quicker than a series


class _Context:
    """The precision in force, in bits."""

    prec = 53


ctx = _Context()

Dyadic = tuple[int, int]
"""``mantissa * 2^exponent``."""


# Numbers mantissa * 2^exponent, with the direction in which they are rounded.


def _cut(number: Dyadic, bits: int) -> tuple[Dyadic, Dyadic]:
    """The number rounded down to *bits* of mantissa, and by how much it may be off."""
    mantissa, exponent = number
    extra = mantissa.bit_length() - bits
    if extra <= 0:
        return number, (0, 0)
    short = mantissa >> extra
    return (short, exponent + extra), ((0, 0) if short << extra == mantissa else (1, exponent + extra))


def _up(number: Dyadic) -> Dyadic:
    """A radius rounded up to its bits."""
    mantissa, exponent = number
    extra = mantissa.bit_length() - _RAD_BITS
    return number if extra <= 0 else (-(-mantissa >> extra), exponent + extra)


def _rad_sum(*radii: Dyadic) -> Dyadic:
    """The sum of radii, rounded up; what lies far below the largest one counts as one of its last bits."""
    total: Dyadic = (0, 0)
    for radius in radii:
        if not radius[0]:
            continue
        large, small = (total, radius) if _top(total) >= _top(radius) else (radius, total)
        gap = large[1] - small[1]
        if not small[0]:
            total = large
        elif gap > 2 * _RAD_BITS:
            total = _up((large[0] + 1, large[1]))
        else:
            total = _up(_exact_sum(large, small))
    return total


def _top(number: Dyadic) -> float:
    return number[0].bit_length() + number[1] if number[0] else -math.inf


def _rad_product(a: Dyadic, b: Dyadic) -> Dyadic:
    return _up((a[0] * b[0], a[1] + b[1])) if a[0] and b[0] else (0, 0)


def _rad_quotient(a: Dyadic, b: Dyadic) -> Dyadic:
    """Rounded up; *b* is a positive number from below."""
    shift = 2 * _RAD_BITS + b[0].bit_length()
    return _up((-(-(a[0] << shift) // b[0]), a[1] - b[1] - shift))


def _exact_sum(a: Dyadic, b: Dyadic) -> Dyadic:
    low = min(a[1], b[1])
    return (a[0] << (a[1] - low)) + (b[0] << (b[1] - low)), low


def _sum(a: Dyadic, b: Dyadic, bits: int) -> tuple[Dyadic, Dyadic]:
    """A sum to about *bits* and by how much it may be off: a number far below the other one is not written out."""
    if not a[0] or not b[0]:
        return _cut(a if a[0] else b, bits)
    large, small = (a, b) if _top(a) >= _top(b) else (b, a)
    if large[1] - _top(small) > 2 * bits + _RAD_BITS:
        near, off = _cut(large, bits)
        return near, _rad_sum(off, (1, small[0].bit_length() + small[1]))
    return _cut(_exact_sum(a, b), bits)


def _compare(a: Dyadic, b: Dyadic) -> int:
    """-1, 0 or 1, exactly and without writing out what lies far apart."""
    signs = (a[0] > 0) - (a[0] < 0), (b[0] > 0) - (b[0] < 0)
    if signs[0] != signs[1] or not signs[0]:
        return (signs[0] > signs[1]) - (signs[0] < signs[1])
    if _top(a) != _top(b):
        return signs[0] if _top(a) > _top(b) else -signs[0]
    difference = _exact_sum(a, (-b[0], b[1]))[0]
    return (difference > 0) - (difference < 0)


def _size(number: Dyadic) -> Dyadic:
    return abs(number[0]), number[1]


# Rationals, as flint's fmpq: exact, and apart from Fraction.


class Rational:
    """An exact rational number."""

    __slots__ = ("p", "q")
    p: int
    q: int

    def __init__(self, numerator: Any = 0, denominator: int = 1) -> None:
        if isinstance(numerator, Rational):
            self.p, self.q = numerator.p, numerator.q
            return
        if not denominator:
            raise ZeroDivisionError("a rational with the denominator 0")
        common = math.gcd(numerator, denominator) * (-1 if denominator < 0 else 1)
        self.p, self.q = numerator // common, denominator // common

    @property
    def numerator(self) -> int:
        return self.p

    @property
    def denominator(self) -> int:
        return self.q

    def __add__(self, other: Any) -> Any:
        b = _rational(other)
        return NotImplemented if b is None else Rational(self.p * b.q + b.p * self.q, self.q * b.q)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        b = _rational(other)
        return NotImplemented if b is None else Rational(self.p * b.q - b.p * self.q, self.q * b.q)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        b = _rational(other)
        return NotImplemented if b is None else Rational(self.p * b.p, self.q * b.q)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        b = _rational(other)
        return NotImplemented if b is None else Rational(self.p * b.q, self.q * b.p)

    def __rtruediv__(self, other: Any) -> Any:
        b = _rational(other)
        return NotImplemented if b is None else b / self

    def __pow__(self, power: Any) -> Any:
        if not isinstance(power, int):
            return NotImplemented
        if power < 0:
            return Rational(self.q**-power, self.p**-power)
        return Rational(self.p**power, self.q**power)

    def __neg__(self) -> Rational:
        return Rational(-self.p, self.q)

    def __abs__(self) -> Rational:
        return Rational(abs(self.p), self.q)

    def __eq__(self, other: object) -> bool:
        b = _rational(other)
        return b is not None and (self.p, self.q) == (b.p, b.q)

    def __lt__(self, other: Any) -> Any:
        b = _rational(other)
        return NotImplemented if b is None else self.p * b.q < b.p * self.q

    def __le__(self, other: Any) -> Any:
        b = _rational(other)
        return NotImplemented if b is None else self.p * b.q <= b.p * self.q

    def __gt__(self, other: Any) -> Any:
        b = _rational(other)
        return NotImplemented if b is None else self.p * b.q > b.p * self.q

    def __ge__(self, other: Any) -> Any:
        b = _rational(other)
        return NotImplemented if b is None else self.p * b.q >= b.p * self.q

    def __hash__(self) -> int:
        return hash(Fraction(self.p, self.q))

    def __bool__(self) -> bool:
        return self.p != 0

    def __float__(self) -> float:
        return self.p / self.q

    def __int__(self) -> int:
        return int(Fraction(self.p, self.q))

    def floor(self) -> int:
        return self.p // self.q

    def ceil(self) -> int:
        return -(-self.p // self.q)

    def __repr__(self) -> str:
        return f"{self.p}/{self.q}" if self.q > 1 else str(self.p)


def _rational(number: object) -> Rational | None:
    if isinstance(number, Rational):
        return number
    return Rational(number) if isinstance(number, int) else None


# Balls, as flint's arb.


class Ball:
    """A real number up to a radius. One that holds nothing back is *wild*: every comparison with it is false."""

    __slots__ = ("_mid", "_rad", "_wild")
    _mid: Dyadic
    _rad: Dyadic
    _wild: bool

    def __init__(self, number: Any = 0) -> None:
        self._rad, self._wild = (0, 0), False
        if isinstance(number, Ball):
            self._mid, self._rad, self._wild = number._mid, number._rad, number._wild
        elif isinstance(number, int):
            self._mid = int(number), 0
        elif isinstance(number, Rational):
            self._mid, self._rad = _quotient((number.p, 0), (number.q, 0), ctx.prec)
        elif isinstance(number, float):
            if not math.isfinite(number):
                self._mid, self._wild = (0, 0), True
                return
            above, below = number.as_integer_ratio()
            self._mid = above, 1 - below.bit_length()
        else:
            raise TypeError(f"no ball encloses {type(number).__name__}")

    # What it holds.

    def mid(self) -> Ball:
        return self if self._wild else _made(self._mid)

    def rad(self) -> Ball:
        return self if self._wild else _made(self._rad)

    def lower(self) -> Ball:
        return self if self._wild else _made(self._end(-1))

    def upper(self) -> Ball:
        return self if self._wild else _made(self._end(1))

    def _end(self, side: int) -> Dyadic:
        """An end of the ball, or a number a little outside of it."""
        if not self._rad[0]:
            return self._mid
        bits = ctx.prec + _RAD_BITS
        near, off = _sum(self._mid, (side * self._rad[0], self._rad[1]), bits)
        if not off[0]:
            return near
        # What was left out is less than two of the last bits of a mantissa of full length, however small it is.
        missing = max(0, bits - near[0].bit_length())
        return (near[0] << missing) + 2 * side, near[1] - missing

    def is_finite(self) -> bool:
        return not self._wild

    def is_exact(self) -> bool:
        return not self._wild and not self._rad[0]

    def man_exp(self) -> tuple[int, int]:
        mantissa, exponent = self._mid
        if not mantissa:
            return 0, 0
        zeros = (mantissa & -mantissa).bit_length() - 1
        return mantissa >> zeros, exponent + zeros

    def contains(self, number: Any) -> bool:
        return self.overlaps(Ball(number))

    def overlaps(self, other: Ball) -> bool:
        if self._wild or other._wild:
            return True
        return _compare(self._end(-1), other._end(1)) <= 0 and _compare(other._end(-1), self._end(1)) <= 0

    def floor(self) -> Ball:
        return self._whole(lambda mantissa, places: mantissa >> places)

    def ceil(self) -> Ball:
        return self._whole(lambda mantissa, places: -(-mantissa >> places))

    def _whole(self, rounded: Any) -> Ball:
        if self._wild:
            return self
        low, high = (
            rounded(mantissa, -exponent) if exponent < 0 else mantissa << exponent
            for mantissa, exponent in (self._end(-1), self._end(1))
        )
        return Ball(low) if low == high else Ball(low).union(Ball(high))

    def unique_fmpz(self) -> int | None:
        if not self.is_exact():
            return None
        mantissa, exponent = self.man_exp()
        return mantissa << exponent if exponent >= 0 else None

    def fmpq(self) -> Rational:
        """The exact value of a ball without radius."""
        if not self.is_exact():
            raise ValueError("a ball with a radius is no single number")
        mantissa, exponent = self._mid
        return Rational(mantissa << exponent) if exponent >= 0 else Rational(mantissa, 1 << -exponent)

    def rel_accuracy_bits(self) -> int:
        """About how many bits of the number are known."""
        if self._wild:
            return -_MANY_BITS
        if not self._rad[0]:
            return _MANY_BITS
        return int(_top(self._mid) - _top(self._rad)) if self._mid[0] else -_MANY_BITS

    def abs_upper(self) -> Ball:
        if self._wild:
            return self
        return _made(max((_size(self._end(side)) for side in (-1, 1)), key=_Ordered))

    def nonnegative_part(self) -> Ball:
        if self._wild or self._end(-1)[0] >= 0:
            return self
        return Ball(0) if self._end(1)[0] <= 0 else self

    def __float__(self) -> float:
        if self._wild:
            return math.nan
        mantissa, exponent = self._mid
        if not mantissa:
            return 0.0
        if abs(mantissa).bit_length() + exponent > 1100:
            return math.inf if mantissa > 0 else -math.inf
        if abs(mantissa).bit_length() + exponent < -1200:
            return 0.0
        return float(mantissa << exponent) if exponent >= 0 else mantissa / (1 << -exponent)

    def str(self, digits: int, radius: bool = True) -> builtins.str:
        """The midpoint with so many digits, in the notation of numbers."""
        if self._wild:
            return "nan"
        from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal

        mantissa, exponent = self._mid
        # Ten digits more than are shown: a power of two far away is not written out.
        wide = Context(prec=digits + 10, Emin=MIN_EMIN, Emax=MAX_EMAX)
        shown = wide.multiply(Decimal(mantissa), wide.power(Decimal(2), exponent))
        return builtins.str(Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX).plus(shown))

    def __repr__(self) -> builtins.str:
        return "nan" if self._wild else f"[{self.str(15)} +/- {float(_made(self._rad)):.3g}]"

    # Arithmetic.

    def __neg__(self) -> Ball:
        return self if self._wild else _made((-self._mid[0], self._mid[1]), self._rad)

    def __pos__(self) -> Ball:
        return self

    def __abs__(self) -> Ball:
        if self._wild or self._end(-1)[0] >= 0:
            return self
        return -self if self._end(1)[0] <= 0 else Ball(0).union(self.abs_upper())

    def __add__(self, other: Any) -> Any:
        b = _ball(other)
        if b is None:
            return NotImplemented
        if self._wild or b._wild:
            return _WILD
        near, off = _sum(self._mid, b._mid, ctx.prec)
        return _made(near, _rad_sum(self._rad, b._rad, off))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        b = _ball(other)
        return NotImplemented if b is None else self + -b

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        b = _ball(other)
        if b is None:
            return NotImplemented
        if self._wild or b._wild:
            return _WILD
        near, off = _cut((self._mid[0] * b._mid[0], self._mid[1] + b._mid[1]), ctx.prec)
        if not self._rad[0] and not b._rad[0]:
            return _made(near, off)
        mine, theirs = _up(_size(self._mid)), _up(_size(b._mid))
        crossed = _rad_product(mine, b._rad), _rad_product(theirs, self._rad), _rad_product(self._rad, b._rad)
        return _made(near, _rad_sum(off, *crossed))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        b = _ball(other)
        if b is None:
            return NotImplemented
        if self._wild or b._wild or _compare(_size(b._mid), b._rad) <= 0:
            return _WILD
        near, off = _quotient(self._mid, b._mid, ctx.prec)
        if not self._rad[0] and not b._rad[0]:
            return _made(near, off)
        # |a/b - m/n| <= (rad a + |m/n| rad b) / (|n| - rad b).
        least = _size(b._end(-1)) if b._mid[0] > 0 else _size(b._end(1))
        ratio = _rad_sum(_up(_size(near)), off)
        return _made(near, _rad_sum(off, _rad_quotient(_rad_sum(self._rad, _rad_product(ratio, b._rad)), _down(least))))

    def __rtruediv__(self, other: Any) -> Any:
        b = _ball(other)
        return NotImplemented if b is None else b / self

    def __pow__(self, power: Any) -> Any:
        if isinstance(power, int):
            return self._to_the(power) if power >= 0 else 1 / self._to_the(-power)
        b = _ball(power)
        return NotImplemented if b is None else (b * self.log()).exp()

    def __rpow__(self, base: Any) -> Any:
        b = _ball(base)
        return NotImplemented if b is None else b**self

    def _to_the(self, power: int) -> Ball:
        result, square = Ball(1), self
        while power:
            if power & 1:
                result = result * square
            power >>= 1
            if power:
                square = square * square
        return result

    # Comparisons: true only where they are certain.

    def __lt__(self, other: Any) -> Any:
        return self._certain(other, lambda a, b: _compare(a._end(1), b._end(-1)) < 0)

    def __le__(self, other: Any) -> Any:
        return self._certain(other, lambda a, b: _compare(a._end(1), b._end(-1)) <= 0)

    def __gt__(self, other: Any) -> Any:
        return self._certain(other, lambda a, b: _compare(a._end(-1), b._end(1)) > 0)

    def __ge__(self, other: Any) -> Any:
        return self._certain(other, lambda a, b: _compare(a._end(-1), b._end(1)) >= 0)

    def __eq__(self, other: object) -> Any:
        return self._certain(other, lambda a, b: a.is_exact() and b.is_exact() and not _compare(a._mid, b._mid))

    def __ne__(self, other: object) -> Any:
        return self._certain(other, lambda a, b: not a.overlaps(b))

    __hash__ = None  # type: ignore[assignment]

    def _certain(self, other: object, holds: Any) -> Any:
        b = _ball(other)
        if b is None:
            return NotImplemented
        return not self._wild and not b._wild and holds(self, b)

    def min(self, other: Any) -> Ball:
        return self._chosen(other, -1)

    def max(self, other: Any) -> Ball:
        return self._chosen(other, 1)

    def _chosen(self, other: Any, side: int) -> Ball:
        b = Ball(other)
        if self._wild or b._wild:
            return _WILD
        for one, two in ((self, b), (b, self)):
            if (one >= two) if side > 0 else (one <= two):
                return one
        ends = [_Ordered(one._end(end)) for end in (-1, 1) for one in (self, b)]
        pick = max if side > 0 else min
        return _between(pick(ends[:2]).number, pick(ends[2:]).number)

    def union(self, other: Any) -> Ball:
        b = Ball(other)
        if self._wild or b._wild:
            return _WILD
        low = min(self._end(-1), b._end(-1), key=_Ordered)
        return _between(low, max(self._end(1), b._end(1), key=_Ordered))

    # Functions.

    def sqrt(self) -> Ball:
        if self._wild or self._end(-1)[0] < 0:
            return _WILD
        low, high = (_root(self._end(side), ctx.prec + _GUARD) for side in (-1, 1))
        return _between(low[0], _exact_sum(high[0], high[1]))

    def exp(self) -> Ball:
        if self._wild:
            return _WILD
        if _compare(self._rad, (1, 0)) > 0:
            low, high = (_made(self._end(side)).exp() for side in (-1, 1))
            return low.union(high)
        near, off = _exp(self._mid, ctx.prec)
        if not self._rad[0]:
            return _made(near, off)
        # e^r - 1 <= r + r^2 for r <= 1.
        widened = _rad_sum(self._rad, _rad_product(self._rad, self._rad))
        return _made(near, _rad_sum(off, _rad_product(_rad_sum(_up(_size(near)), off), widened)))

    def expm1(self) -> Ball:
        return self._near_zero(lambda: self.exp() - 1)

    def log(self) -> Ball:
        if self._wild or self._end(-1)[0] <= 0:
            return _WILD
        near, off = _log(self._mid, ctx.prec)
        if not self._rad[0]:
            return _made(near, off)
        return _made(near, _rad_sum(off, _rad_quotient(self._rad, _down(self._end(-1)))))

    def lgamma(self) -> Ball:
        """ln Γ of a positive whole number: the logarithm of a factorial."""
        number = self.unique_fmpz()
        if number is None or number < 1:
            raise ValueError("ln Γ is computed of positive whole numbers only")
        return Ball(math.factorial(number - 1)).log() if number <= _FACTORIALS else _stirling(number)

    def legendre_p(self, degree: int) -> Ball:
        """The Legendre polynomial of a number of 1 or more: a sum of positive terms, so nothing cancels."""
        low, high = (self - 1) / 2, (self + 1) / 2
        ratio, term = low / high, Ball(1)
        total = term
        for k in range(1, degree + 1):
            term = term * ratio * (degree + 1 - k) ** 2 / k**2
            total = total + term
        return Ball(total * high**degree)

    def log1p(self) -> Ball:
        return self._near_zero(lambda: (1 + self).log())

    def _near_zero(self, computed: Any) -> Ball:
        """Computed with as many more bits as the leading ones will cancel, and rounded back."""
        before = ctx.prec
        lost = 0 if self._wild or not self._mid[0] else max(0, -int(_top(self._mid)))
        ctx.prec = before + min(lost, 1 << 22) + _GUARD
        try:
            found = computed()
        finally:
            ctx.prec = before
        return Ball(found + 0)


def _ball(number: object) -> Ball | None:
    if isinstance(number, Ball):
        return number
    return Ball(number) if isinstance(number, (int, float, Rational)) else None


def _made(mid: Dyadic, rad: Dyadic = (0, 0)) -> Ball:
    made = Ball.__new__(Ball)
    made._mid, made._rad, made._wild = mid, rad, False
    return made


def _wild() -> Ball:
    made = _made((0, 0))
    made._wild = True
    return made


_WILD = _wild()


class _Ordered:
    """A number that sorts."""

    __slots__ = ("number",)

    def __init__(self, number: Dyadic) -> None:
        self.number = number

    def __lt__(self, other: _Ordered) -> bool:
        return _compare(self.number, other.number) < 0


def _between(low: Dyadic, high: Dyadic) -> Ball:
    """The ball from *low* to *high*."""
    middle, off = _sum((low[0], low[1] - 1), (high[0], high[1] - 1), ctx.prec)
    half, half_off = _sum((high[0], high[1] - 1), (-low[0], low[1] - 1), 2 * _RAD_BITS)
    return _made(middle, _rad_sum(off, _up(half), half_off))


def _down(number: Dyadic) -> Dyadic:
    """A positive number rounded down to a short one."""
    return _cut(number, _RAD_BITS)[0]


def _quotient(a: Dyadic, b: Dyadic, bits: int) -> tuple[Dyadic, Dyadic]:
    """A quotient rounded down to about *bits*, and by how much it may be off."""
    shift = max(0, bits + 2 + b[0].bit_length() - a[0].bit_length())
    whole, rest = divmod(a[0] << shift, b[0])
    exponent = a[1] - b[1] - shift
    near, off = _cut((whole, exponent), bits)
    return near, _rad_sum(off, (1, exponent) if rest else (0, 0))


def _root(number: Dyadic, bits: int) -> tuple[Dyadic, Dyadic]:
    """The square root of a number from below, and by how much it may be off."""
    mantissa, exponent = number
    shift = max(0, 2 * bits - mantissa.bit_length())
    shift += (exponent - shift) & 1
    scaled = mantissa << shift
    whole = math.isqrt(scaled)
    place = (exponent - shift) // 2
    return (whole, place), ((0, 0) if whole * whole == scaled else (1, place))


# Exponentials and logarithms. Fixed point: x stands for x / 2^bits, and an error is counted in these units.


def _inverse_tanh(number: int, bits: int) -> tuple[int, int]:
    """artanh(1/number), rounded down term by term, and how many units it may lack."""
    power = (1 << bits) // number
    total, odd, square = power, 1, number * number
    while power:
        power //= square
        odd += 2
        total += power // odd
    # Each term lacks at most 3 units: its own division, and what the powers lost before. The rest of the series is below 1.
    return total, 3 * odd


@lru_cache(maxsize=64)
def _ln2(bits: int) -> tuple[int, int]:
    """ln 2 = 18 artanh(1/26) - 2 artanh(1/4801) + 8 artanh(1/8749), and by how many units it is off at most."""
    parts = [(factor, *_inverse_tanh(number, bits)) for factor, number in ((18, 26), (-2, 4801), (8, 8749))]
    return sum(factor * value for factor, value, _ in parts), sum(abs(factor) * off for factor, _, off in parts)


def _exp(number: Dyadic, bits: int) -> tuple[Dyadic, Dyadic]:
    """e^number to about *bits*, and by how much it may be off."""
    mantissa, exponent = number
    if not mantissa:
        return (1, 0), (0, 0)
    size = mantissa.bit_length() + exponent  # |number| < 2^size
    if size > 64:
        raise OverflowError("the exponential of a number above 2^64")
    if size < -bits - 4:  # |e^x - 1| <= 2|x|
        return (1, 0), (1, size + 1)
    halvings = max(1, math.isqrt(bits))
    places = bits + 2 * halvings + max(0, size) + 2 * _GUARD
    fixed = mantissa << (exponent + places) if exponent + places >= 0 else mantissa >> -(exponent + places)
    log_two, log_off = _ln2(places)
    turns = (2 * fixed + log_two) // (2 * log_two)  # the nearest multiple of ln 2
    rest = fixed - turns * log_two
    off = 1 + abs(turns) * log_off
    # e^rest = (e^(rest / 2^halvings))^(2^halvings), and |rest| < 0.4.
    small = rest >> halvings
    off = (off >> halvings) + 2
    total = term = 1 << places
    count = 0
    while term:
        count += 1
        term = (term * small >> places) // count
        if term == -1:  # a negative number rounded down never becomes 0
            term = 0
        total += term
    off = 2 * off + 3 * count + 3  # the argument's error, one or two units for each term, and the rest of the series
    for _ in range(halvings):
        total = total * total >> places
        off = 3 * off + 2  # 2 * total * off + off^2, and total < 1.5; the rounding
    return _cut_off((total, turns - places), off, bits)


def _cut_off(number: Dyadic, units: int, bits: int) -> tuple[Dyadic, Dyadic]:
    near, off = _cut(number, bits)
    return near, _rad_sum(off, _up((units, number[1])))


@lru_cache(maxsize=256)
def _log(number: Dyadic, bits: int) -> tuple[Dyadic, Dyadic]:
    """ln(number) of a positive number to about *bits*, and by how much it may be off."""
    mantissa, exponent = number
    if not _compare(number, (1, 0)):
        return (0, 0), (0, 0)
    turns = mantissa.bit_length() + exponent
    inside = mantissa, exponent - turns  # in [1/2, 1)
    if _compare(inside, (5, -3)) < 0:  # so that numbers near 1 from either side have no turn
        turns, inside = turns - 1, (mantissa, exponent - turns + 1)
    wanted = bits + 2 * _GUARD
    if not turns and _compare(
        inside, (1, 0)
    ):  # near 1 the logarithm is about the difference from 1, whose leading bits are 0
        wanted += max(0, -int(_top(_exact_sum(inside, (-1, 0)))))
    short = inside[0] >> max(0, inside[0].bit_length() - 60)
    place = inside[1] + max(0, inside[0].bit_length() - 60)
    guess = math.log(short) + place * math.log(2)
    above, below = guess.as_integer_ratio()
    found: Dyadic = (above, 1 - below.bit_length())
    known = 44
    while True:
        # y + (x e^-y - 1) has the square of y's error. The quotient is enclosed, so the last step also proves the result.
        reached = min(2 * known, wanted) + _GUARD
        power, power_off = _exp((-found[0], found[1]), reached)
        ratio = _exact_sum((inside[0] * power[0], inside[1] + power[1]), (-1, 0))
        if known >= wanted:
            # |ln(1 + d)| <= 2|d| for |d| <= 1/2.
            off = _rad_sum(_up(_size(ratio)), _rad_product(_up(inside), power_off))
            assert _compare(off, (1, -1)) < 0
            break
        found = _cut(_exact_sum(found, ratio), reached)[0]
        known = min(2 * known - 4, wanted)
    log_two, log_off = _ln2(wanted)
    whole = _exact_sum(found, (turns * log_two, -wanted)) if turns else found
    near, cut = _cut(whole, bits)
    return near, _rad_sum(cut, (off[0], off[1] + 1), _up((abs(turns) * log_off, -wanted)))


@lru_cache(maxsize=64)
def _pi(bits: int) -> Ball:
    """16 arctan(1/5) - 4 arctan(1/239)."""
    total = off = 0
    for factor, number in ((16, 5), (-4, 239)):
        power, odd, sign, part = (1 << bits) // number, 1, 1, 0
        while power:
            part += sign * (power // odd)
            power, odd, sign = power // (number * number), odd + 2, -sign
        total, off = total + factor * part, off + abs(factor) * 3 * odd
    return _made((total, -bits), _up((off, -bits)))


@lru_cache(maxsize=1024)
def _bernoulli(even: int) -> Rational:
    """The Bernoulli number of an even place, by the tangent numbers."""
    half = even // 2
    tangents = [0, 1, *([0] * (half - 1))]
    for k in range(2, half + 1):
        tangents[k] = (k - 1) * tangents[k - 1]
    for k in range(2, half + 1):
        for j in range(k, half + 1):
            tangents[j] = (j - k) * tangents[j - 1] + (j - k + 2) * tangents[j]
    return Rational((-1) ** (half - 1) * even * tangents[half], 4**half * (4**half - 1))


@lru_cache(maxsize=1024)
def _log_gamma(number: int, bits: int) -> Ball:
    before = ctx.prec
    ctx.prec = bits
    try:
        z = Ball(number)
        total = (z - Ball(Rational(1, 2))) * z.log() - z + (2 * _pi(bits + _GUARD)).log() / 2
        for k in range(1, bits):
            term = Ball(_bernoulli(2 * k)) / (2 * k * (2 * k - 1) * z ** (2 * k - 1))
            # Of a positive number the rest of the series is at most as large as its next term.
            if _top(term._mid) < -bits + _top(total._mid):
                return Ball(total + Ball(0).union(term))
            total = total + term
    finally:
        ctx.prec = before
    raise ArithmeticError(f"ln Γ({number}) was not found to {bits} bits")


def _stirling(number: int) -> Ball:
    return Ball(_log_gamma(number, ctx.prec + _GUARD) + 0)


class BallPolynomial:
    """A polynomial with balls as coefficients, the constant first."""

    __slots__ = ("_coefficients",)

    def __init__(self, coefficients: Any) -> None:
        self._coefficients = [Ball(one) for one in coefficients]

    def coeffs(self) -> list[Ball]:
        return self._coefficients

    def truncate(self, length: int) -> BallPolynomial:
        return BallPolynomial(self._coefficients[:length])

    def __mul__(self, other: BallPolynomial) -> BallPolynomial:
        product = [Ball(0)] * (len(self._coefficients) + len(other._coefficients) - 1)
        for i, a in enumerate(self._coefficients):
            for j, b in enumerate(other._coefficients):
                product[i + j] = product[i + j] + a * b
        return BallPolynomial(product)


def factors(number: int) -> list[tuple[int, int]]:
    """The primes of a positive integer and their powers, by trial division and Pollard's rho.

    >>> factors(2**4 * 3 * 1000003 * 1000033)
    [(2, 4), (3, 1), (1000003, 1), (1000033, 1)]
    """
    found: dict[int, int] = {}
    for prime in (2, *range(3, 1000, 2)):
        while number % prime == 0:
            found[prime], number = found.get(prime, 0) + 1, number // prime
    parts = [number] if number > 1 else []
    while parts:
        part = parts.pop()
        if _is_prime(part):
            found[part] = found.get(part, 0) + 1
        else:
            divisor = _divisor(part)
            parts += [divisor, part // divisor]
    return sorted(found.items())


def _is_prime(number: int) -> bool:
    """By Miller and Rabin with the bases that are proven to suffice below 3.3 * 10^24, and twenty more above."""
    odd, twos = number - 1, 0
    while not odd & 1:
        odd, twos = odd >> 1, twos + 1
    bases = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, *range(43, 100, 3))
    for base in (one for one in bases if one < number):
        power = pow(base, odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


def _divisor(number: int) -> int:
    root = math.isqrt(number)
    if root * root == number:
        return root
    for start in range(1, number):
        slow = fast = 2
        common = 1
        while common == 1:
            slow = (slow * slow + start) % number
            fast = (fast * fast + start) % number
            fast = (fast * fast + start) % number
            common = math.gcd(slow - fast, number)
        if common != number:
            return common
    raise ArithmeticError(f"{number} has no divisor")
