"""A request as the user wrote it: the one list of the options that a question takes, before a ledger completes it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Required, TypedDict

from optimaldp.asking.promise import read_release_level
from optimaldp.asking.request import OTHER, Groups, Request
from optimaldp.errors import QuestionError
from optimaldp.laws.setting import Aim, AimLike, read_aim
from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.questions.base import Question, as_question
from optimaldp.questions.literals import check_options
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
    declared_part: tuple[str, Option] | None = None
    """The part as the ledger declares it, by column and value: nobody but a ledger or a released document fills it in."""

    def completed(self, ledger: Ledger) -> Draft:
        """With the ledger's own unit and neighbours where nothing else was said, and its part by column and value."""
        own = None if self.part is None else ledger.part(self.part)
        return replace(
            self,
            unit=ledger.opening.unit if self.unit is None else self.unit,
            neighbours=self.neighbours or ledger.opening.neighbours,
            declared_part=None if own is None else (str(own.column), own.value),
        )

    def request(self) -> Request:
        """What was written, read and checked as far as that is possible without a table."""
        if self.part is not None and self.declared_part is None:
            rule = "means nothing without a ledger that declares it"
            raise QuestionError("part", str(self.part), rule, "ask without a part, or name the ledger")
        if self.levels is None and self.aim is not None:
            raise QuestionError("aim", str(self.aim), "goes with levels", "name the column of people's own levels")
        question = self.question if isinstance(self.question, Question) else as_question(self.question)
        neighbours = Neighbours(self.neighbours or Neighbours.SUBSTITUTION)
        if self.declared_part is not None and neighbours is not Neighbours.SUBSTITUTION:
            rule = "cannot be charged alone under add-remove: whether somebody is in it at all would show"
            raise QuestionError("part", str(self.declared_part[1]), rule, "ask without a part")
        return Request(
            question,
            read_release_level(self.epsilon, self.delta),
            neighbours,
            People(self.unit, self.reduce, self.reduce_order, self.where, self.declared_part, self.levels),
            None if self.by is None and self.groups is None else self._read_groups(),
            Aim.TYPICAL if self.aim is None else read_aim(self.aim),
            self.public_groups,
        )

    def _read_groups(self) -> Groups:
        if self.by is None or self.groups is None:
            remedy = "write by='ward', groups=['a', 'b'], or --by ward --groups a,b: the groups are public"
            raise QuestionError("by", self.by, "goes with groups, the list of its public values", remedy)
        listed = check_options(self.groups)
        assert listed is not None
        if set(listed) == {OTHER}:
            raise QuestionError("groups", list(listed), "names no value", "name at least one group")
        return Groups(self.by, listed, self.public_groups)
