"""The referee of releases: the promise is compared with the mechanism, and the mechanism is examined before anything is drawn."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, Self

from optimaldp.certify.asked import arithmetic_holds, groups_together, require_first_draw
from optimaldp.certify.core.drawing import MOST_OPTIONS, close, draws_follow, flips_its_coins, is_distribution, stand_in
from optimaldp.certify.core.examined import Certified, Examined, Finding, mint, same
from optimaldp.certify.core.meanings import (
    NEW,
    People,
    cells_of_groups,
    known_kind,
    lines_of,
    meaning_of,
    public_group,
    small_tables,
)
from optimaldp.errors import NotCertifiedError, OptimalDPError, QuestionError, SecondCalculationError
from optimaldp.laws.law import AnyAim, Setting, Table
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours, approximate
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.privacy.epsilon import ZERO
from optimaldp.privacy.trajectory import Number
from optimaldp.sampling import BitSource

# The promise that a user reads, handed to the referee beside the mechanism: the two are compared before anything is drawn.
#
# A promise is computed from what was asked, a mechanism from what was chosen. The referee examines the mechanism at its own
# setting; this is where that setting is compared with what was promised: level, neighbours, people's own levels, groups and
# what is public.

_FEW = 64  # cells that are all occupied in a made-up table
_NOTHING = "Nothing was sampled and nothing was spent."


@dataclass(frozen=True)
class Promise:
    """What is promised to everyone in a table: computed from the ask alone, and from what is public by its declaration."""

    level: ApproximateDP
    neighbours: Neighbours
    question: str
    """The question as it is printed."""
    levels: Mapping[Epsilon, Epsilon] | None = None
    """With people's own levels: each as it is written, and what its people lose; ``None`` without them."""
    groups: tuple[str, ...] | None = None
    """The names of the groups that are answered separately; ``None`` if there is one answer."""
    public_groups: bool = False
    """Whether it is public who is in which group."""
    sizes: Mapping[Epsilon, int] | None = None
    """How many people have each level as it is written: public where people have levels of their own."""
    groups_per_person: int = 1
    """In how many of the groups one person may be."""
    not_asked: Collection[Epsilon] = ()
    """The levels of people whose own budget is used up."""
    people: int | None = None
    """How many people there are, where that is public; of one answer for everybody."""
    aim: AnyAim | None = None
    """What the law should be good at, where people have levels of their own."""


def require_promise(promise: Promise, parts: Sequence[tuple[str | None, Any]]) -> None:
    """Refuse mechanisms (by the name of their group) that were examined for something else than what was promised.

    What it cannot see: which people were counted, a source of bits that is not random, and a draw that looks at other data.
    """
    failure = _difference_of_levels(promise)
    names = tuple(name for name, _ in parts)
    if not failure and names != ((None,) if promise.groups is None else promise.groups):
        failure = "it does not answer each group once"
    if not failure and parts[0][1].setting.groups and any(one != parts[0][1] for _, one in parts):
        failure = "groups that are drawn together do not have one mechanism"
    differences = (_difference(promise, mechanism) for _, mechanism in parts)
    if failure := failure or next(filter(None, differences), ""):
        raise NotCertifiedError(f"The mechanism is not the one that was promised: {failure}. {_NOTHING}")


def _difference_of_levels(promise: Promise) -> str:
    for own, lost in (promise.levels or {}).items():
        if lost != (ZERO if own in promise.not_asked else min(own, promise.level.epsilon)):
            return "somebody would lose more than their own level, or less than is said"
    return ""


