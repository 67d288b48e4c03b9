"""A ledger as one asker may use it: her own budget inside the data set's, her own history, and who approved.

A part of the ledger that everybody shares, not a copy: the check of her budget and the check of the data set's are one
transaction with the spend.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Literal

from optimaldp.errors import BudgetError, LedgerError
from optimaldp.ledger.account import Cost, NamedGroup, NamedPart
from optimaldp.ledger.budget import Budget, readable
from optimaldp.ledger.chain import EntryChain, now
from optimaldp.ledger.entry import FOURTH, Answer, Spend
from optimaldp.ledger.history import History, Record, Remaining
from optimaldp.ledger.ledger import Charge, Ledger, Reservation
from optimaldp.privacy.epsilon import ZERO
from optimaldp.privacy.numbers import fraction_text

_NOTHING = " Nothing was sampled and nothing was spent."


@dataclass(frozen=True)
class Behalf:
    """On whose behalf a question is asked, and what may be spent on it."""

    asker: str
    budget: Budget | None = None
    """Her own budget; ``None`` where she shares the data set's."""
    per: Literal["month"] | None = None
    """Whether her budget is a fresh one each month, by UTC. The data set's total holds all the same."""
    approver: str | None = None
    request: str | None = None
    shares: bool = False
    """Whether answers that others paid for, without an approver, are given to her at no cost."""


class AskersLedger(Ledger):
    """The ledger of a data set on behalf of one asker, for one question: its moment decides the month, and is the spend's time.

    **Guarantee.** What this asker spends, in whatever process, keeps her budget (of this month, if it is per month) and the data
    set's together, and a request is paid for once. Every spend names her, and the approver if there is one. The history and what
    remains are hers alone.
    """

    pays_first = True

    def __init__(self, whole: Ledger, behalf: Behalf) -> None:
        self._log = whole._log
        self.location, self.opening = whole.location, whole.opening
        self.behalf = behalf
        self.reserved = False
        """Whether anything was spent through this view: from then on nothing that happens may be told in words."""
        self._moment = now()
        self._has_looked = False

    @property
    def period(self) -> str | None:
        """The month that her budget is for; ``None`` if it is for all time."""
        return None if self.behalf.per is None else self._moment[: len("2026-11")]

    def remaining(self, *, part: NamedPart | None = None, group: NamedGroup | None = None) -> Remaining:
        """What is left of her own budget; of the data set's, where she shares it."""
        if self.behalf.budget is None or part is not None or group is not None:
            return super().remaining(part=part, group=group)
        with self._current() as chain:
            account = chain.own_account(self.behalf.asker, self.period, self.behalf.budget)
        return Remaining(self.behalf.budget, account.spent(), account.entries(), account.rule.name)

    def remaining_of_all(self) -> Remaining:
        """What is left of the data set's budget, whoever spent it."""
        return super().remaining()

    def remaining_document(self) -> dict[str, Any]:
        """What is left for her, and ``usable``: what one question may cost at most, by her own budget and the data set's."""
        own, whole = self.remaining(), self.remaining_of_all()
        usable = {"epsilon": str(min(own.epsilon, whole.epsilon)), "delta": fraction_text(min(own.delta, whole.delta))}
        return {
            "dataset": self.opening.dataset,
            "remaining": own.to_document(),
            "per": self.behalf.per,
            "period": self.period,
            "shared": self.behalf.budget is None,
            "usable": usable,
        }

    def history(self) -> History:
        """What she asked, in order."""
        with self._current() as chain:
            own = chain.spends_of.get(self.behalf.asker, [])
            return History(self.opening, tuple(Record(spend, chain.answers.get(spend.sequence)) for spend in own))

    def reserve_together(self, charges: Sequence[Charge], **agreed: Any) -> tuple[Reservation, ...]:
        """Spend for several questions at once, of her budget and of the data set's."""
        made = super().reserve_together(charges, **agreed)
        self.reserved = True
        return made

    def times_paid(self, question: str, level: object, *, part: NamedPart | None = None) -> int:
        """Whether others paid for it is not hers to know."""
        return 0

    def close(self) -> None:
        """The ledger belongs to everybody: who opened it closes it."""

    def _current(self) -> AbstractContextManager[EntryChain]:
        """The entries as they were when this question first looked; the transaction that spends looks again."""
        refresh, self._has_looked = not self._has_looked, True
        return self._log.current(refresh=refresh)

    def _require_room(self, chain: EntryChain, costs: Sequence[Cost]) -> None:
        own = self.behalf.budget
        if self.behalf.request in chain.requests:  # whoever spent before could not know that the spend was made
            self.reserved = True
            raise LedgerError("this request was paid for before. Its spend stays, and it is not paid for again.")
        if own is None:
            chain.account.require(costs)
            return
        try:
            chain.own_account(self.behalf.asker, self.period, own).require(costs)
        except BudgetError as error:
            period = "" if self.period is None else f" for {self.period}"
            sentence = str(error).removesuffix(_NOTHING)
            whose = f"the budget of {self.behalf.asker}{period} does not cover it: {sentence}"
            raise BudgetError(whose, needs=error.needs, spent=error.spent, budget=own, entries=error.entries) from None
        try:
            chain.account.require(costs)
        except BudgetError as error:  # without its numbers: what others asked is not hers to know
            needs = readable(sum((cost.bound.epsilon for cost in costs), ZERO))
            whose = f"the budget of the data set {self.opening.dataset!r} does not cover epsilon {needs} any more"
            raise BudgetError(whose, needs=error.needs) from None

    def _chosen(self, chain: EntryChain, answers: Sequence[Answer]) -> Answer | None:
        """Her own last answer, or one that another paid for, if answers are shared: never one that needed an approver."""
        spends = [(chain.spend(answer), answer) for answer in answers]
        own = [answer for spend, answer in spends if spend.asker == self.behalf.asker]
        if own or not self.behalf.shares:
            return own[-1] if own else None
        return next((answer for spend, answer in spends if spend.approver is None), None)

    def _spend(self, charge: Charge) -> Spend:
        behalf = self.behalf
        spend = replace(super()._spend(charge), time=self._moment, version=FOURTH)
        return replace(spend, asker=behalf.asker, approver=behalf.approver, request=behalf.request)
