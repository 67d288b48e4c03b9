"""A spend that is durable and waits for its answer."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING

from optimaldp.ledger.entry import Answer, Spend

if TYPE_CHECKING:
    from optimaldp.ledger.ledger import Ledger


@dataclass(frozen=True)
class Reservation:
    """A spend that is durable and waits for its answer.

    Sample only while holding one, then :meth:`record` the answer. Leaving it unrecorded (an error, a crash) keeps the spend:
    nobody can know any more whether an answer got out.

        with ledger.reserve(...) as reservation:
            answer = sample(...)
            reservation.record(answer, statement)
    """

    ledger: Ledger
    spend: Spend

    @property
    def sequence(self) -> int:
        return self.spend.sequence

    def record(self, answer: object, statement: object = None) -> Answer:
        """Write the released answer, so that asking again costs nothing."""
        return self.ledger.record(self, answer, statement)

    def __enter__(self) -> Reservation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def __repr__(self) -> str:
        return f"Reservation(#{self.sequence}, {self.spend.question!r})"
