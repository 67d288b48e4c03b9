"""Optimal channels are drawn from, with the referee and a ledger; long lines with distance gains are proven."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from optimaldp.certify.core.drawing import ScriptedBits
from optimaldp.channels import AnswerGraph, Channel, extremal_channel, optimal_mechanism
from optimaldp.errors import BudgetError, ChannelError, LedgerError, NotCertifiedError
from optimaldp.ledger import Budget, open_ledger

LINE = optimal_mechanism(AnswerGraph.path(["low", "middle", "high"]), "ln(2)")


def test_every_guess_is_drawn_on_just_its_stretch() -> None:
    tiny = Fraction(1, 2**40)
    for answer in LINE.channel.inputs:
        low = Fraction(0)
        for guess, chance in LINE.channel.row(answer).items():
            for number in (low + tiny, low + Fraction(chance) / 2, low + Fraction(chance) - tiny):
                assert LINE.sample(answer, source=ScriptedBits(number)) == guess
            low += Fraction(chance)
        assert low == 1


def test_a_channel_that_is_not_private_is_never_drawn_from() -> None:
    told = replace(LINE, channel=Channel.identity(list(LINE.channel.inputs)))
    for draw in (told.sample, told.release):
        with pytest.raises(NotCertifiedError, match="Nothing was drawn"):
            draw("low")


def test_a_release_says_what_was_promised_and_not_the_truth() -> None:
    made = LINE.release("middle", question="how high?")
    document = made.to_document()
    assert document["epsilon"] == "ln(2)"
    assert document["claim"].startswith("optimal for the chance of the right answer")
    assert "no private channel exceeds" in document["checked"]
    assert set(document) == {"answer", "question", "epsilon", "delta", "utility", "claim", "checked"}
    assert made.certificate == f"{made.claim}: {made.checked}"
    with pytest.raises(ChannelError) as refused:
        LINE.release("a secret that is no answer")
    assert "secret" not in str(refused.value)


def test_the_referee_reads_a_channel_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from optimaldp.channels.optimal import result

    read, examine = [], result.verify_channel

    def counted(*args: object, **settings: object) -> object:
        read.append(1)
        return examine(*args, **settings)

    monkeypatch.setattr(result, "verify_channel", counted)
    made = optimal_mechanism(AnswerGraph.path(5), "ln(2)")
    assert {made.sample(1) in range(5), made.release(1).answer in range(5), made.check()} == {True}
    assert len(read) == 1


def test_a_release_is_paid_before_it_is_drawn(tmp_path: Path) -> None:
    ledger = tmp_path / "answers.ledger"
    with open_ledger(ledger, dataset="answers", budget=Budget(epsilon="ln(4)"), neighbours="substitution") as book:
        for spent in ("ln(2)", "ln(4)"):
            assert LINE.release("low", question="how high?", ledger=book, neighbours="substitution").answer
            assert str(book.spent().epsilon) == spent
        with pytest.raises(BudgetError):
            LINE.release("low", ledger=book)
        with pytest.raises(LedgerError, match="neighbours"):
            LINE.release("low", ledger=book, neighbours="add-remove")
    free = optimal_mechanism(AnswerGraph.path(3), "inf")
    with pytest.raises(ChannelError, match="no epsilon that a ledger can count"):
        free.release(0, ledger=ledger)


@pytest.mark.long
@pytest.mark.parametrize("size", [401, 1000])
def test_long_lines_with_a_distance_gain_are_proven(size: int) -> None:
    found = optimal_mechanism(AnswerGraph.path(size), 1, gain="negdist")
    assert found.optimal
    assert found.gap <= 1e-10
    assert found.verdict().optimal
    # In the middle of a long line the noise is two-sided geometric, whose mean distance is known.
    t = math.exp(-1)
    assert float(found.utility) == pytest.approx(-2 * t / (1 - t * t), rel=5 / size)


def test_medians_are_the_best_guesses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums along the line against the product of matrices, prior and names in disorder."""
    from optimaldp.channels.optimal import large

    generator = np.random.default_rng(7)
    order = generator.permutation(60)
    rows, masses = generator.dirichlet(np.ones(60), size=60), generator.dirichlet(np.ones(60))
    place = np.empty(60)
    place[order] = np.arange(60)
    gain = -np.abs(place[:, None] - place[None, :])
    monkeypatch.setattr(large, "_COLUMNS", 7)
    merged, value = large._read_by_medians(rows, masses, order)
    other, known = large._read_by_guesses(rows, masses, gain)
    assert value == pytest.approx(known, rel=1e-12)
    assert merged == pytest.approx(other, abs=1e-12)
    assert float((merged * gain * masses[:, None]).sum()) == pytest.approx(value, rel=1e-12)


@pytest.mark.long
def test_a_gain_that_rises_somewhere_is_not_taken_for_one_that_falls() -> None:
    size = 401
    gain = -np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.float64)
    gain[200, 399] = np.nextafter(gain[200, 398], 0)
    gain[200, 1] = gain[200, 399]
    with pytest.raises(ChannelError, match="constraints"):
        optimal_mechanism(AnswerGraph.path(size), 1, gain=gain)


def test_the_extremal_channel_of_many_databases_is_refused() -> None:
    with pytest.raises(ChannelError, match="531441 databases"):
        extremal_channel(12, 3, 1)
    assert len(extremal_channel(4, 3, 1).inputs) == 81
