"""What is printed is tested, not what is meant: the guarantee is read from a release's own sentences.

For every kind of question and many ways of asking, a release is made, and its sentences say which tables are neighbours and at
which level. All tables of up to three people are prepared as for a release, and the laws of all pairs that the sentence calls
neighbours are compared over all events. Answers without end are compared inside a window, where the laws differ most.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import optimaldp as odp
from optimaldp.asking.ask import Ask
from optimaldp.asking.releasing import prepare
from optimaldp.asking.request import Request
from optimaldp.errors import QuestionError
from optimaldp.laws.crossing import CrossingLaw, Sums
from optimaldp.laws.several_quantiles import JointQuartiles
from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.questions.forms import forms
from optimaldp.questions.group_numbers import GroupedNumber
from optimaldp.questions.kinds.keys import KeptKeys
from optimaldp.questions.kinds.quantiles import SeveralRanks
from optimaldp.questions.kinds.top import Leading
from optimaldp.questions.noisy_counts import NoisyCounts
from optimaldp.questions.number_mechanisms import CrossedNumber, NoisyNumber, TwoCrossings
from optimaldp.questions.text import kinds_of, parse
from optimaldp.tables import count_people, open_source
from optimaldp.tables.tally import Counted

LEVEL = "ln(4)"
COLUMNS = ("vote", "age", "ward", "trust")
Record = tuple[Any, ...]
PEOPLE: tuple[Record, ...] = (
    ("a", 1, "n", "ln(2)"),
    ("b", 9, "n", "ln(4)"),
    ("a", 9, "s", "ln(4)"),
    ("b", 1, "s", "ln(2)"),
    ("z", None, "n", "ln(4)"),
    (None, 4, None, "ln(2)"),
)
WINDOW = range(-3, 6)
ROUNDED = Ball(10) ** -50  # what enclosures leave open

GROUPS = {"by": "ward", "groups": ["n", "s"]}
PUBLIC = {**GROUPS, "public_groups": True}
PART = {"part": {"column": "ward", "value": "n"}}
LEVELS = {"levels": "trust"}
SPENT = {"delta": "1/10"}
SHARES = "share(vote = 'a' among ward = 'n') {} share(vote = 'a' among ward = 's')"
MEANS = "mean(age, range=[0, 10], step=5 among ward = 'n') {} mean(age, range=[0, 10], step=5 among ward = 's')"


@dataclass(frozen=True)
class Case:
    """A question, and the options with which it is asked one after another."""

    question: str
    ways: Sequence[dict[str, Any]] = field(default=({},))
    relations: Sequence[str] = ("substitution", "add-remove")


REPLACED = ("substitution",)
CASES = [
    Case("share(vote = 'a') >= 0.5", [{}, SPENT, GROUPS, PUBLIC]),
    Case("share(vote = 'a') >= 0.5", [PART, LEVELS, LEVELS | {"aim": "every table"}], REPLACED),
    Case("count(vote = 'a' among age > 0) >= 2", [{}, SPENT]),
    Case("majority(vote = 'a')"),
    Case("any(vote = 'a')"),
    Case("all(vote = 'a')"),
    Case("share(vote = 'a') >= 0.5 and count(age > 5) >= 1", [{}, SPENT]),
    Case(SHARES.format(">")),
    Case(SHARES.format(">"), [{"public_groups": True}], REPLACED),
    Case(MEANS.format(">"), [{"public_groups": True}], REPLACED),
    Case("compare(vote, 'a', 'b')", [{}, SPENT, PUBLIC]),
    Case("compare(vote, 'a', 'b')", [LEVELS], REPLACED),
    Case("mean(age, range=[0, 10], step=5) >= 5", [{}, SPENT]),
    Case("mean(age, range=[0, 10], step=5) >= 5", [PART, LEVELS], REPLACED),
    Case("winner(vote, ['a', 'b'])", [{}, SPENT, GROUPS, PUBLIC]),
    Case("winner(vote, ['a', 'b'])", [LEVELS], REPLACED),
    Case("median(age, bins=[0, 5, 8, 10])", [{}, SPENT, PUBLIC]),
    Case("median(age, bins=[0, 5, 8, 10])", [PART, LEVELS], REPLACED),
    Case("quantile(age, 0.9, bins=[0, 5, 10] among vote = 'a')", [{}, SPENT]),
    Case("quantiles(age, [0.25, 0.5, 0.75], bins=[0, 5, 8, 10])"),
    Case("top(vote, 2, ['a', 'b', 'c'])", [{}, PUBLIC]),
    Case("keys(vote)", [SPENT]),
    Case("histogram(vote, ['a'])", [{}, PUBLIC]),
    Case("histogram(vote, ['a', 'b'])", [PART], REPLACED),
    Case("crosstab(vote: ['a'], ward: ['n'])"),
    Case("count(vote = 'a')", [{}, SPENT, GROUPS, PUBLIC]),
    Case("count(vote = 'a')", [PART], REPLACED),
    Case("share(vote = 'a')", [{}, PUBLIC], REPLACED),
    Case("share(vote = 'a', grid=[0, 1, 0.5] among age > 0)"),
    Case("sum(age, range=[0, 10], step=5)", [{}, SPENT, GROUPS, PUBLIC]),
    Case("mean(age, range=[0, 10], step=5, grid=[0, 10, 5])", [{}, SPENT, GROUPS, PUBLIC]),
    Case("mean(age, range=[0, 10], step=5, grid=[0, 10, 5])", [PART, LEVELS | {"aim": "typical"}], REPLACED),
    Case("ratio(age, age, ranges=[[0, 10], [0, 10]], steps=[5, 5], grid=[0, 2, 0.5])"),
    Case("count(vote = 'a' among ward = 'n') - count(vote = 'a' among ward = 's')"),
    Case(SHARES.format("-"), [{"public_groups": True}], REPLACED),
]
ASKED = [
    (case.question, {"neighbours": relation} | way)
    for case in CASES
    for way, relation in itertools.product(case.ways, case.relations)
]


def test_every_kind_is_there() -> None:
    words = {re.match(r"\w+", case.question).group() for case in CASES}  # type: ignore[union-attr]
    assert set(forms()) <= words
    assert set().union(*(kinds_of(parse(form.example)) for form in forms().values())) <= set().union(
        *(kinds_of(parse(case.question)) for case in CASES)
    )


# What is printed, read back.


@dataclass(frozen=True)
class Printed:
    """The guarantee as somebody reads it in the sentences and the document of a release."""

    replaced: bool
    agree: frozenset[str]
    """The columns in which neighbours agree."""
    epsilon: str
    delta: Fraction
    own_levels: bool

    @classmethod
    def of(cls, made: Any) -> Printed:
        sentences, document = " ".join(made.sentences()), made.to_document()
        for where in (document["certificate"]["neighbours"], dict(made.proof())["neighbours"]):
            assert where in sentences
        public = re.search(r"another of the same group; who is in which group is public \((.*?)\)\.", sentences)
        anybody = "one person's record is replaced by another (the number of people is public)" in sentences
        comes = "one person appears or disappears (the number of people is private)" in sentences
        assert [public is not None, anybody, comes].count(True) == 1, sentences
        named = "" if public is None else public.group(1)
        columns = {"ward"} if named == "the two groups that are compared" else set(named.split(", ")) - {""}
        assert columns <= {*COLUMNS}
        delta = Fraction(document["certificate"]["delta_used"])
        return cls(not comes, frozenset(columns), document["epsilon"], delta, "levels" in document["certificate"])

    def level_of(self, person: Record) -> str:
        return str(person[COLUMNS.index("trust")]) if self.own_levels else self.epsilon

    def neighbours(self, table: tuple[Record, ...]) -> set[tuple[tuple[Record, ...], Record]]:
        """Every table that one person's change leads to, and that person."""
        if not self.replaced:
            return {(_sorted((*table, more)), more) for more in PEOPLE}
        places = [COLUMNS.index(name) for name in self.agree]
        return {
            (_sorted((*table[:at], other, *table[at + 1 :])), table[at])
            for at, other in itertools.product(range(len(table)), PEOPLE)
            if all(table[at][place] == other[place] for place in places)
        }


