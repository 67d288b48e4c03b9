"""What a channel on databases tells about one individual when the attacker already knows everybody else."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

from optimaldp.channels.graphs.databases import Databases
from optimaldp.channels.labels import index_of
from optimaldp.channels.numbers import Number, bits_of, cell_text
from optimaldp.results import Result

if TYPE_CHECKING:
    from optimaldp.channels.channel import Channel


@dataclass(frozen=True, repr=False)
class IndividualLeakage(Result):
    """The worst case over individuals and over the others' values:
    by which factor one guess of the value can improve.
    """

    factor: Number
    individual: int
    others: tuple[Any, ...]
    values: int

    @property
    def bits(self) -> float:
        return bits_of(self.factor)

    @property
    def guess_before(self) -> Fraction:
        """The chance of guessing the value when all values are equally likely."""
        return Fraction(1, self.values)

    @property
    def guess_after(self) -> Number:
        """The chance after the output was seen."""
        return self.factor / self.values

    def summary(self) -> str:
        return f"IndividualLeakage({self.bits:.6g} bits, one of {self.values} values)"

    def to_document(self) -> dict[str, Any]:
        return {"bits": self.bits, "factor": cell_text(self.factor), "individual": self.individual}


def individual_leakage(channel: Channel, databases: Databases) -> IndividualLeakage:
    """The largest capacity of the channels from one individual's value to the output, the others' values fixed (004
    §4.1).

    The inputs of *channel* must be the databases (tuples of values).
    """
    worst = IndividualLeakage(Fraction(0), 0, (), 1)
    rows = channel.exact_rows if channel.exact else channel.array.tolist()
    for i, own in enumerate(databases.choices):
        for others in product(*databases.choices[:i], *databases.choices[i + 1 :]):
            chosen = [rows[index_of(channel.inputs, (*others[:i], value, *others[i:]), "database")] for value in own]
            factor = sum(max(column) for column in zip(*chosen))
            if factor > worst.factor:
                worst = IndividualLeakage(factor, i, others, len(own))
    return worst
