"""
How much obliviousness costs: the best mechanism that sees only the true answer against the best that sees the dataset
(erratum F24).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from optimaldp.channels.graphs.databases import Databases
from optimaldp.channels.graphs.induced import induced_graph
from optimaldp.channels.numbers import Number, cell_text, read_distribution
from optimaldp.channels.optimal.mechanism import optimal_mechanism
from optimaldp.channels.optimal.result import OptimalMechanism
from optimaldp.results import Result


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
