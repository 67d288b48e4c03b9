"""What a channel on databases tells about one individual when the attacker already knows everybody else."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

from optimaldp.channels.graphs.databases import Databases
from optimaldp.channels.measures.priors import read_prior
from optimaldp.channels.numbers import Number, bits_of, cell_text
from optimaldp.errors import ChannelError
from optimaldp.results import Result

if TYPE_CHECKING:
    from optimaldp.channels.channel import Channel


@dataclass(frozen=True, repr=False)
class IndividualLeakage(Result):
    """The worst case over individuals and over the others' values: by which factor one guess of the value can improve.

    Without a prior the factor holds for every prior of the value, and the two chances are those of equally likely values.
    """

    factor: Number
    individual: int
    others: tuple[Any, ...]
    values: int
    guess_before: Number
    """The chance of guessing the value when everybody else's is known."""
    guess_after: Number
    """The chance after the output was seen."""

    @property
    def bits(self) -> float:
        return bits_of(self.factor)

    def summary(self) -> str:
        return f"IndividualLeakage({self.bits:.6g} bits, one of {self.values} values)"

    def to_document(self) -> dict[str, Any]:
        return {
            "bits": self.bits,
            "factor": cell_text(self.factor),
            "individual": self.individual,
            "guess_before": cell_text(self.guess_before),
            "guess_after": cell_text(self.guess_after),
        }


def individual_leakage(channel: Channel, databases: Databases, prior: object = None) -> IndividualLeakage:
    """What the output tells about one individual's value to somebody who knows all others (004 §4.1), in the worst case.

    The inputs of *channel* must be the databases (tuples of values). With a *prior* over the databases the attacker
    starts from the value's distribution given the others; combinations that the prior rules out do not count. Without
    one it is the capacity: the worst prior of the value.
    """
    masses = None if prior is None else read_prior(channel, prior)
    rows = channel.exact_rows if channel.exact else channel.array.tolist()
    where = {name: i for i, name in enumerate(channel.inputs)}
    worst: IndividualLeakage | None = None
    for i, own in enumerate(databases.choices):
        for others in product(*databases.choices[:i], *databases.choices[i + 1 :]):
            chosen = [_place(where, (*others[:i], value, *others[i:])) for value in own]
            # equal weights are the worst prior: under it the leakage is the capacity
            weights = [1] * len(own) if masses is None else [masses[k] for k in chosen]
            if not any(weights):
                continue
            before = max(weights)
            after = sum(max(w * cell for w, cell in zip(weights, column)) for column in zip(*(rows[k] for k in chosen)))
            if worst is None or after / before > worst.factor:
                chances = before / sum(weights) if masses is not None else Fraction(1, len(own))
                worst = IndividualLeakage(after / before, i, others, len(own), chances, after / before * chances)
    if worst is None:
        raise ChannelError("databases", len(databases.choices), "have no individual", "one is needed")
    return worst


def _place(where: dict[Any, int], database: tuple[Any, ...]) -> int:
    if database not in where:
        raise ChannelError("database", database, "is not one of this channel's names")
    return where[database]
