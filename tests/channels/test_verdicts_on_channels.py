"""The verdict on a channel: where a gap is rounding and where it is not, and what it says."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from small_bounds import (
    HALF,
    ONE,
)

from optimaldp.certify.channels.verdict import verify_channel
from optimaldp.channels import AnswerGraph, Channel


def _response(right: Fraction) -> Channel:
    return Channel([[right, 1 - right], [1 - right, right]], ["no", "yes"], outputs=["n", "y"])


PROOF = {"kind": "potential", "potential": ["1/3", "1/3"]}
PAIR = AnswerGraph(["no", "yes"], [("no", "yes")])


@pytest.mark.parametrize(("short", "optimal"), [("0", True), ("1e-9", True), ("1.0001e-9", False), ("2e-9", False)])
def test_a_part_in_a_billion_is_rounding(short: str, optimal: bool) -> None:
    right = Fraction(2, 3) * (1 - Fraction(short))
    verdict = verify_channel(_response(right), PAIR, epsilon="ln(2)", certificate=PROOF)
    assert verdict.private
    assert verdict.optimal is optimal
    assert bool(verdict) is optimal
    assert (verdict.utility, verdict.bound) == (right, Fraction(2, 3))
    assert verdict.gap == Fraction(2, 3) - right
    assert ("leaves room" in verdict.reason) is not optimal
    assert ("not proven optimal" in repr(verdict)) is not optimal


def test_a_verdict_says_where_and_how_much() -> None:
    broken = verify_channel(_response(Fraction(3, 4)), PAIR, epsilon="ln(2)", certificate=PROOF)
    assert broken.worst_edge in (("no", "yes"), ("yes", "no"))
    assert broken.worst_output in ("n", "y")
    assert (broken.private, broken.optimal, broken.bound, broken.gap) == (False, False, None, None)
    assert not broken
    assert repr(broken).startswith("ChannelVerdict(not private, not proven optimal, least epsilon 1.09861")
    assert f"between {broken.worst_edge[0]} and {broken.worst_edge[1]} the output {broken.worst_output} breaks" in str(
        broken.details()
    )
    document = broken.to_document()
    assert document["worst_edge"] == list(broken.worst_edge)
    assert document["epsilon"] == pytest.approx(math.log(3))
    assert (document["bound"], document["optimal"], document["utility"]) == (None, False, "0.75")
    silent = verify_channel(_response(Fraction(3, 4)), PAIR, epsilon="ln(2)")
    assert silent.optimal is None
    assert not silent
    sure = verify_channel(_response(ONE), PAIR, epsilon="inf")
    assert sure.to_document()["epsilon"] == "inf"
    assert (sure.private, bool(sure), sure.optimal) == (True, True, None)
    alike = verify_channel(_response(HALF), PAIR, epsilon="ln(2)")
    assert (alike.worst_edge, alike.worst_output, alike.epsilon) == (None, None, 0.0)
    assert alike.to_document()["worst_edge"] == []
    weighed = verify_channel(
        _response(Fraction(2, 3)), PAIR, epsilon="ln(2)", prior=["1/4", "3/4"], gain=[[1, 0], [0, 2]]
    )
    assert weighed.utility == Fraction(1, 4) * 0 + Fraction(3, 4) * 2


def test_the_worst_place_is_two_neighbours_and_an_output() -> None:
    graph = AnswerGraph("abc", [("a", "b"), ("b", "c")])
    calm, loud = ["1/5", "2/5", "2/5"], ["3/5", "1/5", "1/5"]
    for rows, edge in (
        ([calm, calm, loud], ("c", "b")),
        ([loud, calm, calm], ("a", "b")),
        ([calm, loud, loud], ("b", "a")),
    ):
        for epsilon in ("ln(2)", "ln(4)"):
            verdict = verify_channel(Channel(rows, "abc", outputs="xyz"), graph, epsilon=epsilon)
            assert (verdict.worst_edge, verdict.worst_output) == (edge, "x")
            assert verdict.private is (epsilon == "ln(4)")


def test_a_certificate_that_proves_nothing_leaves_the_channel_private() -> None:
    verdict = verify_channel(_response(Fraction(2, 3)), PAIR, epsilon="ln(2)", certificate={"kind": "because"})
    assert (verdict.private, verdict.optimal, verdict.bound) == (True, False, None)
    assert verdict.reason.startswith("the certificate proves nothing")
    assert verdict.worst_edge is not None
