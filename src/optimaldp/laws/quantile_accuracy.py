"""How far off a private quantile is on a table that somebody made up: figures for previews, as functions of public things."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from optimaldp.errors import QuestionError
from optimaldp.laws import quantile_rivals as rivals
from optimaldp.laws.log_number import exact_or_decimals, listed_counts
from optimaldp.laws.quantile import QuantileLaw, QuantileMode, quantile_law
from optimaldp.laws.quantile_rivals import Spread, even_cells, spread_of
from optimaldp.privacy import level, read_probability
from optimaldp.privacy.numbers import read_number
from optimaldp.results import Result

if TYPE_CHECKING:
    from optimaldp.laws.quantile_rivals import Floats

_CONFIDENCE = 0.95
_PLACES = 8  # of the quantile inside its bin, over which previews average


@dataclass(frozen=True, repr=False)
class QuantileAccuracy(Result):
    """What one mechanism does on one made-up table."""

    mechanism: str
    wrong: float  # the probability of a bin that is not the true one
    rank_error: float  # expected number of people between the answer and the truth
    rank_bound: int  # with 95 %, at most so many people
    bins_off: float  # expected number of bins
    bins_bound: int  # with 95 %, at most so many bins

    def summary(self) -> str:
        return (
            f"QuantileAccuracy({self.mechanism}: wrong {self.wrong:.3g}, off by {self.rank_error:.3g} people on average, "
            f"with 95 % by at most {self.rank_bound} people and {self.bins_bound} bins)"
        )

    def sentence(self) -> str:
        """The same for a reader of a preview."""
        people = "1 person" if self.rank_bound == 1 else f"{self.rank_bound} people"
        bins = "1 bin" if self.bins_bound == 1 else f"{self.bins_bound} bins"
        return (
            f"{self.mechanism}: right with probability {1 - self.wrong:.3g}; off by {self.rank_error:.3g} people on average, "
            f"and with 95 % by at most {people} or {bins}"
        )

    def to_document(self) -> dict[str, Any]:
        return {
            "mechanism": self.mechanism,
            "wrong": self.wrong,
            "rank_error": self.rank_error,
            "rank_bound_95": self.rank_bound,
            "bins_off": self.bins_off,
            "bins_bound_95": self.bins_bound,
        }


def accuracy_with_rivals(law: QuantileLaw, cells: Mapping[int, int]) -> tuple[QuantileAccuracy, ...]:
    """Ours, permute-and-flip, the exponential mechanism and OpenDP's quantile at the same epsilon, on made-up cells.

    The rivals have no use for delta and are shown at epsilon alone. Personal levels have no rivals here and are refused.
    """
    spread, laws = _laws(law, cells)
    return tuple(summarise(name, spread, probabilities) for name, probabilities in laws.items())


def even_accuracy(law: QuantileLaw, persons: int) -> tuple[QuantileAccuracy, ...]:
    """The same for *persons* people spread evenly over the bins: bins, level and a number that the reader assumes, no data.

    Where in its bin the quantile lies decides much: at an edge two bins are about as likely. The figures are averages over eight
    places from one edge to the other.
    """
    epsilon = float(law.level.epsilon) * float(law.share)
    per_bin = persons // law.bins
    shifts = sorted({per_bin * place // _PLACES for place in range(_PLACES)})
    tables = [_laws(law, even_cells(law.bins, persons, law.rank, epsilon, shift=shift)) for shift in shifts]
    return tuple(
        _summarised(name, [_Figures.of(spread, laws[name] / len(shifts)) for spread, laws in tables])
        for name in tables[0][1]
    )


def summarise(mechanism: str, spread: Spread, probabilities: Floats) -> QuantileAccuracy:
    """Figures from the probability of each group."""
    return _summarised(mechanism, [_Figures.of(spread, probabilities)])


def _laws(law: QuantileLaw, cells: Mapping[int, int]) -> tuple[Spread, dict[str, Floats]]:
    if law.levels is not None:
        count = len(law.levels)
        raise QuestionError("levels", count, "have no accuracy without the people at each level", "preview one level")
    spread = spread_of(cells, law.bins, law.rank)
    epsilon = float(law.level.epsilon) * float(law.share)
    return spread, {
        str(law.mode): rivals.our_groups(law, cells, spread),
        "permute-and-flip": rivals.permute_and_flip_groups(spread, epsilon),
        "exponential mechanism": rivals.exponential_groups(spread, epsilon),
        "OpenDP quantile": rivals.candidate_groups(spread, epsilon, law.rank),
    }


@dataclass(frozen=True)
class _Figures:
    """How far each group is from the truth, and how likely; inside a run of empty bins the answer is taken as uniform."""

    people: Floats
    nearest: Floats  # bins between the truth and the nearest bin of the group
    width: Floats  # and from there to its farthest bin
    probability: Floats

    @staticmethod
    def of(spread: Spread, probability: Floats) -> _Figures:
        import numpy as np

        last = spread.first + spread.size - 1
        nearest = np.maximum(0, np.maximum(spread.first - spread.truth, spread.truth - last))
        return _Figures(spread.distance, nearest, spread.size - 1, probability)


def _summarised(mechanism: str, tables: list[_Figures]) -> QuantileAccuracy:
    import numpy as np

    people, nearest, width, probability = (
        np.concatenate([getattr(table, name) for table in tables])
        for name in ("people", "nearest", "width", "probability")
    )
    return QuantileAccuracy(
        mechanism,
        float(probability[people > 0].sum()),
        float((probability * people).sum()),
        int(_bound(people, np.zeros_like(people), probability)),
        float((probability * (nearest + width / 2)).sum()),
        int(np.ceil(_bound(nearest, width, probability) - 1e-9)),
    )


def _bound(nearest: Floats, width: Floats, probabilities: Floats) -> float:
    """The least b such that at most b off has 95 %; groups reach from *nearest* over *width*."""
    import numpy as np

    order = np.argsort(nearest)
    sums = np.cumsum(probabilities[order])
    place = int(np.searchsorted(sums, min(_CONFIDENCE, sums[-1])))
    group = order[place]
    before = float(sums[place - 1]) if place else 0.0
    share = (min(_CONFIDENCE, sums[-1]) - before) / max(float(probabilities[group]), 1e-300)
    return float(nearest[group] + share * width[group])


# The distribution that a quantile samples from, for counts that the caller makes up.


_DIGITS = 30  # of a Decimal result, all of them right
_EXACT_BITS = 1 << 24  # of all exact rationals together; beyond that nobody reads them and they take long: decimals


def quantile_probabilities(
    counts: Sequence[int],
    rank: object = Fraction(1, 2),
    *,
    epsilon: object,
    delta: object = 0,
    weights: Iterable[Any] | None = None,
    mechanism: str | None = None,
) -> list[Fraction] | list[Decimal]:
    """The probability that each bin is announced as the one that holds the quantile *rank*, for counts that the caller makes up.

    **Guarantee.** The distribution that a release with these public numbers samples from: exact ``Fraction`` values where the
    law is rational (``e^(-epsilon/2)`` for the smoothed rank, ``e^-epsilon`` for FLIP and FLIP+), else ``Decimal`` values with
    30 correct digits. *mechanism* ("smoothed rank", "flip", "flip+") is for study: a release chooses by public numbers, and
    outside of its region a flip is not private. Of private counts the result is private too.

    >>> quantile_probabilities([2, 3, 1, 4], epsilon="ln(4)", mechanism="smoothed rank")
    [Fraction(1, 76), Fraction(149, 228), Fraction(22, 75), Fraction(1, 25)]
    """
    people = listed_counts(counts)
    read = None if weights is None else tuple(read_number(w, name="weights", error=QuestionError) for w in weights)
    share = read_probability(rank, name="rank", error=QuestionError)
    law = quantile_law(len(people), share, level(epsilon, delta), weights=read)
    if mechanism is not None:
        law = replace(law, mode=_named(mechanism, law))
    cells = {bin_: count for bin_, count in enumerate(people) if count}
    if law.exact and _exact_size(law, sum(people)) <= _EXACT_BITS:
        return law.probabilities(cells, exact=True)
    return exact_or_decimals(lambda: law.probabilities(cells), digits=_DIGITS)


def _named(mechanism: str, law: QuantileLaw) -> QuantileMode:
    try:
        mode = QuantileMode(mechanism)
    except ValueError:
        names = ", ".join(f"'{name}'" for name in QuantileMode)
        raise QuestionError("mechanism", mechanism, "is not a mechanism for quantiles", f"write {names}") from None
    if law.weights is not None and mode is not QuantileMode.SMOOTHED_RANK:
        raise QuestionError(
            "mechanism", mechanism, "does not use weights", "write 'smoothed rank' or leave weights out"
        )
    return mode


def _exact_size(law: QuantileLaw, persons: int) -> int:
    ratio = law.level.epsilon.exact_ratio or Fraction(1)
    return max(ratio.numerator, ratio.denominator).bit_length() * persons * law.bins
