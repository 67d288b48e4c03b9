"""What the designer hands out: the mechanism, the claim that the referee has passed, or why there is no optimum."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from optimaldp.certify.graphs.verdict import Verdict, verify
from optimaldp.designing.outcome import Proof, Route, Status
from optimaldp.documents.json_text import read_json_text, without_collection
from optimaldp.errors import ProblemError
from optimaldp.graphs import distances
from optimaldp.graphs.problem import Problem, preference_text
from optimaldp.mechanisms import Certificate, Mechanism
from optimaldp.mechanisms.decimals import printable
from optimaldp.mechanisms.documents import design_document, design_text, mechanism_document
from optimaldp.mechanisms.latex import certificate_latex
from optimaldp.results import Result


@dataclass(frozen=True, eq=False)
class Claim:
    """A mechanism together with the proof that it is optimal for its problem: ready for the referee."""

    mechanism: Mechanism
    proof: Certificate
    problem: Problem

    def check(self) -> Verdict:
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
    """What the designer found: an optimum with its certificate, or why there is none.

    ``mechanism`` is the optimum if ``status`` is optimal; for no optimum it is a private mechanism that nothing dominates, if one
    was made; ``witness`` then says which wishes exclude each other. ``proof`` says whether that was proven exactly or in
    floating point, ``verdict`` what the referee found before this was handed out.
    """

    problem: Problem
    status: Status
    route: Route
    mechanism: Mechanism | None
    certificate: Claim | None
    witness: dict[str, Any] = field(default_factory=dict)
    proof: Proof = Proof.EXACT
    verdict: Verdict | None = None

    @staticmethod
    def from_json(text: str) -> Design:
        """Read a design back from what :meth:`to_json` or ``optimaldp design --output`` wrote; the referee checks it again."""
        from optimaldp.designing.reading import read_design

        with without_collection():
            return read_design(read_json_text(text))

    @property
    def status_line(self) -> str:
        """The status with what it is relative to: ``optimal for the balanced boundary, proven exactly``."""
        how_proven = "proven exactly" if self.proof is Proof.EXACT else "in floating point"
        relative = f" {self.problem.given_words()}" if self.status is Status.OPTIMAL else ""
        return f"{self.status}{relative}, {how_proven}"

    def summary(self) -> str:
        size = f"{len(self.problem.graph)} datasets × {len(self.problem.answers)} answers"
        levels = list(dict.fromkeys(map(str, self.problem.graph.levels)))
        what = levels[0] if len(levels) == 1 else f"{len(levels)} levels"
        how_proven = "proven exactly" if self.proof is Proof.EXACT else "in floating point"
        relative = f" {self.problem.given_words()}" if self.status is Status.OPTIMAL else ""
        return f"Design({self.status}, {size}, {what}, {self.route}, {how_proven}{relative})"

    def details(self) -> list[tuple[str, str]]:
        why = self.certificate.proof.statement if self.certificate else self.witness.get("reason", "")
        return [("status", self.status_line), ("route", self.route), ("proof", self.proof), ("why", why)]

    def to_document(self, *, digits: int | None = None) -> dict[str, Any]:
        """The result as a document: exact strings, or numbers of about *digits* digits that are private as printed."""
        mechanism = self.mechanism
        accept = self._still_proven if self.certificate is not None else None
        rows = None if mechanism is None or digits is None else printable(mechanism, digits=digits, accept=accept)
        if mechanism is not None and self.status is not Status.OPTIMAL:
            # Private and undominated, but not the optimum: it belongs to the witness.
            witness = {**self.witness, "undominated": mechanism_document(mechanism, rows=rows)["mechanism"]}
            return design_document(
                status=self.status, route=self.route, problem=self.problem, witness=witness, proof=self.proof
            )
        return design_document(
            status=self.status,
            route=self.route,
            problem=self.problem,
            mechanism=mechanism,
            certificate=self.certificate.proof if self.certificate else None,
            witness=self.witness or None,
            rows=rows,
            proof=self.proof,
        )

    def to_json(self, *, indent: int | None = None) -> str:
        """The result as JSON text: exact, and read back by :meth:`from_json`."""
        if indent is not None or self.mechanism is None or self.status is not Status.OPTIMAL:
            return super().to_json(indent=indent)
        return design_text(
            status=self.status,
            route=self.route,
            proof=self.proof,
            problem=self.problem,
            mechanism=self.mechanism,
            certificate=self.certificate.proof if self.certificate else None,
            witness=self.witness or None,
        )

    def _still_proven(self, printed: Mechanism) -> bool:
        """Whether the referee passes the numbers as they are printed, too."""
        assert self.certificate is not None
        return bool(replace(self.certificate, mechanism=printed).check())

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