def _sorted(people: Sequence[Record]) -> tuple[Record, ...]:
    return tuple(sorted(people, key=PEOPLE.index))


# The law of everything that a release would print, for a table that is counted by the engine.


def counted_each(request: Request) -> dict[Record, Counted]:
    """Each person alone in a table: counts of several people are sums, because each row is a person here."""
    found = {}
    for person in PEOPLE:
        types = (pa.string(), pa.int64(), pa.string(), pa.string())
        table = pa.table({name: pa.array([cell], kind) for name, cell, kind in zip(COLUMNS, person, types)})
        found[person] = count_people(open_source(table), request.tally, request.people)
    return found


def together(people: Sequence[Record], each: dict[Record, Counted]) -> Counted:
    alone = [each[person] for person in people]
    shape = next(iter(each.values())).shape
    cells: Counter[int] = Counter()
    keys: Counter[Any] = Counter()
    by_level: dict[str, Counter[int]] = {}
    for one in alone:
        cells.update(one.cells)
        keys.update(one.keys)
        for name, own in one.by_level or ():
            by_level.setdefault(name, Counter()).update(own)
    levels = tuple((name, dict(by_level[name])) for name in sorted(by_level))
    with_levels = next(iter(each.values())).by_level is not None
    return Counted(dict(cells), shape, levels if with_levels else None, keys=dict(keys))


