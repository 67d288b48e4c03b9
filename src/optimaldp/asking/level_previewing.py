"""Errors of people with levels of their own, read off the laws that a release would draw from, at made-up tables.

Everybody is in one of two places: yes or no, two options, the two ends of a range, two neighbouring bins. So a margin, and who of
each level is where, says everything; nobody is outside of those asked. Slower than closed forms, but it holds for every kind of
question that has a margin, delta included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np

from optimaldp.asking.preview_result import Preview
from optimaldp.asking.request import Request
from optimaldp.asking.result import epsilon_means
from optimaldp.distances.linear import LinearCondition
from optimaldp.laws.law import Aim, AnyAim, Setting, Table
from optimaldp.laws.level_accuracy import Floats, LevelSizes, PointRows, hypergeometric_axis, level_sizes
from optimaldp.laws.prior import Prior, grid
from optimaldp.privacy import Epsilon, approximate
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.privacy.numbers import first_where
from optimaldp.questions.accuracy import LIMITS
from optimaldp.questions.base import Question
from optimaldp.questions.mechanism import QuestionMechanism

_BITS = 128
_POINTS = 36  # tables whose laws are worked out for one average
_TINY, _NEVER = 1e-300, -690.0  # an error of 0 in a logarithm, and what lies below it
_STEPS = (-13, -8, -5, -3, -2, -1, 0, 1, 2, 3, 5, 8, 13)
_MOST_LISTED = 64  # answers whose probabilities are added up one by one


def assumed(question: Question) -> str:
    """What is assumed of everybody, in words."""
    places = question.opposite_places()
    parts = [places[2] if places else "", "" if question.among is None else "everybody is among those asked"]
    return ", ".join(filter(None, parts))


@dataclass(frozen=True)
class LevelTables(LevelSizes):
    """The same view as the closed forms have: *at least so many are in the first place*; each error by the law itself."""

    request: Request
    own: tuple[tuple[Epsilon, int], ...]
    """The levels as they are promised, in rising order, with how many people have each."""
    places: tuple[int, int]

    def margins(self, *, truth: bool = True) -> range:
        """Up to where going to a third place, another bin, does not change the answer sooner."""
        return range(1, self._most_margins[truth] + 1)

    @cached_property
    def _most_margins(self) -> dict[bool, int]:
        return {truth: self._most_margin(truth=truth) for truth in (True, False)}

    def _most_margin(self, *, truth: bool) -> int:
        most = len(super().margins(truth=truth))
        return first_where(lambda margin: self._moves(margin, truth=truth) != margin, 1, most + 1) - 1

    def _moves(self, margin: int, *, truth: bool) -> int | float:
        question, there = self.request.question, self.total_at(margin, truth=truth)
        return question.flips(question.fold(self._cells(there, self.people - there)), self.request.neighbours)

    def average_at(self, error: Callable[[PointRows], Floats], margin: int, *, truth: bool = True) -> float:
        """Of two levels with many people the law is worked out at some tables; between them the odds change evenly."""
        if len(self.sizes) != 2:
            return super().average_at(error, margin, truth=truth)
        total = self.total_at(margin, truth=truth)
        strict, weights = hypergeometric_axis(total, self.sizes[0], self.sizes[1])

        def known(counts: PointRows) -> Floats:
            return error(np.stack([counts, total - counts], axis=1))

        nodes = self._nodes(strict, known, margin)
        between = np.interp(strict, nodes, _odds(known(nodes)))
        errors = np.where(between > _NEVER, np.exp(-np.logaddexp(0, -between)), 0.0)
        return float(errors @ weights)

    def _nodes(self, strict: PointRows, known: Callable[[PointRows], Floats], margin: int) -> PointRows:
        """All counts of strict people, or some: close to each other where the error passes 1/2 or changes its slope."""
        if len(strict) <= _POINTS:
            return strict
        low, high = int(strict[0]), int(strict[-1])
        below = known(np.array([low, high])) < 0.5
        if below[0] != below[1]:
            low = first_where(lambda at: (known(np.array([at]))[0] < 0.5) != below[0], low + 1, high) - 1
        even = np.linspace(strict[0], strict[-1], _POINTS // 3).astype(np.int64)
        near = [place + step for place in (low, margin, self.sizes[0] - margin) for step in _STEPS]
        return np.unique(np.clip(np.concatenate([even, near]), strict[0], strict[-1]))

    def typical(self, yes: PointRows) -> Floats:
        return self._by_level(Aim.TYPICAL, yes)

    def every_table(self, yes: PointRows) -> Floats:
        return self._by_level(Aim.EVERY_TABLE, yes)

    def best_for_prior(self, yes: PointRows) -> Floats:
        """The least average over the prior that was asked for."""
        return self._by_level(self.request.aim, yes)

    def strictest_for_all(self, yes: PointRows) -> Floats:
        mechanism = _one_level(self.request, self.own[0][0], self.people)
        people = yes.sum(axis=1).tolist()
        return self._wrong(mechanism, [(total, self.people, ()) for total in people], yes)

    def strict_left_out(self, yes: PointRows) -> Floats:
        loosest, size = self.own[-1]
        mechanism = _one_level(self.request, loosest, size)
        return self._wrong(mechanism, [(row[-1], size, ()) for row in yes.tolist()], yes)

    def _by_level(self, aim: AnyAim, yes: PointRows) -> Floats:
        mechanism = _personal(self.request, self.own, aim)
        return self._wrong(mechanism, [(sum(row), self.people, row) for row in yes.tolist()], yes)

    def _wrong(self, mechanism: QuestionMechanism, rows: Sequence[tuple[int, int, Any]], yes: PointRows) -> Floats:
        right = self.right_answer(yes).tolist()
        errors = []
        with precision(_BITS):
            for (there, size, by_level), first in zip(rows, right):
                answer = self._answers[0 if first else 1]
                errors.append(_error(mechanism, self._table(there, size, by_level), answer))
        return np.array(errors)

    @property
    def _answers(self) -> tuple[int, int]:
        return self._truth(self.people), self._truth(0)

    def _truth(self, there: int) -> int:
        question = self.request.question
        return question.truth(question.fold(self._cells(there, self.people - there)))

    def _cells(self, there: int, elsewhere: int) -> dict[int, int]:
        return {cell: people for cell, people in zip(self.places, (there, elsewhere)) if people}

    def _table(self, there: int, size: int, by_level: Sequence[int]) -> Table:
        levels = tuple(
            (epsilon, self._cells(count, people - count)) for (epsilon, people), count in zip(self.own, by_level)
        )
        return Table(self._cells(there, size - there), levels)


def level_tables(request: Request, own: tuple[tuple[Epsilon, int], ...]) -> LevelTables | None:
    """The tables of these public sizes; ``None`` where one answer is certain at all of them."""
    places = request.question.opposite_places()
    assert places is not None
    step = 1 if request.question.among is None else 2  # a cell says whether a person is asked, too
    levels, sizes = tuple(float(epsilon) for epsilon, _ in own), tuple(size for _, size in own)
    made = LevelTables(0, levels, sizes, request, own, (places[0] * step, places[1] * step))
    at_all = made._truth(made.people)
    if made._truth(0) == at_all:
        return None
    return replace(made, least=first_where(lambda yes: made._truth(yes) == at_all, 1, made.people))


@lru_cache(maxsize=64)
def _personal(request: Request, own: tuple[tuple[Epsilon, int], ...], aim: AnyAim) -> QuestionMechanism:
    return request.question.mechanism(replace(request.setting(sum(size for _, size in own), own), aim=aim))


@lru_cache(maxsize=64)
def _one_level(request: Request, epsilon: Epsilon, people: int) -> QuestionMechanism:
    level = approximate(epsilon, request.level.delta)
    return request.question.mechanism(Setting(level, request.neighbours, people))


def _odds(errors: Floats) -> Floats:
    """The logarithm of the odds, which changes evenly where an error falls or rises evenly."""
    return np.asarray(np.log(np.maximum(errors, _TINY)) - np.log(np.maximum(1 - errors, 1e-16)))


def _error(mechanism: QuestionMechanism, table: Table, answer: int) -> float:
    law = mechanism.law(table)
    if law.size > _MOST_LISTED and law.sums is not None:
        before = ball(law.sums(answer - 1)) if answer else Ball(0)
        after = 1 - ball(law.sums(answer)) if answer < law.size - 1 else Ball(0)
        return max(0.0, float((before + after).mid()))
    others = (ball(p) for place, p in enumerate(law.probabilities()) if place != answer)
    return max(0.0, float(sum(others, Ball(0)).mid()))


# A preview for people with levels of their own: both aims, on average and at worst, beside what one would do without them.
#
# Everything is computed from public numbers: the question, the levels and how many people have each. Given the margin, every
# choice of who says yes is equally likely when people vote independently with the same chance, so the average needs no chance.


Error = Callable[[PointRows], Floats]
Sizes = tuple[tuple[Epsilon, int], ...]

_CERTAIN = "at these numbers of people every table has the same answer, whatever people's levels are"
_NO_MARGIN = "people's own levels change nothing here: a question with one possible answer is never wrong"
_MARGIN_ROWS = {LevelSizes: 25, LevelTables: 13}  # margins in a table: fewer where each law is worked out


def require_levels(request: Request, sizes: Sizes) -> None:
    """Refuse a kind that cannot honour people's own levels, or a prior that needs a smaller table, as a release would."""
    request.question.mechanism(request.setting(sum(size for _, size in sizes), sizes))