def _difference(promise: Promise, mechanism: Any) -> str:
    setting = mechanism.setting
    if str(mechanism.question) != promise.question:
        return "it answers another question"
    if promise.groups is not None:
        groups, public, most = len(promise.groups), promise.public_groups, promise.groups_per_person
        together = groups_together(
            promise.level, promise.neighbours, setting, groups=groups, public=public, per_person=most
        )
        return "" if together else "the groups together spend more than the level, or for other neighbours"
    # Where everybody loses nothing, no delta is used: a smaller delta than promised breaks no promise.
    nobody = promise.levels is not None and all(lost.is_zero for lost in promise.levels.values())
    if setting.level != (approximate(promise.level.epsilon) if nobody else promise.level):
        return f"its level is {setting.level}, not {promise.level}"
    if setting.neighbours is not promise.neighbours:
        return f"its neighbours are {setting.neighbours}, not {promise.neighbours}"
    if setting.people != promise.people:
        return "it is made for another number of people"
    if setting.public_groups and not promise.public_groups:
        return "it treats as public who is in which group"
    return _levels_differ(promise, setting)


def _levels_differ(promise: Promise, setting: Any) -> str:
    """Whether each level that is honoured has as many people as lose just that much."""
    if promise.levels is None or promise.sizes is None:
        return "it weighs people by levels that nobody asked for" if setting.levels else ""
    wanted: dict[Epsilon, int] = {}
    for own, lost in promise.levels.items():
        wanted[lost] = wanted.get(lost, 0) + promise.sizes.get(own, 0)
    if promise.aim is not None and setting.aim != promise.aim:
        return "it is good at something else than what was asked"
    return "" if dict(setting.levels) == wanted else "people's own levels are not the ones that it honours"


# Whether what is handed over is what the mechanism draws: scripted bits run through the very function that makes a release.


class FixedBits:
    """The same bits for everyone who begins anew, and how many were taken: never a source for a real draw.

    The first bits may be written down: they make answers that are seldom drawn.
    """

    def __init__(self, name: str, first: str = "") -> None:
        self._name, self._first, self._words, self.taken = name, first, 0, 0

    def take(self, count: int) -> int:
        self.taken += count
        self._words += 1
        written, self._first = self._first[:count], self._first[count:]
        rest = count - len(written)
        length = (rest + 7) // 8
        drawn = int.from_bytes(hashlib.shake_128(f"{self._name} {self._words}".encode()).digest(length), "big")
        return int("0" + written, 2) << rest | drawn >> (8 * length - rest)


# A script, the bits it begins with, how many of the last cells are empty, and how many people there are where that is private.
# The bits of the fifth make large noise: a remap that follows it does not hide what happens where nobody is. The others make
# every answer of a short list, and the ends of noise that are hardly ever drawn, at sizes where code may go another way.
_SCRIPTS: tuple[tuple[str, str, int, int], ...] = (
    ("first", "", 0, 7),
    ("second", "", 1, 100),
    ("fifth", "", 2, 3000),
    ("ends", "0" * 24, 0, 100_000),
    ("ends", "1" * 24, 0, 60),
    *(("between", f"{part:04b}1", part % 3, (7, 60, 1000, 30_000)[part % 4]) for part in range(0, 16, 3)),
)
_SCRIPTS_OF_MANY = 3  # where a draw takes its time
_FEW_ANSWERS = 6


def require_draws(draw: Callable[[Sequence[Table], BitSource], Any], parts: Sequence[tuple[str | None, Any]]) -> None:
    """Refuse a *draw* of a release that is not one draw of each mechanism, one after the other, from the bits that it is given.

    The tables are made up. Bits that two groups share, the best of several draws, the truth without a draw and the answer of one
    group for another take other bits, or give other answers. What it depends on, the code and the mechanisms, is tried once.
    """
    _try_draws(_Tried(tuple(parts), draw))


@dataclass(frozen=True)
class _Tried:
    """A draw of a release that is on trial, known by its mechanisms."""

    parts: tuple[tuple[str | None, Any], ...]
    draw: Callable[[Sequence[Table], BitSource], Any] = field(compare=False)