Law = dict[Any, Any]


def law_of(request: Request, counted: Counted) -> Law:
    prepared, tables = prepare(request, counted)
    mechanism: Any = prepared.mechanism
    if isinstance(mechanism, KeptKeys):
        sides = [dict(zip(((key,), ()), mechanism.chosen.kept(size))) for key, size in counted.keys.items()]
        return _joint(sides, lambda named: tuple(sorted(itertools.chain(*named))))
    if isinstance(mechanism, GroupedNumber):  # all groups in one draw
        asked: Any = mechanism.question
        totals = [asked.total(asked.fold(table.cells)) for table in tables]
        noise = mechanism.noise().lattice
        near = itertools.product(WINDOW, repeat=len(totals))
        moved = ((at, [answer - total for answer, total in zip(at, totals)]) for at in near)
        return {at: noise.probability([*away, -sum(away)]) for at, away in moved}
    return _joint([_own(certified.mechanism, table) for (_, certified), table in zip(prepared.parts, tables)], tuple)


def _joint(laws: Sequence[Law], name: Any) -> Law:
    joint: Law = {}
    for answers in itertools.product(*(law.items() for law in laws)):
        chance: Any = Fraction(1)
        for _, one in answers:
            chance = (
                chance * one if isinstance(one, Fraction) and isinstance(chance, Fraction) else ball(chance) * ball(one)
            )
        key = name(answer for answer, _ in answers)
        joint[key] = joint[key] + chance if key in joint else chance
    return joint


def _crossed(law: CrossingLaw, sums: Sums) -> Law:
    return dict(zip(map(law.family.answer, range(law.family.answers)), law.probabilities(sums)))


def _own(mechanism: Any, table: Any) -> Law:
    asked = mechanism.question
    counts = asked.fold(table.cells)
    if isinstance(mechanism, NoisyCounts):
        return _noisy_counts(mechanism, counts)
    if isinstance(mechanism, Leading):
        return dict(mechanism.chosen.probabilities(counts[:-1]))
    if isinstance(mechanism, SeveralRanks):
        return _ranks(mechanism.chosen, dict(counts.values))
    if isinstance(mechanism, NoisyNumber):
        sizes = asked.sizes(counts) if mechanism.setting.public_groups else ()
        noise, linear, total = mechanism.noise(sizes), mechanism.linear(sizes), asked.total(counts)
        return {linear.value(at): noise.probability(at - total) for at in WINDOW}
    if isinstance(mechanism, CrossedNumber):
        return _crossed(mechanism.crossing(), mechanism._sums(table, asked.fold))
    if isinstance(mechanism, TwoCrossings):
        sides = [
            _crossed(side.crossing(), Sums(*((part,) for part in side._asked.sums(own))))
            for side, own in zip(mechanism.sides(), counts)
        ]
        return _joint(sides, lambda both: (lambda first, second: first - second)(*both))
    return dict(zip(mechanism.answers, mechanism.law(table).probabilities()))


