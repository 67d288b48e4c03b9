"""The referee of releases: it takes a mechanism as it will be drawn, and looks at it from outside.

Tables in, the law of the printed answer out. It knows what a neighbour is, and what each kind of question means, by itself; it
chooses its tables from public numbers alone, so nothing that it says depends on data. What it cannot try, all tables of all
sizes, rests on the theorem that the mechanism names, and the finding says so.

A mechanism with a list of answers is looked at in this order: all small tables with all their neighbours, long lines of tables at
the public size, a second calculation of the laws on them, then the bits that its sampler takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from optimaldp.certify.findings import Certified, Finding, mint
from optimaldp.certify.questions.close_races import MOST_OPTIONS, check_close_races
from optimaldp.certify.questions.examined import Examined
from optimaldp.certify.questions.folding import check_fold, check_group_fold
from optimaldp.certify.questions.keys import examine_keys
from optimaldp.certify.questions.laws_compared import (
    bits_for,
    close,
    draws_follow,
    exact_row,
    is_distribution,
    stand_in,
)
from optimaldp.certify.questions.leaders import leaders_are_drawn
from optimaldp.certify.questions.meanings import cells_of_groups, meaning_of, own_meaning, public_group
from optimaldp.certify.questions.noise import examine_kept, examine_noise, examine_rows
from optimaldp.certify.questions.personal_tables import examine_personal
from optimaldp.certify.questions.scripted import flips_its_coins
from optimaldp.certify.questions.second_calculation import SecondCalculation
from optimaldp.certify.questions.several_ranks import examine_several_ranks
from optimaldp.certify.questions.tables import (
    LineOfTables,
    People,
    lines_of,
    moves_to_another,
    small_tables,
    watched_cells,
)
from optimaldp.certify.votes.prior import examine_prior
from optimaldp.certify.votes.top import examine_leading
from optimaldp.errors import OptimalDPError
from optimaldp.laws.setting import Table
from optimaldp.privacy import ApproximateDP, Neighbours
from optimaldp.privacy.balls import ball, precision
from optimaldp.privacy.trajectory import Number

_MOST_SEARCHED = 60  # tables whose number of moves is compared: two joined thresholds take a millisecond each
# Where smoothing may make a wrong bin likelier than the true one on a tiny table: the law itself is derived again instead.
_NOT_LIKELIEST = ("smoothed rank",)
_UNKNOWN_SIZE = 1000  # people in the tables that are made up where their number is private
_NEAR = 3
_FAR = (7, 14, 15, 101, 127, 1 << 10, 1 << 19)
_FAR_AGAIN = _FAR[:3]
_BETWEEN = (
    22,
    33,
    50,
    75,
    250,
    500,
    1 << 13,
    1 << 16,
)  # where no second calculation looks at every table that is drawn from
_DERIVED_AGAIN = ("smoothed rank", "flip", "flip+")  # laws whose numbers are derived again, far away as well
_FAR_DERIVED = (7, 127)


@lru_cache(maxsize=512)
def certify(mechanism: object) -> Certified[Any]:
    """The mechanism with the finding that passed it, or :class:`NotCertifiedError`. The same one is examined once."""
    return mint(mechanism, examine_release(mechanism))


def examine_release(mechanism: Any) -> Finding:
    """Look at any mechanism of a release: those with a law of their own kind have a referee of their own kind."""
    try:
        if (special := _REFEREES.get(mechanism.name)) is None:
            if mechanism.spec()["kind"] == "mean-difference" and (failure := check_group_fold(mechanism)):
                return Finding(False, (), failure)
            by_level = mechanism.setting.personal and mechanism.listed
            return examine_personal(mechanism) if by_level else examine(mechanism)
        own = special(mechanism)
        if not own.private:
            return own
        if not mechanism.listed:
            return own if mechanism.spec()["kind"] == "keys" else _counted_once(mechanism, own)
        # Of many bins few are watched from outside: that each person is in one of them, once, is looked at in all.
        if mechanism.spec()["kind"] == "quantile" and (failure := check_fold(mechanism)):
            return Finding(False, own.checks, failure)
        outside = examine(mechanism)
        return Finding(outside.private, (*own.checks, *outside.checks), outside.failure)
    except OptimalDPError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        # A law that is none, a division by nothing, a row that is too short. Its words are the law's own: they stay here.
        said = str(error) if type(error) is ArithmeticError else type(error).__name__
    return Finding(False, (), f"its law cannot be examined: {said}")


def _counted_once(mechanism: Examined, own: Finding) -> Finding:
    """Where the law of what is printed cannot be read, its parts were examined; what is left are the steps around them."""
    if failure := check_fold(mechanism):
        return Finding(False, own.checks, failure)
    if mechanism.spec()["kind"] == "top" and not leaders_are_drawn(mechanism):
        return Finding(False, own.checks, "the sampler does not follow the law that was examined")
    return Finding(True, ("every person is counted once and in their own place", *own.checks))


def examine(mechanism: Examined) -> Finding:
    """Look at a mechanism with a finite list of answers, whose law can be read."""
    looks = [_small_tables, _public_size, _sampler]
    if mechanism.spec()["kind"] == "winner" and len(mechanism.answers) > 1:
        looks.insert(2, check_close_races)
    checks: list[str] = []
    for look in looks:
        failure, words = look(mechanism)
        if failure:
            return Finding(False, tuple(checks), failure)
        checks += words
    return Finding(True, (*checks, f"for all other tables, by theorem: {mechanism.proof}"))


def _small_tables(mechanism: Examined) -> tuple[str, list[str]]:
    """Every small table and every neighbour, all events, exactly: at a level next to the real one, where numbers are rational."""
    # Level and neighbours are the ones that are promised: not what a twin, or a copy at another level, says of itself.
    setting, twin = mechanism.setting, mechanism.small_twin()
    level, spec = stand_in(setting.level), twin.spec()
    cells, group = watched_cells(twin.cells, 5), None
    if setting.public_groups:
        cells, group = cells_of_groups(spec, twin.cells), partial(public_group, spec)
    near, total = small_tables(cells, setting.neighbours, group)
    rows: dict[People, list[Number]] = {}
    with precision(bits_for(setting.level)):
        tried, ratio = twin.at(level), level.epsilon.exact_ratio or level.epsilon.exp()
        for people in near:
            row = tried.law(Table(dict(Counter(people)))).probabilities()
            if len(row) != len(tried.answers) or not is_distribution(row):
                raise ArithmeticError("the law of a small table is no distribution")
            rows[people] = exact_row(row) or row
        if not all(close(rows[here], rows[there], ratio, level.delta) for here in near for there in near[here]):
            return "two small tables that differ in one person are not close", []
        if failure := _small_failure(tried, near, rows):
            return failure, []
    words = "all its cells" if twin.cells <= 5 else "its first, second, middle and last cells"
    smaller = "" if twin is mechanism else f" of the same mechanism with {len(twin.answers)} answers"
    return "", [
        f"every table of up to {total} people over {words}{smaller} and every neighbour: all events, exactly",
        "the true answer and the number of people who must change, against a search of the referee's own",
    ]


def _small_failure(
    mechanism: Examined, near: Mapping[People, Sequence[People]], rows: Mapping[People, Sequence[Number]]
) -> str:
    """Whether the true answer is the likeliest one, and as many moves from another one as a breadth-first search finds."""
    known = meaning_of(mechanism.spec())
    meaning = known or own_meaning(mechanism)
    tables = {people: dict(Counter(people)) for people in near}
    truths = {people: meaning(table) for people, table in tables.items()}
    moves, largest = moves_to_another(near, truths), max(map(len, near))
    everywhere = len({cell for people in near for cell in people}) == mechanism.cells
    comes = mechanism.setting.neighbours is Neighbours.ADD_REMOVE
    likeliest = known is not None and mechanism.name not in _NOT_LIKELIEST
    searched = 0
    for people, table in tables.items():
        if likeliest and any(rows[people][truths[people]] < p for p in rows[people]):
            return "the true answer of a small table is not the likeliest one"
        # Otherwise a shorter way may lead through a cell that is not watched, or, where people come, through a larger table.
        inside = not comes or len(people) + moves.get(people, 99) <= largest
        if everywhere and inside and searched < _MOST_SEARCHED:
            searched += 1
            if mechanism.moves(Table(table)) != moves.get(people, float("inf")):
                return "the number of people who must change is not what a search finds"
    return ""


def _public_size(mechanism: Examined) -> tuple[str, list[str]]:
    """Tables of the public size on the lines between two cells: where the answer changes, next to it, and far from it."""
    known, people = meaning_of(mechanism.spec()), mechanism.setting.people or _UNKNOWN_SIZE
    # The laws of very many answers are derived again by a referee of their own, if their kind has one.
    if len(mechanism.answers) > (MOST_OPTIONS if known is None else 12):
        return "", []
    meaning = known or own_meaning(mechanism)
    far: Sequence[int] = _FAR if SecondCalculation.of(mechanism) else (*_FAR, *_BETWEEN)
    far = _FAR_DERIVED if mechanism.name in _DERIVED_AGAIN else far
    with precision(bits_for(mechanism.setting.level)):
        for line in lines_of(mechanism, people):
            change = line.change(meaning)
            near = range(change - _NEAR, change + _NEAR + 1)
            away = [change + sign * step for step in (_FAR_AGAIN if line.others else far) for sign in (-1, 1)]
            places = sorted(i for i in {0, line.moving - 1, *near, *away} if 0 <= i < line.moving)
            if failure := _line_failure(mechanism, line, places, [meaning(line.table(i)) for i in places]):
                return failure, []
            # Very far away the answer's law is a function of the distance: one line on which the answer changes tells.
            if 0 < change < line.moving:
                far = _FAR_AGAIN
    size = f"{people:,} people"
    return "", [f"tables of {size} near every place where the answer changes and far from it, at the level itself"]


def _line_failure(mechanism: Examined, line: LineOfTables, places: Sequence[int], truths: Sequence[int]) -> str:
    """Each of these tables against a neighbour, its true answer, and its law against a second calculation."""
    level, second = mechanism.setting.level, SecondCalculation.of(mechanism)
    ratio = level.epsilon.exact_ratio or level.epsilon.exp()
    # Where a record is replaced, the neighbour of a table is the next one on the line; else somebody comes.
    replaced = mechanism.setting.neighbours is Neighbours.SUBSTITUTION
    tables = {i: line.table(i) for at in places for i in (at, at + replaced)}
    rows = {i: mechanism.law(Table(table)).probabilities() for i, table in tables.items()}
    for before, i, truth in zip([*places[:1], *places], places, truths):
        here = rows[i]
        if not _linked(rows[before], here, level, (i - before) * (1 if replaced else 2)):
            return "two tables of the public size that differ in several people are not close"
        there = rows[i + 1] if replaced else mechanism.law(Table(line.table(i, more=1))).probabilities()
        if not close(here, there, ratio, level.delta):
            return "two tables of the public size that differ in one person are not close"
        if len(here) == 2 and here[truth] < here[1 - truth]:
            return "the true answer of a table of the public size is not the likeliest one"
        if second is not None and not second.agrees(tables[i], here):
            return "a second calculation does not confirm the law of a table of the public size"
    return ""


def _linked(first: Sequence[Number], second: Sequence[Number], level: ApproximateDP, moves: int) -> bool:
    """Whether two laws are as close as so many moves allow: what is wrong between two tables that are looked at shows at them.

    Each move multiplies by ``E = e^epsilon``, and what it gives away is multiplied by those after it: ``delta (1 + E + ... )``.
    """
    grown = (level.epsilon.ball() * moves).exp()
    given = ball(level.delta) * (moves if level.epsilon.is_zero else (grown - 1) / (level.epsilon.exp() - 1))
    return not given < 1 or close(first, second, grown, given if level.delta else Fraction(0))


def _sampler(mechanism: Examined) -> tuple[str, list[str]]:
    """Whether draws follow the law for a few small tables; of very many options each flips a coin, and so these are tried."""
    twin = mechanism.small_twin()
    cells = watched_cells(twin.cells, 3)
    tables: list[dict[int, int]] = [{}, {cells[0]: 2, cells[-1]: 1}, {cells[-1]: 3}]
    # And at the public size, where the answer is least sure: a sampler may take another way for many people.
    meaning = meaning_of(twin.spec()) or own_meaning(twin)
    for line in lines_of(twin, mechanism.setting.people or _UNKNOWN_SIZE):
        if 0 < (change := line.change(meaning)) < line.moving:
            tables.append(line.table(change))
            break
    # The ends of bins are tried by the referee of quantiles, with words of 64 bits next to them.
    near_ends = _REFEREES.get(mechanism.name) is not _quantile
    many = mechanism.spec()["kind"] == "winner" and len(mechanism.answers) > MOST_OPTIONS
    follows = all(draws_follow(twin, Table(table), near_ends=near_ends) for table in tables)
    if not follows or (many and not flips_its_coins(mechanism)):
        return "the sampler does not follow the law that was examined", []
    return "", ["the sampler gives each answer exactly where its law says so, by scripted bits"]


def _quantile(mechanism: Any) -> Finding:
    from optimaldp.certify.quantile import examine as examine_quantile

    return examine_quantile(mechanism.chosen)


_REFEREES: dict[str, Callable[[Any], Finding]] = {
    "leading options": examine_leading,
    "prior optimum": examine_prior,
    "smoothed rank": _quantile,
    "flip": _quantile,
    "flip+": _quantile,
    "lattice noise": examine_noise,
    "independent noise": examine_noise,
    "kept counts": examine_kept,
    "finite optimum": examine_rows,
    "kept keys": examine_keys,
    "several ranks": examine_several_ranks,
    "quartiles jointly": examine_several_ranks,
}