@lru_cache(maxsize=512)
def _try_draws(tried: _Tried) -> None:
    parts, draw = tried.parts, tried.draw
    many = sum(mechanism.question.cells for _, mechanism in parts) > _FEW
    many = many or _REFEREES.get(parts[0][1].name, "").startswith("histogram_draws")  # which run their draws themselves
    for turn, (script, first, empty, people) in enumerate(_SCRIPTS[: _SCRIPTS_OF_MANY if many else None]):
        # Turned, so that each cell is the fullest once and empty once; what the fifth script shows it shows as it stands.
        start = max(0, turn - 2)
        tables = [made_up(mechanism, place + start, empty, people) for place, (_, mechanism) in enumerate(parts)]
        expected, given = FixedBits(script, first), FixedBits(script, first)
        try:
            if parts[0][1].setting.groups:
                answers = parts[0][1].draw_together(tables, expected)
            else:
                answers = [mechanism.draw(table, expected) for (_, mechanism), table in zip(parts, tables)]
        except QuestionError:  # it answers no table that can be made up of so few people: a group would be empty
            continue
        drawn = draw(tables, given)
        got = [drawn] if parts[0][0] is None else [drawn.get(name) for name, _ in parts]
        if got != answers or given.taken != expected.taken:
            raise NotCertifiedError(f"What is handed over is not what the mechanism draws. {_NOTHING}")
    mechanism = parts[0][1]
    if parts[0][0] is None and mechanism.listed and len(mechanism.question.answers) <= _FEW_ANSWERS:
        _require_every_answer(draw, mechanism)


def _require_every_answer(draw: Callable[[Sequence[Table], BitSource], Any], mechanism: Any) -> None:
    """The same for each of few answers, at tables of several true answers: what is done to one of them alone shows there."""
    for start, empty in ((0, 0), (0, mechanism.question.cells - 1), (1, mechanism.question.cells - 1)):
        table = made_up(mechanism, start, empty)
        alone = partial(draws_follow, mechanism, near_ends=False)
        try:
            follows = alone(table, draw=lambda made, bits: draw([replace(made)], bits))
        except QuestionError:
            continue
        if not follows:
            raise NotCertifiedError(f"What is handed over is not what the mechanism draws. {_NOTHING}")


def made_up(mechanism: Any, place: int = 0, empty: int = 0, unknown: int = 7) -> Table:
    """A table that the mechanism could see: of the public size, or of *unknown* people, dealt out over some cells; the last
    *empty* of these have nobody, though the first one always has."""
    setting, cells = mechanism.setting, mechanism.question.cells
    if not cells:
        return Table({"a": 3, "b": 40})  # type: ignore[dict-item]  # keys are counted by their names
    occupied = _spread(cells, place)
    places = occupied[: max(1, len(occupied) - empty)]
    groups = setting.levels or ((ZERO, unknown if setting.people is None else setting.people),)
    halves = [(own, Counter(_dealt(people, places))) for own, people in groups]
    whole = sum((inside for _, inside in halves), Counter())
    return Table(dict(whole), tuple((own, dict(inside)) for own, inside in halves) if setting.levels else ())


