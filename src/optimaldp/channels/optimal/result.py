"""What is found: a private channel, its utility, a bound that no private channel exceeds, and the proof of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from optimaldp.certify.channels import ChannelVerdict, verify_channel
from optimaldp.channels.answer_graph import AnswerGraph
from optimaldp.channels.channel import Channel
from optimaldp.channels.measures.vulnerability import identity_gain
from optimaldp.channels.numbers import (
    FloatArray,
    Label,
    Number,
    cell_text,
    json_labels,
    read_distribution,
    read_gain,
)
from optimaldp.channels.optimal.proofs import ChannelProof
from optimaldp.errors import ChannelError, NotCertifiedError
from optimaldp.privacy import Neighbours, approximate
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.results import Result
from optimaldp.sampling import BitSource, SystemBits, choose

if TYPE_CHECKING:
    from optimaldp.ledger import Ledger

# A problem of utility: graph, epsilon, prior and gain, as they were typed and as they are meant.


Exact = Sequence[Sequence[Fraction]]
MANY = 400  # answers beyond which matrices are floats: closed forms need no solve, but rationals take long
_MOST_EPSILON = 1e4  # along one edge: numbers as long as e^10000 say nothing more


@dataclass(frozen=True)
class UtilityProblem:
    """Everything in rationals; ``matrix`` is ``None`` for the binary gain, which is never written out."""

    graph: AnswerGraph
    epsilon: Epsilon
    prior: tuple[Fraction, ...]
    matrix: Exact | FloatArray | None
    guesses: tuple[Label, ...]

    @property
    def binary(self) -> bool:
        return self.matrix is None

    @cached_property
    def gain(self) -> Exact:
        return identity_gain(len(self.prior)) if self.matrix is None else exact_gain(self.matrix)

    @cached_property
    def worth(self) -> list[list[Fraction]]:
        return [[mass * g for g in row] for mass, row in zip(self.prior, self.gain)]

    def utility(self, rows: Exact) -> Fraction:
        """The expected gain when each column is the guess that it names."""
        if self.matrix is None:
            return sum((mass * rows[y][y] for y, mass in enumerate(self.prior)), Fraction(0))
        pairs = ((w, m) for ws, ms in zip(self.worth, rows) for w, m in zip(ws, ms))
        return sum((w * m for w, m in pairs if w and m), Fraction(0))


def exact_gain(matrix: Exact | FloatArray) -> Exact:
    """A gain in rationals: a float is the dyadic rational that it is."""
    if isinstance(matrix, np.ndarray):
        return [[Fraction(cell) for cell in row] for row in matrix.tolist()]
    return matrix


def read_problem(
    graph: AnswerGraph, epsilon: Epsilon, prior: object, gain: object, guesses: Sequence[Label] | None
) -> UtilityProblem:
    """Read a problem; a prior of floats that misses one by rounding means the distribution next to it."""
    size = len(graph.vertices)
    farthest = Fraction(1) if graph.plain else max(graph.lengths.values())  # a clique has half a million edges of one
    if not epsilon.infinite and float(epsilon) * float(farthest) > _MOST_EPSILON:
        raise ChannelError(
            "epsilon",
            str(epsilon),
            f"along an edge of length {float(farthest):g} is more than {_MOST_EPSILON:g}, which cannot be told from no privacy",
            "write 'inf' for none",
        )
    if isinstance(prior, dict):
        unknown = [name for name in prior if name not in graph.vertices]
        if unknown:
            raise ChannelError("prior", unknown[0], "is not a vertex of this graph")
        prior = [prior.get(vertex, 0) for vertex in graph.vertices]
    masses = [Fraction(1, size)] * size if prior is None else read_distribution(prior, size=size, name="prior")
    exact = [mass if isinstance(mass, Fraction) else Fraction(float(mass)) for mass in masses]
    total = sum(exact, Fraction(0))
    exact = [mass / total for mass in exact]  # floats that miss one by rounding mean the distribution next to them
    matrix = _read_gain(graph, gain)
    width = size if matrix is None else len(matrix[0])
    names = tuple(graph.vertices) if guesses is None and width == size else tuple(guesses or range(width))
    if len(names) != width:
        raise ChannelError("guesses", f"{len(names)} names", f"do not fit the gain, which has {width} columns")
    return UtilityProblem(graph, epsilon, tuple(exact), matrix, names)


def _read_gain(graph: AnswerGraph, gain: object) -> Exact | FloatArray | None:
    """The gain as a matrix; ``None`` for the binary one, which is never written out. Of many answers floats stay floats."""
    size = len(graph.vertices)
    if isinstance(gain, str):
        if gain == "binary":
            return None
        if gain == "negdist":
            return _minus_distances(graph)
        raise ChannelError("gain", gain, "is not a gain", "use 'binary', 'negdist' or a matrix gain[answer][guess]")
    matrix = read_gain(gain, secrets=size)
    if isinstance(matrix, np.ndarray) and size > MANY:
        return None if np.array_equal(matrix, np.eye(size)) else matrix
    exact = [[Fraction(cell) if not isinstance(cell, Fraction) else cell for cell in row] for row in matrix]
    return None if exact == [list(row) for row in identity_gain(size)] else exact


def _minus_distances(graph: AnswerGraph) -> Exact | FloatArray:
    if not graph.connected:
        raise ChannelError(
            "gain", "negdist", "needs a connected graph: some answers are infinitely far apart", "give a matrix"
        )
    if len(graph.vertices) > MANY and graph.plain:
        order = graph.line_order
        if order is None:
            return np.asarray(-graph.distances)
        place = np.empty(len(order))
        place[order] = np.arange(len(order))
        return np.asarray(-np.abs(place[:, None] - place[None, :]))
    return [[-(d or Fraction(0)) for d in row] for row in graph.exact_distances]


@dataclass(frozen=True, repr=False)
class ChannelRelease(Result):
    """One private answer of a channel, with what was promised and what the referee said. The true answer is not in it."""

    answer: Label
    question: str
    epsilon: Epsilon
    utility: Number
    claim: str
    checked: str
    """What the referee says of the channel that was drawn from."""

    def summary(self) -> str:
        return f"ChannelRelease({self.answer!r}, {self.epsilon}-DP)"

    def details(self) -> list[tuple[str, str]]:
        return [("claim", self.claim), ("checked", self.checked)]

    def to_document(self) -> dict[str, Any]:
        return {
            "answer": json_labels([self.answer])[0],
            "question": self.question,
            "epsilon": str(self.epsilon),
            "delta": "0",
            "utility": cell_text(self.utility),
            "claim": self.claim,
            "checked": self.checked,
        }


@dataclass(frozen=True, repr=False)
class OptimalMechanism(Result):
    """A private channel from answers to guesses, its utility, and a bound that no private channel exceeds.

    **Guarantee.** ``channel`` is epsilon-DP on ``graph`` (exactly, if its rows are rationals), its utility is
    ``utility``, and no epsilon-DP channel on ``graph`` has more than ``upper_bound``.
    """

    graph: AnswerGraph
    epsilon: Epsilon
    prior: tuple[Fraction, ...]
    gain: Exact | FloatArray | None
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
        return self.gap <= 1e-9 * max(1.0, abs(float(self.upper_bound)))

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

    def sample(self, true_answer: Label, *, source: BitSource | None = None) -> Label:
        """Draw one guess for a true answer, exactly: no float decides, and the randomness is the operating system's.

        **Guarantee.** The referee has found the channel private (once, at the first draw); otherwise nothing is drawn. *source*
        is another source of bits, for tests.

        >>> from optimaldp.channels import AnswerGraph, optimal_mechanism
        >>> optimal_mechanism(AnswerGraph.path(3), "ln(2)").sample(1) in (0, 1, 2)
        True
        """
        self._require_private()
        cells = [Fraction(cell) for cell in self.channel.rows[self._place(true_answer)]]
        total = sum(
            cells, Fraction(0)
        )  # a row of floats means the distribution next to it, which the referee looked at
        return self.channel.outputs[choose([cell / total for cell in cells], source or SystemBits())]

    def release(
        self,
        true_answer: Label,
        *,
        question: str = "an answer on a graph of answers",
        ledger: Ledger | str | os.PathLike[str] | None = None,
        neighbours: str | Neighbours | None = None,
    ) -> ChannelRelease:
        """Draw one guess, with everything that a reader needs to trust it; with a *ledger* epsilon is spent first, durably.

        *question* is what the ledger writes beside the spend. *neighbours* says what an edge of the graph stands for (one record
        replaced, or one added or removed) and must be the ledger's own.

        **Guarantee.** The answer is drawn as by :meth:`sample` and is epsilon-DP for datasets whose true answers are equal or
        joined by an edge. The true answer is private: no message and no document holds it.

        >>> from optimaldp.channels import AnswerGraph, optimal_mechanism
        >>> made = optimal_mechanism(AnswerGraph.path(3), "ln(2)").release(1)
        >>> made.answer in (0, 1, 2), made.epsilon
        (True, Epsilon(ln(2)))
        """
        self._require_private()
        self._place(true_answer)
        if ledger is None:
            return self._released(self.sample(true_answer), question)
        if not self.graph.plain or self.epsilon.infinite:
            rule = "keeps no epsilon that a ledger can count: its edges have lengths, or its epsilon is infinite"
            raise ChannelError("ledger", str(self.graph), rule, "release without a ledger")
        from optimaldp.ledger import Ledger, open_ledger

        book = ledger if isinstance(ledger, Ledger) else open_ledger(ledger)
        try:
            reservation = book.reserve(question=question, level=approximate(self.epsilon), neighbours=neighbours)
            made = self._released(self.sample(true_answer), question)
            reservation.record(json_labels([made.answer])[0], made.to_document())
            return made
        finally:
            if book is not ledger:
                book.close()

    def _place(self, true_answer: Label) -> int:
        if true_answer not in self.channel.inputs:
            remedy = "give one of the graph's vertices"
            raise ChannelError("true_answer", "(not shown)", "is not an answer of this graph", remedy)
        return self.channel.inputs.index(true_answer)

    def _released(self, answer: Label, question: str) -> ChannelRelease:
        return ChannelRelease(answer, question, self.epsilon, self.utility, self.claim, self.verdict().reason)

    def _require_private(self) -> None:
        if not self.__dict__.get("_passed"):
            verdict = self.verdict()
            if not verdict.private:
                raise NotCertifiedError(f"The channel is not private: {verdict.reason}. Nothing was drawn or spent.")
            object.__setattr__(self, "_passed", True)

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
        if isinstance(self.gain, np.ndarray):
            return Fraction(float(np.abs(self.gain).max(axis=1) @ np.array([float(mass) for mass in self.prior])))
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
            "gain": None if self.gain is None else [[cell_text(cell) for cell in row] for row in exact_gain(self.gain)],
        }


# How much obliviousness costs: the best mechanism that sees only the true answer against the best that sees the dataset
# (erratum F24).
