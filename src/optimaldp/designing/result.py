"""What the designer hands out: the mechanism, the claim that the referee has passed, or why there is no optimum."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from optimaldp.certify.graphs.verdict import PRINTING_ERROR, DesignVerdict, verify
from optimaldp.documents.json_text import read_json_text, without_collection
from optimaldp.errors import ProblemError
from optimaldp.graphs import distances
from optimaldp.graphs.problem import Problem, preference_text
from optimaldp.mechanisms import Certificate, Claimed, Mechanism
from optimaldp.mechanisms.certificate import Impossibility
from optimaldp.mechanisms.decimals import printable
from optimaldp.mechanisms.documents import design_document, design_text
from optimaldp.mechanisms.mechanism import certificate_latex
from optimaldp.mechanisms.rows import Rows
from optimaldp.results import Result

# What every route of the designer yields.


class Status(StrEnum):
    """Whether there is a best mechanism."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    NO_OPTIMUM = "no-optimum"


class Route(StrEnum):
    """How the answer was found."""

    CLOSED_FORM = "closed-form"
    DIJKSTRA = "dijkstra"
    ENVELOPE = "envelope"
    LINEAR_PROGRAM = "linear-program"


class Proof(StrEnum):
    """What stands behind a status."""

    EXACT = "exact"  # rationals, or enclosures of what is irrational
    FLOATING_POINT = "floating-point"


@dataclass(frozen=True)
class Outcome:
    """The result of one route, before it is dressed for the user.

    ``rows`` is the optimum when there is one; without one it is a private mechanism with its claim, or ``None`` if none was made.
    A status of ``None`` says that nobody has decided whether there is an optimum.
    """

    status: Status | None
    route: Route
    rows: Rows | None = None
    certificate: Certificate | None = None
    witness: dict[str, Any] = field(default_factory=dict)
    exact: bool = True  # whether rationals decided: of an optimum the referee says it, of a witness the route
    impossibility: Impossibility | None = None  # what proves that there is no optimum, or nothing private
    claim: Claimed | None = None  # what is said of the rows, where no certificate says it


