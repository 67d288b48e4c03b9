"""A mechanism: one distribution over the answers for each dataset; as LaTeX too."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.documents.json_text import read_json_text
from optimaldp.errors import MechanismError, NotCertifiedError
from optimaldp.graphs.dataset_graph import DatasetGraph
from optimaldp.graphs.problem import Preferences
from optimaldp.graphs.readers import to_networkx
from optimaldp.interop.tables import to_pandas, to_polars
from optimaldp.mechanisms.certificate import Certificate, How
from optimaldp.mechanisms.rows import Rows, as_rows, shared_by_text
from optimaldp.privacy.numbers import read_probability
from optimaldp.results import Result
from optimaldp.sampling import SystemBits, choose

# A mechanism: one distribution over the answers for each dataset.


@dataclass(frozen=True, eq=False, repr=False)
class Mechanism(Result):
    """For each dataset of a graph, the probability of each answer. It claims nothing by itself: the referee does.

    >>> from optimaldp import graphs, level
    >>> pair = graphs.line(2, level=level("ln(2)"))
    >>> Mechanism.read(pair, {"0": "yes", "1": "no"}, {"0": {"yes": "2/3", "no": "1/3"}, "1": {"yes": "1/3", "no": "2/3"}})
    Mechanism(2 datasets × 2 answers)
    """

    graph: DatasetGraph
    preferences: Preferences
    rows: Rows

    @staticmethod
    def read(graph: DatasetGraph, prefers: Any, rows: Mapping[str, Mapping[str, Any]]) -> Mechanism:
        """Read a mechanism from names and numbers; an answer that a row leaves out has probability 0."""
        preferences = prefers if isinstance(prefers, Preferences) else Preferences.read(graph, prefers)
        if not isinstance(rows, Mapping):
            raise MechanismError("mechanism", rows, "is not an object of datasets and their distributions")
        if unknown := [name for name in rows if name not in graph.numbers]:
            raise MechanismError("mechanism", unknown[0], "is not a dataset of this graph")
        different, of = shared_by_text(rows, list(graph.names), lambda name: read_row(name, rows, preferences.answers))
        return Mechanism(graph, preferences, as_rows(different, of, preferences))

    @staticmethod
    def from_json(text: str) -> Mechanism:
        """Read what :meth:`to_json` wrote, exactly."""
        from optimaldp.mechanisms.documents import read_mechanism

        return read_mechanism(read_json_text(text))[0]

    @property
    def datasets(self) -> Any:
        """The datasets: the nodes of the networkx graph or sparse matrix that the design was made on, else names."""
        return self.graph.nodes

    @property
    def answers(self) -> tuple[str, ...]:
        return self.preferences.answers

    def row(self, dataset: Hashable) -> dict[str, Fraction]:
        """The exact distribution of one dataset (its name, or its node in a networkx graph), its favourite answer first."""
        vertex = self.graph.find(dataset)
        if vertex is None:
            raise MechanismError("dataset", dataset, "is not a dataset of this mechanism")
        exact = self.rows.row(vertex)
        return {self.answers[a]: exact[a] for a in self.preferences.order(vertex)}

    __getitem__ = row

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.graph.nodes)

    def prefix_sums(self, vertex: int) -> tuple[Fraction, ...]:
        """The probability of the k most wanted answers of a dataset, for k = 1 to all."""
        exact, total, sums = self.rows.row(vertex), Fraction(0), []
        for answer in self.preferences.order(vertex):
            total += exact[answer]
            sums.append(total)
        return tuple(sums)

    def to_array(self) -> npt.NDArray[np.float64]:
        """All probabilities in floating point: a row for each dataset, answers in their fixed order."""
        return self.rows.floats()

    def to_frame(self, *, exact: bool = False) -> Any:
        """All probabilities as a pandas DataFrame; with *exact* the rationals as text."""
        return to_pandas(self, exact=exact)

    def to_polars(self, *, exact: bool = False) -> Any:
        """All probabilities as a polars DataFrame, its first column the datasets."""
        return to_polars(self, exact=exact)

    def to_networkx(self) -> Any:
        """The graph for networkx: nodes with ``prefers`` and ``probabilities``, edges with their levels."""
        return to_networkx(self.graph, mechanism=self, preferences=self.preferences)

    def sample(self, dataset: Hashable, *, source: Any = None) -> str:
        """Draw one answer for a dataset, exactly: no float decides, and the randomness is the operating system's.

        **Guarantee.** The referee has found the mechanism private (once, at the first draw); otherwise nothing is drawn. *source*
        is another source of bits, for tests.
        """
        self._check_private()
        row = self.row(dataset)
        return list(row)[choose(list(row.values()), SystemBits() if source is None else source)]

    def _check_private(self) -> None:
        from optimaldp.certify.graphs.privacy import check_privacy  # the referee stands above this package

        if not self.__dict__.get("_passed"):
            finding = check_privacy(self)
            if not finding.private:
                raise NotCertifiedError(f"the mechanism is {finding.reason or 'not private'}; nothing was drawn")
            object.__setattr__(self, "_passed", True)

    def to_latex(self) -> str:
        """A LaTeX table: a line for each dataset, a column for each answer."""
        return mechanism_latex(self)

    def summary(self) -> str:
        return f"Mechanism({len(self)} datasets × {len(self.answers)} answers)"

    def to_document(self) -> dict[str, Any]:
        from optimaldp.mechanisms.documents import mechanism_document

        return mechanism_document(self)

    def plot(self, **options: Any) -> Any:
        """Draw the graph of datasets, each coloured by its distribution."""
        from optimaldp.plots.graphs import plot_graph

        return plot_graph(self.graph, self.preferences, mechanism=self, **options)


def read_row(name: str, rows: Mapping[str, Mapping[str, Any]], answers: tuple[str, ...]) -> tuple[Fraction, ...]:
    """Read and check one distribution."""
    if name not in rows:
        raise MechanismError("mechanism", name, "has no row", "every dataset needs a distribution")
    entries = rows[name]
    if not isinstance(entries, Mapping):
        raise MechanismError(f"mechanism[{name}]", entries, "is not an object of answers and probabilities")
    if unknown := [answer for answer in entries if answer not in answers]:
        raise MechanismError(f"mechanism[{name}]", unknown[0], f"is not one of the answers {list(answers)}")
    row = tuple(
        read_probability(entries.get(answer, 0), name=f"mechanism[{name}][{answer}]", error=MechanismError)
        for answer in answers
    )
    if sum(row) != 1:
        remedy = (
            "a row sums to one exactly, and numbers are read by their decimal text: give the file as it was written"
        )
        raise MechanismError(f"mechanism[{name}]", str(sum(row)), "is what its row sums to", remedy)
    return row


# Mechanisms and certificates for a paper: LaTeX tables and sentences, exact where the numbers are short.


_SPECIAL = {character: f"\\{character}" for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
}
_SHORT = 10**6  # a larger denominator is written as a decimal


def escaped(text: str) -> str:
    """*text* as LaTeX shows it."""
    return "".join(_SPECIAL.get(character, character) for character in text)


def number(value: Fraction) -> str:
    r"""A probability in mathematics: ``\tfrac{2}{3}``, or a decimal where the fraction is long."""
    if value.denominator == 1:
        return str(value.numerator)
    return (
        rf"\tfrac{{{value.numerator}}}{{{value.denominator}}}" if value.denominator < _SHORT else f"{float(value):.6g}"
    )


def mechanism_latex(mechanism: Mechanism) -> str:
    """A ``tabular`` with a line for each dataset and a column for each answer."""
    answers = mechanism.answers
    lines = [rf"\begin{{tabular}}{{l{'c' * len(answers)}}}", r"\hline"]
    lines.append(" & ".join(["dataset", *map(escaped, answers)]) + r" \\")
    lines.append(r"\hline")
    for name in mechanism.graph.names:
        row = mechanism.row(name)
        lines.append(" & ".join([escaped(name), *(f"${number(row[answer])}$" for answer in answers)]) + r" \\")
    return "\n".join([*lines, r"\hline", r"\end{tabular}"])


def certificate_latex(certificate: Certificate, mechanism: Mechanism) -> str:
    """An ``itemize`` that says for each event from which neighbour each bound comes."""
    names, answers = mechanism.graph.names, mechanism.answers
    given_names = ", ".join(escaped(names[v]) for v in np.flatnonzero(certificate.given).tolist())
    lines = [f"Given: {given_names or 'nothing'}.", r"\begin{itemize}"]
    for tree in certificate.trees:
        event = r"\{" + ", ".join(escaped(answers[a]) for a in tree.event) + r"\}"
        steps = [
            rf"{escaped(names[int(u)])} $\to$ {escaped(names[v])}"
            for v, u in enumerate(tree.predecessor.tolist())
            if u >= 0
        ]
        lines.append(rf"\item {event}: {'; '.join(steps) or 'every bound is given'}.")
    if certificate.settling is not None:
        settling = certificate.settling
        steps = [
            rf"{escaped(names[v])} ({How(int(settling.how[v])).word}"
            + (f" {escaped(names[int(settling.source[v])])})" if settling.source[v] >= 0 else ")")
            for v in settling.order.tolist()
        ]
        lines.append(rf"\item in order of settling: {'; '.join(steps)}.")
    for dual in certificate.duals:
        event = r"\{" + ", ".join(escaped(answers[a]) for a in dual.event) + r"\}"
        lines.append(
            rf"\item {event} at {escaped(names[dual.vertex])} is at most ${number(dual.value)}$, by "
            rf"{len(dual.multipliers)} multipliers."
        )
    return "\n".join([*lines, r"\end{itemize}"])