def with_levels(
    one_level: Callable[[], Preview], request: Request, sizes: Sizes, margins: Sequence[int] | None = None
) -> Preview:
    """The curves of these levels, *margins* in any case; where there are none to show, the preview of *one_level* with a word."""
    if request.question.opposite_places() is None:
        return _with_note(one_level(), _NO_MARGIN)
    asked = _closed_forms(request, sizes) or level_tables(request, sizes)
    if asked is None:
        return _with_note(one_level(), _CERTAIN)
    most = max(len(asked.margins(truth=truth)) for truth in (True, False))
    curves = _curves(asked, request)
    shown = _margins(margins or (), curves, asked, most)
    series = tuple((name, tuple(_at(curve, margin, asked) for margin in shown)) for name, curve in curves.items())
    own = next(iter(curves.values()))
    # Without delta an error is small but never 0.
    mechanism = request.question.mechanism(request.setting(asked.people, sizes))
    never = not (mechanism.uses_delta and request.level.delta)
    reliable = tuple(
        (name, None if never and not limit else _reliable_from(own, asked, float(limit), most))
        for name, limit in LIMITS
    )
    more: dict[str, Any] = {"aim": str(request.aim), "level_sizes": {str(e): size for e, size in sizes}}
    if isinstance(request.aim, Prior) and isinstance(asked, LevelTables):
        more["average_error"] = over_prior(asked, request.aim)
    elif len(asked.levels) > 1 and not request.question.aims_agree:
        more["never_worse_than_a_coin_from"] = _reliable_from(
            _worst(asked, _own_error(asked, request.aim)), asked, 0.5, most
        )
        if not isinstance(asked, LevelTables):
            more["average_error"] = over_coins(asked)
    if (law := mechanism.parameters()).get("law"):
        more["mechanism"] = {"name": mechanism.name, **law}
    return Preview(
        str(request.question),
        request.level,
        request.neighbours,
        asked.people,
        shown,
        series,
        reliable,
        tuple(_sentences(asked, request, more)),
        more={"epsilon_means": epsilon_means(request.level, request.limited), **more},
    )


