"""From counted people to mechanisms that the referee has passed: the last public step before a draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

from optimaldp.asking.inside_groups import setting_inside
from optimaldp.asking.request import Groups, Request
from optimaldp.certify.findings import Certified
from optimaldp.certify.questions import certify, draw, require_groups_together
from optimaldp.errors import LevelError, OptimalDPError, ReleaseError, TableError
from optimaldp.laws.setting import Table
from optimaldp.privacy import ApproximateDP, Epsilon, approximate
from optimaldp.privacy.epsilon import ZERO
from optimaldp.questions.base import Question
from optimaldp.questions.mechanism import Answer, QuestionMechanism
from optimaldp.sampling import BitSource
from optimaldp.tables.tally import Counted, KeyTally

Value = TypeVar("Value")
Parts = tuple[tuple[str | None, Certified[QuestionMechanism]], ...]
"""The name of each group, or none, and what answers it."""


@dataclass(frozen=True)
class Prepared:
    """A request with a certified mechanism for each group: all of it public."""

    request: Request
    question: Question
    parts: Parts
    mechanism: QuestionMechanism
    """That of the first group, whose name and cost are those of all."""
    spent: ApproximateDP
    """What the release costs, without a delta that is not used."""
    losses: tuple[tuple[Epsilon, Epsilon], ...] = ()
    """With people's own levels: each level as it is written, and what its people lose."""

    def draw(self, tables: Sequence[Table], source: BitSource) -> Answer:
        """The private answer, or one for each group, from the table of each."""
        parts = zip(self.parts, tables, strict=True)
        drawn = {name: draw(certified, table, source) for (name, certified), table in parts}
        return drawn.get(None, drawn)


def prepare(
    request: Request, counted: Counted, weightless: frozenset[Epsilon] = frozenset()
) -> tuple[Prepared, tuple[Table, ...]]:
    """Choose and certify the mechanism, by public things alone though the people have been counted already; and the tables
    that it is drawn from, which are private.

    *weightless*: the levels of people whose own budget is used up, who are not asked any more.
    """
    question = request.question if counted.options is None else request.question.with_options(counted.options)
    losses = _losses(counted, request.level.epsilon, weightless) if counted.by_level else ()
    if request.groups is not None:
        parts, tables = _by_group(request, question, counted, request.groups)
    else:
        by_level = _by_level(counted, dict(losses)) if losses else ()
        sizes = tuple((epsilon, sum(cells.values())) for epsilon, cells in by_level)
        setting = request.setting(sum(counted.cells.values()), sizes)
        table = Table(counted.cells, by_level)
        if isinstance(request.tally, KeyTally):  # which keys occur is private, and how many people there are unknown
            setting, table = replace(setting, people=None), Table(counted.keys)  # type: ignore[arg-type]
        parts, tables = ((None, certify(question.mechanism(setting))),), (table,)
    mechanism = parts[0][1].mechanism
    spent = request.level if mechanism.uses_delta else approximate(request.level.epsilon)
    return Prepared(request, question, parts, mechanism, spent, losses), tables


def _by_group(
    request: Request, question: Question, counted: Counted, groups: Groups
) -> tuple[Parts, tuple[Table, ...]]:
    own = question.tally
    assert not isinstance(own, KeyTally)
    inside: dict[int, dict[int, int]] = {}
    for cell, people in counted.cells.items():
        group, place = divmod(cell, own.size)
        inside.setdefault(group, {})[place] = people
    made: list[tuple[str | None, Certified[QuestionMechanism]]] = []
    tables: list[Table] = []
    for value, name in zip(groups.values, groups.names):
        table = Table(inside.get(groups.place(value), {}))
        setting = setting_inside(request, table.people)
        require_groups_together(
            request.level, request.neighbours, setting.level, setting.neighbours, public=groups.public
        )
        made.append((name, certify(question.mechanism(setting))))
        tables.append(table)
    return tuple(made), tuple(tables)


def _losses(counted: Counted, most: Epsilon, weightless: frozenset[Epsilon]) -> tuple[tuple[Epsilon, Epsilon], ...]:
    """Each level that people have, and what they lose: nobody more than *most*, and nothing who is not asked any more."""
    written = [read_own_level(text) for text, _ in counted.by_level or ()]
    return tuple((own, ZERO if own in weightless else min(own, most)) for own in written)


def _by_level(counted: Counted, losses: Mapping[Epsilon, Epsilon]) -> tuple[tuple[Epsilon, Mapping[int, int]], ...]:
    """The people by what they lose, in rising order. The levels are public, the counts are not."""
    merged: dict[Epsilon, dict[int, int]] = {}
    for text, cells in counted.by_level or ():
        inside = merged.setdefault(losses[read_own_level(text)], {})
        for cell, people in cells.items():
            inside[cell] = inside.get(cell, 0) + people
    return tuple(sorted(merged.items(), key=lambda item: item[0]))


def counted_levels(counted: Counted) -> tuple[Epsilon, ...]:
    """The levels that people have: public."""
    return tuple(own for own, _ in _losses(counted, ZERO, frozenset()))


def read_own_level(text: str) -> Epsilon:
    """A person's own level from a cell of the column of levels; an error does not quote it."""
    try:
        return Epsilon.read(text, name="levels")
    except LevelError:
        pass  # the message quotes the cell: leave this block before raising another
    raise TableError("levels", "a value of the column", "is not a privacy level", "write 0.5, 'ln(2)' or 'inf'")


def withhold_details(work: Callable[[], Value]) -> Value:
    """Run what has seen data; an unforeseen error leaves without its message, its cause and its frames' variables."""
    try:
        return work()
    except OptimalDPError as error:
        failure: Exception = error.with_traceback(None)
    except Exception as error:
        failure = ReleaseError(type(error).__name__)
    failure.__context__ = None
    failure.__cause__ = None
    raise failure


def personal_costs(prepared: Prepared, weightless: frozenset[Epsilon]) -> dict[Epsilon, ApproximateDP] | None:
    """What the people of each level lose, for a ledger; with delta wherever it is used.

    A level that is not asked loses nothing, whether or not anybody here has it.
    """
    if not prepared.losses:
        return None
    delta = prepared.spent.delta
    costs = {own: approximate(lost, Fraction(0) if lost.is_zero else delta) for own, lost in prepared.losses}
    return dict.fromkeys(weightless, approximate(ZERO)) | costs
