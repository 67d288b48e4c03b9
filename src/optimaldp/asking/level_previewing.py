"""A preview for people with levels of their own: both aims, on average and at worst, beside what one would do without them.

Everything is computed from public numbers: the question, the levels and how many people have each. Given the margin, every choice
of who says yes is equally likely when people vote independently with the same chance, so the average needs no chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from optimaldp.distances.linear import LinearCondition
from optimaldp.laws.level_accuracy import Counts, Floats, LevelSizes, level_sizes
from optimaldp.laws.setting import Aim
from optimaldp.privacy import Epsilon
from optimaldp.questions.accuracy import LIMITS

if TYPE_CHECKING:
    from optimaldp.asking.previewing import Preview
    from optimaldp.asking.request import Request

Error = Callable[[Counts], Floats]

_OTHER_KINDS = (
    "people's own levels are not part of this preview: curves by level are shown for counts and shares of everybody"
)
_WITHOUT_DELTA = "the curves are those without delta, which makes every answer a little surer"
_ROWS = 25  # margins in a table


def with_levels(made: Preview, request: Request, sizes: Sequence[tuple[Epsilon, int]]) -> Preview:
    """The preview of one level, with the curves of these levels in its place where they are known."""
    asked = _asked(request.question, sizes)
    if asked is None:
        return replace(made, notes=(*made.notes, _OTHER_KINDS))
    sides = [truth for truth in (True, False) if len(asked.margins(truth=truth))]
    most = max(len(asked.margins(truth=truth)) for truth in sides)
    curves = _curves(asked, request.aim)
    margins = _margins(made.margins, curves, asked, most)
    series = tuple((name, tuple(_at(curve, margin, asked) for margin in margins)) for name, curve in curves.items())
    own = next(iter(curves.values()))
    # Without delta an error is small but never 0.
    reliable = tuple(
        (name, _reliable_from(own, asked, float(limit), most) if limit else None) for name, limit in LIMITS
    )
    return replace(
        made,
        persons=asked.people,
        margins=margins,
        series=series,
        reliable=reliable,
        notes=(*made.notes, *_sentences(asked, request.aim), *((_WITHOUT_DELTA,) if request.level.delta else ())),
        more={**made.more, "aim": str(request.aim), "level_sizes": {str(e): size for e, size in sizes}},
    )


Curve = Callable[[int, bool], float]


def _asked(question: Any, sizes: Sequence[tuple[Epsilon, int]]) -> LevelSizes | None:
    """The question as "at least so many say yes"; ``None`` for other kinds and where one answer is certain."""
    condition = getattr(question, "condition", None)
    if not isinstance(condition, LinearCondition) or getattr(question, "among", None) is not None:
        return None
    if condition.yes_weight < condition.no_weight:
        condition = condition.negated()
    people, gain = sum(size for _, size in sizes), condition.yes_weight - condition.no_weight
    least = -(-(condition.need - condition.no_weight * people) // gain)
    if not 1 <= least <= people:
        return None
    return level_sizes(least, [(float(epsilon), size) for epsilon, size in sizes])


def _curves(asked: LevelSizes, aim: Aim) -> Mapping[str, Curve]:
    """Ours first; an average and a worst case of each."""
    if len(asked.levels) == 1:
        return {"optimaldp": _worst(asked, asked.strictest_for_all)}
    typical = {"typical, average": _average(asked, asked.typical), "typical, worst": _worst(asked, asked.typical)}
    every = {
        "every table, average": _average(asked, asked.every_table),
        "every table, worst": _worst(asked, asked.every_table),
    }
    ours = {**typical, **every} if aim is Aim.TYPICAL else {**dict(reversed(every.items())), **typical}
    others = {
        "strictest for all": _worst(asked, asked.strictest_for_all),
        "strict left out, average": _average(asked, asked.strict_left_out),
    }
    return {**ours, **others}


def _margins(chosen: Sequence[int], curves: Mapping[str, Curve], asked: LevelSizes, most: int) -> tuple[int, ...]:
    """Those of the preview, and more of them until both aims are reliable."""
    ends = [_reliable_from(curves[name], asked, 0.01, most) for name in curves if name in _SHOWN_TO_THE_END]
    last = min(most, max([end or most for end in ends], default=most))
    grown = {max(1, round(last ** (step / (_ROWS - 1)))) for step in range(_ROWS)}
    return tuple(sorted({margin for margin in (*chosen, *grown) if margin <= most}))


_SHOWN_TO_THE_END = ("optimaldp", "typical, average", "every table, worst")


def _average(asked: LevelSizes, error: Error) -> Curve:
    return lambda margin, truth: asked.average_at(error, margin, truth=truth)


def _worst(asked: LevelSizes, error: Error) -> Curve:
    return lambda margin, truth: asked.worst_at(error, margin, truth=truth)


def _at(curve: Curve, margin: int, asked: LevelSizes) -> float:
    """The worse of the two true answers that have this margin."""
    return max((curve(margin, truth) for truth in (True, False) if margin in asked.margins(truth=truth)), default=0.0)


def _reliable_from(curve: Curve, asked: LevelSizes, limit: float, most: int) -> int | None:
    """The least margin from which on the error is at most *limit*."""
    if _at(curve, most, asked) > limit:
        return None
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _at(curve, middle, asked) <= limit else (middle + 1, high)
    return low


def _sentences(asked: LevelSizes, aim: Aim) -> list[str]:
    if len(asked.levels) == 1:
        return []
    shown = "typical" if aim is Aim.TYPICAL else "every table"
    strict = sum(asked.sizes[:-1])
    said = [
        f"shown for the aim '{shown}'; average: people vote independently with the same chance",
        f"where the {strict} stricter people disagree with the rest, 'typical' hardly hears them and may be wrong for "
        "certain; 'every table' is then as sure as the strictest of them allow",
    ]
    chance = (asked.least - 0.5) / asked.people
    plain, (cap, capped) = asked.average_typical(chance), asked.best_cap(chance)
    if aim is Aim.TYPICAL and capped < 0.95 * plain:
        said.append(
            f"with epsilon {cap:.2g} for the release, to which looser levels are cut, 'typical' errs in {100 * capped:.2g} % "
            f"instead of {100 * plain:.2g} % of such votes"
        )
    return said
