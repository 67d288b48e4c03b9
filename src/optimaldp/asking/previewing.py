"""Simulation with made-up counts: never about a real table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Unpack

from optimaldp.asking.ask import Ask, AskOptions, takes_options
from optimaldp.asking.preview_result import Preview
from optimaldp.asking.releasing import reviewed
from optimaldp.asking.request import Request, setting_inside
from optimaldp.asking.result import epsilon_means
from optimaldp.certify.core.referee import certify
from optimaldp.errors import InputError, NoMarginError, QuestionError
from optimaldp.laws.law import Setting, Table
from optimaldp.privacy import Epsilon, Neighbours, read_number, read_probability
from optimaldp.privacy.balls import Ball, ball
from optimaldp.privacy.numbers import is_whole
from optimaldp.questions.accuracy import MOST_PEOPLE, Accuracy, refuse_options
from optimaldp.questions.base import NumberPreview, Question
from optimaldp.sampling.batch import draw_many
from optimaldp.tables.tally import KeyTally

if TYPE_CHECKING:
    from optimaldp.asking.ask import LevelLike


def release_many(
    question: Question | str,
    counts: Sequence[int],
    *,
    draws: int,
    epsilon: LevelLike,
    delta: LevelLike = 0,
    neighbours: str | Neighbours = Neighbours.SUBSTITUTION,
) -> dict[str, int]:
    """NOT a release: simulate *draws* answers for hypothetical *counts*, and say how often each came.

    For studies of accuracy with made-up counts, one for each cell of the question's tally. Many answers about one real table
    spend the budget many times, so no table is accepted here. *delta* and *neighbours* as in :func:`release`.

    >>> sum(release_many("majority(x)", [60, 40], draws=100, epsilon=1).values())
    100
    """
    request = Ask(question, epsilon, delta, neighbours=neighbours).request()
    asked, tally = request.question, request.question.tally
    remedy = "simulate it with optimaldp.histograms"
    if isinstance(tally, KeyTally) or asked.answers is None or len(asked.answers) > 10_000:
        raise QuestionError("question", str(asked), "has no short list of answers", remedy)
    asked.read_counts(counts)
    table = Table({cell: int(people) for cell, people in enumerate(counts) if people})
    setting = Setting(request.level, request.neighbours, table.people)
    mechanism = asked.mechanism(setting)
    if not mechanism.listed:
        raise QuestionError("question", str(asked), "has no short list of answers", remedy)
    law = certify(mechanism).mechanism.law(table)
    drawn = draw_many(lambda: [ball(p) for p in law.probabilities()], draws)
    return {name: int((drawn == position).sum()) for position, name in enumerate(asked.answers)}


# How often will the answer be right? By margin, next to other mechanisms, before any data is read and without spending.
#
# The margin is public because it is hypothetical: "if 13 or more people would have to answer differently, it says the truth
# with 95 percent". The margin of the actual table is private, and nothing here looks at a table.


_MARGIN_ROWS = 25  # margins in a table: 1, 2, 3, ... then growing


@takes_options()
def preview(
    question: Question | str,
    *,
    n: int | None = None,
    margins: Sequence[int] | None = None,
    level_sizes: Mapping[Any, int] | None = None,
    **options: Unpack[AskOptions],
) -> Preview:
    """How often the private answer will be wrong, by margin. Spends nothing and reads nothing but public numbers.

    The margin is the number of flips: the least number of people who would have to be replaced (or appear, or disappear) to
    change the true answer. *n*, the number of people, writes margins as shares. *level_sizes* says how many people have
    each personal level, ``{0.1: 20, 1: 981}``: both aims are shown. *by* and *groups* preview the answer inside one group.
    *question*, *delta*, *neighbours*, *unit*, *reduce*, *reduce_order*, *where*, *public_groups*, *groups_per_person*,
    *levels*, *aim*, *part*, *types*, *delimiter*, *encoding* and *description* as in :func:`release`.

    >>> shown = preview("majority(smokes = 'yes')", epsilon=1, n=1000)
    >>> shown.reliable
    (('at most 5 %', 3), ('at most 1 %', 5), ('0', None))
    """
    return preview_ask(Ask(question, **options), n=n, margins=margins, level_sizes=level_sizes)


def preview_ask(
    ask: Ask,
    *,
    n: int | None = None,
    margins: Sequence[int] | None = None,
    level_sizes: Mapping[Any, int] | None = None,
) -> Preview:
    """As :func:`preview`, of an ask that was written already."""
    if ask.levels is not None and level_sizes is None:
        remedy = (
            "say how many people have each level: level_sizes={0.1: 20, 1: 981}, or --level-sizes '0.1: 20, 1: 981'"
        )
        raise QuestionError("levels", ask.levels, "is a column, which a preview does not read", remedy)
    request = replace(_told(ask), levels=None if level_sizes is None else "level").request()
    return preview_of(request, n=n, margins=margins, level_sizes=level_sizes)


def _told(ask: Ask) -> Ask:
    """With what its description says: a preview opens no table."""
    return ask if ask.description is None else ask.described(reviewed(ask.description))


def preview_of(
    request: Request,
    *,
    n: int | None = None,
    margins: Sequence[int] | None = None,
    level_sizes: Mapping[Any, int] | None = None,
) -> Preview:
    """As :func:`preview`, for a request that is read already."""
    request.people.rules(request.tally)  # a rule that does not fit is refused here as it would be by a release
    persons = None if n is None else read_people(n)
    setting = hypothetical_setting(request, persons)
    if level_sizes is not None:
        from optimaldp.asking.level_previewing import of_counts, require_levels, with_levels

        sizes = read_level_sizes(level_sizes, request.level.epsilon)
        people = sum(size for _, size in sizes)
        if (number := request.question.number_preview(request.setting(people, sizes), people)) is not None:
            return _number_shown(request, number, people)
        require_levels(request, sizes)
        if (counts := of_counts(request, sizes)) is not None:
            return counts
    if isinstance(request.tally, KeyTally):
        reliable = request.question.mechanism(setting).reliability()
        raise NoMarginError("question", str(request.question), "has no margin to show", reliable)
    refuse_options(request.question)
    if (number := request.question.number_preview(setting, persons)) is not None:
        return _number_shown(request, number, persons)
    if (counts_off := request.question.expected_errors(setting)) is not None:
        return _counts_shown(request, setting, counts_off, persons)

    def one_level() -> Preview:
        return _shown(request, request.question.accuracy(setting), setting, persons, margins)

    return one_level() if level_sizes is None else with_levels(one_level, request, sizes, margins)


def hypothetical_setting(request: Request, persons: int | None) -> Setting:
    if request.groups is None:
        known = persons if request.neighbours is Neighbours.SUBSTITUTION else None
        return Setting(request.level, request.neighbours, known, public_groups=request.public_groups)
    return setting_inside(request)


def _shown(
    request: Request, accuracy: Accuracy, setting: Setting, persons: int | None, margins: Sequence[int] | None
) -> Preview:
    reliable = accuracy.reliable()
    shown = _read_margins(margins) if margins is not None else _margins(reliable, persons)
    ours = ("optimaldp", tuple(display_float(accuracy.error(margin)) for margin in shown))
    series = (ours, *((rival.name, tuple(rival.error(margin) for margin in shown)) for rival in accuracy.rivals()))
    notes = [*accuracy.notes, *_group_note(request)]
    off, figures = accuracy.distance()
    more = {"epsilon_means": epsilon_means(request.level, request.limited), **figures}
    return Preview(
        str(request.question),
        request.level,
        request.neighbours,
        persons,
        shown,
        series,
        reliable,
        tuple(notes),
        off,
        more,
    )


def _counts_shown(request: Request, setting: Setting, errors: Mapping[str, float], persons: int | None) -> Preview:
    """Counts have no margin: by how much all of them together, one of them and a sum of them are expected to be off."""
    together = f"all counts together are expected to be off by at most {next(iter(errors.values())):.3g} people"
    off = (together, *request.question.query_sentences(setting))
    more = {"epsilon_means": epsilon_means(request.level, request.limited), "expected_error": dict(errors)}
    known = (str(request.question), request.level, request.neighbours, persons)
    return Preview(*known, (), (), (), tuple(_group_note(request)), off, more)


def _number_shown(request: Request, number: NumberPreview, persons: int | None) -> Preview:
    """A number has no margin: how far off it will be, next to what others would do."""
    more = {
        "epsilon_means": epsilon_means(request.level, request.limited),
        "expected_error": number.errors,
        **number.figures,
    }
    known = (str(request.question), request.level, request.neighbours, persons)
    return Preview(*known, (), (), (), tuple(_group_note(request)), number.sentences, more)


def _group_note(request: Request) -> list[str]:
    if request.groups is None:
        return []
    together = bool(setting_inside(request).groups)
    inside = "a record is replaced" if request.groups.public else "people come and go"
    several = "" if request.groups.per_person == 1 else f", one person in at most {request.groups.per_person} of them"
    how = "all of them share one draw" if together else f"inside a group {inside}"
    sentence = request.all_groups()
    return [
        f"shown for one group: {how}, and all {len(request.groups.values)} are one spend{several}",
        *([] if sentence is None else [sentence]),
    ]


def read_people(n: object) -> int:
    if not is_whole(n, 1, MOST_PEOPLE):
        raise InputError("n", n, "is not a number of people", "give a positive whole number")
    return n


def read_level_sizes(sizes: Mapping[Any, int], most: Epsilon) -> tuple[tuple[Epsilon, int], ...]:
    """How many people lose what, in rising order: nobody more than *most*."""
    merged: dict[Epsilon, int] = {}
    for own, people in sizes.items():
        if not is_whole(people, 1, MOST_PEOPLE):
            raise InputError("level_sizes", people, "is not a number of people", "write {0.1: 20, 1: 981}")
        used = min(Epsilon.read(own, name="level_sizes"), most)
        merged[used] = merged.get(used, 0) + people
    if not merged:
        raise InputError("level_sizes", {}, "names no level", "write {0.1: 20, 1: 981}")
    return tuple(sorted(merged.items()))


def _read_margins(margins: Sequence[int]) -> tuple[int, ...]:
    chosen = tuple(margins)
    if not chosen or not all(is_whole(m, 1, MOST_PEOPLE) for m in chosen):
        raise InputError("margins", list(chosen), "is not a list of positive whole numbers")
    return chosen


def display_float(number: Ball) -> float:
    """A float to look at."""
    return max(0.0, float(number.mid()))


def _margins(reliable: Sequence[tuple[str, int | None]], persons: int | None) -> tuple[int, ...]:
    """Margins worth showing: up to where the last limit is met, a little beyond, never beyond all people."""
    known = [margin for _, margin in reliable if margin is not None]
    last = max(known, default=_MARGIN_ROWS) + 2
    last = min(last, persons) if persons else last
    if last <= _MARGIN_ROWS:
        return tuple(range(1, last + 1))
    growing = (round(last ** (i / (_MARGIN_ROWS - 1))) for i in range(_MARGIN_ROWS))
    return tuple(sorted(set(growing)))


# The least epsilon with which an answer is as reliable as somebody wants it: public arithmetic, no table is read.


def epsilon_for(
    question: Question | str,
    *,
    accuracy: object = Fraction(95, 100),
    n: int | None = None,
    margin: object = Fraction(1, 100),
    delta: LevelLike = 0,
    neighbours: str | Neighbours | None = None,
    within: object = None,
    confidence: object = Fraction(95, 100),
    description: object = None,
) -> float:
    """The least epsilon that makes the answer right with probability *accuracy* when the margin is at least that share of *n*.

    Rounded up to three digits. "Which epsilon makes me 95 % sure when the margin is at least 1 % of n?"

    Of a number: the least epsilon with which it is *within* this distance of the truth with probability *confidence*; for a share
    or mean, *n* is how many people have a value. *delta* and *neighbours* as in
    :func:`release`. *description*: the description of the table, where the question leaves out
    what it says.

    >>> epsilon_for("majority(smokes = 'yes')", n=1000), epsilon_for("count(smokes = 'yes')", within=6)
    (0.242, 0.457)
    """
    ask = _told(Ask(question, 1, delta, neighbours=neighbours, description=description))
    question, neighbours = ask.question, ask.neighbours
    if within is not None:
        return _epsilon_within(question, within, confidence, n, delta, neighbours)
    persons = read_people(n)
    wanted = 1 - read_probability(accuracy, name="accuracy")
    flips = max(1, math.floor(read_probability(margin, name="margin") * persons))

    def good(epsilon: Fraction) -> bool:
        request = Ask(question, epsilon, delta, neighbours=neighbours).request()
        refuse_options(request.question)
        return bool(request.question.accuracy(hypothetical_setting(request, persons)).error(flips) <= ball(wanted))

    return _least(good, InputError("accuracy", accuracy, "cannot be reached at this margin", "ask for less"))


def _epsilon_within(
    question: Question | str,
    within: object,
    confidence: object,
    n: int | None,
    delta: LevelLike,
    neighbours: str | Neighbours | None,
) -> float:
    distance = read_number(within, name="within")
    chance, persons = read_probability(confidence, name="confidence"), None if n is None else read_people(n)
    if distance < 0 or not 0 < chance < 1:
        raise InputError(
            "within", within, "is not a distance with a confidence below 1", "write within=6, confidence=0.95"
        )

    def good(epsilon: Fraction) -> bool:
        request = Ask(question, epsilon, delta, neighbours=neighbours).request()
        return request.question.half_width(hypothetical_setting(request, persons), chance, persons) <= distance

    return _least(good, InputError("within", within, "cannot be reached", "ask for less"))


def _least(good: Callable[[Fraction], bool], failure: InputError) -> float:
    """The least epsilon that is good enough, rounded up to three digits."""
    low, high = Fraction(0), Fraction(1, 1000)
    while not good(high):
        low, high = high, 2 * high
        if high > 200:
            raise failure
    while high - low > high / 2000:
        middle = (low + high) / 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return _up_to_three_digits(high)


def _up_to_three_digits(number: Fraction) -> float:
    places = 2 - math.floor(math.log10(float(number)))
    scale = Fraction(10) ** places
    return float(math.ceil(number * scale) / scale)
