"""Numbers are read as people mean them, and epsilon is compared exactly."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimaldp.errors import InputError, LevelError
from optimaldp.privacy import Epsilon, level, read_number, read_probability
from optimaldp.privacy.balls import Ball, context, precision
from optimaldp.privacy.numbers import fraction_text


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (0.1, Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        (1e-6, Fraction(1, 10**6)),
        ("1e-6", Fraction(1, 10**6)),
        (Decimal("0.30"), Fraction(3, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.int64(3), Fraction(3)),
        (Fraction(2, 7), Fraction(2, 7)),
    ],
)
def test_a_number_is_read_as_it_is_written(typed: object, meant: Fraction) -> None:
    assert read_number(typed, name="x") == meant


@pytest.mark.parametrize(
    "typed", [math.nan, math.inf, "nan", "1/0", "one", "", True, None, [1], "1_000", Decimal("NaN")]
)
def test_what_is_no_number_is_refused_with_its_value(typed: object) -> None:
    with pytest.raises(InputError, match=r"x(:| is) "):
        read_number(typed, name="x")


def test_a_probability_lies_between_0_and_1() -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        read_probability("1.0000001", name="p")


@given(st.fractions(max_denominator=10**9))
def test_writing_and_reading_is_the_identity(number: Fraction) -> None:
    assert read_number(fraction_text(number), name="x") == number


@pytest.mark.parametrize("text", ["ln(2)", "0.5", "inf", "0", "0.5+ln(3/2)", "1e-06"])
def test_epsilon_round_trips_through_its_text(text: str) -> None:
    assert str(Epsilon.read(text)) == text
    assert Epsilon.read(str(Epsilon.read(text))) == Epsilon.read(text)


@pytest.mark.parametrize("bad", [-1, "-0.1", math.nan, "nan", None, "ln(1/2)", "ln(0)", "ln(x)", "two", -math.inf, 1e9])
def test_a_bad_epsilon_is_refused(bad: object) -> None:
    with pytest.raises(LevelError, match="epsilon"):
        Epsilon.read(bad)


def test_order_is_exact_where_floats_are_equal() -> None:
    two_thirds = Epsilon.read("ln(2)")
    close = Epsilon.read("0.693147180559945309417232121458176568075500134360255")  # ln 2 rounded down at 51 digits
    assert float(close) == float(two_thirds)
    assert close < two_thirds
    assert not two_thirds < close
    assert Epsilon.read("ln(1)") == Epsilon.read(0)


@given(st.fractions(0, 5, max_denominator=1000), st.fractions(1, 9, max_denominator=100), st.integers(1, 5))
def test_n_times_is_n_sums(plain: Fraction, ratio: Fraction, times: int) -> None:
    epsilon = Epsilon(plain, ratio)
    total = Epsilon.read(0)
    for _ in range(times):
        total = total + epsilon
    assert total == epsilon * times


@given(st.fractions(0, 20, max_denominator=1000))
def test_rational_bounds_enclose_the_exponential(plain: Fraction) -> None:
    epsilon = Epsilon.read(plain)
    below, above = epsilon.ratio_below(bits=80), epsilon.ratio_above(bits=80)
    assert 1 <= below <= above
    assert (above - below) <= above / 2**70
    assert float(below) == pytest.approx(math.exp(plain), rel=1e-12)


def test_one_thread_at_a_time_sets_the_precision() -> None:
    """It is one number for the whole process: a second thread waits until the first has left its block."""
    entered = threading.Event()

    def enter() -> None:
        with precision(60):
            entered.set()

    with precision(500):
        other = threading.Thread(target=enter)
        other.start()
        assert not entered.wait(0.2)
        assert context.prec == 500
        with precision(700):  # the same thread goes further in
            assert context.prec == 700
        assert context.prec == 500
    other.join(10)
    assert entered.is_set()


def test_an_enclosure_has_the_precision_that_it_is_kept_for() -> None:
    """Whatever the precision was when it was first asked for: a wide ball that is kept would decide nothing later."""
    level = Epsilon(Fraction(3, 7), Fraction(11, 5))
    for wide, sharp in ((level.ball, 400), (level.exp, 300)):
        with precision(60):
            wide()
        with precision(sharp):
            assert wide().rad() < Ball(2) ** (10 - sharp)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_process_that_is_forked_while_a_thread_computes_can_compute() -> None:
    inside, leave = threading.Event(), threading.Event()

    def compute() -> None:
        with precision(500):
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=compute)
    thread.start()
    inside.wait(10)
    child = os.fork()
    if child == 0:  # pragma: no cover
        with precision(90):
            os._exit(0 if context.prec == 90 else 1)
    ended, status, patience = 0, -1, time.monotonic() + 20
    while not ended and time.monotonic() < patience:
        ended, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.01)
    leave.set()
    thread.join(10)
    if not ended:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert (ended, status) == (child, 0)


def test_the_least_numbers_that_are_meant() -> None:
    """A probability may be as small as it likes unless it is said to mean something; 1e-1000 itself always does."""
    tiny, least = Fraction(1, 10**2000), Fraction(1, 10**1000)
    assert read_probability(tiny, name="p") == tiny
    assert read_probability(least, name="p", tiny=False) == least
    with pytest.raises(InputError, match="too small"):
        read_probability(tiny, name="p", tiny=False)
    assert level(mu=least).mu == least
    with pytest.raises(LevelError, match="too small"):
        level(mu=tiny)
