"""The one table of what may be said about how good a mechanism is: output and documentation are made from it.

A claim names its objective, the class of mechanisms that it compares with, and its hypothesis. A mechanism names a claim by its
key, so a sentence that stands in no entry cannot be printed. ``tests/questions/test_claims.py`` compares each entry with a
linear program or an enumeration, and shows a case where a stronger wording would be false.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

NOT_CLAIMED = "not claimed"


@dataclass(frozen=True)
class OptimalityClaim:
    """What is claimed of a mechanism, and on which grounds."""

    objective: str
    """What is greatest or least."""
    among: str
    """The class of mechanisms in which it is."""
    hypothesis: str = ""
    """What has to hold; nothing where the claim holds at every table."""
    reference: str = ""
    """The theorem or paper behind the claim."""
    without_delta: bool = False
    """Whether it is claimed only where no delta is spent."""

    def sentence(self) -> str:
        """The claim as it is printed."""
        condition = f"{self.hypothesis}: " if self.hypothesis else ""
        return f"{condition}{self.objective} among {self.among}"


_COSTS = {"absolute": "absolute error", "squared": "squared error", "exact": "share of wrong numbers"}

CLAIMS: Mapping[str, OptimalityClaim] = {
    "chain": OptimalityClaim(
        "at every table the greatest probability of the true answer",
        "all private mechanisms that treat the two answers alike where they touch",
        reference="papers 000 and 001, with the corrected step function",
    ),
    "prior votes": OptimalityClaim(
        "the least average error (to 1e-6)",
        "all mechanisms that keep everybody's own level",
        "if votes follow the prior that is named",
        "the multipliers in the document",
    ),
    "keys": OptimalityClaim(
        "the greatest probability of keeping a category, whatever its size",
        "all (epsilon, delta)-DP mechanisms under add-remove",
        reference="paper 000 on the path of counts",
    ),
    "lattice noise": OptimalityClaim(
        "the least expected L1 error over the bins that are possible",
        "all epsilon-DP mechanisms",
        "for large tables",
        "paper 002",
    ),
    "independent bins": OptimalityClaim(
        "the least expected L1 error",
        "all epsilon-DP mechanisms",
        "if the bins are independent and follow the prior that is named",
        "Ghosh, Roughgarden and Sundararajan, bin by bin",
    ),
    "finite optimum": OptimalityClaim(
        "the least expected L1 error at this number of people",
        "all epsilon-DP mechanisms",
        "under the prior that is named",
        "paper 002, linear program",
    ),
    "balanced grid": OptimalityClaim(
        "the greatest probability of the true answer at delta 0",
        "all mechanisms with the balanced boundary on the grid of counts by level",
        reference="paper 003",
        without_delta=True,
    ),
    "fair levels": OptimalityClaim(
        "at every table a probability of the true answer that cannot be raised without lowering that of a table that has no more",
        "all mechanisms that keep everybody's own level, at delta 0",
        reference="the fair law (max-min fair on the graph of all tables)",
        without_delta=True,
    ),
    "hedged votes": OptimalityClaim(
        "the least average error over independent votes of chance 1/2",
        "the fair law and the hedges and caps that were tried",
        reference="compared by public numbers before data is read",
    ),
    "count": OptimalityClaim(
        "for every k the least worst-case probability of an error above k",
        "all mechanisms at this epsilon and the delta that is spent, whose answers are whole numbers",
        "for a count without an upper bound",
        "the cut geometric theorem; with delta = 0 plain geometric noise",
    ),
    **{
        f"count under a prior, {loss}": OptimalityClaim(
            f"the least expected {cost}",
            "all epsilon-DP mechanisms",
            "under the prior that is named, if it treats people alike",
            "Ghosh, Roughgarden and Sundararajan",
        )
        for loss, cost in _COSTS.items()
    },
    **{
        f"sum, {loss}": OptimalityClaim(
            f"the least worst-case expected {_COSTS[loss]}",
            "all epsilon-DP mechanisms that see the sum alone",
            "for an unbounded sum",
            "Geng and Viswanath, on the grid of steps",
        )
        for loss in ("absolute", "exact")
    },
}
"""Every claim of optimality that a release can print, by its key."""

COMPARISONS: Mapping[str, str] = {
    "signed distance": "at every table the error is at most that of continuous Laplace noise on the clipped sum",
    "winner": "no table is known where it is worse than permute-and-flip",
    "ranks": "on average over tables its rank error was never above that of the exponential mechanism where tried",
    "prior with delta": "within 0.6 % of the least expected loss under the prior where tried",
    "cut staircase": "within 0.3 % of the least worst-case error where tried, for delta up to 0.02",
    "crossing": "best known: 14 % to 32 % above the linear program on tiny tables at epsilon up to 1",
    "groups together": (
        "the numbers of all groups share one draw, with an expected error below that of independent noise at half of epsilon"
    ),
    "two steps": "best known where the range is generous, worse where a few people hold most of the total",
    "weighted votes": (
        "on average over independent votes it was within 2 % of the least possible error where most levels are alike"
    ),
}
"""What is said where optimality is not claimed: how the mechanism compares, by its key."""


def optimality_sentence(claim: str | None, *, with_delta: bool = False) -> str:
    """The sentence of a claim's key: the claim, a comparison behind "not claimed", or "not claimed" alone.

    *with_delta*: a delta is spent, so that what is claimed at delta 0 alone is not.

    >>> optimality_sentence(None)
    'not claimed'
    >>> optimality_sentence("finite optimum")[:44]
    'under the prior that is named: the least exp'
    """
    if claim is None:
        return NOT_CLAIMED
    if (best := CLAIMS.get(claim)) is not None:
        return NOT_CLAIMED if with_delta and best.without_delta else best.sentence()
    return f"{NOT_CLAIMED}; {COMPARISONS[claim]}"


SENTENCES = frozenset(map(optimality_sentence, (None, *CLAIMS, *COMPARISONS)))
"""Every sentence about optimality that a release can print."""


def claims_table() -> str:
    """The table of claims in Markdown, as the documentation prints it."""
    head = "| key | objective | among | hypothesis | reference |\n| --- | --- | --- | --- | --- |\n"
    rows = (
        f"| {key} | {claim.objective} | {claim.among} | {claim.hypothesis or 'none'} | {claim.reference} |\n"
        for key, claim in CLAIMS.items()
    )
    return head + "".join(rows)
