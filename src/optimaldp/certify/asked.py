"""The referee around a draw: what was asked against what was read, who was counted, what is paid, and the arithmetic of levels.

Each check knows the rule by itself and shares no code with what it looks at. A failure is one fixed sentence without data.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any
from weakref import WeakValueDictionary

from optimaldp.errors import NotCertifiedError
from optimaldp.laws.law import Table
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours, approximate
from optimaldp.privacy.balls import ball, precision
from optimaldp.privacy.epsilon import ZERO

_NOTHING = "Nothing was sampled and nothing was spent."
_BITS = 256  # of the exponential that is worked out here, beside those of the number itself
_ROUNDED = Fraction(1, 10**12)  # a chance that is printed was rounded up from a float
_AGREE = Fraction(1, 2**100)  # how far an enclosure may be from it, as a part of it


def require_read(asked: Mapping[str, Any], read: Mapping[str, Any]) -> None:
    """Refuse a request whose fields are not what was written: by the names of the fields, as far as something was written.

    *asked* holds what somebody wrote, *read* what a document will say of it.
    """
    for name, written in asked.items():
        if not _says(name, written, read.get(name)):
            raise NotCertifiedError(f"What was asked was not read as it was written: {name}. {_NOTHING}")


def _says(name: str, written: object, read: object) -> bool:
    if name == "neighbours":
        return str(read) == str(written or Neighbours.SUBSTITUTION)
    if name in ("epsilon", "delta"):
        number = _plain_number(written)
        return number is None or _plain_number(read) == number
    if name == "groups":
        return _texts(written) == _texts(read) if _texts(written) else (written is None) == (read is None)
    if name in _AS_WRITTEN:
        return bool((written or None) == (read or None))
    return True


def _texts(listed: object) -> list[Any]:
    """Texts in a list, or in lists of their own; nothing where something is no text: other values are written as texts first."""
    parts = listed if isinstance(listed, (list, tuple)) else ()
    read = [one if isinstance(one, str) else _texts(one) for one in parts]
    return read if all(read) else []


def require_names(names: Iterable[str], written: Sequence[Any]) -> None:
    """Refuse groups under other names than their values, in the order in which they are written."""
    lists = written if written and isinstance(written[0], list) else [written]
    if list(names) != [", ".join(values) for values in product(*lists)]:
        raise NotCertifiedError(f"The groups do not have the names of their values. {_NOTHING}")


_AS_WRITTEN = ("where", "unit", "by", "levels", "public_groups", "groups_per_person", "reduce", "reduce_order")


_AT_MOST = re.compile(r"right at most ([0-9.]+) % of the time")


def require_words(asked: Any, neighbours: str, means: str) -> None:
    """Refuse a printed guarantee that names another relation, hides what is public, or says that less can be guessed."""
    replaced, public = asked.neighbours is Neighbours.SUBSTITUTION, _public(asked)
    same_relation = ("replaced" in neighbours) is replaced and ("appears or disappears" in neighbours) is not replaced
    same_group = ("of the same group" in neighbours) is (replaced and bool(public))
    named = all(name in neighbours for name in public) or not replaced
    written = _AT_MOST.search(means)
    with precision(_BITS):
        ratio = asked.level.epsilon.exp()
        chance = ((ratio + ball(asked.level.delta)) / (ratio + 1)).min(ball(Fraction(1)))
        enough = written is not None and bool(ball(Fraction(written[1]) / 100 + _ROUNDED) >= chance)
    if not (same_relation and same_group and named and enough):
        raise NotCertifiedError(f"The guarantee that would be printed is not the one that was examined. {_NOTHING}")


def _public(asked: Any) -> tuple[str, ...]:
    """What is treated as public: who is in a part, in a group that is declared public, or has a level."""
    part = () if asked.people.part is None else (asked.people.part[0],)
    groups = getattr(asked, "groups", None)
    declared = (groups.columns if groups else (_COMPARED,)) if getattr(asked, "public_groups", False) else ()
    levels = () if asked.people.levels is None else (asked.people.levels,)
    return tuple(dict.fromkeys((*part, *declared, *levels)))


_COMPARED = "the two groups that are compared"


def _plain_number(written: object) -> Fraction | None:
    """A number that is written in digits; ``None`` of anything else, such as a logarithm."""
    if isinstance(written, (int, Fraction, Decimal)) and not isinstance(written, bool):
        return Fraction(written)
    try:
        return Fraction(repr(written) if isinstance(written, float) else str(written).strip())
    except (ValueError, ZeroDivisionError):
        return None


def require_counted(
    cells: Mapping[int, int],
    tables: Sequence[Table],
    *,
    groups: Sequence[int] | None = None,
    size: int = 0,
    by_level: Sequence[tuple[Epsilon, Mapping[int, int]]] = (),
    public: Sequence[int | None] = (),
) -> None:
    """Refuse tables that do not hold every counted person once: in their own group, and at the level that they lose.

    *groups*: the place of each group among the first readings, of which each has *size* cells. *by_level*: what the people
    of each written level lose, with their cells. *public*: how many people each table is said to have, where that is public.
    """
    if groups is None:
        own, whole = tables[0], _summed([(0, cells)])
        wanted = _summed(by_level)
        held = len(tables) == 1 and _summed([(0, own.cells)]) == whole and _summed(own.by_level) == wanted
    else:
        inside = _summed([(cell // size, {cell % size: people}) for cell, people in cells.items()])
        held = [
            _summed([(place, table.cells)]).get(place, {}) for place, table in zip(groups, tables, strict=True)
        ] == [inside.get(place, {}) for place in groups]
    held = held and all(known in (None, table.people) for known, table in zip(public, tables))
    if not held:
        raise NotCertifiedError(f"People are not counted once and in their own place. {_NOTHING}")


def _summed(parts: Iterable[tuple[object, Mapping[int, int]]]) -> dict[object, dict[int, int]]:
    """The people of each part, cell by cell; without empty cells and parts."""
    summed: dict[object, dict[int, int]] = {}
    for name, cells in parts:
        for cell, people in cells.items():
            if people:
                inside = summed.setdefault(name, {})
                inside[cell] = inside.get(cell, 0) + people
    return summed


def require_planned(planned: tuple[object, object], asked: tuple[object, object]) -> None:
    """Refuse a plan that counts something else than what was asked, or other people: the readings, then who is a person."""
    if planned != asked:
        raise NotCertifiedError(f"What would be counted is not what was asked. {_NOTHING}")


def require_levels_read(written: Iterable[tuple[str, Epsilon]]) -> None:
    """Refuse people's own levels that are not what stands in the column, as far as that is a number in digits."""
    for text, own in written:
        if (number := _plain_number(text)) is not None and (own.plain, own.ratio) != (number, Fraction(1)):
            raise NotCertifiedError(f"People's own levels are not the ones that are written. {_NOTHING}")


