"""The most useful private channel on a graph of answers: the best route for the problem, with a proof.

*Useful* is the expected gain of the analyst who reads each output by its best guess. On the answer graph of a question
the result is optimal among **oblivious** mechanisms (erratum F24); on the graph of datasets, or of a user's own
secrets, among all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from optimaldp.certify.channels import ChannelVerdict, verify_channel
from optimaldp.channels.answer_graph import AnswerGraph
from optimaldp.channels.channel import Channel
from optimaldp.channels.databases import Databases, induced_graph
from optimaldp.channels.numbers import (
    ExactOrFloat,
    FloatArray,
    Label,
    cell_text,
    json_labels,
    read_distribution,
    read_gain,
)
from optimaldp.channels.optimal import closed_forms
from optimaldp.channels.optimal import program as linear_program
from optimaldp.channels.optimal.closed_forms import ClosedForm
from optimaldp.channels.optimal.large import large_form
from optimaldp.channels.optimal.program import ROUNDED_BITS, DecayKernel, build_program, cell_orbits
from optimaldp.channels.optimal.proofs import ChannelProof, PotentialProof, ProgramProof, TheoremProof
from optimaldp.channels.vulnerability import identity_gain
from optimaldp.errors import ChannelError, NotCertifiedError
from optimaldp.privacy import Neighbours, approximate
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.results import Result
from optimaldp.sampling import BitSource, SystemBits, choose

if TYPE_CHECKING:
    from optimaldp.ledger import Ledger

# What is found: a private channel, its utility, a bound that no private channel exceeds, and the proof of it.


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
    utility: ExactOrFloat
    claim: str
    checked: str
    """What the referee says of the channel that was drawn from."""

    @property
    def certificate(self) -> str:
        """What is claimed of the channel, and what the referee found."""
        return f"{self.claim}: {self.checked}"

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
    utility: ExactOrFloat
    upper_bound: ExactOrFloat
    route: str
    proof: ChannelProof | None

    @property
    def objective(self) -> str:
        """What is maximised, in words."""
        return "the chance of the right answer" if self.gain is None else "the expected gain"

    @property
    def gap(self) -> ExactOrFloat:
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
        """What the referee says, which sees only the matrix and the proof and shares no code with the solver."""
        return self._verdict

    @cached_property
    def _verdict(self) -> ChannelVerdict:
        """The referee reads a channel once: of thousands of answers that takes seconds, and nothing here ever changes."""
        certificate = self.proof.to_document() if self.proof else None
        return verify_channel(
            self.channel, self.graph, epsilon=self.epsilon, prior=self.prior, gain=self.gain, certificate=certificate
        )

    def sample(self, true_answer: Label, *, source: BitSource | None = None) -> Label:
        """Draw one guess for a true answer, exactly: no float decides, and the randomness is the operating system's.

        **Guarantee.** The referee has found the channel private; otherwise nothing is drawn. *source*
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
        verdict = self.verdict()
        if not verdict.private:
            raise NotCertifiedError(f"The channel is not private: {verdict.reason}. Nothing was drawn or spent.")

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


_MOST_CONSTRAINTS = 40_000  # of the linear program over all cells, and its unknowns: some ten seconds
_MOST_GAIN_CONSTRAINTS = 100_000  # of a program that nobody asked for by its name
_MOST_BITS = 4e6  # in a matrix of rationals: a second of work
_LARGEST_MATRIX = 4000  # answers beyond which a matrix does not fit into memory with room to work


def optimal_mechanism(
    graph: AnswerGraph,
    epsilon: object,
    *,
    prior: object = None,
    gain: object = "binary",
    guesses: Sequence[Label] | None = None,
    symmetries: Sequence[Sequence[int]] = (),
    route: str | None = None,
) -> OptimalMechanism:
    """The epsilon-DP channel on *graph* with the greatest expected gain.

    *gain* is ``"binary"`` (one for the right answer), ``"negdist"`` (minus the distance) or a matrix
    ``gain[answer][guess]``; *guesses* names its columns. *symmetries* are permutations of the vertices; those that keep
    graph, prior and gain make the program smaller. *route* forces one of ``constant-sum``, ``clique``, ``line``,
    ``closed-form``, ``linear-program``.

    **Guarantee.** The referee has confirmed privacy, utility and bound of what is returned.

    >>> optimal_mechanism(AnswerGraph.ring(6), "ln(2)")
    OptimalMechanism(6 answers, ln(2)-DP, utility 0.380952, constant-sum)
    """
    problem = read_problem(graph, Epsilon.read(epsilon), prior, gain, guesses)
    return _certified(_best(problem, [tuple(s) for s in symmetries], route))


def _certified(result: OptimalMechanism) -> OptimalMechanism:
    """The last gate: nothing is handed out that the referee does not confirm."""
    if not result.check():
        raise NotCertifiedError(f"the referee does not pass what was found: {result.verdict().reason}")
    return result