class NoRoomError(ProblemError):
    """The given values leave no room for rounding (as at epsilon 0): floating point cannot keep the promise."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(
            "fixed",
            f"{len(problem.fixed)} datasets",
            "leave no room for rounding, so floating point cannot keep the promise",
            "use exact=True",
        )


@dataclass(frozen=True, eq=False)
class Claim:
    """A mechanism together with the proof that it is optimal for its problem: ready for the referee."""

    mechanism: Mechanism
    proof: Certificate
    problem: Problem

    def check(self) -> DesignVerdict:
        """Let the referee check privacy and optimality; it shares no code with the designer."""
        problem = self.problem
        if problem.boundary is None:
            return verify(self.mechanism, self.proof, fixed=problem.fixed)
        return verify(self.mechanism, self.proof, boundary=problem.boundary)

    def to_latex(self) -> str:
        """The proof for a paper: what is given, and from where each bound comes."""
        return certificate_latex(self.proof, self.mechanism)

    def __repr__(self) -> str:
        return f"Claim({self.proof.statement})"


@dataclass(frozen=True, eq=False, repr=False)
class Design(Result):
    """What the designer found: a private mechanism with what is claimed of it, or why there is none.

    ``claim`` says how good the mechanism is (``greatest`` given the fixed values, ``fair``, ``undominated``, ``undominated within
    classes``) and ``gap`` by how much at most rounding misses that (0: exactly). ``status`` is optimal where the claim is proven,
    infeasible or no-optimum where the fixed values exclude it (``witness`` says why; a mechanism may accompany no-optimum), and
    ``None`` where nobody decided. ``proof`` says whether that was proven exactly or in floating point, ``verdict`` what the
    referee found before this was handed out.

    >>> from optimaldp import design, graphs
    >>> design(graphs.votes(3), graphs.majority, epsilon="ln(2)", delta="0.1").mechanism["111"]
    {'yes': Fraction(9, 10), 'no': Fraction(1, 10)}
    """

    problem: Problem
    status: Status | None
    route: Route
    mechanism: Mechanism | None
    certificate: Claim | None
    witness: dict[str, Any] = field(default_factory=dict)
    proof: Proof = Proof.EXACT
    verdict: DesignVerdict | None = None
    claim: Claimed | None = None
    gap: float | None = None

    @staticmethod
    def from_json(text: str) -> Design:
        """Read a design back from what :meth:`to_json` or ``optimaldp design --output`` wrote; the referee checks it again."""
        from optimaldp.designing.solving import read_design

        with without_collection():
            return read_design(read_json_text(text))

    @property
    def status_line(self) -> str:
        """What was found, with what it is relative to: ``greatest for the balanced boundary, proven exactly``."""
        return f"{self._found()}, {self._how_proven()}"

    def _found(self) -> str:
        """The claim where one is proven; only given values make an optimum, never a boundary that a rule chose."""
        given = self.problem.given_words()
        claim = "optimal" if self.claim is Claimed.GREATEST and self.problem.chosen_by is None else self.claim
        claimed = f"{claim}{given and ' '}{given}"
        if self.status is Status.OPTIMAL:
            return claimed
        said = str(self.status or "undecided")
        return f"{said}, with a mechanism that is {claimed}" if self.claim else said

    def _how_proven(self) -> str:
        return "proven exactly" if self.proof is Proof.EXACT else "in floating point"

    def summary(self) -> str:
        size = f"{len(self.problem.graph)} datasets × {len(self.problem.answers)} answers"
        what = self.problem.graph.level_words if self.problem.graph.levels else "0 levels"
        return f"Design({self._found()}, {size}, {what}, {self.route}, {self._how_proven()})"

    def details(self) -> list[tuple[str, str]]:
        why = self.certificate.proof.statement if self.certificate else self.witness.get("reason", "")
        return [("status", self.status_line), ("route", self.route), ("proof", self.proof), ("why", why)]

    def to_document(self, *, digits: int | None = None) -> dict[str, Any]:
        """The result as a document: exact strings, or numbers of about *digits* digits that are private as printed."""
        mechanism = self.mechanism
        said: list[DesignVerdict] = []  # by the referee about the numbers as they are printed

        def accept(printed: Mechanism) -> bool:
            assert self.certificate is not None
            said.append(replace(self.certificate, mechanism=printed).check())
            return bool(said[-1])

        rows = (
            None
            if mechanism is None or digits is None
            else printable(mechanism, digits=digits, accept=accept if self.certificate else None)
        )
        proof, gap = self.proof, self.gap
        if said and said[-1] and said[-1].gap is not None and said[-1].gap > PRINTING_ERROR:
            proof, gap = Proof(str(said[-1].proof)), max(said[-1].gap, gap or 0.0)
        return design_document(
            status=self.status,
            claim=self.claim,
            gap=gap,
            route=self.route,
            problem=self.problem,
            mechanism=mechanism,
            certificate=self.certificate.proof if self.certificate else None,
            witness=self.witness or None,
            rows=rows,
            proof=proof,
        )

    def to_json(self, *, indent: int | None = None) -> str:
        """The result as JSON text: exact, and read back by :meth:`from_json`."""
        if indent is not None or self.mechanism is None:
            return super().to_json(indent=indent)
        return design_text(
            status=self.status,
            claim=self.claim,
            gap=self.gap,
            route=self.route,
            proof=self.proof,
            problem=self.problem,
            mechanism=self.mechanism,
            certificate=self.certificate.proof if self.certificate else None,
            witness=self.witness or None,
        )

    def channel(self) -> Any:
        """The mechanism as a channel from datasets to answers: what does it leak, how useful is it?"""
        from optimaldp.channels import Channel

        return Channel.from_mechanism(self._mechanism())

    def plot(self, **options: object) -> Any:
        """Draw the graph of datasets, each coloured by its distribution."""
        return self._mechanism().plot(**options)

    def plot_error(self) -> Any:
        """Draw the probability of a wrong answer against the distance to the own boundary, one line for each preference."""
        from optimaldp.plots.graphs import plot_errors

        mechanism, preferences = self._mechanism(), self.problem.preferences
        far = distances(mechanism.graph, preferences)
        errors: dict[str, dict[int, float]] = {}
        for vertex, distance in enumerate(far.tolist()):
            if distance >= 0:
                curve = errors.setdefault(preference_text(preferences, int(preferences.of[vertex])), {})
                wrong = float(1 - mechanism.rows.row(vertex)[int(preferences.favourites[vertex])])
                curve[distance] = max(wrong, curve.get(distance, 0.0))
        longest = range(max((max(curve) for curve in errors.values()), default=0) + 1)
        lines = {name: [curve.get(t, float("nan")) for t in longest] for name, curve in errors.items()}
        return plot_errors(list(longest), lines, x_label="distance to the own boundary")

    def _mechanism(self) -> Mechanism:
        if self.mechanism is None:
            raise ProblemError("design", str(self.status), "has no mechanism", self.witness.get("reason", ""))
        return self.mechanism
