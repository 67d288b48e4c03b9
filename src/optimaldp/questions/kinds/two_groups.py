"""Is a share, or a mean, larger in one group than in another?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from optimaldp.distances.two_groups import (
    GroupDifference,
    Heights,
    check_margin,
    flips_of_share_difference,
    heights,
    public_mean_difference,
    public_share_difference,
    share_difference_holds,
)
from optimaldp.errors import QuestionError
from optimaldp.laws.law import Setting
from optimaldp.laws.votes import Moves
from optimaldp.privacy import Neighbours, read_number
from optimaldp.privacy.numbers import fraction_text
from optimaldp.questions.accuracy import Accuracy, at_distance, of_public_groups
from optimaldp.questions.base import NULL_NOTE, YES_NO, Question, Spec, Valued
from optimaldp.questions.forms import Form
from optimaldp.questions.kinds.difference import BOTH, FiveCounts, OfTwoGroups, OfTwoMeans, need_groups
from optimaldp.questions.kinds.mean import RANGE, Average
from optimaldp.questions.kinds.threshold import PeopleWho
from optimaldp.questions.mechanism import AtDistance, QuestionMechanism
from optimaldp.questions.numbers import Quantity, Shifted
from optimaldp.questions.sheets import CONDITION, RELATION, Blank, Sheet
from optimaldp.questions.signed import BySignedDistance
from optimaldp.questions.words import AT_LEAST, column_words, people_who


@dataclass(frozen=True, repr=False)
class ShareDifference(OfTwoGroups[str]):
    """``share(condition among A) > share(condition among B) + margin``."""

    first: PeopleWho
    comparison: str
    second: PeopleWho
    margin: Fraction

    answers = YES_NO

    def truth(self, counts: FiveCounts) -> int:
        return 0 if share_difference_holds(self.comparison, self.margin, counts) else 1

    def flips(self, counts: FiveCounts, neighbours: Neighbours) -> Moves:
        return flips_of_share_difference(self.comparison, self.margin, counts, neighbours)

    @cached_property
    def _public(self) -> GroupDifference:
        return public_share_difference(self.comparison, self.margin)

    def signed(self, counts: FiveCounts, setting: Setting) -> Fraction | float:
        """With public groups: the signed fractional distance; one replaced person moves it by at most 1."""
        a, b, c, d, _ = counts
        return self._public.signed({1: a, 0: b}, {1: c, 0: d})

    def mechanism(self, setting: Setting) -> QuestionMechanism:
        _refuse_levels(self, setting)
        if not setting.public_groups:
            return AtDistance(self, setting)
        _need_substitution(setting)
        return PublicGroups(self, setting)

    def accuracy(self, setting: Setting) -> Accuracy:
        return (of_public_groups if setting.public_groups else at_distance)(self, setting)

    def spec(self) -> Spec:
        places = {text: place for place, text in enumerate(self._conditions)}
        return {
            "kind": "share-difference",
            "comparison": self.comparison,
            "margin": self.margin,
            "first": (places[self.first.predicate], places[str(self.first.among)]),
            "second": (places[self.second.predicate], places[str(self.second.among)]),
        }

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        return NULL_NOTE, BOTH

    def __bool__(self) -> bool:
        raise QuestionError("question", str(self), "has no answer before it is released", "release it")

    def words(self) -> str:
        compared = f"the share of {people_who(self.first.predicate)} among {people_who(str(self.first.among), 'those')}"
        other = f"among {people_who(str(self.second.among), 'those')}"
        if self.second.predicate != self.first.predicate:
            other = f"the share of {people_who(self.second.predicate)} {other}"
        return _difference_words(
            compared, self.comparison, other, f"{fraction_text(100 * self.margin)} percentage points"
        )

    def __str__(self) -> str:
        return _difference_text(self.first, self.comparison, self.second, self.margin)


MeanCounts = tuple[Valued, Valued]


@dataclass(frozen=True, repr=False)
class MeanDifference(OfTwoMeans[str]):
    """``mean(x among A) > mean(x among B) + margin``, for groups that are declared public."""

    first: Average
    comparison: str
    second: Average
    margin: Fraction

    answers = YES_NO

    @cached_property
    def _public(self) -> GroupDifference:
        return public_mean_difference(self.comparison, self.margin, positions=self._grid.points, step=self.first.step)

    def _heights(self, group: Valued) -> Heights:
        return heights(group.values, group.without, positions=self._grid.points)

    def truth(self, counts: MeanCounts) -> int:
        return 0 if self._public.holds(self._heights(counts[0]), self._heights(counts[1])) else 1

    def flips(self, counts: MeanCounts, neighbours: Neighbours) -> Moves:
        if neighbours is not Neighbours.SUBSTITUTION:
            raise QuestionError("neighbours", str(neighbours), "does not go with public groups", "use substitution")
        return self._public.flips(self._heights(counts[0]), self._heights(counts[1]))

    def signed(self, counts: MeanCounts, setting: Setting) -> Fraction | float:
        return self._public.signed(self._heights(counts[0]), self._heights(counts[1]))

    def mechanism(self, setting: Setting) -> QuestionMechanism:
        _refuse_levels(self, setting)
        if not setting.public_groups:
            remedy = "declare the groups public (public_groups=True, --public-groups), or ask for shares"
            raise QuestionError("question", str(self), "compares means of private groups", remedy)
        _need_substitution(setting)
        return PublicGroups(self, setting)

    def accuracy(self, setting: Setting) -> Accuracy:
        return of_public_groups(self, setting)

    def spec(self) -> Spec:
        own = self.first
        return {
            "kind": "mean-difference",
            "comparison": self.comparison,
            "margin": self.margin,
            "low": own.low,
            "high": own.high,
            "step": own.step,
        }

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        return BOTH, "people without a value count as the middle of the range and are protected"

    def __bool__(self) -> bool:
        raise QuestionError("question", str(self), "has no answer before it is released", "release it")

    def words(self) -> str:
        compared = f"the mean of {column_words(self.first.column)} among {people_who(str(self.first.among))}"
        other = f"among {people_who(str(self.second.among))}"
        return _difference_words(compared, self.comparison, other, fraction_text(self.margin) if self.margin else "0")

    def __str__(self) -> str:
        return _difference_text(self.first, self.comparison, self.second, self.margin)


@dataclass(frozen=True)
class PublicGroups(BySignedDistance):
    """The signed distance with groups that are declared public: a record is replaced inside its group."""

    def parameters(self) -> dict[str, Any]:
        return {"groups": "declared public"}


def two_groups(first: Quantity, comparison: str, bound: Quantity | Shifted) -> Question[str]:
    """The question that compares two quantities of one kind, each among a group of its own."""
    second, margin = (bound.quantity, bound.margin) if isinstance(bound, Shifted) else (bound, 0)
    number = read_number(margin, name="margin", error=QuestionError)
    if isinstance(first, PeopleWho) and isinstance(second, PeopleWho) and first.quantity == second.quantity == "share":
        need_groups(first, comparison, second)
        check_margin(comparison, number)
        return ShareDifference(first, comparison, second, number)
    if isinstance(first, Average) and isinstance(second, Average):
        need_groups(first, comparison, second)
        if not 0 <= number <= first.high - first.low:
            raise QuestionError("margin", margin, "does not lie between 0 and the width of the range")
        return MeanDifference(first, comparison, second, number)
    remedy = "compare two shares or two means, each among a group"
    raise QuestionError("question", f"{first} {comparison} {second}", "compares two unlike numbers", remedy)


def _need_substitution(setting: Setting) -> None:
    if setting.neighbours is not Neighbours.SUBSTITUTION:
        rule = "does not go with public groups, whose sizes are public"
        raise QuestionError("neighbours", str(setting.neighbours), rule, "use substitution")


def _refuse_levels(question: Question, setting: Setting) -> None:
    if setting.personal:
        remedy = "ask without levels"
        raise QuestionError("levels", str(question), "compares two groups, which cannot honour personal levels", remedy)


_LARGER = {">": "larger than", ">=": "at least as large as", "<": "smaller than", "<=": "at most as large as"}


def _difference_words(first: str, comparison: str, second: str, margin: str) -> str:
    """*margin* is a number and its unit; a margin of 0 is not said."""
    than = _LARGER[comparison] if margin.split()[0] == "0" else f"{AT_LEAST[comparison]} {margin} above that"
    return f"Is {first} {than} {second}?"


def _difference_text(first: object, comparison: str, second: object, margin: Fraction) -> str:
    more = f" + {fraction_text(margin)}" if margin else ""
    return f"{first} {comparison} {second}{more}"


FORMS: list[Form] = []

_FIRST = Blank("first", "condition", "Among the first group: people with", sample="sex = 'm'")
_SECOND = Blank("second", "condition", "than among the second group: people with", sample="sex = 'f'")
_MORE_OR_LESS = replace(RELATION, sample=">", start=">", choices=((">", "larger"), (">=", "at least as large")))
SHEETS = [
    Sheet(
        "two-shares",
        "Is the share larger in one group than in another?",
        "share({condition} among {first}) {relation} share({condition} among {second}){margin}",
        (
            CONDITION,
            _FIRST,
            _MORE_OR_LESS,
            _SECOND,
            Blank(
                "margin",
                "percent",
                "by … percentage points",
                "may stay empty",
                sample="0.02",
                before=" + ",
                optional=True,
            ),
        ),
        order=28,
        note="Who is in which group is protected, unless you declare it public under More.",
    ),
    Sheet(
        "two-means",
        "Is the mean larger in one group than in another?",
        "mean({column}, {range} among {first}) {relation} mean({column}, {range} among {second}){margin}",
        (
            Blank("column", "column", "Column", sample="score"),
            RANGE,
            _FIRST,
            _MORE_OR_LESS,
            _SECOND,
            Blank("margin", "number", "by at least", "may stay empty", sample="0.5", before=" + ", optional=True),
        ),
        order=29,
        note="Only for groups that you declare public under More, such as the arms of a trial.",
    ),
]
