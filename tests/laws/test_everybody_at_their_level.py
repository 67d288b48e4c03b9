"""Every kind, both aims, with delta and without: on all small tables everybody is protected at their own level.

Tables of a few people of each level over all cells that a record can fall into (outside of those asked, without a value or an
option); every person of every table goes to every other cell, and all events are compared at that person's level. People of
level 0, who are not asked any more, must not show at all. Add-remove neighbours are refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import pytest

from optimaldp.asking.ask import Ask
from optimaldp.certify.core.drawing import close, is_distribution
from optimaldp.errors import QuestionError
from optimaldp.histograms.release import keep_chance
from optimaldp.laws.law import AimLike, Table
from optimaldp.privacy import Epsilon
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.questions.mechanism import QuestionMechanism

STRICT, LOOSE, NONE = Epsilon.read("ln(2)"), Epsilon.read("ln(4)"), Epsilon.read(0)
PLAIN = ((STRICT, 2), (LOOSE, 2))
WITH_ZERO = ((NONE, 1), (STRICT, 1), (LOOSE, 1))
IRRATIONAL = ((Epsilon.read("0.1"), 1), (Epsilon.read("1"), 2))

YES_NO = [
    "count(x) >= 2",
    "count(x) < 3",
    "share(x) >= 0.3",
    "majority(x)",
    "any(x)",
    "all(x)",
    "share(x among y) >= 0.4",
    "count(x among y) <= 1",
    "all(x among y)",
    "compare(v, 'a', 'b')",
    "compare(v, 'a', 'b' among y)",
    "mean(s, range=[0, 10], step=5) >= 5",
    "mean(s, range=[0, 10], step=5) < 4",
    "mean(s, range=[0, 1], step=1 among y) > 0.3",
]
OTHERS = [
    "winner(v, ['a', 'b'])",
    "winner(v, ['a', 'b', 'c'])",
    "winner(v, ['a', 'b'] among y)",
    "winner(v, ['a', 'b', 'c', 'd', 'e', 'f'])",
    "median(s, bins=[0, 5, 10])",
    "quantile(s, 0.8, bins=[0, 1, 2, 3])",
    "median(s, bins=[0, 5, 10] among y)",
]
AIMS: list[AimLike] = ["typical", "every table"]
DELTAS = ["0", "0.02"]


def asked(question: str, aim: AimLike, delta: str, levels: Sequence[tuple[Epsilon, int]]) -> QuestionMechanism:
    most = levels[-1][0]
    request = Ask(question, epsilon=most, delta=delta, levels="level", aim=aim).request()
    return request.question.mechanism(request.setting(sum(people for _, people in levels), tuple(levels)))


def spread(people: int, cells: int) -> Iterator[tuple[int, ...]]:
    """Every way in which so many people fall into the cells."""
    for places in itertools.combinations_with_replacement(range(cells), people):
        yield tuple(places.count(cell) for cell in range(cells))


State = tuple[tuple[int, ...], ...]


def table_of(state: State, levels: Sequence[tuple[Epsilon, int]]) -> Table:
    cells = [{cell: n for cell, n in enumerate(counts) if n} for counts in state]
    total: dict[int, int] = {}
    for own in cells:
        for cell, n in own.items():
            total[cell] = total.get(cell, 0) + n
    return Table(total, tuple((epsilon, own) for (epsilon, _), own in zip(levels, cells)))


def changed(state: State) -> Iterator[tuple[int, State]]:
    """One person of one level goes to another cell."""
    for place, counts in enumerate(state):
        for there, here in itertools.permutations(range(len(counts)), 2):
            if counts[there]:
                moved = list(counts)
                moved[there], moved[here] = moved[there] - 1, moved[here] + 1
                yield place, (*state[:place], tuple(moved), *state[place + 1 :])


def assert_everybody_is_protected(
    mechanism: QuestionMechanism, levels: Sequence[tuple[Epsilon, int]], promised: Sequence[Epsilon] | None = None
) -> None:
    promised = promised or [epsilon for epsilon, _ in levels]
    ratios = [e.exact_ratio if e.exact_ratio is not None else e.exp() for e in promised]
    delta = mechanism.setting.level.delta if mechanism.uses_delta else Fraction(0)
    states = list(itertools.product(*(spread(people, mechanism.question.cells) for _, people in levels)))
    rows = {state: mechanism.law(table_of(state, levels)).probabilities() for state in states}
    assert all(is_distribution(row) for row in rows.values())
    for state, row in rows.items():
        for place, other in changed(state):
            own = Fraction(0) if promised[place].is_zero else delta
            assert close(row, rows[other], ratios[place], own), (state, other, place)


def levels_for(question: str, cells: int) -> list[tuple[tuple[Epsilon, int], ...]]:
    few = ((STRICT, 1), (LOOSE, 1)) if cells > 4 else PLAIN
    return [few, WITH_ZERO] if cells <= 6 else [few]


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("aim", AIMS)
@pytest.mark.parametrize("question", [*YES_NO, *OTHERS])
def test_all_small_tables(question: str, aim: AimLike, delta: str) -> None:
    cells = asked(question, aim, delta, PLAIN).question.cells
    with precision(200):
        for levels in levels_for(question, cells):
            assert_everybody_is_protected(asked(question, aim, delta, levels), levels)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("prior", ["prior: 0.5", "prior: 0.2"])
@pytest.mark.parametrize(
    "question", [text for text in YES_NO if asked(text, "typical", "0", PLAIN).question.takes_prior]
)
def test_all_small_tables_with_a_prior(question: str, prior: str, delta: str) -> None:
    with precision(200):
        for levels in (PLAIN, WITH_ZERO, IRRATIONAL):
            assert_everybody_is_protected(asked(question, prior, delta, levels), levels)


@pytest.mark.parametrize("aim", AIMS)
@pytest.mark.parametrize("question", ["majority(x)", "compare(v, 'a', 'b')", "mean(s, range=[0, 10], step=5) >= 5"])
def test_irrational_levels(question: str, aim: AimLike) -> None:
    with precision(200):
        assert_everybody_is_protected(asked(question, aim, "0", IRRATIONAL), IRRATIONAL)


@pytest.mark.parametrize("question", ["majority(x)", "winner(v, ['a', 'b', 'c'])", "median(s, bins=[0, 5, 10])"])
def test_the_comparison_can_fail(question: str) -> None:
    """Were the strict people promised a little less, it would be noticed: the levels are used up."""
    less = [Epsilon.read("ln(15/8)"), LOOSE]
    with precision(200), pytest.raises(AssertionError):
        assert_everybody_is_protected(asked(question, "typical", "0", PLAIN), PLAIN, less)


@pytest.mark.parametrize("aim", [*AIMS, "prior: 0.5"])
@pytest.mark.parametrize("question", [*YES_NO, *OTHERS, "histogram(v, ['a', 'b'])"])
def test_add_remove_is_refused(question: str, aim: AimLike) -> None:
    with pytest.raises(QuestionError, match=r"neighbours|aim"):
        Ask(question, epsilon=1, levels="level", aim=aim, neighbours="add-remove").request()


# A histogram: who is kept is a mixture of tables, and the noise falls with the number of people between two histograms.


def kept_tables(state: State, levels: Sequence[tuple[Epsilon, int]], last: int) -> dict[tuple[int, ...], Ball]:
    """How likely each table is after everybody was kept or counted with everybody else."""
    tables: dict[tuple[int, ...], Ball] = {(0,) * (last + 1): Ball(1)}
    for (own, _), counts in zip(levels, state):
        chance = keep_chance(own, levels[-1][0])
        for cell, people in enumerate(counts):
            for _ in range(people):
                after: dict[tuple[int, ...], Ball] = {}
                for table, weight in tables.items():
                    for place, part in ((cell, chance), (last, 1 - chance)):
                        moved = (*table[:place], table[place] + 1, *table[place + 1 :])
                        after[moved] = after.get(moved, Ball(0)) + weight * part
                tables = after
    return tables


def noisy(tables: Mapping[tuple[int, ...], Ball], shown: tuple[int, ...], decay: Ball) -> Ball:
    """Up to a factor that is the same for all tables."""
    steps = {table: sum(abs(a - b) for a, b in zip(table, shown)) // 2 for table in tables}
    return sum((weight * decay ** steps[table] for table, weight in tables.items()), Ball(0))


@pytest.mark.parametrize("levels", [PLAIN, WITH_ZERO, IRRATIONAL])
def test_a_histogram_protects_everybody_at_their_own_level(levels: Sequence[tuple[Epsilon, int]]) -> None:
    people, cells = sum(n for _, n in levels), 3
    window = [
        (a, b, people - a - b) for a, b in itertools.product(range(-3, people + 4), repeat=2)
    ]  # noise may go below 0 before it is undone
    with precision(200):
        decay = (-levels[-1][0].ball()).exp()
        states = list(itertools.product(*(spread(n, cells) for _, n in levels)))
        mixtures = {state: kept_tables(state, levels, cells - 1) for state in states}
        rows = {s: [noisy(mixtures[s], shown, decay) for shown in window] for s in states}
        for state, row in rows.items():
            for place, other in changed(state):
                most = levels[place][0].exp() * (1 + ball(Fraction(1, 2**100)))
                assert all(p <= most * q for p, q in zip(row, rows[other])), (state, other)


def test_the_histogram_is_the_one_that_was_examined() -> None:
    mechanism: Any = asked("histogram(v, ['a', 'b'])", "typical", "0", PLAIN)
    assert mechanism.name == "kept counts"
    assert not mechanism.uses_delta
