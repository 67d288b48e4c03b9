"""What every route of the designer yields."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from optimaldp.errors import ProblemError
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import Certificate, Claimed
from optimaldp.mechanisms.multipliers import Impossibility
from optimaldp.mechanisms.rows import Rows


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