def _with_note(made: Preview, note: str) -> Preview:
    return replace(made, notes=(*made.notes, note))


def of_counts(request: Request, sizes: Sizes) -> Preview | None:
    """The preview of a table of counts, which has no margin: by how much it is off; ``None`` for other questions."""
    people = sum(size for _, size in sizes)
    errors = request.question.expected_errors(request.setting(people, sizes))
    if errors is None:
        return None
    said = [f"{name}: all counts together are expected to be off by at most {off:.3g}" for name, off in errors.items()]
    more = {"aim": str(request.aim), "level_sizes": {str(e): size for e, size in sizes}, "expected_error": errors}
    notes = ("both aims are the same here: people who are not kept are counted with everybody else",)
    known = (str(request.question), request.level, request.neighbours, people)
    return Preview(*known, (), (), (), notes, tuple(said), more)


Curve = Callable[[int, bool], float]


def _closed_forms(request: Request, sizes: Sizes) -> LevelSizes | None:
    """A count or share of everybody as "at least so many say yes", without delta and prior; ``None`` for everything else."""
    condition = getattr(request.question, "condition", None)
    plain = isinstance(condition, LinearCondition) and request.question.among is None
    if not plain or request.level.delta or isinstance(request.aim, Prior):
        return None
    assert isinstance(condition, LinearCondition)
    if condition.yes_weight < condition.no_weight:
        condition = condition.negated()
    people, gain = sum(size for _, size in sizes), condition.yes_weight - condition.no_weight
    least = -(-(condition.need - condition.no_weight * people) // gain)
    if not 1 <= least <= people:
        return None
    return level_sizes(least, [(float(epsilon), size) for epsilon, size in sizes])


def _curves(asked: LevelSizes, request: Request) -> Mapping[str, Curve]:
    """Ours first; an average and a worst case of each."""
    aim = request.aim
    if len(asked.levels) == 1 and not isinstance(aim, Prior):
        return {"optimaldp": _worst(asked, asked.strictest_for_all)}
    typical = _both(asked, "typical", asked.typical)
    every = _both(asked, "every table", asked.every_table)
    if request.question.aims_agree:
        ours = _both(asked, "either aim", asked.typical)
    elif isinstance(aim, Prior):
        assert isinstance(asked, LevelTables)
        ours = {**_both(asked, "least average", asked.best_for_prior), **typical, **every}
    else:
        ours = {**typical, **every} if aim is Aim.TYPICAL else {**dict(reversed(every.items())), **typical}
    if len(asked.levels) == 1:
        return ours
    others = {
        "strictest for all": _worst(asked, asked.strictest_for_all),
        "strict left out, average": _average(asked, asked.strict_left_out),
    }
    return {**ours, **others}


def _both(asked: LevelSizes, name: str, error: Error) -> dict[str, Curve]:
    return {f"{name}, average": _average(asked, error), f"{name}, worst": _worst(asked, error)}


def _margins(chosen: Sequence[int], curves: Mapping[str, Curve], asked: LevelSizes, most: int) -> tuple[int, ...]:
    """Those that were asked for, and more of them until both aims are reliable."""
    ends = [_reliable_from(curves[name], asked, 0.01, most) for name in curves if name in _SHOWN_TO_THE_END]
    last, rows = min(most, max([end or most for end in ends], default=most)), _MARGIN_ROWS[type(asked)]
    grown = {max(1, round(last ** (step / (rows - 1)))) for step in range(rows)}
    return tuple(sorted({margin for margin in (*chosen, *grown) if margin <= most}))


_SHOWN_TO_THE_END = ("optimaldp", "typical, average", "every table, worst", "either aim, worst")


def _average(asked: LevelSizes, error: Error) -> Curve:
    return cache(lambda margin, truth: asked.average_at(error, margin, truth=truth))


def _worst(asked: LevelSizes, error: Error) -> Curve:
    return cache(lambda margin, truth: asked.worst_at(error, margin, truth=truth))


def _at(curve: Curve, margin: int, asked: LevelSizes) -> float:
    """The worse of the two true answers that have this margin."""
    return max((curve(margin, truth) for truth in (True, False) if margin in asked.margins(truth=truth)), default=0.0)


def _reliable_from(curve: Curve, asked: LevelSizes, limit: float, most: int) -> int | None:
    """The least margin from which on the error is at most *limit*."""
    if _at(curve, most, asked) > limit:
        return None
    return first_where(lambda margin: _at(curve, margin, asked) <= limit, 1, most)


def over_prior(asked: LevelTables, prior: Prior) -> dict[str, float]:
    """The average error over the prior: the least possible, both aims, and what one would do without them."""
    import numpy as np

    weights = prior.weights(asked.sizes)
    points = np.array(list(grid(asked.sizes)), dtype=np.int64)
    chances = np.array([float(weights[tuple(point)]) for point in points.tolist()])
    errors = {
        "least average": asked.best_for_prior,
        "typical": asked.typical,
        "every table": asked.every_table,
        "strictest for all": asked.strictest_for_all,
        "strict left out": asked.strict_left_out,
    }
    return {name: float(error(points) @ chances) for name, error in errors.items()}


def over_coins(asked: LevelSizes) -> dict[str, float]:
    """The average error over votes in which everybody says yes with chance 1/2: both aims, and what one would do without them."""
    errors = {
        "typical": asked.typical,
        "every table": asked.every_table,
        "weighted votes": asked.weighted,
        "strictest for all": asked.strictest_for_all,
        "strict left out": asked.strict_left_out,
    }
    return {name: asked.average(error, 0.5) for name, error in errors.items()}


def _own_error(asked: LevelSizes, aim: AnyAim) -> Error:
    return asked.typical if aim is Aim.TYPICAL else asked.every_table


def _sentences(asked: LevelSizes, request: Request, more: Mapping[str, Any]) -> list[str]:
    spread = assumed(request.question)
    said = [f"for tables in which {spread}"] if spread else []
    if isinstance(request.aim, Prior):
        averages = more["average_error"]
        compared = ", ".join(f"{name} {100 * error:.3g} %" for name, error in averages.items())
        return [*said, f"wrong on average over {request.aim.words}: {compared}"]
    if len(asked.levels) == 1:
        return said
    shown = "shown for either aim, which are the same here" if request.question.aims_agree else _shown(request.aim)
    strict = sum(asked.sizes[:-1])
    said += [f"{shown}; average: people vote independently with the same chance"]
    disagree = f"where the {strict} stricter people disagree with the rest, "
    if request.question.aims_agree:
        said.append(disagree + "they are hardly heard and the answer may be wrong for certain")
    else:
        said.append(
            disagree
            + "'typical' hears them less and may be wrong more often than not; 'every table' is then as sure as "
            "the strictest of them allow"
        )
    if (coin := more.get("never_worse_than_a_coin_from")) is not None:
        said.append(f"from a margin of {coin} the answer is never worse than a coin, whoever disagrees")
    if "average_error" in more:
        compared = ", ".join(f"{name} {100 * error:.3g} %" for name, error in more["average_error"].items())
        said.append(f"wrong on average over votes in which everybody says yes with chance 1/2: {compared}")
    return said


def _shown(aim: AnyAim) -> str:
    return f"shown for the aim '{'typical' if aim is Aim.TYPICAL else 'every table'}'"