_NAMES = ("predicate", "among", "name")


def require_alike(asked: Any, examined: Any) -> None:
    """Refuse to examine another question than the one that was asked: only the words of its conditions may differ."""
    alike = type(asked) is type(examined) and asked.spec() == examined.spec() and asked.cells == examined.cells
    said = [one.name for one in fields(asked) if one.compare and one.name not in _NAMES] if alike else []
    if not alike or any(getattr(asked, name) != getattr(examined, name) for name in said):
        raise NotCertifiedError(f"What would be examined is not what was asked. {_NOTHING}")


def require_charge(charge: Any, asked: Any) -> None:
    """Refuse to charge something else than what is asked: another question, level, part, column of levels or public column."""
    people = asked.people
    part = None if people.part is None else people.part[1]
    wanted = asked.text, asked.level, part, people.levels, _public(asked)
    if wanted != (charge.question, charge.level, charge.part, charge.levels, tuple(charge.public)):
        raise NotCertifiedError("What would be charged is not what was asked. Nothing was sampled.")


def lost_by(mechanisms: Iterable[Any], level: ApproximateDP) -> ApproximateDP:
    """What everyone loses: the level, without its delta where none of the mechanisms spends it."""
    return level if any(one.spends_delta for one in mechanisms) else approximate(level.epsilon)


