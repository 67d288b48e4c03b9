"""The most useful private channel on a graph of answers: the best route for the problem, with a proof.

*Useful* is the expected gain of the analyst who reads each output by its best guess. On the answer graph of a question
the result is optimal among **oblivious** mechanisms (erratum F24); on the graph of datasets, or of a user's own
secrets, among all.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from optimaldp.channels.answer_graph import AnswerGraph
from optimaldp.channels.channel import Channel
from optimaldp.channels.databases import Databases, induced_graph
from optimaldp.channels.numbers import Label, Number, cell_text, read_distribution
from optimaldp.channels.optimal import closed_forms
from optimaldp.channels.optimal import program as linear_program
from optimaldp.channels.optimal.closed_forms import ClosedForm
from optimaldp.channels.optimal.large import large_form
from optimaldp.channels.optimal.program import ROUNDED_BITS, DecayKernel, build_program, cell_orbits
from optimaldp.channels.optimal.proofs import PotentialProof, ProgramProof, TheoremProof
from optimaldp.channels.optimal.result import MANY, Exact, OptimalMechanism, UtilityProblem, read_problem
from optimaldp.errors import ChannelError, NotCertifiedError
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.results import Result

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
    vertex = linear_program.exact_vertex(program, solved)
    weights = linear_program.exact_dual(program, solved, vertex) if vertex is not None else None
    if vertex is not None:
        rows: Exact = [[vertex[v] for v in row] for row in program.cells.tolist()]
    else:
        rows = linear_program.repair(solved.values[program.cells], kernel, worth)
    above = DecayKernel(problem.graph, problem.epsilon, above=True)
    # Weights that were found for factors rounded down also prove a bound for factors rounded up, a slightly larger one:
    # weak duality asks of them nothing but their sign.
    swap = {kernel.factors[edge]: above.factors[edge] for edge in kernel.factors}
    chosen = tuple(weights or linear_program.rational_weights(solved))
    proof = ProgramProof(program.with_factors(swap), chosen, tuple(above.arcs))
    return _finish(problem, ClosedForm(tuple(map(tuple, rows)), "linear-program", proof))


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Both optima for one question, prior and epsilon, for the chance of the right answer."""

    oblivious: OptimalMechanism
    unrestricted: OptimalMechanism

    @property
    def gain(self) -> Number:
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