def _best(problem: UtilityProblem, symmetries: list[tuple[int, ...]], route: str | None) -> OptimalMechanism:
    graph = problem.graph
    # before a kernel is built: no factor is infinite, and at epsilon = 0 Φ is all ones and has no inverse
    if problem.epsilon.infinite or problem.epsilon.is_zero or not graph.lengths:
        return _finish(problem, _trivial(problem))
    if route is None and _is_large(problem):
        return _by_floats(problem)
    kernel = DecayKernel(graph, problem.epsilon)
    form = _closed(problem, kernel, route)
    if form is None and route not in (None, "linear-program"):
        raise ChannelError(
            "route", route, "does not apply to this graph, prior and gain", "leave it out to let the best one be chosen"
        )
    if form is not None:
        return _finish(problem, form)
    if route is None and not symmetries:
        _refuse_endless(problem)
    return _by_program(problem, kernel, symmetries)


def _refuse_endless(problem: UtilityProblem) -> None:
    graph = problem.graph
    constraints = 2 * len(graph.lengths) * len(problem.guesses)
    # A clique whose edges are alike has one hub for each guess instead: that program is short.
    hubs = graph.is_clique and len(set(graph.lengths.values())) == 1
    if constraints > _MOST_GAIN_CONSTRAINTS and not hubs:
        cause = "with edges of other lengths than 1" if problem.matrix is None else "with this gain"
        rule = (
            f"{cause} make a linear program of {constraints} constraints, more than the {_MOST_GAIN_CONSTRAINTS} that are "
            "solved in minutes"
        )
        remedy = "use fewer answers, name symmetries, or use route='linear-program' and patience"
        raise ChannelError("graph", f"{len(problem.prior)} answers", rule, remedy)


def _trivial(problem: UtilityProblem) -> ClosedForm:
    """epsilon = 0: one guess for each part of the graph. epsilon = ∞, or no edges: the best guess for each answer."""
    size = len(problem.prior)
    parts = problem.graph.components if not problem.epsilon.infinite else [[y] for y in range(size)]
    rows: list[tuple[Fraction, ...]] = [()] * size
    value = Fraction(0)
    for part in parts:
        best, worth = _best_guess(problem, part)
        value += worth
        row = tuple(Fraction(int(z == best)) for z in range(len(problem.guesses)))
        for y in part:
            rows[y] = row
    reason = (
        "no constraint between answers"
        if problem.epsilon.infinite or not problem.graph.lengths
        else "one guess for each part"
    )
    return ClosedForm(tuple(rows), "constant" if problem.epsilon.is_zero else "truth", TheoremProof(reason, value))


def _best_guess(problem: UtilityProblem, part: list[int]) -> tuple[int, Fraction]:
    """The guess that is worth most for some answers together, and what it is worth."""
    if problem.binary:  # all products with ones and zeros would be a million for a thousand answers
        best = max(part, key=lambda y: problem.prior[y])
        return best, problem.prior[best]
    totals = [sum((problem.worth[y][z] for y in part), Fraction(0)) for z in range(len(problem.guesses))]
    return max(enumerate(totals), key=lambda pair: pair[1])


def _closed(problem: UtilityProblem, kernel: DecayKernel, route: str | None) -> ClosedForm | None:
    if problem.binary:
        for name, attempt in (("constant-sum", closed_forms.constant_sum), ("clique", closed_forms.clique)):
            if route in (None, name) and (form := attempt(kernel, problem.prior)):
                return form
    if route in (None, "line") and (
        form := closed_forms.line(kernel, problem.worth, None if problem.binary else problem.gain)
    ):
        return form
    if problem.binary and route in (None, "closed-form"):
        return closed_forms.closed_form(kernel, problem.prior)
    return None


def _is_large(problem: UtilityProblem) -> bool:
    """Whether rationals or the linear program would take long: many answers, or powers of a long ratio."""
    graph, size, ratio = problem.graph, len(problem.prior), problem.epsilon.exact_ratio
    on_line = graph.line_order is not None
    if problem.matrix is not None and not (on_line and closed_forms.falls_with_distance_on(graph, problem.matrix)):
        return False
    if size > MANY or not graph.plain:
        return size > MANY
    # a cell at distance d is the d-th power of t, with d times its bits
    bits = max(ratio.numerator.bit_length(), ratio.denominator.bit_length()) if ratio is not None else ROUNDED_BITS
    farthest = graph.distances[graph.distances < float("inf")].max()
    if size * size * farthest * bits > _MOST_BITS:
        return True
    if on_line or graph.is_clique:
        return False
    # elsewhere a prior that the closed form does not serve needs the linear program over all cells
    return size * (size + 2 * len(graph.lengths)) > _MOST_CONSTRAINTS


