"""A request as the user wrote it: the one list of the options that a question takes, before a ledger completes it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Required, TypedDict

from optimaldp.asking.request import Request, read_request
from optimaldp.errors import QuestionError
from optimaldp.laws.setting import AimLike
from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.questions.base import Question
from optimaldp.tables.tally import Option, People

if TYPE_CHECKING:
    from optimaldp.ledger import Ledger

Asked = Question | str
Number = str | int | float | Fraction | Decimal | Epsilon
"""A privacy parameter as people write it: ``0.5``, ``"ln(2)"``, ``Fraction(1, 2)``."""


class QuestionOptions(TypedDict, total=False):
    """What goes with a question, for readers of types; :func:`~optimaldp.asking.releasing.release` says what it means."""

    epsilon: Required[Number]
    delta: Number
    reduce: str | None
    reduce_order: str | None
    where: str | None
    by: str | None
    groups: Iterable[Option] | None
    public_groups: bool
    levels: str | None
    aim: AimLike | None
    part: str | int | None


class DraftOptions(QuestionOptions, total=False):
    """And what a ledger remembers, where there is one."""

    neighbours: str | Neighbours | None
    unit: str | None


@dataclass(frozen=True)
class Draft:
    """A question with its options; a ledger may still complete it."""

    question: Asked
    epsilon: Number
    delta: Number = 0
    reduce: str | None = None
    reduce_order: str | None = None
    where: str | None = None
    by: str | None = None
    groups: Iterable[Option] | None = None
    public_groups: bool = False
    levels: str | None = None
    aim: AimLike | None = None
    part: str | int | None = None
    neighbours: str | Neighbours | None = None
    unit: str | None = None

    def request(self, ledger: Ledger | None = None) -> Request:
        """The ledger's own unit and neighbours where nothing else was said; its part by column and value."""
        if ledger is None and self.part is not None:
            rule = "means nothing without a ledger that declares it"
            raise QuestionError("part", str(self.part), rule, "ask without a part, or name the ledger")
        unit, neighbours = None, Neighbours.SUBSTITUTION
        if ledger is not None:
            unit, neighbours = ledger.opening.unit, ledger.opening.neighbours
        own = None if ledger is None or self.part is None else ledger.part(self.part)
        part = None if own is None else (str(own.column), own.value)
        unit = unit if self.unit is None else self.unit
        request = read_request(
            self.question,
            epsilon=self.epsilon,
            delta=self.delta,
            neighbours=self.neighbours or neighbours,
            people=People(unit, self.reduce, self.reduce_order, self.where, part, self.levels),
            by=self.by,
            groups=self.groups,
            public_groups=self.public_groups,
            aim=self.aim,
        )
        if part is not None and request.neighbours is not Neighbours.SUBSTITUTION:
            rule = "cannot be charged alone under add-remove: whether somebody is in it at all would show"
            raise QuestionError("part", str(self.part), rule, "ask without a part")
        return request
