"""What is found: a private channel, its utility, a bound that no private channel exceeds, and the proof of it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from optimaldp.certify.channels import ChannelVerdict, verify_channel
from optimaldp.channels.channel import Channel
from optimaldp.channels.graphs.answer_graph import AnswerGraph
from optimaldp.channels.numbers import Number, cell_text
from optimaldp.channels.optimal.problem import Exact
from optimaldp.channels.optimal.proofs import ChannelProof
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.results import Result


@dataclass(frozen=True, repr=False)
class OptimalMechanism(Result):
    """A private channel from answers to guesses, its utility, and a bound that no private channel exceeds.

    **Guarantee.** ``channel`` is epsilon-DP on ``graph`` (exactly, if its rows are rationals), its utility is
    ``utility``, and no epsilon-DP channel on ``graph`` has more than ``upper_bound``.
    """

    graph: AnswerGraph
    epsilon: Epsilon
    prior: tuple[Fraction, ...]
    gain: Exact | None
    channel: Channel
    utility: Number
    upper_bound: Number
    route: str
    proof: ChannelProof | None

    @property
    def objective(self) -> str:
        """What is maximised, in words."""
        return "the chance of the right answer" if self.gain is None else "the expected gain"

    @property
    def gap(self) -> Number:
        """What could still be gained at most: 0 when optimality is proven exactly."""
        return self.upper_bound - self.utility

    @property
    def optimal(self) -> bool:
        """Whether nothing private is better, up to the rounding of an irrational ``e^epsilon``."""
        return self.gap <= 1e-9

    @property
    def claim(self) -> str:
        """What is proven, in words."""
        exactly = (
            "optimal"
            if self.gap == 0
            else f"optimal to within {float(self.gap):.1e}"
            if self.optimal
            else "not proven optimal"
        )
        where = (
            " (on a graph with artificial edges: perhaps not for the question itself)" if self.graph.superset else ""
        )
        private = f"differentially private with epsilon = {self.epsilon}, answers joined by an edge being neighbours"
        return f"{exactly} for {self.objective}{where}, among all channels that are {private}"

    def verdict(self) -> ChannelVerdict:
        """What the referee says, who sees the matrix and the proof and shares no code with whoever found them."""
        certificate = self.proof.to_document() if self.proof else None
        return verify_channel(
            self.channel, self.graph, epsilon=self.epsilon, prior=self.prior, gain=self.gain, certificate=certificate
        )

    def check(self) -> bool:
        """Whether the referee confirms privacy, the utility and the bound."""
        verdict = self.verdict()
        size = (
            abs(verdict.utility) + abs(Fraction(0) if verdict.bound is None else verdict.bound) + self._largest_gain()
        )
        rounding = size / 10**10  # large sums are taken in floats, by the referee as well
        useful = verdict.utility >= Fraction(self.utility) - (0 if self.channel.exact else rounding)
        limit = Fraction(self.upper_bound) + rounding
        proven = self.proof is None or (verdict.bound is not None and verdict.bound <= limit)
        return verdict.private and useful and proven

    def _largest_gain(self) -> Fraction:
        """What the terms of the utility add up to at most, without their signs: rounding is relative to that."""
        if self.gain is None:
            return Fraction(1)
        return Fraction(sum(float(mass) * max(abs(float(g)) for g in row) for mass, row in zip(self.prior, self.gain)))

    def plot(self, path: str | Path | None = None, *, axes: object = None) -> Any:
        """A heat map of the channel, also written to *path* (.png, .svg, .pdf) if one is given."""
        return self.channel.plot(path, axes=axes)

    def summary(self) -> str:
        size, utility = len(self.graph.vertices), float(self.utility)
        kind, doubt = (
            ("OptimalMechanism", "") if self.optimal else ("PrivateMechanism", f"bound {float(self.upper_bound):.6g}, ")
        )
        return f"{kind}({size} answers, {self.epsilon}-DP, utility {utility:.6g}, {doubt}{self.route})"

    def details(self) -> list[tuple[str, str]]:
        return [("utility", str(cell_text(self.utility))), ("claim", self.claim)]

    def to_document(self) -> dict[str, Any]:
        return {
            **self.channel.to_document(),
            "prior": [cell_text(p) for p in self.prior],
            "epsilon": str(self.epsilon),
            "utility": cell_text(self.utility),
            "upper_bound": cell_text(self.upper_bound),
            "optimal": self.optimal,
            "route": self.route,
            "claim": self.claim,
            "certificate": self.proof.to_document() if self.proof else None,
            "graph": self.graph.to_document(),
            "gain": None if self.gain is None else [[cell_text(cell) for cell in row] for row in self.gain],
        }