def _by_floats(problem: UtilityProblem) -> OptimalMechanism:
    if len(problem.prior) > _LARGEST_MATRIX:
        remedy = "ring_profile() keeps a ring of any size as one row; for other graphs merge answers"
        raise ChannelError(
            "graph", len(problem.prior), f"answers are too many for a matrix (at most {_LARGEST_MATRIX})", remedy
        )
    gain = None if problem.matrix is None else np.asarray(problem.matrix, dtype=np.float64)
    form = large_form(problem.graph, problem.epsilon, problem.prior, gain)
    channel = Channel(form.rows, problem.graph.vertices, outputs=problem.guesses)
    return OptimalMechanism(
        problem.graph,
        problem.epsilon,
        problem.prior,
        problem.matrix,
        channel,
        form.utility,
        form.upper_bound,
        form.route,
        form.proof,
    )


def _finish(problem: UtilityProblem, form: ClosedForm) -> OptimalMechanism:
    channel = Channel(form.rows, problem.graph.vertices, outputs=problem.guesses)
    utility = problem.utility(form.rows)
    proof = form.proof
    if isinstance(proof, PotentialProof) and not proof.kernel.exact:
        proof = _from_above(proof)
    bound = proof.bound() if proof else utility
    return OptimalMechanism(
        problem.graph, problem.epsilon, problem.prior, problem.matrix, channel, utility, bound, form.route, proof
    )


def _from_above(proof: PotentialProof) -> PotentialProof:
    """The rows use an ``e^epsilon`` rounded down;
    a bound must use one rounded up, where Φ is smaller and λ must grow a little.
    """
    kernel = DecayKernel(proof.kernel.graph, proof.kernel.epsilon, above=True)
    reached = [sum((phi * value for phi, value in zip(row, proof.potential)), Fraction(0)) for row in kernel.rows]
    stretch = max([Fraction(1), *(mass / r for mass, r in zip(proof.prior, reached) if r)])
    return PotentialProof(kernel, proof.prior, tuple(value * stretch for value in proof.potential))


def _by_program(problem: UtilityProblem, kernel: DecayKernel, symmetries: list[tuple[int, ...]]) -> OptimalMechanism:
    worth = problem.worth
    orbits, _ = cell_orbits(problem.graph, worth, symmetries)
    program = build_program(kernel, worth, orbits)
    branching = max(problem.graph.degree(vertex) for vertex in problem.graph.vertices) > 2
    solved = linear_program.run_solver(program, dense=branching)
    exact = linear_program.exact_optimum(program, solved)
    if exact is not None:
        vertex, weights = exact
        rows: Exact = [[vertex[v] for v in row] for row in program.cells.tolist()]
    else:
        weights = linear_program.rational_weights(solved)
        rows = linear_program.repair(solved.values[program.cells], kernel, worth)
    above = DecayKernel(problem.graph, problem.epsilon, above=True)
    # Weights that were found for factors rounded down also prove a bound for factors rounded up, a slightly larger one:
    # weak duality asks of them nothing but their sign.
    swap = {kernel.factors[edge]: above.factors[edge] for edge in kernel.factors}
    proof = ProgramProof(program.with_factors(swap), tuple(weights), tuple(above.arcs))
    return _finish(problem, ClosedForm(tuple(map(tuple, rows)), "linear-program", proof))


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Both optima for one question, prior and epsilon, for the chance of the right answer."""

    oblivious: OptimalMechanism
    unrestricted: OptimalMechanism

    @property
    def gain(self) -> ExactOrFloat:
        """What seeing the dataset adds to the chance of the right answer."""
        return self.unrestricted.utility - self.oblivious.utility

    def summary(self) -> str:
        return f"Comparison(oblivious {float(self.oblivious.utility):.6g}, unrestricted {float(self.unrestricted.utility):.6g})"

    def to_document(self) -> dict[str, Any]:
        return {"oblivious": cell_text(self.oblivious.utility), "unrestricted": cell_text(self.unrestricted.utility)}


def compare_with_all(
    question: Callable[[Any], Hashable], databases: Databases, epsilon: object, *, prior: object = None
) -> Comparison:
    """The best oblivious mechanism and the best of all for *question*; *prior* is over the databases, uniform by
    default.

    >>> votes = Databases.of_values((0, 1), 3)
    >>> compare_with_all(lambda database: sum(database) >= 2, votes, "ln(2)")
    Comparison(oblivious 0.666667, unrestricted 0.708333)
    """
    names = list(databases)
    masses = (
        [Fraction(1, len(names))] * len(names)
        if prior is None
        else read_distribution(prior, size=len(names), name="prior")
    )
    answers = induced_graph(question, databases)
    truth = [answers.index(question(database)) for database in names]
    pushed = [
        sum((Fraction(m) for m, y in zip(masses, truth) if y == k), Fraction(0)) for k in range(len(answers.vertices))
    ]
    oblivious = optimal_mechanism(answers, epsilon, prior=pushed)
    gain = [[int(y == k) for k in range(len(answers.vertices))] for y in truth]
    unrestricted = optimal_mechanism(databases.graph(), epsilon, prior=masses, gain=gain, guesses=answers.vertices)
    return Comparison(oblivious, unrestricted)
