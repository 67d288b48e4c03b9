"""The referee of releases: it takes a mechanism as it will be drawn, and looks at it from outside.

Tables in, the law of the printed answer out. It knows what a neighbour is, and what each kind of question means, by itself; it
chooses its tables from public numbers alone, so nothing that it says depends on data. What it cannot try, all tables of all
sizes, rests on the theorem that the mechanism names, and the finding says so.

A mechanism with a list of answers is looked at in this order: all small tables with all their neighbours, long lines of tables at
the public size, a second calculation of the laws on them, then the bits that its sampler takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from optimaldp.certify.findings import Certified, Finding, mint
from optimaldp.certify.numbers import NUMBERS
from optimaldp.certify.questions.close_races import MOST_OPTIONS, check_close_races
from optimaldp.certify.questions.examined import Examined
from optimaldp.certify.questions.folding import check_fold, check_group_fold
from optimaldp.certify.questions.keys import examine_keys
from optimaldp.certify.questions.laws_compared import close, draws_follow, is_distribution, stand_in
from optimaldp.certify.questions.leaders import leaders_are_drawn
from optimaldp.certify.questions.meanings import MEANINGS, cells_of_groups, public_group
from optimaldp.certify.questions.noise import examine_kept, examine_noise, examine_rows
from optimaldp.certify.questions.personal_tables import examine_personal
from optimaldp.certify.questions.scripted import flips_its_coins
from optimaldp.certify.questions.second_calculation import SecondCalculation
from optimaldp.certify.questions.several_ranks import examine_several_ranks
from optimaldp.certify.questions.tables import People, lines_of, small_tables
from optimaldp.certify.votes.prior import examine_prior
from optimaldp.certify.votes.top import examine_leading
from optimaldp.errors import OptimalDPError
from optimaldp.laws.setting import Table
from optimaldp.privacy import Neighbours
from optimaldp.privacy.balls import ball, precision
from optimaldp.privacy.trajectory import Number

_BITS = 192
_MOST_SEARCHED = 60  # tables whose number of moves is compared: two joined thresholds take a millisecond each
# Where smoothing may make a wrong bin likelier than the true one on a tiny table: the law itself is derived again instead.
_NOT_LIKELIEST = ("smoothed rank",)
_UNKNOWN_SIZE = 1000  # people in the tables that are made up where their number is private
_FAR = (7, 14, 15, 101, 127, 1 << 10, 1 << 19)
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
        own, failure, kind = Finding(True, ()), "", mechanism.question.spec()["kind"]
        if (special := _REFEREES.get(mechanism.name)) is not None:
            own = special(mechanism)
            if not own.private:
                return own
            if not mechanism.listed:
                return own if kind in ("keys", "number") else _counted_once(mechanism, own)
            # Of many bins few are watched from outside: that each person is in one of them, once, is looked at in all.
            failure = check_fold(mechanism) if kind == "quantile" else ""
        elif kind == "mean-difference":
            failure = check_group_fold(mechanism)
        if failure:
            return Finding(False, own.checks, failure)
        if special is None and mechanism.setting.personal and mechanism.listed:
            return examine_personal(mechanism)
        races = [check_close_races] if kind == "winner" and len(mechanism.question.answers) > 1 else []
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


def _counted_once(mechanism: Examined, own: Finding) -> Finding:
    """Where the law of what is printed cannot be read, its parts were examined; what is left are the steps around them."""
    if failure := check_fold(mechanism):
        return Finding(False, own.checks, failure)
    if mechanism.question.spec()["kind"] == "top" and not leaders_are_drawn(mechanism):
        return Finding(False, own.checks, "the sampler does not follow the law that was examined")
    return Finding(True, ("every person is counted once and in their own place", *own.checks))


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
    spec = question.spec()
    known = MEANINGS.get(spec["kind"])
    tables = {people: dict(Counter(people)) for people in near}
    truths = {p: known(spec, table) if known else question.truth(question.fold(table)) for p, table in tables.items()}
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
    likeliest = known is not None and mechanism.name not in _NOT_LIKELIEST
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
    if len(mechanism.question.answers) > (12 if mechanism.question.spec()["kind"] in MEANINGS else MOST_OPTIONS):
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
    near_ends = _REFEREES.get(mechanism.name) is not _quantile
    many = mechanism.question.spec()["kind"] == "winner" and len(mechanism.question.answers) > MOST_OPTIONS
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
    **NUMBERS,
}