def require_paid(
    charge: Any, lost: ApproximateDP, levels: Iterable[Epsilon] = (), not_asked: Collection[Epsilon] = ()
) -> None:
    """Refuse to pay less than what is *lost*, or than what the people of each of the *levels* lose."""
    enough = (charge.used or charge.level) == lost
    for own in levels:
        own_loss = ZERO if own in not_asked else min(own, lost.epsilon)
        paid = (charge.personal or {}).get(own)
        free = own_loss.is_zero
        enough = enough and paid is not None and paid.epsilon >= own_loss and (free or paid.delta >= lost.delta)
    if not enough:
        raise NotCertifiedError("What would be paid is less than what is lost. Nothing was sampled.")


def require_reserved(spends: Iterable[Any], charges: Iterable[Any]) -> None:
    """Refuse to draw where a ledger holds another spend than the one that it was asked for."""
    for spend, charge in zip(spends, charges, strict=True):
        paid = charge.used or charge.level
        if (spend.question, spend.bound.epsilon, spend.bound.delta) != (charge.question, paid.epsilon, paid.delta):
            raise NotCertifiedError("What the ledger holds is not what would be paid. Nothing was sampled.")


class WatchedBits:
    """Bits that are handed through, with the first 64 of them kept: what two answers share would tell one by the other."""

    def __init__(self, source: Any) -> None:
        self._source, self._first, self._count = source, 0, 0

    def take(self, count: int) -> int:
        value: int = self._source.take(count)
        kept = max(0, min(count, _FIRST - self._count))
        self._first, self._count = self._first << kept | value >> (count - kept), self._count + kept
        return value

    @property
    def first(self) -> int | None:
        """The first 64 bits; ``None`` where fewer were taken."""
        return self._first if self._count == _FIRST else None


_FIRST = 64


def require_own_bits(taken: Iterable[WatchedBits]) -> None:
    """Refuse answers that were drawn from the same bits: by chance two begin alike once in 10^19 draws."""
    begun = [one.first for one in taken if one.first is not None]
    if len(set(begun)) < len(begun):
        raise NotCertifiedError("Two answers were drawn from the same bits.")


# One table, one draw: whoever holds the counts of people may ask for one answer, and not for the best of several.


_DRAWN: WeakValueDictionary[int, Any] = WeakValueDictionary()


def require_first_draw(counted: object) -> None:
    """Refuse a second draw from the same object that holds counts: each release counts anew."""
    if _DRAWN.get(id(counted)) is counted:
        raise NotCertifiedError("An answer was drawn from these counts already. Nothing more is sampled.")
    _DRAWN[id(counted)] = counted


@lru_cache(maxsize=512)
def arithmetic_holds(epsilon: Epsilon) -> bool:
    """Whether ``e^epsilon`` is what a series of whole numbers gives: laws and referee both compute with it."""
    if epsilon.plain is None or epsilon.ratio is None:
        return True
    power, scale = _exponential(epsilon.plain)
    wanted = Fraction(power, scale) * epsilon.ratio
    if epsilon.exact_ratio is not None and epsilon.exact_ratio != epsilon.ratio:
        return False
    if not _operators_hold(epsilon, epsilon.plain, epsilon.ratio):
        return False
    with precision(2 * _BITS + 3 * epsilon.ceiling):
        for found in (epsilon.exp(), epsilon.ball().exp()):
            low, high = found.lower().fmpq(), found.upper().fmpq()
            ends = Fraction(int(low.p), int(low.q)), Fraction(int(high.p), int(high.q))
            if any(abs(end - wanted) > _AGREE * wanted for end in ends):
                return False
    return True


