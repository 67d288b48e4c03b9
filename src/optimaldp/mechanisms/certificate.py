"""Certificates: what proves a mechanism optimal, fair or undominated, or a problem impossible."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import IntEnum, StrEnum
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from optimaldp.errors import CertificateError
from optimaldp.graphs.dataset_graph import DatasetGraph
from optimaldp.graphs.problem import Row
from optimaldp.privacy import Bound, Epsilon
from optimaldp.privacy.numbers import fraction_text, read_number, read_probability

# The proof of optimality that a design hands out, for the referee to check.
#
# Every prefix sum of every dataset (the probability of its k most wanted answers) is bounded by what the fixed
# datasets impose along some path. A *bound tree* names, for one event, the predecessor of each dataset on such a
# path; the roots are datasets whose distribution is given. If each prefix sum equals the bound that its tree gives,
# nothing private does better. Where paths do not suffice (three answers and more), an *LP dual* proves one prefix
# sum: multipliers of single privacy constraints.


ROOT = -1  # the predecessor of a dataset whose own value is given
FREE = -2  # no given value reaches this dataset: the bound is 1

Event = tuple[int, ...]  # answer numbers, ascending


class Claimed(StrEnum):
    """How good a mechanism is among the private ones: the ``claim`` of a design, a file and a verdict."""

    GREATEST = "greatest"  # dominates every private mechanism with the same given (or boundary) values
    FAIR = "fair"  # nobody's chance of the true answer can be raised without lowering somebody's that is no better
    UNDOMINATED = "undominated"  # no private mechanism is at least as good everywhere and better somewhere
    WITHIN_CLASSES = "undominated within classes"  # the same among mechanisms with one row for each class of datasets

    @property
    def words(self) -> str:
        """The claim as a sentence without its end."""
        return _CLAIM_WORDS[self]


_CLAIM_WORDS = {
    Claimed.GREATEST: "no private mechanism with the same given values does better at any dataset",
    Claimed.FAIR: "nobody's chance of the true answer can be raised without lowering somebody's that is no better",
    Claimed.UNDOMINATED: "no private mechanism is at least as good everywhere and better somewhere",
    Claimed.WITHIN_CLASSES: "no private mechanism with one row for each class of datasets is at least as good everywhere "
    "and better somewhere",
}


@dataclass(frozen=True, eq=False)
class BoundTree:
    """For one event: from which neighbour the bound on each dataset comes (a number, ROOT or FREE)."""

    event: Event
    predecessor: npt.NDArray[np.int32]


@dataclass(frozen=True)
class EventConstraint:
    """``P_head(event) <= e^epsilon P_tail(event) + delta``, one promise that holds from tail to head.

    *bound* names the (epsilon, delta) where there are several and none is the strictest; left out, it is the strictest.
    """

    tail: int
    head: int
    event: Event
    bound: Bound | None = None


@dataclass(frozen=True, eq=False)
class DualProof:
    """Nonnegative multipliers of event constraints that bound one prefix sum of one dataset by *value*.

    Adding the constraints, each times its multiplier, and using that rows sum to one and nothing is negative, no private
    mechanism with the given values has a larger probability of *event* at *vertex*.
    """

    vertex: int
    event: Event
    value: Fraction
    multipliers: tuple[tuple[EventConstraint, Fraction], ...]


Multiplier = tuple[EventConstraint, Fraction]
Weights = dict[tuple[int, int], Fraction]  # (dataset or class, k) -> the weight of its k most wanted answers


@dataclass(frozen=True, eq=False)
class Weighing:
    """Weights of every prefix sum, each at least 1, and the multipliers that bound their weighted sum.

    Whatever dominates a mechanism has a larger weighted sum, by at least as much as any prefix sum is larger. With *classes*
    (the number of each dataset's class) a weight counts for every dataset of a class, and a multiplier for every arc from one
    class to the other that keeps its promise. With *within* only mechanisms that treat a class alike are bounded: each class
    counts once.
    """

    weights: Weights
    multipliers: tuple[Multiplier, ...]
    classes: npt.NDArray[np.int32] | None = None
    within: bool = False


class How(IntEnum):
    """Whose value limits a dataset of a fair mechanism."""

    SAME = 0  # a neighbour of the same true answer that was settled before
    ACROSS = 1  # a neighbour of the other true answer that was settled before
    PAIR = 2  # a neighbour of the other true answer that was settled at the same time
    SURE = 3  # nobody: the true answer is certain
    GIVEN = 4  # the fixed datasets, along a path, or the dataset is fixed itself

    @property
    def word(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, eq=False)
class Settling:
    """Why a two-answer mechanism is fair: for each dataset how it was settled and by whom (-1: nobody), and the order."""

    how: npt.NDArray[np.int8]
    source: npt.NDArray[np.int32]
    order: npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Certificate:
    """What proves a claim about a mechanism; ``greatest``: the best among those with the same values on the *given* datasets."""

    given: npt.NDArray[np.bool_]
    trees: tuple[BoundTree, ...]
    duals: tuple[DualProof, ...] = field(default=())
    statement: str = ""
    claim: Claimed = Claimed.GREATEST
    weighing: Weighing | None = None  # of what is undominated
    settling: Settling | None = None


# Multipliers of promises: what proves that nothing dominates a mechanism, or that none exists, as objects and as JSON.
#
# A promise between neighbours is one linear inequality, ``e^epsilon P_from(S) + delta - P_to(S) >= 0``. Inequalities may be
# multiplied by what is not negative and added up, so a list of promises with multipliers bounds a weighted sum of probabilities
# over *all* private mechanisms. The referee does that sum; here is how the lists are kept, written and read.
#
# The reader takes nothing on trust: names must belong to the problem, events are sets, rows are distributions over
# exactly the answers of the problem, and multipliers are ratios of whole numbers that are written as text.


_RATIO = re.compile(r"-?\d{1,20000}(/\d{1,20000})?", re.ASCII)


class Named(Protocol):
    """A problem, or what is known of one: the names of its datasets and answers."""

    @property
    def graph(self) -> DatasetGraph: ...

    @property
    def answers(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, eq=False)
class Impossibility:
    """Why there is no private mechanism (``infeasible``), or no greatest one (``no-optimum``).

    *infeasible*: the promises, each times its multiplier, add up to less than 0. *no-optimum*: no private mechanism has a
    weighted sum of the *wanted* prefix sums as large as their single maxima over the stored *mechanisms* would give together.
    """

    kind: str
    multipliers: tuple[Multiplier, ...]
    mechanisms: tuple[tuple[Row, ...], ...] = ()
    wanted: tuple[tuple[int, int, Fraction], ...] = ()  # (dataset, k, times)


INFEASIBLE, NO_OPTIMUM = "infeasible", "no-optimum"
_FIELDS = {INFEASIBLE: ("multipliers",), NO_OPTIMUM: ("mechanisms", "wanted", "multipliers")}


def impossibility_document(proof: Impossibility, problem: Named) -> dict[str, Any]:
    """Write a proof such that :func:`read_impossibility` gives it back."""
    names, answers = problem.graph.names, problem.answers
    document: dict[str, Any] = {"kind": proof.kind}
    if proof.kind == NO_OPTIMUM:
        document["mechanisms"] = [
            {names[v]: {a: fraction_text(p) for a, p in zip(answers, row)} for v, row in enumerate(rows)}
            for rows in proof.mechanisms
        ]
        document["wanted"] = [{"dataset": names[v], "k": k, "times": ratio_text(times)} for v, k, times in proof.wanted]
    return document | {"multipliers": multipliers_document(proof.multipliers, names, answers)}


def read_impossibility(document: Any, problem: Named) -> Impossibility:
    """Read a proof; fields beside its own (a reason for people) are left alone. It proves nothing by itself."""
    name = "witness"
    if not isinstance(document, Mapping):
        raise CertificateError(name, document, "is not an object", 'write {"kind": "infeasible", "multipliers": […]}')
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise CertificateError(f"{name}.kind", kind, f"is none of {', '.join(_FIELDS)}", "it says what is proven")
    if missing := [field for field in _FIELDS[kind] if field not in document]:
        raise CertificateError(f"{name}.{missing[0]}", kind, "needs it", f"{kind} has {', '.join(_FIELDS[kind])}")
    multipliers = read_multipliers(document["multipliers"], problem, f"{name}.multipliers")
    if kind == INFEASIBLE:
        return Impossibility(kind, multipliers)
    stored = _list(document["mechanisms"], f"{name}.mechanisms")
    if not stored:
        raise CertificateError(f"{name}.mechanisms", stored, "is empty", "store at least one private mechanism")
    mechanisms = tuple(_read_rows(rows, problem, f"{name}.mechanisms[{i}]") for i, rows in enumerate(stored))
    wanted = read_wanted(document["wanted"], problem, f"{name}.wanted")
    return Impossibility(kind, multipliers, mechanisms, wanted)


def weighing_document(proof: Weighing, problem: Named) -> dict[str, Any]:
    """Write weights and multipliers; a class is named by its first dataset."""
    names: Sequence[str] = problem.graph.names
    document: dict[str, Any] = {}
    if proof.classes is not None:
        document["classes"] = proof.classes.tolist()
        _, first = np.unique(proof.classes, return_index=True)
        names = [names[v] for v in first.tolist()]
    document["weights"] = [
        {"dataset": names[v], "k": k, "times": ratio_text(times)} for (v, k), times in proof.weights.items()
    ]
    return document | {"multipliers": multipliers_document(proof.multipliers, names, problem.answers)}


def read_weighing(document: Mapping[str, Any], problem: Named, *, within: bool) -> Weighing:
    """Read weights and multipliers; with classes a dataset stands for its class."""
    name = "certificate"
    classes = None if "classes" not in document else _read_classes(document["classes"], problem, f"{name}.classes")
    if within and classes is None:
        raise CertificateError(f"{name}.classes", None, "is missing", "a claim within classes names them")
    wanted = read_wanted(document.get("weights"), problem, f"{name}.weights")
    multipliers = read_multipliers(document.get("multipliers"), problem, f"{name}.multipliers")
    number = np.arange(len(problem.graph)) if classes is None else classes
    weights: Weights = {}
    for v, k, times in wanted:
        key = (int(number[v]), k)
        if key in weights:
            raise CertificateError(f"{name}.weights", problem.graph.names[v], f"has its weight of k = {k} twice")
        weights[key] = times
    lifted = tuple(
        (EventConstraint(int(number[c.tail]), int(number[c.head]), c.event, c.bound), times) for c, times in multipliers
    )
    return Weighing(weights, lifted, classes, within)


def multipliers_document(
    multipliers: Sequence[Multiplier], names: Sequence[str], answers: Sequence[str]
) -> list[dict[str, Any]]:
    """Write multipliers of named promises."""
    written = []
    for constraint, times in multipliers:
        assert constraint.bound is not None, "a multiplier names its promise"
        written.append(
            {
                "from": names[constraint.tail],
                "to": names[constraint.head],
                "event": [answers[a] for a in constraint.event],
                "epsilon": str(constraint.bound.epsilon),
                "delta": fraction_text(constraint.bound.delta),
                "times": ratio_text(times),
            }
        )
    return written


def read_multipliers(items: Any, problem: Named, name: str) -> tuple[Multiplier, ...]:
    """Read ``[{"from", "to", "event", "epsilon", "delta", "times"}, …]``."""
    fields = ("from", "to", "event", "epsilon", "delta", "times")
    return tuple(_read_multiplier(item, problem, where) for where, item in _objects(items, name, fields))


def _read_multiplier(item: Mapping[str, Any], problem: Named, name: str) -> Multiplier:
    tail, head = (_dataset(item[end], problem, f"{name}.{end}") for end in ("from", "to"))
    if isinstance(item["epsilon"], bool):
        raise CertificateError(f"{name}.epsilon", item["epsilon"], "is not a number")
    bound = Bound(
        Epsilon.read(item["epsilon"], name=f"{name}.epsilon"),
        read_probability(item["delta"], name=f"{name}.delta", error=CertificateError),
    )
    if bound.epsilon.infinite:
        raise CertificateError(f"{name}.epsilon", item["epsilon"], "is infinite", "such a promise is no inequality")
    event = _event(item["event"], problem, f"{name}.event")
    return EventConstraint(tail, head, event, bound), read_ratio(item["times"], f"{name}.times")


def read_wanted(items: Any, problem: Named, name: str) -> tuple[tuple[int, int, Fraction], ...]:
    """Read ``[{"dataset", "k", "times"}, …]``: weights of the k most wanted answers of datasets."""
    wanted = []
    for where, item in _objects(items, name, ("dataset", "k", "times")):
        k = item["k"]
        if type(k) is not int or not 1 <= k < len(problem.answers):
            most = len(problem.answers) - 1
            raise CertificateError(f"{where}.k", k, f"is not a number of answers from 1 to {most}")
        vertex = _dataset(item["dataset"], problem, f"{where}.dataset")
        wanted.append((vertex, k, read_ratio(item["times"], f"{where}.times")))
    return tuple(wanted)


def read_ratio(text: Any, name: str) -> Fraction:
    """Read a ratio of whole numbers that is not negative, written as text.

    >>> read_ratio("3/7", "times")
    Fraction(3, 7)
    """
    if not isinstance(text, str) or not _RATIO.fullmatch(text):
        raise CertificateError(name, text, "is not a ratio of whole numbers written as text", 'write "3/7" or "2"')
    value = read_number(text, name=name, error=CertificateError)
    if value < 0:
        raise CertificateError(name, text, "is negative", "inequalities add up only if no multiplier is")
    return value


def ratio_text(number: Fraction) -> str:
    """A ratio as ``"3/7"`` or ``"2"``, however long."""
    above, below = Decimal(number.numerator), Decimal(number.denominator)  # str of a long int is refused
    return f"{above}" if below == 1 else f"{above}/{below}"


def _read_rows(rows: Any, problem: Named, name: str) -> tuple[Row, ...]:
    """One distribution for each dataset; every answer is named once and nothing else is."""
    if not isinstance(rows, Mapping):
        raise CertificateError(name, rows, "is not an object of datasets and distributions")
    names = problem.graph.names
    if len(rows) != len(names) or any(each not in rows for each in names):
        missing = next((each for each in names if each not in rows), None)
        what = missing if missing is not None else next(each for each in rows if each not in problem.graph.numbers)
        raise CertificateError(name, what, "has no row" if missing is not None else "is not a dataset of this problem")
    return tuple(_read_row(rows[each], problem, f"{name}[{each}]") for each in names)


def _read_row(row: Any, problem: Named, name: str) -> Row:
    answers = problem.answers
    if not isinstance(row, Mapping) or set(row) != set(answers):
        raise CertificateError(name, row, f"is not one probability for each of {len(answers)} answers")
    values = tuple(read_probability(row[a], name=f"{name}[{a}]", error=CertificateError) for a in answers)
    if (total := sum(values, Fraction(0))) != 1:
        raise CertificateError(name, fraction_text(total), "is what the row sums to", "a row sums to one exactly")
    return values


def _read_classes(numbers: Any, problem: Named, name: str) -> npt.NDArray[np.int32]:
    """For each dataset, in the order of ``prefers``, the number of its class: from 0, none left out."""
    listed = _list(numbers, name)
    if len(listed) != len(problem.graph):
        raise CertificateError(name, len(listed), f"numbers do not fit {len(problem.graph)} datasets")
    if wrong := [number for number in listed if type(number) is not int or not 0 <= number < len(listed)]:
        raise CertificateError(name, wrong[0], "is not the number of a class")
    classes = np.array(listed, dtype=np.int32)
    if len(empty := np.flatnonzero(np.bincount(classes) == 0)):
        raise CertificateError(name, int(empty[0]), "is a class without datasets", "number them without gaps")
    return classes


def _objects(items: Any, name: str, fields: tuple[str, ...]) -> list[tuple[str, Mapping[str, Any]]]:
    named = [(f"{name}[{i}]", item) for i, item in enumerate(_list(items, name))]
    for where, item in named:
        if not isinstance(item, Mapping) or set(item) != set(fields):
            raise CertificateError(where, item, f"does not have exactly the fields {', '.join(fields)}")
    return named


def _dataset(name: Any, problem: Named, field: str) -> int:
    if not isinstance(name, str) or name not in problem.graph.numbers:
        raise CertificateError(field, name, "is not a dataset of this problem")
    return problem.graph.numbers[name]


def _event(words: Any, problem: Named, field: str) -> Event:
    listed = _list(words, field)
    if unknown := [word for word in listed if word not in problem.answers]:
        raise CertificateError(field, unknown[0], f"is not one of the answers {list(problem.answers)}")
    if len(set(listed)) < len(listed):
        raise CertificateError(field, listed, "names an answer twice", "an event is a set of answers")
    return tuple(sorted(problem.answers.index(word) for word in listed))


def _list(value: Any, field: str) -> list[Any]:
    if not isinstance(value, list):
        raise CertificateError(field, value, "is not a list")
    return value