def _noisy_counts(mechanism: NoisyCounts, counts: Sequence[int]) -> Law:
    """Noise that adds up to 0, or of each bin by itself, inside a window; what is shown is computed from it."""
    recipe, replaced = mechanism.noise(), mechanism.setting.neighbours is Neighbours.SUBSTITUTION
    ratio = Epsilon.read(str(recipe.epsilon)).exact_ratio
    assert ratio is not None
    found = {}
    for noisy in itertools.product(range(-1, 4), repeat=len(counts)):
        away = [here - own for here, own in zip(noisy, counts)]
        if not replaced or sum(away) == 0:
            found[noisy] = ratio ** -(sum(map(abs, away)) // (2 if replaced else 1)) * Fraction(1)
    return found  # up to one factor, which is that of every table


def _ranks(law: Any, cells: dict[int, Any]) -> Law:
    if not isinstance(law, JointQuartiles):
        return _joint([dict(enumerate(one.probabilities(cells))) for one in law.laws], tuple)
    found: Law = {}
    for median, chance in enumerate(law.middle.probabilities(cells)):
        low, high = law.lower(median), law.upper(median)
        firsts = low.probabilities(law.lower_cells(cells, median)) if low else {median: Ball(1)}
        thirds = high.probabilities(law.upper_cells(cells, median)) if high else [Ball(1)]
        pairs = firsts.items() if isinstance(firsts, dict) else enumerate(firsts)
        for (first, one), (third, other) in itertools.product(pairs, enumerate(thirds)):
            found[first, median, median + third] = chance * one * other
    return found


def excess(one: Law, other: Law, epsilon: str) -> Any:
    """What the likeliest event has above e^epsilon times its probability at the other table."""
    ratio = Epsilon.read(epsilon).exact_ratio
    assert ratio is not None
    pairs = [(p, other.get(answer, Fraction(0))) for answer, p in one.items()]
    if all(isinstance(number, Fraction) for pair in pairs for number in pair):
        return sum((max(Fraction(0), p - ratio * q) for p, q in pairs), Fraction(0))
    over = (ball(p) - ball(ratio) * ball(q) for p, q in pairs)
    return sum((more for more in over if more > 0), Ball(0))


def worst(question: str, options: dict[str, Any], printed: Printed, most: int) -> Ball:
    """The largest excess over what is printed."""
    request = Ask(question, LEVEL, **options).request()
    each = counted_each(request)
    sizes = range(1, most + 1) if printed.replaced else range(most + 1)
    everything = [people for size in sizes for people in itertools.combinations_with_replacement(PEOPLE, size)]
    found: Any = Ball(0)
    compared = 0
    with precision(240):
        laws = {}
        for people in everything:
            with contextlib.suppress(QuestionError):  # a group of nobody, where its size is public
                laws[people] = law_of(request, together(people, each))
        for people in laws:
            for other, person in printed.neighbours(people):
                if other in laws:
                    compared += 1
                    epsilon = printed.level_of(person)
                    for pair in ((people, other), (other, people)):
                        more = ball(excess(laws[pair[0]], laws[pair[1]], epsilon))
                        found = more if more > found else found
    assert compared > 20
    return found


def released(question: str, options: dict[str, Any]) -> Any:
    table = pa.table({name: [person[place] for person in PEOPLE] for place, name in enumerate(COLUMNS)})
    if "part" not in options:
        return odp.release(table, question, epsilon=LEVEL, **options)
    parts = {"ward": ["n", "s"]}
    rest = {name: value for name, value in options.items() if name not in ("part", "neighbours")}
    with (
        tempfile.TemporaryDirectory() as folder,
        odp.open(
            table,
            ledger=f"{folder}/own.ledger",
            budget=odp.Budget(9, "1/2"),
            parts=parts,
            neighbours=options["neighbours"],
        ) as opened,
    ):
        return opened.ask(question, epsilon=LEVEL, part="n", **rest)


def _text(options: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in options.items())


@pytest.mark.long
@pytest.mark.parametrize(("question", "options"), ASKED, ids=lambda one: one if isinstance(one, str) else _text(one))
def test_the_printed_guarantee_holds_at_every_small_table(question: str, options: dict[str, Any]) -> None:
    printed = Printed.of(released(question, options))
    assert not worst(question, options, printed, 2) > ball(printed.delta) + ROUNDED


@pytest.mark.parametrize("options", [PUBLIC, PART, {"public_groups": True}])
def test_the_sentence_about_groups_is_needed(options: dict[str, Any]) -> None:
    """If a record could be replaced by one of another group, the guarantee would be false: that shows here."""
    question = SHARES.format(">") if options == {"public_groups": True} else "share(vote = 'a') >= 0.5"
    printed = Printed.of(released(question, options | {"neighbours": "substitution"}))
    assert printed.agree == {"ward"}
    stronger = Printed(True, frozenset(), printed.epsilon, printed.delta, own_levels=False)
    assert worst(question, options, stronger, 2) > 0.01