def _operators_hold(epsilon: Epsilon, plain: Fraction, ratio: Fraction) -> bool:
    """Whether levels add, multiply and compare as their parts do: what groups and tables cost together is made of it."""
    parts = [(one.plain, one.ratio) for one in (epsilon + epsilon, epsilon * 3, sum([epsilon] * 3, ZERO))]
    if parts != [(2 * plain, ratio**2), (3 * plain, ratio**3), (3 * plain, ratio**3)]:
        return False
    more = Epsilon(plain + 1, ratio)
    less_than = epsilon < more, epsilon <= more, epsilon <= epsilon, not more < epsilon, not more <= epsilon
    greater_than = more > epsilon, more >= epsilon, epsilon >= epsilon, not epsilon > more, not epsilon >= more
    return all((*less_than, *greater_than, min(more, epsilon) is epsilon))


def _exponential(number: Fraction) -> tuple[int, int]:
    """e to a rational from 0 on as a fixed-point number: a short series of number / 2^halvings, squared so often."""
    whole = -(-number.numerator // number.denominator)
    halvings = whole.bit_length() + 1
    bits = _BITS + 3 * whole + 2 * halvings
    scale = 1 << bits
    step = number.numerator * scale // (number.denominator << halvings)
    term, total, place = scale, scale, 1
    while term:
        term = term * step // (place * scale)
        total, place = total + term, place + 1
    for _ in range(halvings):
        total = total * total // scale
    return total, scale


# Many groups in one spend: whether the levels at which single groups are answered add up to the level of the release.


_GROUPS_BITS = 512


def require_groups_together(
    whole: ApproximateDP,
    relation: Neighbours,
    setting: Any,
    *,
    groups: int,
    public: bool,
    per_person: int = 1,
) -> None:
    """Refuse a level of single groups that one person could exceed.

    Where it is public who is in which group, a replaced record stays in its group, which alone sees it. Otherwise people come and
    go in each group: one person more or less touches as many groups as they may be in (*per_person*), one who is replaced twice
    as many, or each of them twice. Groups that are drawn together have the whole level.
    """
    if not groups_together(whole, relation, setting, groups=groups, public=public, per_person=per_person):
        raise NotCertifiedError(
            f"The groups together are not certified: one person could spend more than the level. {_NOTHING}"
        )


def groups_together(
    whole: ApproximateDP,
    relation: Neighbours,
    setting: Any,
    *,
    groups: int,
    public: bool,
    per_person: int = 1,
) -> bool:
    """Whether one person, whichever groups they are in, loses at most the level of the release in all groups together."""
    each: ApproximateDP = setting.level
    inside: Neighbours = setting.neighbours
    if per_person < 1 or (public and per_person > 1):
        return False
    if setting.groups:  # one draw for all of them, whose referee knows how many groups of one person it covers
        covered = setting.groups == groups and setting.groups_per_person >= per_person
        return bool(covered and not public and inside is relation is Neighbours.SUBSTITUTION and each == whole)
    if public or relation is Neighbours.ADD_REMOVE:
        together = each.epsilon * per_person <= whole.epsilon and each.delta * per_person <= whole.delta
        return inside is relation and together
    if inside is not Neighbours.ADD_REMOVE or each.epsilon * (2 * per_person) > whole.epsilon:
        return False
    # In a group the second of two steps multiplies what the first one gave away; what single groups give away adds up.
    if not each.delta:
        return True
    given_away, ratio = each.delta * per_person, each.epsilon.exact_ratio
    if ratio is not None:
        return given_away * (1 + ratio) <= whole.delta
    with precision(_GROUPS_BITS):
        return bool(ball(given_away) * (1 + each.epsilon.exp()) <= ball(whole.delta))
