"""The proof of optimality that a design hands out, for the referee to check.

Every prefix sum of every dataset (the probability of its k most wanted answers) is bounded by what the fixed datasets impose
along some path. A *bound tree* names, for one event, the predecessor of each dataset on such a path; the roots are datasets whose
distribution is given. If each prefix sum equals the bound that its tree gives, nothing private does better. Where paths
do not suffice (three answers and more), an *LP dual* proves one prefix sum: multipliers of single privacy constraints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from optimaldp.privacy.levels import Bound

ROOT = -1  # the predecessor of a dataset whose own value is given
FREE = -2  # no given value reaches this dataset: the bound is 1

Event = tuple[int, ...]  # answer numbers, ascending


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


@dataclass(frozen=True, eq=False)
class Certificate:
    """What proves that a mechanism is the best among those with the same values on the *given* datasets."""

    given: npt.NDArray[np.bool_]
    trees: tuple[BoundTree, ...]
    duals: tuple[DualProof, ...] = field(default=())
    statement: str = ""
