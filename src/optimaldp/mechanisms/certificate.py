"""The proof of optimality that a design hands out, for the referee to check.

Every prefix sum of every dataset (the probability of its k most wanted answers) is bounded by what the fixed datasets impose
along some path. A *bound tree* names, for one event, the predecessor of each dataset on such a path; the roots are datasets whose
distribution is given. If each prefix sum equals the bound that its tree gives, nothing private does better. Where paths
do not suffice (three answers and more), an *LP dual* proves one prefix sum: multipliers of single privacy constraints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from optimaldp.privacy import Bound

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