def _spread(cells: int, place: int) -> list[int]:
    """The cells that are occupied: all of a few, so that no public group is empty; of many the two ends and one between."""
    if cells <= _FEW:
        return [(place + cell) % cells for cell in range(cells)]
    return [place % cells, cells // 2, cells - 1 - place % cells]


def _dealt(people: int, places: Sequence[int]) -> dict[int, int]:
    """People dealt out evenly, the first places one more."""
    each, more = divmod(people, len(places))
    dealt = {place: each + (number < more) for number, place in enumerate(places)}
    return {place: number for place, number in dealt.items() if number}


def require_unused_delta(mechanism: Any) -> None:
    """Refuse a delta that is said to be unused, and so is not paid, but moves the law or the draw."""
    setting, table = mechanism.setting, made_up(mechanism)
    without = mechanism.question.mechanism(replace(setting, level=approximate(setting.level.epsilon)))
    same_draw = without.draw(table, FixedBits("delta")) == mechanism.draw(table, FixedBits("delta"))
    if not same_draw or (mechanism.listed and not _same_law(mechanism, without, table)):
        raise NotCertifiedError(f"A delta that is said to be unused moves the law. {_NOTHING}")


def _same_law(first: Examined, second: Examined, table: Table) -> bool:
    with precision(_BITS + 3 * first.setting.level.epsilon.ceiling):
        rows = first.law(table).probabilities(), second.law(table).probabilities()
        return all(same(ball(p), ball(q), Ball(2) ** -_BITS) for p, q in zip(*rows, strict=True))


def require_shares(whole: Epsilon, shares: Sequence[Epsilon]) -> None:
    """Refuse tables that together cost more than the level: everyone is in all of them."""
    if sum(shares, ZERO) > whole:
        raise NotCertifiedError(f"The tables together cost more than the level that was promised. {_NOTHING}")


# Where an answer is drawn, and a second calculation of its law: the question as one sum, its moves largest first.
#
# It serves twice: on tables that the referee makes up, and at the real draw, where a mismatch stops the answer with one fixed
# sentence. It shares no code with the questions, their distances or their laws.

_BITS = 192
_MOST_CELLS = 1000  # of a tally whose cells are all weighed; sums of more cells are confirmed on small tables alone


def draw(certified: Certified[Any], table: Table, source: BitSource) -> Any:
    """The one place where an answer is drawn. Only what the referee has passed is accepted.

    A law that is not confirmed a second time gives no answer. It is looked at after the draw and whatever was drawn: that it is
    looked at tells nothing, and its failure is one fixed sentence.
    """
    if not isinstance(certified, Certified):
        raise NotCertifiedError("Only a certified mechanism can be drawn from. Nothing was sampled.")
    require_first_draw(table)
    mechanism = certified.mechanism
    answer = mechanism.draw(table, source)
    confirmed = True  # where a law has no second calculation
    if mechanism.setting.personal and mechanism.listed:
        confirmed = _theorem("personal_tables.confirms_form")(mechanism, table)
    elif (second := SecondCalculation.of(mechanism)) is not None:
        with precision(second.bits):
            confirmed = second.agrees(table.cells, mechanism.law(table).probabilities())
    if not confirmed:
        raise SecondCalculationError
    return answer


def draw_together(certified: Certified[Any], tables: Sequence[Table], source: BitSource) -> list[Any]:
    """The same for groups whose answers share one draw."""
    if not isinstance(certified, Certified) or certified.mechanism.setting.groups != len(tables):
        raise NotCertifiedError("Only a certified mechanism can be drawn from. Nothing was sampled.")
    for table in tables:
        require_first_draw(table)
    answers: list[Any] = certified.mechanism.draw_together(tables, source)
    return answers


@dataclass(frozen=True)
class SecondCalculation:
    """A question that is one sum, in whole numbers: units of half of the finest difference that it can show."""

    values: tuple[int, ...]
    """What a person of each cell adds."""
    bound: int
    comparison: str
    chain: bool
    """Whether people are whole, as on the balanced chain, or the last one counts in part."""
    setting: Setting
    bits: int
    """At which precision its numbers are compared."""

    @classmethod
    @lru_cache(maxsize=512)
    def of(cls, mechanism: Examined) -> Self | None:
        """``None`` where the law has no second calculation. Made once for the examination and every draw."""
        spec, cells = mechanism.question.spec(), mechanism.question.cells
        summed, made = known_kind(spec).sum, mechanism.name in ("balanced chain", "signed distance")
        if summed is None or not made or cells > _MOST_CELLS:
            return None
        adds, comparison, bound = summed(spec)
        own = cells // 2 if spec["among"] else cells
        adds = [*adds, *[Fraction(0)] * (own - len(adds))]
        if spec["among"]:  # the odd cells hold the people who are not asked: they add nothing
            adds = [number for add in adds for number in (add, Fraction(0))]
        numbers = [*adds, bound]
        # The finest difference between two sums: all are multiples of it. Where all are 0 any unit will do.
        below = math.lcm(*(number.denominator for number in numbers))
        finest = Fraction(math.gcd(*(int(number * below) for number in numbers)) or 1, below)
        *whole, need = (int(2 * number / finest) for number in numbers)
        bits = _BITS + 3 * mechanism.setting.level.epsilon.ceiling + 64
        return cls(tuple(whole), need, comparison, mechanism.name == "balanced chain", mechanism.setting, bits)

    def agrees(self, cells: Mapping[int, int], law: Sequence[Number]) -> bool:
        """Whether *law* is what this calculation gives for the table: the true answer, its margin in people, the error there."""
        total = sum(self.values[cell] * people for cell, people in cells.items()) - self.bound
        # Half of the finest difference, so that the sum is never 0 and its sign is the truth.
        total += 1 if self.comparison in (">=", "<") else -1
        side, gap = (1, total) if total > 0 else (-1, -total)
        truth = 0 if (side > 0) is (self.comparison in (">=", ">")) else 1
        # What one person can do against that side of the sum, and how many people can.
        far, replaced = min(side * value for value in self.values), self.setting.neighbours is Neighbours.SUBSTITUTION
        moves = [(side * self.values[cell] - (far if replaced else 0), people) for cell, people in cells.items()]
        if not replaced:  # whoever is there may go, and as many people as are needed may come
            moves.append((-far, gap))
        moved, remaining = Fraction(0), Fraction(gap)
        for gain, available in sorted(moves, reverse=True):  # who does most first: fewer people cannot do as much
            if gain > 0:
                going = min(remaining / gain, Fraction(available))  # the last one in part
                moved, remaining = moved + going, remaining - gain * going
        level = self.setting.level
        with precision(self.bits):
            wrong, ratio, delta = ball(law[1 - truth]), level.epsilon.exp(), ball(level.delta)
            if remaining:  # nobody can change the answer
                return bool(wrong == 0)
            # The signed law errs with 1/2 where the sum is 0. The chain errs with (1 - delta)/(E + 1) where the first person
            # changes the answer, and people are whole. From there on both fall by c -> (c - delta)/E for every person.
            start, steps = Ball(1) / 2, ball(moved)
            if self.chain:
                start, steps = (1 - delta) / (ratio + 1), ball(math.ceil(moved) - 1)
            if level.epsilon.is_zero:
                error = start - steps * delta
            else:
                fixed = delta / (ratio - 1) if level.delta else Ball(0)
                error = (start + fixed) * (-level.epsilon.ball() * steps).exp() - fixed
            # With delta a small error is a difference of two numbers: it is known to so many bits of 1, not of itself.
            return same(wrong, error.max(Ball(0)), Ball(2) ** (60 - _BITS) if level.delta else Ball(0))


# The referee of releases: it takes a mechanism as it will be drawn, and looks at it from outside.
#
# Tables in, the law of the printed answer out. It knows what a neighbour is, and what each kind of question means, by itself;
# it chooses its tables from public numbers alone, so nothing that it says depends on data. What it cannot try, all tables of
# all sizes, rests on the theorem that the mechanism names, and the finding says so.
#
# A mechanism with a list of answers is looked at in this order: all small tables with all their neighbours, long lines of
# tables at the public size, a second calculation of the laws on them, then the bits that its sampler takes.

_MOST_SEARCHED = 60  # tables whose number of moves is compared: two joined thresholds take a millisecond each
# Where smoothing may make a wrong bin likelier than the true one on a tiny table: the law itself is derived again instead.
_NOT_LIKELIEST = ("smoothed rank",)
_UNKNOWN_SIZE = 1000  # people in the tables that are made up where their number is private
_FAR = (7, 14, 15, 101, 127, 1 << 10, 1 << 19)
_BETWEEN = (22, 33, 50, 75, 250, 500, 1 << 13, 1 << 16)  # where no second calculation looks at every table drawn from
_DERIVED_AGAIN = ("smoothed rank", "flip", "flip+")  # laws whose numbers are derived again, far away as well
_FAR_DERIVED = (7, 127)


@lru_cache(maxsize=512)
def certify(mechanism: object) -> Certified[Any]:
    """The mechanism with the finding that passed it, or :class:`NotCertifiedError`. The same one is examined once."""
    return mint(mechanism, examine_release(mechanism))


def examine_release(mechanism: Any) -> Finding:
    """Look at any mechanism of a release: those with a law of their own kind have a referee of their own kind."""
    try:
        own, kind = Finding(True, ()), known_kind(mechanism.question.spec())
        if not arithmetic_holds(mechanism.setting.level.epsilon):
            return Finding(False, (), "e^epsilon is not what a series gives")
        if mechanism.setting.groups and mechanism.name not in _DRAWN_TOGETHER:
            return Finding(False, (), "it would answer each of several groups at the level of all")
        if (special := _REFEREES.get(mechanism.name)) is not None:
            own = _finding(special, mechanism)
            if not own.private or not mechanism.listed:
                return own
        if failure := _theorem(kind.fold)(mechanism) if kind.fold else "":
            return Finding(False, own.checks, failure)
        if special is None and mechanism.setting.personal and mechanism.listed:
            return _finding("personal_tables.examine_personal", mechanism)
        races = [_theorem("races.check_close_races")] if kind.votes else []
        checks, epsilon, delta = [*own.checks], mechanism.setting.level.epsilon, mechanism.setting.level.delta
        tiny = epsilon.leading_zeros + (delta.denominator.bit_length() - delta.numerator.bit_length() if delta else 0)
        working = precision(_BITS + 3 * (tiny + epsilon.ceiling))  # tells e^epsilon from 1, and delta from 0
        for look in (_small_tables, _public_size, *races, _sampler):
            # A draw is looked at as it will be made: at no precision but its own.
            with nullcontext() if look is _sampler else working:
                failure, passed = look(mechanism)
            if failure:
                return Finding(False, tuple(checks), failure)
            checks += passed
        return Finding(True, (*checks, f"for all other tables, by theorem: {mechanism.proof}"))
    except OptimalDPError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        # A law that is none, a division by nothing, a row that is too short. Its words are the law's own: they stay here.
        cause = str(error) if type(error) is ArithmeticError else type(error).__name__
    return Finding(False, (), f"its law cannot be examined: {cause}")


def _small_tables(mechanism: Examined) -> tuple[str, list[str]]:
    """Every small table and every neighbour, all events, exactly: at a level next to the real one, where numbers are rational."""
    # Level and neighbours are the ones that are promised: not what a twin, or a copy at another level, says of itself.
    setting, twin = mechanism.setting, mechanism.small_twin()
    level, spec, size = stand_in(setting.level), twin.question.spec(), twin.question.cells
    cells, group = sorted(cell for cell in {0, 1, size // 2, size - 2, size - 1} if 0 <= cell < size), None
    if setting.public_groups:
        cells, group = cells_of_groups(spec, size), partial(public_group, spec)
    near, total = small_tables(cells, setting.neighbours, group)
    tried, ratio = twin.at(level), level.epsilon.exact_ratio or level.epsilon.exp()
    rows: dict[People, Sequence[Number]] = {}
    for people in near:
        rows[people] = tried.law(Table(dict(Counter(people)))).probabilities()
        if len(rows[people]) != len(tried.question.answers) or not is_distribution(rows[people]):
            raise ArithmeticError("the law of a small table is no distribution")
    pairs = [(here, there) for here in near for there in near[here] if here < there]
    if not all(close(rows[here], rows[there], ratio, level.delta) for here, there in pairs):
        return "two small tables that differ in one person are not close", []
    if failure := _small_failure(tried, near, rows):
        return failure, []
    looked_at = "all its cells" if size <= 5 else "its first, second, middle and last cells"
    smaller = "" if twin is mechanism else f" of the same mechanism with {len(twin.question.answers)} answers"
    return "", [
        f"every table of up to {total} people over {looked_at}{smaller} and every neighbour: all events, exactly",
        "the true answer and the number of people who must change, against a search of the referee's own",
    ]


def _small_failure(
    mechanism: Examined, near: Mapping[People, Collection[People]], rows: Mapping[People, Sequence[Number]]
) -> str:
    """Whether the true answer is the likeliest one, and as many moves from another one as a breadth-first search finds."""
    question, neighbours = mechanism.question, mechanism.setting.neighbours
    meaning = meaning_of(mechanism)
    tables = {people: dict(Counter(people)) for people in near}
    truths = {people: meaning(table) for people, table in tables.items()}
    moves: dict[People, int] = {}  # to a table with another true answer; where none leads there, it is left out
    front, steps = [people for people in near if any(truths[other] != truths[people] for other in near[people])], 1
    while front:
        moves.update(dict.fromkeys(front, steps))
        # On a shortest way the answer changes with the last move, so it leads through tables of the same answer.
        inward = {other for people in front for other in near[people] if truths[other] == truths[people]}
        front, steps = [people for people in inward if people not in moves], steps + 1
    largest, searched = max(map(len, near)), 0
    everywhere = len({cell for people in near for cell in people}) == question.cells
    comes = neighbours is Neighbours.ADD_REMOVE
    likeliest = known_kind(question.spec()) is not NEW and mechanism.name not in _NOT_LIKELIEST
    for people, table in tables.items():
        if likeliest and any(rows[people][truths[people]] < p for p in rows[people]):
            return "the true answer of a small table is not the likeliest one"
        # Otherwise a shorter way may lead through a cell that is not watched, or, where people come, through a larger table.
        inside = not comes or len(people) + moves.get(people, 99) <= largest
        if everywhere and inside and searched < _MOST_SEARCHED:
            searched += 1
            if question.flips(question.fold(table), neighbours) != moves.get(people, float("inf")):
                return "the number of people who must change is not what a search finds"
    return ""


def _public_size(mechanism: Examined) -> tuple[str, list[str]]:
    """Tables of the public size on the lines between two cells: where the answer changes, next to it, and far from it."""
    setting, level, people = mechanism.setting, mechanism.setting.level, mechanism.setting.people or _UNKNOWN_SIZE
    # The laws of very many answers are derived again by a referee of their own, if their kind has one.
    if len(mechanism.question.answers) > (MOST_OPTIONS if known_kind(mechanism.question.spec()) is NEW else 12):
        return "", []
    second, ratio = SecondCalculation.of(mechanism), level.epsilon.exact_ratio or level.epsilon.exp()
    far: Sequence[int] = _FAR if second else (*_FAR, *_BETWEEN)
    far = _FAR_DERIVED if mechanism.name in _DERIVED_AGAIN else far
    # Where a record is replaced, the neighbour of a table is the next one on the line; else somebody comes.
    replaced = setting.neighbours is Neighbours.SUBSTITUTION
    for line in lines_of(mechanism, people, far):
        moved = {at for i in line.places for at in ((i, i), (i + replaced, i + 1))}
        cells = {
            (gone, come): dict(+Counter({**line.others, line.first: line.moving - gone, line.second: come}))
            for gone, come in moved
        }
        rows = {at: mechanism.law(Table(table)).probabilities() for at, table in cells.items()}
        for before, i in zip([*line.places[:1], *line.places], line.places):
            here, there, truth = rows[i, i], rows[i + replaced, i + 1], line.meaning(cells[i, i])
            # What is wrong between two tables that are looked at shows at them. Each move multiplies by E = e^epsilon, and what
            # it gives away is multiplied by those after it: delta (1 + E + ... ).
            moves = (i - before) * (1 if replaced else 2)
            grown = (level.epsilon.ball() * moves).exp()
            spent = ball(level.delta) * (moves if level.epsilon.is_zero else (grown - 1) / (level.epsilon.exp() - 1))
            if spent < 1 and not close(rows[before, before], here, grown, spent if level.delta else Fraction(0)):
                return "two tables of the public size that differ in several people are not close", []
            if not close(here, there, ratio, level.delta):
                return "two tables of the public size that differ in one person are not close", []
            if len(here) == 2 and here[truth] < here[1 - truth]:
                return "the true answer of a table of the public size is not the likeliest one", []
            if second is not None and not second.agrees(cells[i, i], here):
                return "a second calculation does not confirm the law of a table of the public size", []
    size = f"{people:,} people"
    return "", [f"tables of {size} near every place where the answer changes and far from it, at the level itself"]


def _sampler(mechanism: Examined) -> tuple[str, list[str]]:
    """Whether draws follow the law for a few small tables; of very many options each flips a coin, and so these are tried."""
    twin = mechanism.small_twin()
    last = twin.question.cells - 1
    tables: list[dict[int, int]] = [{}, dict(Counter((0, 0, last))), {last: 3}]
    # And at the public size, where the answer is least sure: a sampler may take another way for many people.
    for line in lines_of(twin, mechanism.setting.people or _UNKNOWN_SIZE):
        if 0 < line.change < line.moving:
            moved = {line.first: line.moving - line.change, line.second: line.change}
            tables.append(dict(+Counter({**line.others, **moved})))
            break
    # The ends of bins are tried by the referee of quantiles, with words of 64 bits next to them.
    near_ends = mechanism.name not in _DERIVED_AGAIN
    many = known_kind(mechanism.question.spec()).votes and len(mechanism.question.answers) > MOST_OPTIONS
    follows = all(draws_follow(twin, Table(table), near_ends=near_ends) for table in tables)
    if not follows or (many and not flips_its_coins(mechanism)):
        return "the sampler does not follow the law that was examined", []
    return "", ["the sampler gives each answer exactly where its law says so, by scripted bits"]


def _theorem(where: str) -> Callable[..., Any]:
    """A function from the file of a theorem: *where* says file and name. A release loads the files of its own theorem alone."""
    file, _, name = where.rpartition(".")
    return getattr(import_module(f"optimaldp.certify.{file}"), name)  # type: ignore[no-any-return]


def _finding(where: str, mechanism: Any) -> Finding:
    found: Finding = _theorem(where)(mechanism)
    return found


_REFEREES: dict[str, str] = {
    "leading options": "leaders.examine_leading",
    "prior optimum": "votes.examine_prior",
    **dict.fromkeys(_DERIVED_AGAIN, "quantile.examine_ranking"),
    "lattice noise": "histogram_draws.examine_noise",
    "independent noise": "histogram_draws.examine_noise",
    "kept counts": "histogram_draws.examine_kept",
    "finite optimum": "histogram_draws.examine_rows",
    "kept keys": "keys.examine_keys",
    "several ranks": "quartiles.examine_several_ranks",
    "quartiles jointly": "quartiles.examine_several_ranks",
    "geometric noise": "numbers.sums.examine_noise_number",
    "cut geometric noise": "numbers.sums.examine_noise_number",
    "discrete staircase": "numbers.sums.examine_noise_number",
    "cut discrete staircase": "numbers.sums.examine_noise_number",
    "smoothed crossing": "numbers.crossing.examine_crossing",
    "two crossings": "numbers.two_parts.examine_two_crossings",
    "two steps": "numbers.two_parts.examine_two_steps",
    "lattice noise by group": "numbers.groups.examine_grouped",
}
_DRAWN_TOGETHER = ("lattice noise by group",)  # mechanisms that answer several groups by one draw
