"""Wrong twins between what was asked and what is drawn, paid and written: each is one plausible mistake, and each is refused."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import optimaldp as odp
from optimaldp.asking import corridor, releasing
from optimaldp.asking import request as requests
from optimaldp.asking.ask import Ask
from optimaldp.asking.request import Groups, Request
from optimaldp.errors import OptimalDPError
from optimaldp.histograms import release as of_counts
from optimaldp.histograms.noise import sparse as sparse_draws
from optimaldp.histograms.noise.sparse import SparseNoise
from optimaldp.histograms.noise.totals import TotalLaw
from optimaldp.laws.law import Table
from optimaldp.privacy import Neighbours, approximate
from optimaldp.privacy.balls import Ball
from optimaldp.privacy.epsilon import ZERO, Epsilon
from optimaldp.privacy.levels import GroupLevel
from optimaldp.questions.mechanism import AtDistance
from optimaldp.sanitising import drawing, planning
from optimaldp.sanitising import releasing as sanitising
from optimaldp.sanitising.choosing import Selection

Patch = pytest.MonkeyPatch
PutIn = Callable[[Patch], None]
PEOPLE = pa.table(
    {
        "id": list(range(100)),
        "smokes": ["yes"] * 33 + ["no"] * 67,
        "vote": ["a", "b", "b", "c"] * 25,
        "ward": ["n", "s"] * 50,
        "trust": ["0.2"] * 50 + ["0.5"] * 50,
        "age": [20, 35, 50, 65, 80] * 20,
    }
)
SHARE, WINNER, MEDIAN = (
    "share(smokes = 'yes') >= 0.3",
    "winner(vote, ['a', 'b', 'c'])",
    "median(age, bins=[0, 30, 60, 99])",
)
COUNT, HISTOGRAM, MEAN = "count(smokes = 'yes')", "histogram(vote, ['a', 'b'])", "mean(age, range=[0, 100]) >= 40"
BY, LEVELS = {"by": "ward", "groups": ["n", "s"]}, {"levels": "trust"}


def answered(question: str, **options: Any) -> Callable[[Path], Any]:
    return lambda folder: odp.release(PEOPLE, question, **({"epsilon": "0.4"} | options))


def paid(question: str, **options: Any) -> Callable[[Path], Any]:
    """Asked of a ledger; where people have levels, those of the strict level have nothing left."""

    def ask(folder: Path) -> Any:
        budget, groups = odp.Budget(epsilon=9, delta="0.1"), {"trust": {"0.2": odp.Budget(epsilon="0.1")}}
        own = groups if "levels" in options else None
        with odp.open(PEOPLE, ledger=folder / "l", budget=budget, groups=own) as table:
            return table.ask(question, **({"epsilon": "0.4"} | options))

    return ask


def table(**options: Any) -> Callable[[Path], Any]:
    columns = {"vote": ["a", "b"], "ward": ["n", "s"]}
    return lambda folder: odp.sanitise(PEOPLE, columns, **({"epsilon": "0.4"} | options))


TWINS: dict[str, tuple[PutIn, Callable[[Path], Any]]] = {}


def twin(name: str, *asks: Callable[[Path], Any]) -> Callable[[PutIn], PutIn]:
    def keep(put_in: PutIn) -> PutIn:
        for place, ask in enumerate(asks):
            TWINS[name if len(asks) == 1 else f"{name} ({place + 1})"] = put_in, ask
        return put_in

    return keep


def requested(change: Callable[[Request], Request]) -> PutIn:
    """The ask is read as something else: from here on everything agrees with itself."""
    true = Ask.request
    return lambda patch: patch.setattr(Ask, "request", lambda self: change(true(self)))


def doubled(level: Any) -> Any:
    return approximate(level.epsilon + level.epsilon, level.delta)


def other(neighbours: Neighbours) -> Neighbours:
    return Neighbours.SUBSTITUTION if neighbours is Neighbours.ADD_REMOVE else Neighbours.ADD_REMOVE


# What was asked.

twin("an ask is read at twice epsilon", answered(SHARE), answered(COUNT), answered(HISTOGRAM), answered(SHARE, **BY))(
    requested(lambda r: replace(r, level=doubled(r.level)))
)
twin("an ask is read with a delta", answered(MEDIAN))(
    requested(lambda r: replace(r, level=approximate(r.level.epsilon, Fraction(1, 50))))
)
twin("an ask is read for other neighbours", answered(SHARE), answered(WINNER, neighbours="add-remove"))(
    requested(lambda r: replace(r, neighbours=other(r.neighbours)))
)
twin("an ask is read without its levels", answered(SHARE, **LEVELS), answered(MEDIAN, **LEVELS))(
    requested(lambda r: replace(r, people=replace(r.people, levels=None)))
)
twin("groups are taken as public", answered(SHARE, **BY))(
    requested(lambda r: replace(r, public_groups=True, groups=replace(r.groups, public=True)))  # type: ignore[type-var]
)
twin("an ask is read without its condition on rows", answered("count(smokes = 'yes') >= 20", where="age > 30"))(
    requested(lambda r: replace(r, people=replace(r.people, where=None)))
)
twin("an ask is read without its unit", answered(COUNT, unit="id", reduce="any"))(
    requested(lambda r: replace(r, people=replace(r.people, unit=None, reduce=None)))
)
twin("another question is read", answered(SHARE))(
    requested(lambda r: replace(r, question=odp.questions.parse("share(smokes = 'yes') >= 0.9")))
)


@twin(
    "a person in two groups is taken for one in one", answered("count(*) >= 30", unit="id", groups_per_person=2, **BY)
)
def _(patch: Patch) -> None:
    patch.setattr(Groups, "per_person", property(lambda self: 1))


@twin("each private group has the whole level", answered(SHARE, **BY), answered(MEDIAN, **BY))
def _(patch: Patch) -> None:
    whole = lambda epsilon, delta, *_, **__: GroupLevel(epsilon, delta, Neighbours.ADD_REMOVE)  # noqa: E731
    patch.setattr(requests, "level_of_each_group", whole)


@twin("strict people lose what loose people lose", answered(SHARE, **LEVELS), answered(WINNER, **LEVELS))
def _(patch: Patch) -> None:
    patch.setattr(releasing, "losses_of", lambda own, most, weightless: tuple(zip(own, reversed(own))))


@twin("people whose budget is used up are asked", paid(SHARE, **LEVELS), paid(MEDIAN, **LEVELS))
def _(patch: Patch) -> None:
    true = releasing.losses_of
    patch.setattr(releasing, "losses_of", lambda own, most, weightless: true(own, most, frozenset()))


@twin("one person fewer is public", answered(SHARE))
def _(patch: Patch) -> None:
    true = Request.setting
    patch.setattr(Request, "setting", lambda self, people, *more: true(self, people - 1, *more))


@twin("delta is said to be unused and moves the law", answered(SHARE, delta="0.01"))
def _(patch: Patch) -> None:
    patch.setattr(AtDistance, "uses_delta", False)


# What is drawn.


@twin("every group is drawn from the first table", answered(SHARE, **BY), answered(WINNER, **BY))
def _(patch: Patch) -> None:
    true = releasing.Prepared.draw
    patch.setattr(releasing.Prepared, "draw", lambda self, tables, bits: true(self, [tables[0]] * len(tables), bits))


@twin("groups have each other's answers", answered(SHARE, **BY))
def _(patch: Patch) -> None:
    true = releasing.Prepared.draw

    def exchanged(self: Any, tables: Any, bits: Any) -> Any:
        drawn = true(self, tables, bits)
        return dict(zip(drawn, reversed(drawn.values())))

    patch.setattr(releasing.Prepared, "draw", exchanged)


def drawn_by(change: Callable[..., Any]) -> PutIn:
    true = releasing.draw
    return lambda patch: patch.setattr(releasing, "draw", lambda *given: change(true, *given))


class Few:
    """The first bit of every word is 0."""

    def __init__(self, source: Any) -> None:
        self.source = source

    def take(self, count: int) -> int:
        return int(self.source.take(count)) >> 1


def truth_of(certified: Any, cells: Table) -> Any:
    question = certified.mechanism.question
    return question.answers[question.truth(question.fold(cells.cells))]


twin("the better of two draws", answered(SHARE), answered(WINNER))(
    drawn_by(lambda draw, c, t, bits: max(draw(c, t, bits), draw(c, t, bits), key=lambda one: one == truth_of(c, t)))
)
twin("the truth where it is yes", answered(SHARE))(
    drawn_by(lambda draw, c, t, bits: "yes" if truth_of(c, t) == "yes" else draw(c, t, bits))
)
twin("the truth for fifty people and more", answered(WINNER))(
    drawn_by(lambda draw, c, t, bits: truth_of(c, t) if t.people >= 50 else draw(c, t, bits))
)
twin("the bits of a table are its own", answered(SHARE), answered(COUNT))(
    drawn_by(lambda draw, c, t, bits: draw(c, t, releasing.FixedBits(str(sorted(t.cells.items())))))  # type: ignore[attr-defined]
)
twin("the first bits are zeros", answered(COUNT), answered(HISTOGRAM))(
    drawn_by(lambda draw, c, t, bits: draw(c, t, Few(bits)))
)
twin("a count is rounded to the truth", answered(COUNT))(
    drawn_by(lambda draw, c, t, bits: draw(c, t, bits) if False else type(draw(c, t, bits))(t.cells.get(0, 0)))
)
twin("empty bins stay empty", answered(HISTOGRAM))(
    drawn_by(lambda draw, c, t, bits: with_empty_bins(draw(c, t, bits), c.mechanism.question.fold(t.cells)))
)


def with_empty_bins(made: Any, counts: Any) -> Any:
    for name, count in zip(list(made), counts):
        made[name] = made[name] if count else 0
    return made


twin("a count is drawn again until it is likely", answered(COUNT))(
    drawn_by(
        lambda draw, c, t, bits: next(
            one for one in iter(lambda: draw(c, t, bits), None) if abs(int(one) - t.cells.get(0, 0)) < 20
        )
    )
)
twin("a negative count is drawn again", answered("count(smokes = 'maybe')", neighbours="add-remove"))(
    drawn_by(lambda draw, c, t, bits: next(one for one in iter(lambda: draw(c, t, bits), None) if int(one) > 0))
)
twin("the truth for fifty people and more, whose number is private", answered(SHARE, neighbours="add-remove"))(
    drawn_by(lambda draw, c, t, bits: truth_of(c, t) if t.people >= 50 else draw(c, t, bits))
)
twin("the truth in place of one of the answers", answered(WINNER), answered(SHARE))(
    drawn_by(lambda draw, c, t, bits: (lambda one: truth_of(c, t) if one in ("a", "no") else one)(draw(c, t, bits)))
)


def most_often(*drawn: Any) -> Any:
    return max(drawn, key=lambda one: str(one.answer))


@twin("the best of three draws in the corridor", answered(SHARE), answered(COUNT))
def _(patch: Patch) -> None:
    def pay_and_draw(opened: Any, orders: Any, book: Any, version: Any, bits: Any, watched: bool) -> Any:
        prepared = [corridor._prepare(order, opened, book, orders) for order in orders]
        return [most_often(*(ready.draw(bits, None) for _ in range(3))) for ready, _ in prepared]

    patch.setattr(corridor, "_pay_and_draw", pay_and_draw)


# What people are counted into.


def planned(**change: Any) -> PutIn:
    true = releasing.plan_counting

    def wrong(opened: Any, tally: Any, people: Any) -> Any:
        return true(opened, tally, replace(people, **change))

    return lambda patch: patch.setattr(releasing, "plan_counting", wrong)


twin("where is forgotten in the plan", answered("count(smokes = 'yes') >= 20", where="age > 30"))(planned(where=None))
twin("the unit is forgotten in the plan", answered(COUNT, unit="id", reduce="any"))(planned(unit=None, reduce=None))
twin("levels of another column are counted", answered(SHARE, **LEVELS))(planned(levels="id"))
twin("everybody is counted and a part is charged", lambda folder: part_asked(folder))(planned(part=None))


def part_asked(folder: Path) -> Any:
    with odp.open(PEOPLE, ledger=folder / "p", budget=odp.Budget(epsilon=9), parts={"ward": ["n", "s"]}) as opened:
        return opened.ask(SHARE, epsilon="0.4", part="n")


@twin("people's own levels are read as twice as much", answered(SHARE, **LEVELS), table(**LEVELS))
def _(patch: Patch) -> None:
    true = releasing.read_own_level
    for module in (releasing, sanitising):
        patch.setattr(module, "read_own_level", lambda text: true(text) + true(text))


def grouped(change: Callable[[tuple[Table, ...]], tuple[Table, ...]]) -> PutIn:
    true = releasing._by_group

    def wrong(*given: Any) -> Any:
        parts, tables = true(*given)
        return parts, change(tables)

    return lambda patch: patch.setattr(releasing, "_by_group", wrong)


twin("groups are counted into each other's tables", answered(SHARE, **BY))(grouped(lambda tables: tables[::-1]))
twin("everybody is counted in the first group too", answered(SHARE, **BY))(
    grouped(
        lambda tables: (Table({c: tables[0].cells.get(c, 0) + tables[1].cells.get(c, 0) for c in (0, 1)}), tables[1])
    )
)


def levelled(change: Callable[[Any], Any]) -> PutIn:
    true = releasing._by_level
    return lambda patch: patch.setattr(releasing, "_by_level", lambda *given: change(true(*given)))


twin("strict people are counted at the loose level", answered(SHARE, **LEVELS))(
    levelled(lambda by_level: tuple(zip([own for own, _ in by_level], [cells for _, cells in by_level][::-1])))
)


# What is paid.


def charged(**change: Callable[[Any], Any]) -> PutIn:
    true = corridor.charge_of

    def wrong(asked: Any, **known: Any) -> Any:
        charge = true(asked, **known)
        return replace(charge, **{name: one(charge) for name, one in change.items()})

    return lambda patch: patch.setattr(corridor, "charge_of", wrong)


twin("half of epsilon is paid", paid(SHARE), paid(COUNT))(
    charged(level=lambda c: approximate(Epsilon.read("0.2"), c.level.delta), used=lambda c: None)
)
twin("nothing is paid for delta", paid(SHARE, delta="0.01"))(charged(used=lambda c: approximate(c.level.epsilon)))


twin("another question is paid", paid(SHARE))(charged(question=lambda c: "count(*) >= 1"))
twin("the ledger is not told what is public", paid(SHARE, public_groups=True, **BY))(charged(public=lambda c: ()))


@twin("another part is paid", part_asked)
def _(patch: Patch) -> None:
    patch.setattr(corridor, "part_of", lambda asked: "s")


def spent(change: Callable[[Any], Any]) -> PutIn:
    return lambda patch: patch.setattr(releasing.ReadyQuestion, "spent", property(change))


twin("a release says that it costs nothing", paid(SHARE), paid(COUNT))(spent(lambda ready: approximate(ZERO)))
twin("a release says that its delta costs nothing", paid(MEDIAN, delta="0.01"), paid(WINNER, delta="0.01"))(
    spent(lambda ready: approximate(ready.prepared.spent.epsilon))
)


@twin("one of two questions is reserved", lambda folder: two_paid(folder))
def _(patch: Patch) -> None:
    from optimaldp.ledger import Ledger

    true = Ledger.reserve_together
    patch.setattr(Ledger, "reserve_together", lambda self, charges, **named: true(self, list(charges)[:1], **named))


def two_paid(folder: Path) -> Any:
    with odp.open(PEOPLE, ledger=folder / "l", budget=odp.Budget(epsilon=9)) as opened:
        return opened.ask([SHARE, WINNER], epsilon="0.4")


@twin("people of a level are said to lose nothing", paid(SHARE, **LEVELS))
def _(patch: Patch) -> None:
    free = property(lambda self: tuple((own, ZERO) for own, _ in self.prepared.losses))
    patch.setattr(releasing.ReadyQuestion, "losses", free)


@twin("people's own losses are not paid", paid(SHARE, **LEVELS))
def _(patch: Patch) -> None:
    true = corridor.personal_costs
    free = lambda *given: {own: approximate(ZERO) for own in true(*given) or ()}  # noqa: E731
    patch.setattr(corridor, "personal_costs", free)


# What is printed.


def handed_over(change: Callable[..., Any]) -> PutIn:
    """A release that says something else than what was asked and drawn."""
    true = releasing.Release
    return lambda patch: patch.setattr(releasing, "Release", lambda *given: true(*change(*given)))


twin("half of epsilon is printed", answered(SHARE), answered(COUNT))(
    handed_over(lambda answer, asked, level, *rest: (answer, asked, approximate(Epsilon.read("0.2")), *rest))
)
twin("other neighbours are printed", answered(SHARE), answered(WINNER, neighbours="add-remove"))(
    handed_over(lambda answer, asked, level, near, *rest: (answer, asked, level, other(near), *rest))
)
twin("another question is printed", answered(SHARE))(
    handed_over(lambda answer, asked, *rest: (answer, odp.questions.parse("share(smokes = 'yes') >= 0.9"), *rest))
)


@twin("what is public is not said", answered(SHARE, public_groups=True, **BY), lambda folder: part_asked(folder))
def _(patch: Patch) -> None:
    patch.setattr(Request, "public", property(lambda self: ()))


@twin("the words of public groups are those of private ones", answered(SHARE, public_groups=True, **BY))
def _(patch: Patch) -> None:
    patch.setattr(Neighbours, "within", lambda self, *_: self.words)


@twin("less can be guessed than is so", answered(SHARE), answered(COUNT))
def _(patch: Patch) -> None:
    from optimaldp.asking import statements

    true = statements.epsilon_means
    patch.setattr(statements, "epsilon_means", lambda level, *more: true(approximate(Epsilon.read("0.1")), *more))


@twin("a claim stands in no table", answered(MEDIAN))
def _(patch: Patch) -> None:
    from optimaldp.questions.mechanism import QuestionMechanism

    patch.setattr(QuestionMechanism, "optimality", property(lambda self: "the best of all mechanisms"))


@twin("groups have each other's names", answered(SHARE, **BY), answered(COUNT, public_groups=True, **BY))
def _(patch: Patch) -> None:
    true = Groups.names.fget  # type: ignore[attr-defined]
    patch.setattr(Groups, "names", property(lambda self: true(self)[::-1]))


@twin("rows are reduced by another rule", answered("count(smokes = 'yes') >= 30", unit="id", reduce="all"))
def _(patch: Patch) -> None:
    requested(lambda r: replace(r, people=replace(r.people, reduce="any")))(patch)


@twin("a law is good at something else", answered(SHARE, aim="every table", **LEVELS))
def _(patch: Patch) -> None:
    from optimaldp.laws.law import Aim

    true = Request.setting
    patch.setattr(Request, "setting", lambda self, *given: replace(true(self, *given), aim=Aim.TYPICAL))


@twin("public groups have other sizes", answered(SHARE, public_groups=True, **BY))
def _(patch: Patch) -> None:
    true = releasing.setting_inside
    patch.setattr(releasing, "setting_inside", lambda request, people=None: true(request, 100))


class Again:
    """The first words are the same for everyone who takes them."""

    def __init__(self, source: Any) -> None:
        self.source, self.words = source, dict[int, int]()

    def take(self, count: int) -> int:
        return self.words.setdefault(count, int(self.source.take(count)))


@twin("two questions are drawn from the same bits", lambda folder: odp.release(PEOPLE, [SHARE, WINNER], epsilon="0.4"))
def _(patch: Patch) -> None:
    true = corridor._pay_and_draw

    def shared(opened: Any, orders: Any, book: Any, version: Any, bits: Any, watched: bool) -> Any:
        return true(opened, orders, book, version, Again(bits), watched)

    patch.setattr(corridor, "_pay_and_draw", shared)


@twin("the ledger holds half of what is paid", paid(SHARE), paid(COUNT))
def _(patch: Patch) -> None:
    from optimaldp.ledger import Ledger

    true = Ledger._spend
    half = approximate(Epsilon.read("0.2"))
    patch.setattr(Ledger, "_spend", lambda self, charge: true(self, replace(charge, level=half, used=None)))


# What the sampler does where few look.


@twin("a draw that is not decided is the last answer", answered(WINNER), answered(SHARE))
def _(patch: Patch) -> None:
    from optimaldp.laws import law

    def at_once(ends: Any, size: int, source: Any) -> int:
        above = Ball(source.take(64) + 1) / Ball(2) ** 64
        return next((place for place in range(size - 1) if above <= ends()(place)), size - 1)

    patch.setattr(law, "choose_by_ends", at_once)


@twin("categories stand in the order of the table", answered("keys(vote)", delta="0.01"))
def _(patch: Patch) -> None:
    from optimaldp.questions.kinds.keys import KeptKeys

    patch.setattr(KeptKeys, "draw", lambda self, table, bits: list(map(str, self.chosen.draw(table.cells, bits))))


@twin("three different counts have their true leaders", answered("top(vote, 2, ['a', 'b', 'c'])"))
def _(patch: Patch) -> None:
    from optimaldp.questions.kinds.top import Leading

    true = Leading.draw

    def wrong(self: Any, cells: Table, bits: Any) -> Any:
        drawn, counts = true(self, cells, bits), self.question.fold(cells.cells)[:3]
        best = sorted(range(3), key=lambda place: -counts[place])
        different = len(set(counts)) == 3 and min(counts) > 0
        return [self.question.answers[place] for place in best[: len(drawn)]] if different else drawn

    patch.setattr(Leading, "draw", wrong)


def few_people(folder: Path) -> Any:
    return odp.release(PEOPLE.slice(0, 4), "histogram(vote, ['a'], optimum=true)", epsilon="0.4")


@twin("the finite optimum draws the truth by half", few_people)
def _(patch: Patch) -> None:
    from optimaldp.histograms.finite.optimum import FiniteOptimum

    true = FiniteOptimum.release

    def wrong(self: Any, counts: Any, *, source: Any) -> Any:
        drawn = true(self, counts, source=source)
        return replace(drawn, counts=tuple(counts)) if source.take(1) else drawn

    patch.setattr(FiniteOptimum, "release", wrong)


@twin("somebody is weighed by another's level", answered("mean(age, range=[0, 100], step=1)", aim="typical", **LEVELS))
def _(patch: Patch) -> None:
    from optimaldp.questions.number_mechanisms import CrossedNumber

    true = CrossedNumber._sums

    def exchanged(self: Any, *given: Any) -> Any:
        sums = true(self, *given)
        return replace(sums, below=sums.below[::-1], above=sums.above[::-1])

    patch.setattr(CrossedNumber, "_sums", exchanged)


# Arithmetic that everybody uses.


@twin("e^epsilon is that of twice epsilon", answered(SHARE), answered(WINNER), answered(COUNT), answered(HISTOGRAM))
def _(patch: Patch) -> None:
    true = Epsilon.exp
    patch.setattr(Epsilon, "exp", lambda self: true(self) * true(self))


@twin("an epsilon is read as twice as much", answered(SHARE), answered(COUNT))
def _(patch: Patch) -> None:
    true = Epsilon.read

    def wrong(value: Any, **named: Any) -> Any:
        own = true(value, **named)
        return own + own if value == "0.4" else own

    patch.setattr(Epsilon, "read", staticmethod(wrong))


@twin("a level times two is the level", answered(SHARE, **BY))
def _(patch: Patch) -> None:
    patch.setattr(Epsilon, "__mul__", lambda self, times: self)


@twin("every level is at most every other", answered(SHARE, **BY))
def _(patch: Patch) -> None:
    patch.setattr(Epsilon, "__le__", lambda self, other: True)


# Histograms of counts, which come from elsewhere.


def histogram(neighbours: str) -> Callable[[Path], Any]:
    return lambda folder: odp.private_histogram([33, 67, 0], epsilon="0.4", neighbours=neighbours)


COUNTS = histogram("substitution"), histogram("add-remove")


@twin("a histogram of counts with half of the noise", *COUNTS)
def _(patch: Patch) -> None:
    true = of_counts._add
    patch.setattr(of_counts, "_add", lambda counts, noise: true(counts, noise // 2))


@twin("no noise where no count is", *COUNTS)
def _(patch: Patch) -> None:
    true = of_counts._add
    patch.setattr(of_counts, "_add", lambda counts, noise: true(counts, noise * [count > 0 for count in counts]))


@twin("a histogram of counts at twice epsilon", *COUNTS)
def _(patch: Patch) -> None:
    true = of_counts._noise
    patch.setattr(of_counts, "_noise", lambda bins, epsilon, near: true(bins, epsilon + epsilon, near))


@twin("large noise of a histogram is cut off", *COUNTS)
def _(patch: Patch) -> None:
    true = of_counts._add
    near = lambda noise: [max(-3, min(3, int(one))) for one in noise]  # noqa: E731
    patch.setattr(of_counts, "_add", lambda counts, noise: true(counts, near(noise)))


@twin("counts are mapped from the true ones", *COUNTS)
def _(patch: Patch) -> None:
    import numpy as np

    drawn, mapped, seen = of_counts._drawn, of_counts.apply_remap, list[Any]()
    patch.setattr(of_counts, "_drawn", lambda table, *more: (seen.append(table), drawn(table, *more))[1])
    true = lambda *given, **named: replace(mapped(*given, **named), counts=np.array(seen[-1]))  # noqa: E731
    patch.setattr(of_counts, "apply_remap", true)


# Sanitised tables.


def noise_of(change: Callable[[Any, Any], Any]) -> PutIn:
    """A table is drawn in another way; *change* has the noise and the cells."""

    def wrong(cells: Any, columns: Any, certified: Any, source: Any) -> Any:
        noise = certified.mechanism
        drawn = change(noise.sample(source), cells)
        return drawing.NoisyTable(tuple(columns), noise.epsilon, Neighbours.SUBSTITUTION, dense=drawn)

    return lambda patch: patch.setattr(sanitising, "draw_table", wrong)


def added(noise: Any, cells: Any, *, times: int = 1, only_full: bool = False) -> Any:
    for cell in range(len(noise)):
        noise[cell] = (0 if only_full and not cells.get(cell) else noise[cell]) + times * cells.get(cell, 0)
    return noise


twin("a table with half of the noise", table())(noise_of(lambda noise, cells: added(noise // 2, cells)))
twin("no noise where nobody is", table())(noise_of(lambda noise, cells: added(noise, cells, only_full=True)))
twin("everybody is in the table twice", table())(noise_of(lambda noise, cells: added(noise, cells, times=2)))


@twin("levels are forgotten in a table", table(**LEVELS))
def _(patch: Patch) -> None:
    patch.setattr(sanitising, "_cells", lambda counted, *_: dict(counted.cells))


@twin("everyone's level in a table is the loosest", table(**LEVELS))
def _(patch: Patch) -> None:
    patch.setattr(sanitising, "_own_level", lambda own, plan, place, unasked: plan.levels[place])


@twin("rows are made of the true cells", table(), table(neighbours="add-remove"))
def _(patch: Patch) -> None:
    import numpy as np

    true = sanitising._draw

    def wrong(plan: Any, counted: Any, unasked: Any, bits: Any) -> Any:
        drawn, _, seed = true(plan, counted, unasked, bits)
        cells, shape = counted[0].cells, counted[0].shape
        return drawn, np.array([np.unravel_index(c, shape) for c, n in cells.items() for _ in range(n)]), seed

    patch.setattr(sanitising, "_draw", wrong)


@twin("people are kept in a table twice as often", table(**LEVELS))
def _(patch: Patch) -> None:
    true = of_counts.keep_chance
    patch.setattr(of_counts, "keep_chance", lambda own, epsilon: min(2 * true(own, epsilon), Ball(1), key=float))


@twin("the noise of a table is that of twice epsilon", table())
def _(patch: Patch) -> None:
    true = planning.noise_for
    for module in (planning, sanitising):
        patch.setattr(module, "noise_for", lambda size, epsilon, *more: true(size, epsilon + epsilon, *more))


@twin("a table is asked for at twice epsilon", table())
def _(patch: Patch) -> None:
    true = planning.read_release_level
    patch.setattr(planning, "read_release_level", lambda *given: doubled(true(*given)))


@twin("a table is mapped back from the true counts", table())
def _(patch: Patch) -> None:
    drawn, mapped, seen = sanitising.noisy_tables, sanitising._mapped, list[Any]()
    keep = lambda plan, counted, *more: (seen.append(counted), drawn(plan, counted, *more))[1]  # noqa: E731
    patch.setattr(sanitising, "noisy_tables", keep)
    patch.setattr(
        sanitising,
        "_mapped",
        lambda plan, noisy: tuple(replace(one, counts=dict(seen[-1][0].cells)) for one in mapped(plan, noisy)),
    )


def used_up(folder: Path) -> Any:
    groups = {"trust": {"0.2": odp.Budget(epsilon="0.1")}}
    with odp.open(PEOPLE, ledger=folder / "l", budget=odp.Budget(epsilon=9), groups=groups):
        pass
    return odp.sanitise(PEOPLE, {"vote": ["a", "b"]}, epsilon="0.4", ledger=folder / "l", **LEVELS)


@twin("people whose budget is used up are in a table", used_up)
def _(patch: Patch) -> None:
    true = sanitising._cells
    patch.setattr(sanitising, "_cells", lambda counted, table, plan, _, bits: true(counted, table, plan, (), bits))


@twin("a table is counted without its condition", table(unit="id", reduce="most-frequent", where="age > 30"))
def _(patch: Patch) -> None:
    from optimaldp.sanitising import counting

    true = counting.plan_counting
    patch.setattr(counting, "plan_counting", lambda at, tally, people: true(at, tally, replace(people, where=None)))


@twin("a table says that it costs half", table())
def _(patch: Patch) -> None:
    true, half = sanitising.statement_of, approximate(Epsilon.read("0.2"))
    patch.setattr(sanitising, "statement_of", lambda plan, *more: true(replace(plan, level=half), *more))


# Tables that are drawn sparsely.


def sparse(**options: Any) -> Callable[[Path], Any]:
    columns = {"vote": ["a", "b"], "age": range(3000), "id": range(3000)}
    return lambda folder: odp.sanitise(PEOPLE, columns, **({"epsilon": "0.4", "neighbours": "add-remove"} | options))


def sampled(change: Callable[..., dict[int, int]]) -> PutIn:
    true = SparseNoise.sample
    return lambda patch: patch.setattr(SparseNoise, "sample", lambda *given: dict(sorted(change(true, *given).items())))


twin("everybody is kept in a sparse table", sparse(), sparse(margins=[["vote"]]))(
    sampled(lambda sample, noise, cells, bits: sample(noise, {}, bits) | dict(cells))
)
twin("whoever is few is kept in a sparse table", sparse())(
    sampled(lambda sample, noise, cells, bits: {c: n for c, n in cells.items() if n < 2} | sample(noise, cells, bits))
)
twin("nobody is made up in a sparse table", sparse())(
    sampled(lambda sample, noise, cells, bits: {c: n for c, n in sample(noise, cells, bits).items() if c in cells})
)
twin("the cells of a sparse table have half of the noise", sparse())(
    sampled(
        lambda sample, noise, cells, bits: {
            c: (n + cells.get(c, n)) // 2 for c, n in sample(noise, cells, bits).items()
        }
    )
)


@twin("half of the cells survive that should", sparse())
def _(patch: Patch) -> None:
    true = sparse_draws.Survivors.draw
    patch.setattr(sparse_draws.Survivors, "draw", lambda self, bits, **named: true(self, bits, **named) // 2)


@twin("survivors are accepted twice as often above the mode", sparse())
def _(patch: Patch) -> None:
    true = sparse_draws.Survivors.relative_weight
    patch.setattr(
        sparse_draws.Survivors,
        "relative_weight",
        lambda self, number: true(self, number) * (2 if number > self.mode + self.width // 2 else 1),
    )


@twin("the cells that survive are the first ones", sparse())
def _(patch: Patch) -> None:
    import numpy as np

    patch.setattr(sparse_draws, "uniform_subset", lambda number, cells, bits: np.arange(number))


@twin("sparse noise is that of twice epsilon", sparse())
def _(patch: Patch) -> None:
    true = sparse_draws.geometric_numbers
    twice = lambda number, epsilon, bits, **named: true(number, epsilon + epsilon, bits, **named)  # noqa: E731
    patch.setattr(sparse_draws, "geometric_numbers", twice)


@twin("totals of noise are accepted twice as often above the mode", table(), table(neighbours="add-remove"))
def _(patch: Patch) -> None:
    true = TotalLaw.relative_weight
    patch.setattr(TotalLaw, "relative_weight", lambda self, n: true(self, n) * (2 if n > self.mode else 1))


# Pairs of columns that are chosen.


def chosen(**options: Any) -> Callable[[Path], Any]:
    columns = {"vote": ["a", "b"], "ward": ["n", "s"], "smokes": ["yes", "no"]}
    named = {"epsilon": "9", "marginals": "choose"} | options
    return lambda folder: odp.sanitise(PEOPLE, columns, **named)


CHOSEN = chosen(), chosen(neighbours="add-remove")


@twin(
    "nobody's cell is drawn again until it is above 0",
    table(),
    chosen(),
    table(neighbours="add-remove"),
)
def _(patch: Patch) -> None:
    true = drawing.draw_table

    def wrong(cells: Any, columns: Any, certified: Any, source: Any) -> Any:
        drawn = true(cells, columns, certified, source)
        for cell in range(drawn.size):
            while not cells.get(cell) and drawn.dense[cell] <= 0:
                drawn.dense[cell] = true(cells, columns, certified, source).dense[cell]
        return drawn

    patch.setattr(sanitising, "draw_table", wrong)


@twin("a table is drawn again until somebody is in its last cell", table(), chosen())
def _(patch: Patch) -> None:
    for name in ("_draw", "_draw_chosen"):
        true = getattr(sanitising, name)

        def wrong(*given: Any, true: Any = true) -> Any:
            while True:
                made = true(*given)
                tables = made[0] if isinstance(made[0], tuple) else made[1]
                if tables[0].noisy.dense[-1] > 0:
                    return made

        patch.setattr(sanitising, name, wrong)


@twin("each chosen pair has all that pairs may cost", *CHOSEN)
def _(patch: Patch) -> None:
    true = sanitising._measured_too

    def wrong(plan: Any, alone: Any, tables: Any, levels: Any, *more: Any) -> Any:
        levels = [own * len(levels) if len(one) == 2 else own for one, own in zip(tables, levels)]
        return true(plan, alone, tables, levels, *more)

    patch.setattr(sanitising, "_measured_too", wrong)


class Coins(Selection):
    def __init__(self, epsilon: Any, sensitivity: int) -> None:
        super().__init__(2 * epsilon, sensitivity)


@twin("pairs are chosen at twice the level", *CHOSEN)
def _(patch: Patch) -> None:
    patch.setattr(sanitising, "Selection", Coins)


@twin("pairs are chosen at twice the level that is paid", *CHOSEN)
def _(patch: Patch) -> None:
    true = sanitising._draw_chosen

    def wrong(*given: Any) -> Any:
        with pytest.MonkeyPatch.context() as inside:
            inside.setattr(sanitising, "Selection", Coins)
            return true(*given)

    patch.setattr(sanitising, "_draw_chosen", wrong)


@twin("a record that is replaced is said to move a score by one", chosen())
def _(patch: Patch) -> None:
    patch.setattr(sanitising, "sensitivity_of", lambda neighbours: 1)


@twin("every pair is chosen with the bits of the first", *CHOSEN)
def _(patch: Patch) -> None:
    true = Selection.draw

    def again(self: Any, scores: Any, source: Any) -> int:
        first = source.__dict__.setdefault("first", source.take(64 * 3)) if hasattr(source, "__dict__") else 0
        return true(self, scores, Written(first))

    patch.setattr(Selection, "draw", again)


class Written:
    """The same words for ever."""

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def take(self, count: int) -> int:
        return self.bits & (2**count - 1)


@twin("the columns are measured once more outside of the split", *CHOSEN)
def _(patch: Patch) -> None:
    true = sanitising._draw_chosen

    def wrong(plan: Any, counted: Any, bits: Any) -> Any:
        said, drawn, *rest = true(plan, counted, bits)
        again = sanitising._mapped(plan, sanitising.noisy_tables(plan, counted, frozenset(), bits))
        return said, (*again, *drawn[len(again) :]), *rest

    patch.setattr(sanitising, "_draw_chosen", wrong)


@twin("what is not spent on pairs is spent twice on columns", chosen(epsilon="0.1"))
def _(patch: Patch) -> None:
    true = sanitising.part_of
    patch.setattr(
        sanitising, "part_of", lambda epsilon, share: true(epsilon, share) * (2 if share == Fraction(3, 5) else 1)
    )


@pytest.fixture
def fresh() -> Iterator[None]:
    clear()
    yield
    clear()


def clear() -> None:
    """Forget what was certified: a wrong twin must be examined anew, and must not stay."""
    for name in [one for one in sys.modules if one.startswith("optimaldp.")]:
        for value in list(vars(sys.modules[name]).values()):
            for one in (value, *(vars(value).values() if isinstance(value, type) else ())):
                if hasattr(one, "cache_clear"):
                    one.cache_clear()


@pytest.mark.parametrize("name", TWINS)
def test_a_held_twin_is_refused(name: str, monkeypatch: Patch, tmp_path: Path, fresh: None) -> None:
    put_in, ask = TWINS[name]
    put_in(monkeypatch)
    with pytest.raises(OptimalDPError) as refused:
        ask(tmp_path)
    assert isinstance(refused.value, (odp.errors.NotCertifiedError, odp.errors.ReleaseError)), str(refused.value)


@pytest.mark.parametrize("place", range(len({id(ask) for _, ask in TWINS.values()})))
def test_what_twins_are_asked_is_answered(place: int, tmp_path: Path) -> None:
    asks = list({id(ask): ask for _, ask in TWINS.values()}.values())
    assert asks[place](tmp_path) is not None
