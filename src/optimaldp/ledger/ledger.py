"""The ledger: reserve durably, then sample, then record.

A crash between the steps may lose budget, never privacy: what was released had been written down before it was drawn.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Required, TypedDict, Unpack

from optimaldp.errors import InputError, LedgerError, LevelError
from optimaldp.ledger.account import (
    Cost,
    NamedGroup,
    NamedPart,
    cost_as_written,
    find_group,
    find_part,
    require_askable,
)
from optimaldp.ledger.budget import single_bound
from optimaldp.ledger.chain import (
    EntryChain,
    EntryLog,
    answer_maker,
    now,
    require_unanswered,
    same_question,
    spend_makers,
)
from optimaldp.ledger.composition.rules import NOTHING
from optimaldp.ledger.entry import FIRST, SECOND, THIRD, Answer, Described, Entry, Opening, Spend
from optimaldp.ledger.history import History, Record, Remaining
from optimaldp.ledger.people import Group, Part, PartValue
from optimaldp.ledger.store import Store
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.levels import Bound
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.privacy.step_function import Level
from optimaldp.privacy.units import limited_unit

# Whether a request speaks of the same people, neighbours and data as the ledger does.


AS_STORED: Any = object()  # "take it from the ledger", where None has a meaning of its own

NOTHING_SPENT = "Nothing was sampled and nothing was spent."


def require_same(
    opening: Opening, location: str, neighbours: str | Neighbours | None, unit: str | None, dataset: str | None
) -> None:
    """A sum of guarantees means something only if all of them speak of the same neighbours and people."""
    asked_for = opening.neighbours if neighbours is None else Neighbours(neighbours)
    if asked_for is not opening.neighbours:
        raise LedgerError(
            f"ledger {location!r} adds up guarantees for neighbours {opening.neighbours.value!r} "
            f"({opening.neighbours.words}), and the question was asked for {asked_for.value!r} ({asked_for.words}): "
            f"the two do not add up. Ask with neighbours={opening.neighbours.value!r}. {NOTHING_SPENT}"
        )
    if unit is not AS_STORED and unit != opening.unit:
        remedy = f"Ask with unit={opening.unit!r}."
        if opening.unit is None:  # to count rows as people after all would protect nobody who has several
            made = f"optimaldp ledger create --unit {unit}, or in Python odp.open(…, unit={unit!r}, ledger=NEW)"
            remedy = f"This ledger was made for rows as people; make another one: {made}."
        raise LedgerError(
            f"ledger {location!r} protects {_unit_words(opening.unit)}, and the question was asked for "
            f"{_unit_words(unit)}: the two do not add up. {remedy} {NOTHING_SPENT}"
        )
    if dataset is not None and dataset != opening.dataset:
        raise LedgerError(
            f"ledger {location!r} belongs to the data set {opening.dataset!r}, not to {dataset!r}. "
            f"Every data set has a ledger of its own. {NOTHING_SPENT}"
        )


def require_agreement(opening: Opening, location: str, described: Mapping[str, Any]) -> None:
    """What is said about a ledger that exists must be what it remembers."""
    for name, value in described.items():
        if name == "settings":
            _require_settings(opening, location, value)
        elif getattr(opening, name) != value:
            raise _disagreement(location, name, _words(getattr(opening, name)), _words(value))


def _require_settings(opening: Opening, location: str, settings: Mapping[str, Any]) -> None:
    if opening.version == FIRST:
        return  # version 0.1.0 did not remember them, so there is nothing to contradict
    for name, value in settings.items():
        if name == "description":
            continue  # a description may change; person and neighbours, which may not, are compared by themselves
        stored = opening.settings.get(name)
        if stored != value:
            raise _disagreement(location, name, "none" if name not in opening.settings else str(stored), str(value))


def _disagreement(location: str, name: str, stored: str, now: str) -> LedgerError:
    return LedgerError(
        f"ledger {location!r} was opened with {name} {stored}, and {now} was given now. "
        f"What a ledger remembers never changes: leave {name} out, or keep another ledger."
    )


def _words(value: object) -> str:
    return str([str(one) for one in value]) if isinstance(value, tuple) else str(value)


def _unit_words(unit: str | None) -> str:
    if (limited := limited_unit(unit)) is not None:
        return f"one {limited.record} ({unit})"
    return "single rows (no unit column)" if unit is None else f"people named by the column {unit!r}"


# What a question asks to be charged for: handed to a ledger, alone or together with others.


class ChargeFields(TypedDict, total=False):
    """What makes a :class:`Charge`, for readers of types."""

    question: Required[str]
    level: Required[Level]
    used: Level | None
    part: Part | PartValue | None
    levels: str | None
    personal: Mapping[Any, Level] | None
    data_version: str | None
    meaning: int
    reading: Mapping[str, Any] | None
    public: Sequence[str]


@dataclass(frozen=True)
class Charge:
    """One question and what its release takes from whom.

    *level* is what was asked for; *used* is what the release really uses, where that is less (a histogram that has no use for its
    delta): only that is charged. *part* is a declared part that the question reads alone. *levels* is the column whose levels
    the release honours, and *personal* what it takes from the people of each level, delta included; a level of 0 (with a delta
    of 0) takes nothing from people who are left out. *data_version* is any text that changes when the data do; it is
    stored as a keyed code and lets the same question be answered again for nothing. *meaning* is the version of what the question
    means, *reading* how the cells are read: an answer is replayed only under the same. *public* names what is treated as
    public: the guarantee is for a record replaced by another that agrees in it.
    """

    question: str
    level: Level
    used: Level | None = None
    part: Part | PartValue | None = None
    levels: str | None = None
    personal: Mapping[Any, Level] | None = None
    data_version: str | None = None
    meaning: int = 1
    reading: Mapping[str, Any] | None = None
    public: Sequence[str] = ()

    def asked_bound(self) -> Bound:
        """The level that was asked for."""
        return single_bound(self.level)

    def used_bound(self) -> Bound:
        """The level that is charged."""
        asked = self.asked_bound()
        if self.used is None:
            return asked
        used = single_bound(self.used)
        if used.epsilon > asked.epsilon or used.delta > asked.delta:
            raise LevelError(
                "used", str(used), f"is more than the level {asked} that was asked for", "charge what is used"
            )
        return used

    def personal_bounds(self) -> tuple[tuple[str, Bound], ...]:
        """What the people of each level lose, by the text of the level."""
        if self.personal and self.levels is None:
            raise InputError("levels", None, "does not name the column of the personal levels", "write levels='trust'")
        named = {
            str(Epsilon.read(own, name="level")): single_bound(bound) for own, bound in (self.personal or {}).items()
        }
        return tuple(sorted(named.items()))


# A spend that is durable and waits for its answer.


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


class Ledger:
    """One ledger of one data set, shared by every process that opens it.

    **Guarantee.** When :meth:`reserve` returns, the spend is durable and the total of all spends in all processes keeps the
    budget; when it raises, nothing was spent. Entries are only ever added. Threads may share a ledger.

    Get one from :func:`optimaldp.ledger.open_ledger`.
    """

    pays_first = False
    """Whether the level that was asked for is spent before anything is counted, so that a failure is paid for too."""

    def __init__(self, store: Store) -> None:
        self._log = EntryLog(store)
        self.location: str = store.location
        self.opening: Opening = self._log.opening
        """Whose ledger this is: data set, budget, neighbours, unit, composition, parts, groups, settings."""

    @property
    def head(self) -> str:
        """The hash of the last entry. Noted elsewhere, it proves later that nothing before it was changed."""
        with self._current() as chain:
            return chain.head

    def reserve(
        self,
        *,
        neighbours: str | Neighbours | None = None,
        unit: str | None = AS_STORED,
        dataset: str | None = None,
        **charge: Unpack[ChargeFields],
    ) -> Reservation:
        """Spend the *level* of a *question* durably, before anything is sampled.

        *neighbours*, *unit* and *dataset* are the ledger's own; where they are given they must agree with it. Everything else
        (*question*, *level*, *used*, *part*, *levels*, *personal*, *data_version*) is as in :class:`Charge`.

        Raises :class:`~optimaldp.errors.BudgetError` if the budget does not cover it, another
        :class:`~optimaldp.errors.LedgerError` if the request does not fit this ledger. In both cases nothing was spent.
        """
        return self.reserve_together([Charge(**charge)], neighbours=neighbours, unit=unit, dataset=dataset)[0]

    def reserve_together(
        self,
        charges: Sequence[Charge],
        *,
        neighbours: str | Neighbours | None = None,
        unit: str | None = AS_STORED,
        dataset: str | None = None,
    ) -> tuple[Reservation, ...]:
        """Spend for several questions at once: all of them or none, in one transaction. One reservation for each, in order."""
        require_same(self.opening, self.location, neighbours, unit, dataset)
        if not charges:
            raise LedgerError("no question was asked, so there is nothing to spend.")
        spends = [self._spend(charge) for charge in charges]
        costs = [cost_as_written(spend) for spend in spends]
        spent = self._log.append(lambda chain: self._require_room(chain, costs), spend_makers(spends))
        return tuple(Reservation(self, spend) for spend in spent if isinstance(spend, Spend))

    def require(
        self,
        *,
        neighbours: str | Neighbours | None = None,
        unit: str | None = AS_STORED,
        dataset: str | None = None,
        **charge: Unpack[ChargeFields],
    ) -> None:
        """Raise what :meth:`reserve` would raise now, and spend nothing: ask this before reading any data.

        With *levels* and without *personal* (what the people of each level would lose is not known yet) the budgets of that
        column's groups are left out: :meth:`askable` says who of them can be asked.
        """
        self.require_together([Charge(**charge)], neighbours=neighbours, unit=unit, dataset=dataset)

    def require_together(
        self,
        charges: Sequence[Charge],
        *,
        neighbours: str | Neighbours | None = None,
        unit: str | None = AS_STORED,
        dataset: str | None = None,
    ) -> None:
        """As :meth:`require`, for several questions that will be charged together."""
        require_same(self.opening, self.location, neighbours, unit, dataset)
        costs = [self._cost_so_far(charge) for charge in charges]
        with self._current() as chain:
            self._require_room(chain, costs)

    def askable(
        self,
        column: str,
        levels: Iterable[Any],
        *,
        level: Level | Sequence[Level],
        part: NamedPart | None = None,
    ) -> dict[Epsilon, bool]:
        """Which people can still be asked a question at *level* (or several together): for each of *levels* in *column*.

        The levels of *column* that have a budget of their own are added. A group without one can always be asked: everybody's
        budget covers it. Whoever cannot is given the weight 0, which is charged as ``personal={own: level(0)}``; the others are
        asked at the smaller of their own level and *level*.
        """
        bounds = [single_bound(one) for one in ([level] if isinstance(level, Level) else level)]
        named = None if part is None else self.part(part)
        with self._current() as chain:
            account = chain.account
            own_levels = [Epsilon.read(own, name="level") for own in (*levels, *account.budgeted_levels(column))]
            answers = {}
            for own in dict.fromkeys(own_levels):
                costs = [_personal_cost(named, bound, column, own) for bound in bounds]
                answers[own] = account.admits(Group.of(column, own), costs)
            return answers

    def answered(
        self, question: str, level: Level, data_version: str | None, *, part: NamedPart | None = None
    ) -> Answer | None:
        """The recorded answer to the same question at the same level on the same data version, which costs nothing."""
        return self.answered_charge(Charge(question, level, part=part, data_version=data_version))

    def answered_charge(self, charge: Charge) -> Answer | None:
        """The recorded answer to what *charge* would pay for: the same question, level, part, data, meaning and reading."""
        key = same_question(self._spend(charge))
        with self._current() as chain:
            return None if key is None else self._chosen(chain, chain.answered.get(key, []))

    @property
    def description(self) -> str | None:
        """The hash of the description by which the table was last read; ``None`` if there never was one."""
        with self._current() as chain:
            return chain.described or self.opening.settings.get("description")

    def note_description(
        self, description: str | None, *, neighbours: str | None = None, unit: str | None = AS_STORED
    ) -> None:
        """Keep the hash of the description by which the table is read now. A described table is never read without one.

        A changed one that says other *neighbours*, or that somebody else is a person (*unit*), is refused.
        """
        known, opening = self.description, self.opening
        if description is None and known is not None:
            raise LedgerError(
                f"ledger {self.location!r} was made with a description of its table, and the table was opened without one. "
                f"Open the description (NAME.datapackage.json). {NOTHING_SPENT}"
            )
        if description is not None and description != known:
            if known is None:
                require_same(opening, self.location, neighbours, unit, None)
            if neighbours not in (None, opening.neighbours) or unit not in (AS_STORED, opening.unit):
                raise LedgerError(
                    f"ledger {self.location!r} protects {_unit_words(opening.unit)} under {opening.neighbours.value}, and the "
                    "description of its table was changed to say otherwise: the two do not add up. Change its person and "
                    f"neighbours back, or make another ledger. {NOTHING_SPENT}"
                )
            self._log.append(lambda chain: None, [lambda sequence, hash: Described(sequence, hash, now(), description)])

    def times_paid(self, question: str, level: Level, *, part: NamedPart | None = None) -> int:
        """How often this question was paid for at this level, whatever the version of the data was."""
        spend = self._spend(Charge(question, level, part=part))
        with self._current() as chain:
            return chain.paid[spend.question, spend.asked_bound, spend.part]

    def part(self, value: NamedPart, *, column: str | None = None) -> Part:
        """The declared part of this value (``"north"``) or condition (``"region = 'north'"``), if it can be asked."""
        part = find_part(self.opening, value, column)
        require_askable(self.opening, part)
        return part

    def group(self, level: NamedGroup, *, column: str | None = None) -> Group:
        """The level group ``("trust", 0.1)``; the column may be left out where only one has such a level."""
        with self._current() as chain:
            return find_group(chain.account.groups(), level, column)

    def spent(self, *, part: NamedPart | None = None, group: NamedGroup | None = None) -> Bound:
        """What was spent: on the people who lost most, or on those of one part or level group."""
        return self.remaining(part=part, group=group).spent

    def remaining(self, *, part: NamedPart | None = None, group: NamedGroup | None = None) -> Remaining:
        """What is left of the budget, exactly where it can be written exactly."""
        of_part = None if part is None else find_part(self.opening, part, None)
        of_group = None if group is None else self.group(group)
        with self._current() as chain:
            account = chain.account
            spent = account.spent(part=of_part, group=of_group)
            entries = account.entries(part=of_part, group=of_group)
            return Remaining(account.budget_of(of_group), spent, entries, account.rule.name)

    def groups(self) -> dict[Group, Remaining]:
        """What every level group has spent and has left: people with a level of their own may have lost less."""
        with self._current() as chain:
            groups = chain.account.groups()
        return {group: self.remaining(group=group) for group in groups}

    @property
    def neighbours_words(self) -> str:
        """For which neighbours the total holds: those for which every spend holds.

        A question that treats as public who is in which group protects a record only against others of the same group, and so
        does every total that it is part of.
        """
        return self.history().neighbours_words

    def history(self) -> History:
        """Every spend with its answer, in order."""
        with self._current() as chain:
            spends = [entry for entry in chain.entries if isinstance(entry, Spend)]
            return History(self.opening, tuple(Record(spend, chain.answers.get(spend.sequence)) for spend in spends))

    def entries(self) -> Sequence[Entry]:
        """Every entry, in order."""
        with self._current() as chain:
            return tuple(chain.entries)

    def hashes(self) -> Sequence[str]:
        """The hash of every entry, in order."""
        with self._current() as chain:
            return tuple(chain.hashes)

    def code_of(self, data_version: str) -> str:
        """The keyed code of a data version: equal for equal versions, and useless without the ledger's own key."""
        return hmac.new(self._log.secret, data_version.encode("utf-8"), hashlib.sha256).hexdigest()

    def record(self, reservation: Reservation, answer: object, statement: object = None) -> Answer:
        """Write the released answer of a reservation; once only."""
        return self.record_together([(reservation, answer, statement)])[0]

    def record_together(self, answers: Sequence[tuple[Reservation, Any, Any]]) -> tuple[Answer, ...]:
        """Write several released answers, each (reservation, answer, statement), in one transaction."""
        makers = [answer_maker(reservation.sequence, answer, statement) for reservation, answer, statement in answers]
        numbers = [reservation.sequence for reservation, _, _ in answers]
        try:
            made = self._log.append(lambda chain: require_unanswered(chain, numbers), makers)
        except LedgerError as error:
            stays = (
                f"The spend #{numbers[0]} stays"
                if len(numbers) == 1
                else f"The spends #{numbers[0]} to #{numbers[-1]} stay"
            )
            raise LedgerError(f"{error} {stays}, without an answer.") from None
        return tuple(entry for entry in made if isinstance(entry, Answer))

    def close(self) -> None:
        """Let go of files and connections."""
        self._log.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({self.opening.dataset!r}, {self.remaining().summary()}, {self.opening.neighbours})"

    def _current(self) -> AbstractContextManager[EntryChain]:
        """The entries as they are now."""
        return self._log.current()

    def _require_room(self, chain: EntryChain, costs: Sequence[Cost]) -> None:
        """Raise :class:`BudgetError` if *costs* do not all fit after what *chain* holds."""
        chain.account.require(costs)

    def _chosen(self, chain: EntryChain, answers: Sequence[Answer]) -> Answer | None:
        """Which of the answers to the same question is given again: the last one."""
        return answers[-1] if answers else None

    def _spend(self, charge: Charge) -> Spend:
        """The entry of *charge*, but for its place."""
        asked, used = charge.asked_bound(), charge.used_bound()
        return Spend(
            0,
            "",
            "",
            question=charge.question,
            bound=used,
            part=None if charge.part is None else self.part(charge.part),
            personal=charge.personal_bounds(),
            data=None if charge.data_version is None else self.code_of(charge.data_version),
            levels=charge.levels,
            asked=None if used == asked else asked,
            meaning=charge.meaning,
            reading=tuple(sorted((charge.reading or {}).items())),
            public=tuple(charge.public),
            version=SECOND
            if (charge.meaning, charge.reading or None, tuple(charge.public)) == (1, None, ())
            else THIRD,
        )

    def _cost_so_far(self, charge: Charge) -> Cost:
        """The cost of *charge*; of people whose share is not known yet, nothing."""
        cost = cost_as_written(self._spend(charge))
        if charge.levels is None or charge.personal is not None:
            return cost
        with self._current() as chain:
            unknown = chain.account.budgeted_levels(charge.levels)
        return replace(cost, personal=tuple((own, NOTHING) for own in unknown))


def _personal_cost(part: Part | None, bound: Bound, column: str, own: Epsilon) -> Cost:
    """A question at *bound* that honours the level *own* of the people of that level in *column*."""
    cost = Cost(part, bound, column)
    return replace(cost, personal=((str(own), cost.at_most(own)),))
