"""Wrong twins of the whole path: one formula broken at a time, a real table, a real release, and no answer.

Each twin is a mistake that somebody could make. It is put into the code that draws, not into a model of it; the referee must
refuse the release, or the second calculation must stop its answer.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy
import pyarrow
import pytest

import optimaldp as odp
from optimaldp.certify import winner as proofs
from optimaldp.distances import linear
from optimaldp.distances.linear import LinearCondition, MeanBound
from optimaldp.distances.two_groups import GroupDifference
from optimaldp.errors import NotCertifiedError
from optimaldp.histograms import release as histogram_release
from optimaldp.histograms import release as keeping
from optimaldp.histograms.noise import HistogramNoise, compositions, log_concave, recipes
from optimaldp.histograms.noise.compositions import weak_composition
from optimaldp.histograms.noise.laplace import LaplaceNoise
from optimaldp.histograms.noise.totals import TotalLaw
from optimaldp.laws import law, personal
from optimaldp.laws import options as keys
from optimaldp.laws import votes as signed
from optimaldp.laws import votes as weighted_votes
from optimaldp.laws import winner as distribution
from optimaldp.laws import winner as modes
from optimaldp.laws import winner as permute_and_flip
from optimaldp.laws.law import Law
from optimaldp.laws.options import TopLaw
from optimaldp.laws.votes import Chain
from optimaldp.laws.winner import DivisibleVotes, WholeVotes
from optimaldp.privacy import Epsilon
from optimaldp.privacy import levels as many_groups
from optimaldp.privacy.balls import Ball, ball
from optimaldp.questions import base, electing
from optimaldp.questions import signed as by_signed_distance
from optimaldp.questions.electing import Electing
from optimaldp.questions.kinds import several, two_groups
from optimaldp.questions.kinds.compare import Compare
from optimaldp.questions.kinds.histogram import Histogram
from optimaldp.questions.kinds.of_bins import OfBins
from optimaldp.questions.kinds.of_options import OfOptions
from optimaldp.questions.kinds.threshold import Threshold
from optimaldp.questions.kinds.winner import Winner
from optimaldp.questions.mechanism import AtDistance, QuestionMechanism
from optimaldp.sampling import exact as sampling

Patch = pytest.MonkeyPatch
PEOPLE = 300


def table() -> pyarrow.Table:
    """Three hundred people: no question below is near to being certain, and nobody's record is odd."""
    return pyarrow.table(
        {
            "smokes": ["yes" if i % 3 else "no" for i in range(PEOPLE)],
            "adult": ["yes" if i % 7 else None for i in range(PEOPLE)],
            "score": [i % 5 + 1 for i in range(PEOPLE)],
            "vote": ["abcdefghijkl"[i * i % 12] for i in range(PEOPLE)],
            "ward": ["north" if i % 2 else "south" for i in range(PEOPLE)],
            "trust": ["0.3" if i % 10 == 0 else "1" for i in range(PEOPLE)],
        }
    )


def options_list(number: int) -> str:
    return str(list("abcdefghijkl"[:number]))


COUNT = "count(smokes = 'yes') >= 140"
SMALL_COUNT = "count(smokes = 'yes') >= 2"
SHARE = "share(smokes = 'yes') >= 0.4"
AMONG = "share(smokes = 'yes' among adult = 'yes') >= 0.5"
MEAN = "mean(score, range=[1, 5]) >= 2.5"
COMPARE = "compare(vote, 'a', 'b')"
JOINED = "share(smokes = 'yes') >= 0.4 and share(adult = 'yes') >= 0.6"
JOINED_AMONG = "share(smokes = 'yes' among adult = 'yes') >= 0.4 and share(ward = 'north') >= 0.3"
DIFFERENCE = "share(smokes = 'yes' among ward = 'north') > share(smokes = 'yes' among ward = 'south')"
MEANS = "mean(score, range=[1, 5] among ward = 'north') > mean(score, range=[1, 5] among ward = 'south')"
MEDIAN = "median(score, bins=[1, 2, 3, 4, 5])"
HISTOGRAM = "histogram(vote, ['a', 'b', 'c'])"
KEYS = "keys(vote)"


def winner(number: int) -> str:
    return f"winner(vote, {options_list(number)})"


@dataclass(frozen=True)
class Twin:
    """A mistake, and a question whose release it would spoil."""

    name: str
    question: str
    put_in: Callable[[Patch], None]
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


TWINS: list[Twin] = []


def twin(name: str, question: str, **options: Any) -> Callable[[Callable[[Patch], None]], Callable[[Patch], None]]:
    def keep(put_in: Callable[[Patch], None]) -> Callable[[Patch], None]:
        TWINS.append(Twin(name, question, put_in, options))
        return put_in

    return keep


def changed(owner: Any, name: str, change: Callable[..., Any]) -> Callable[[Patch], None]:
    """Put ``change(the true result, *the arguments)`` in place of the result of a function or method."""
    true = inspect.getattr_static(owner, name)  # inherited ones too
    true = getattr(true, "__wrapped__", true)

    def wrong(*arguments: Any, **named: Any) -> Any:
        return change(true(*arguments, **named), *arguments)

    return lambda patch: patch.setattr(owner, name, wrong)


def both(*patches: Callable[[Patch], None]) -> Callable[[Patch], None]:
    def put_in(patch: Patch) -> None:
        for one in patches:
            one(patch)

    return put_in


def add(name: str, question: str, put_in: Callable[[Patch], None], **options: Any) -> None:
    TWINS.append(Twin(name, question, put_in, options))


def doubled(result: Any, *_: Any) -> Any:
    return 2 * result


# The mistakes that were once released as certified.


@twin("the distance is the number of flips, one step too many", SHARE)
def distance_is_flips(patch: Patch) -> None:
    true = Chain.error
    patch.setattr(Chain, "error", lambda self, distance: true(self, distance + 1))


add("flips doubled", SHARE, changed(Threshold, "flips", doubled))
add("flips doubled among some", AMONG, changed(Threshold, "flips", doubled))
add("flips doubled in a comparison", COMPARE, changed(Compare, "flips", doubled))
add("flips infinite: the truth in clear", SHARE, changed(Threshold, "flips", lambda *_: math.inf))
add(
    "flips infinite where nobody is asked",
    AMONG,
    changed(Threshold, "flips", lambda result, _, counts, *__: math.inf if counts[0] + counts[1] == 0 else result),
)
add("answers off by one", SHARE, changed(Threshold, "truth", lambda result, *_: 1 - result))


@twin("the drawn place is one off in the list of answers", winner(3))
def answers_off_by_one(patch: Patch) -> None:
    def draw(self: QuestionMechanism, counted: Any, source: Any) -> str:
        place = self.law(counted).draw(source)
        return self.answers[(place + 1) % len(self.answers)]

    patch.setattr(QuestionMechanism, "draw", draw)


def fair(change: Any) -> Any:
    """The fair law from other numbers."""
    true = personal._fair_error
    return lambda patch: patch.setattr(personal, "_fair_error", lambda *numbers: true(*change(*numbers)))


PERSONAL = {"levels": "trust", "aim": "every table"}
add("personal flips one too many", SHARE, fair(lambda could, k, alpha: (could, k + 1, alpha)), **PERSONAL)
add("personal flips one too many, far bound", COUNT, fair(lambda could, k, alpha: (could, k + 1, alpha)), **PERSONAL)


def squared_from_the_third(result: Any, could: Any, flips: int, *_: Any) -> Any:
    return result * result if flips >= 3 else result


add(
    "sums squared from the third person on",
    SHARE,
    changed(personal, "_fair_error", squared_from_the_third),
    **PERSONAL,
)
add(
    "sums squared from the third person on, far bound",
    COUNT,
    changed(personal, "_fair_error", squared_from_the_third),
    **PERSONAL,
)
add("winner counts doubled", winner(3), changed(Electing, "_votes", lambda votes, *_: tuple(2 * v for v in votes)))
add(
    "winner counts doubled, many options",
    winner(12),
    changed(Electing, "_votes", lambda votes, *_: tuple(2 * v for v in votes)),
)
add("lattice noise that is none", HISTOGRAM, changed(HistogramNoise, "sample", lambda noise, *_: noise * 0))
add(
    "Laplace noise that is none",
    HISTOGRAM,
    changed(LaplaceNoise, "sample", lambda noise, *_: noise * 0),
    neighbours="add-remove",
)


@twin("a false bracket for seven options", winner(7), epsilon="0.05")
def false_bracket(patch: Patch) -> None:
    patch.setattr(proofs, "_brackets", lambda: {7: [(Fraction(1, 100), Fraction(99, 100), 8)]})


def zero_between(*ranges: tuple[int, int]) -> Callable[..., Any]:
    def change(result: Any, _: Any, distance: Any) -> Any:
        return 0 * result if any(low <= distance <= high for low, high in ranges) else result

    return change


add("chain errors are zero at 13-15 and 101-127", SHARE, changed(Chain, "error", zero_between((13, 15), (101, 127))))
add("chain errors are zero at 13-15", SHARE, changed(Chain, "error", zero_between((13, 15))))
add(
    "chain errors are zero at 101-127",
    "share(smokes = 'yes') >= 0.9",
    changed(Chain, "error", zero_between((101, 127))),
)
add("chain errors are zero at 7 to 2^19-1", SHARE, changed(Chain, "error", zero_between((7, 2**19 - 1))))


@twin("winner's powers are zero at 7 to 2^19-1, ten options", winner(10), epsilon="0.1")
def zero_powers(patch: Patch) -> None:
    true = distribution.ball_power

    def wrong(epsilon: Any) -> Any:
        power = true(epsilon)
        return lambda moves: Ball(0) if 7 <= moves <= 2**19 - 1 else power(moves)

    patch.setattr(distribution, "ball_power", wrong)


add(
    "a sampler that always picks the truth",
    SHARE,
    lambda patch: patch.setattr(Law, "draw", lambda self, _: self.order[-1]),
)
add(
    "a sampler that always picks the truth, winner",
    winner(4),
    lambda patch: patch.setattr(Law, "draw", lambda self, _: self.order[-1]),
)

# laws/chain, laws/signed


def other_head(change: Callable[[Any, Fraction], Any]) -> Callable[[Patch], None]:
    """A chain that starts from another error at the boundary: *change* of the true one and of delta."""
    true = Chain.error

    def wrong(self: Chain, distance: Any) -> Any:
        error, epsilon = true(self, distance), self.level.epsilon
        if distance == math.inf or error == 0:
            return error
        exact = isinstance(error, Fraction)
        head = true(self, 0) if exact else ball(true(self, 0))
        off = (change(head, self.level.delta) - head) / (epsilon.exact_ratio if exact else epsilon.exp()) ** int(
            distance
        )
        return max(error + off, Fraction(0)) if exact else (error + off).max(Ball(0))

    return lambda patch: patch.setattr(Chain, "error", wrong)


add("the boundary's error is too small", SHARE, other_head(lambda head, _: head * 9 / 10))
add(
    "the boundary's error forgets delta",
    SHARE,
    other_head(lambda head, delta: head / (1 - delta) if isinstance(head, Fraction) else head / ball(1 - delta)),
    delta="0.01",
)
add(
    "a signed distance in half people",
    MEAN,
    lambda patch: patch.setattr(by_signed_distance, "sides_at", lambda w, *level: signed.sides_at(2 * w, *level)),
)
add("the signed law without its half", MEAN, changed(signed, "_less_likely", lambda wrong, *_: wrong / 2))
add(
    "delta used twice in the signed law",
    MEAN,
    lambda patch: patch.setattr(
        signed, "stretched", lambda p, largest, delta, true=signed.stretched: true(p, largest, 2 * delta)
    ),
    delta="0.01",
)
add("the signed answers exchanged", MEAN, changed(signed, "sides_of_exponent", lambda sides, *_: sides[::-1]))

# laws/personal, laws/weighted_votes


def hedge(change: Any) -> Any:
    true = personal._hedge_exponent
    return lambda patch: patch.setattr(personal, "_hedge_exponent", lambda *numbers: true(*change(*numbers)))


def least_of_those_who_could(could: Any, flips: int, alpha: Any) -> Any:
    return could, flips, min((epsilon for epsilon, people in could if people), default=alpha)


add("the largest levels first", SHARE, fair(lambda could, flips, alpha: (could[::-1], flips, alpha)), **PERSONAL)
add("the error of the fair law halved", SHARE, changed(personal, "_fair_error", lambda e, *_: e / 2), **PERSONAL)
add("alpha among those who could change", SHARE, fair(least_of_those_who_could), **PERSONAL)
add("alpha of a level that nobody has", SHARE, fair(lambda c, k, alpha: (c, k, Epsilon.read("0.001"))), **PERSONAL)
add("alpha larger than the least", SHARE, fair(lambda could, k, alpha: (could, k, could[-1][0])), **PERSONAL)
add("one half for 1/(1 + e^-alpha)", SHARE, fair(lambda could, k, alpha: (could, k, Epsilon.read(0))), **PERSONAL)
add("the hedge doubled", SHARE, changed(personal, "_hedge_exponent", lambda f, *_: f + f), levels="trust")
add("the hedge doubled, far bound", COUNT, changed(personal, "_hedge_exponent", lambda f, *_: f + f), levels="trust")
add(
    "a layer outside of the votes",
    SHARE,
    hedge(lambda v, y, t, n, spread: (v, y, t, n, 2 * spread + 1)),
    levels="trust",
)
add(
    "the bound of the hedge off by one",
    SHARE,
    hedge(lambda v, y, t, n, spread: (v, y, t + 1, n, spread)),
    levels="trust",
)


@twin("tau and 1 - tau exchanged", COUNT, levels="trust")
def exchanged(patch: Patch) -> None:
    def exponent(votes: Any, yes: int, least: int, people: int, spread: Fraction) -> Any:
        middle = least - Fraction(1, 2)
        tau, width = middle / people, spread * people
        low, high = middle - (1 - tau) * width, middle + tau * width
        return personal._signed_cost(votes, yes - low) * tau + personal._signed_cost(votes, yes - high) * (1 - tau)

    patch.setattr(personal, "_hedge_exponent", exponent)


add(
    "everybody weighs the largest level",
    SHARE,
    hedge(lambda votes, *rest: ([(votes[-1][0], *own) for _, *own in votes], *rest)),
    levels="trust",
)
add("weighted votes among doubled", AMONG, changed(personal, "share_exponent", lambda w, *_: w + w), levels="trust")
add("weighted means doubled", MEAN, changed(personal, "mean_exponent", lambda w, *_: w + w), levels="trust")
add("the worst exponent doubled", MEAN, changed(personal, "mean_worst_exponent", lambda w, *_: w + w), **PERSONAL)
add("the least exponent among doubled", AMONG, changed(personal, "least_exponent", lambda w, *_: w + w), **PERSONAL)
add(
    "weighted winner counts doubled",
    winner(3),
    changed(electing, "weighted_counts", lambda weights, *_: [w + w for w in weights]),
    levels="trust",
)
add(
    "weighted winner, many options, gaps not halved",
    winner(7),
    lambda patch: patch.setattr(
        weighted_votes, "_decay", lambda moves, true=weighted_votes._decay: true(moves + moves)
    ),
    levels="trust",
)

# laws/winner

add(
    "lattice powers squared",
    winner(4),
    lambda patch: patch.setattr(WholeVotes, "decay", lambda self, moves: self.power(2 * moves)),
)
add(
    "the lattice's surface rounded down",
    winner(4),
    lambda patch: patch.setattr(WholeVotes, "surface", lambda self, total, members: total // members),
)
add(
    "the lattice shares equally with the ones below",
    winner(4),
    lambda patch: patch.setattr(WholeVotes, "shares", lambda self, total, members: members * self.power(0)),
)
add(
    "continuum powers squared",
    winner(5),
    lambda patch: patch.setattr(DivisibleVotes, "decay", lambda self, moves: self.power(2 * moves)),
    epsilon="0.1",
)
add(
    "the continuum forgets to flood",
    winner(5),
    lambda patch: patch.setattr(
        DivisibleVotes, "floods", lambda self, count, total, members: count * members > total + members
    ),
    epsilon="0.1",
)
add(
    "permute-and-flip with whole gaps",
    winner(12),
    lambda patch: patch.setattr(permute_and_flip, "moves_of_gap", lambda gap, _: Fraction(gap)),
)
add(
    "permute-and-flip with doubled gaps, add-remove",
    winner(3),
    lambda patch: patch.setattr(permute_and_flip, "moves_of_gap", lambda gap, _: Fraction(2 * gap)),
    neighbours="add-remove",
)
add(
    "the continuum where nothing is proven",
    winner(12),
    lambda patch: patch.setattr(
        modes, "_claim", lambda *named: modes.WinnerClaim(modes.WinnerMode.CONTINUUM, *named, "proven")
    ),
    epsilon="0.1",
)
add(
    "delta cut off twice, two options",
    winner(2),
    lambda patch: patch.setattr(
        distribution,
        "_cut_tails",
        lambda counts, plain, delta, decay, true=distribution._cut_tails: true(counts, plain, 2 * delta, decay),
    ),
    delta="0.02",
)
add(
    "delta not divided by the options",
    winner(4),
    lambda patch: patch.setattr(
        distribution,
        "_truncate",
        lambda counts, plain, scaled, true=distribution._truncate: true(counts, plain, scaled * 8),
    ),
    delta="0.02",
)
add("winner flips one too few", winner(3), changed(Winner, "flips", lambda flips, *_: flips - 1))

# laws/keys, laws/many_groups

add(
    "a category kept as if one more had it",
    KEYS,
    lambda patch: patch.setattr(
        keys.KeysLaw, "kept", lambda self, people, true=keys.KeysLaw.kept: true(self, people + 1)
    ),
    delta="0.01",
)
add(
    "categories at the whole level each",
    KEYS,
    lambda patch: patch.setattr(
        keys, "level_of_each_key", lambda epsilon, delta, neighbours: many_groups.GroupLevel(epsilon, delta, neighbours)
    ),
    delta="0.01",
)
add(
    "every category kept",
    KEYS,
    lambda patch: patch.setattr(keys.KeysLaw, "draw", lambda self, counts, source: list(counts)),
    delta="0.01",
)
BY = {"by": "ward", "groups": ["north", "south"]}


def whole_level(epsilon: Any, delta: Any, neighbours: Any, **_: Any) -> Any:
    return replace(
        many_groups.level_of_each_group(epsilon, delta, neighbours, public_groups=True),
        neighbours=odp.privacy.Neighbours.ADD_REMOVE,
    )


def in_groups(function: Any) -> Callable[[Patch], None]:
    from optimaldp.asking import request

    return lambda patch: patch.setattr(request, "level_of_each_group", function)


add("private groups at the whole level each", SHARE, in_groups(whole_level), **BY)
add(
    "private groups with the whole delta each",
    SHARE,
    lambda patch: patch.setattr(many_groups, "_shared_delta", lambda half, delta: delta),
    delta="0.01",
    **BY,
)
add(
    "private groups under substitution",
    SHARE,
    in_groups(
        lambda epsilon, delta, neighbours, **_: many_groups.level_of_each_group(
            epsilon, delta, neighbours, public_groups=True
        )
    ),
    **BY,
)

# distances


@twin("a negation off by one person", SHARE)
def negation_off(patch: Patch) -> None:
    """Where the answer is yes, the sum need not fall so far: a share of 2/5 is counted in fifths."""
    true = linear.LinearCondition.flips

    def flips(self: LinearCondition, yes: int, no: int, *more: Any) -> Any:
        if not self.holds(yes, no):
            return true(self, yes, no, *more)
        excess = self.yes_weight * yes + self.no_weight * no - self.need
        return linear.whole_moves(self.negated().rungs(yes, no, *more), max(1, excess - 3))

    patch.setattr(LinearCondition, "flips", flips)


add("people outside cannot come in", AMONG, changed(LinearCondition, "rungs", lambda rungs, *_: rungs[:2]))
add(
    "one move gains half of what it does",
    SHARE,
    changed(LinearCondition, "rungs", lambda rungs, *_: [((gain + 1) // 2, n) for gain, n in rungs]),
)
add(
    "a bound one higher",
    COUNT,
    lambda patch: patch.setattr(
        "optimaldp.questions.kinds.threshold.count_condition", lambda c, bound: linear.count_condition(c, bound + 1)
    ),
)
add(
    "the smallest steps first",
    MEAN,
    lambda patch: patch.setattr(
        "optimaldp.distances.ranking.sorted", lambda rungs, key, reverse: sorted(rungs, key=key), raising=False
    ),
)
add(
    "a mean without the people who have no value",
    MEAN,
    changed(
        MeanBound,
        "rungs",
        lambda both_ways, self, counts, without, *_: tuple([r for r in side if r[1] != without] for side in both_ways),
    ),
)
add("a mean's sum doubled", MEAN, changed(MeanBound, "excess", doubled))
add("a mean without half a unit", MEAN, changed(MeanBound, "double_excess", lambda twice, *_: twice + 1))
add("moves to both differences doubled", DIFFERENCE, changed(two_groups, "flips_of_share_difference", doubled))
add(
    "the margin forgotten",
    DIFFERENCE + " + 0.1",
    changed(
        two_groups,
        "share_difference_holds",
        lambda _, comparison, __, counts: counts[0] * (counts[2] + counts[3]) > counts[2] * (counts[0] + counts[1]),
    ),
)
add("a distance of several doubled", JOINED, changed(several, "chain_flips_of_all", doubled))
# Cells of (yes, no, outside) and (yes, no): whoever is not asked stands in the last two.
add(
    "outside of one of several counts as no",
    JOINED_AMONG,
    changed(several.Several, "_combination", lambda cell, *_: cell - 2 if cell >= 4 else cell),
)
add(
    "outside of one of several counts as yes",
    JOINED_AMONG,
    changed(several.Several, "_combination", lambda cell, *_: cell - 4 if cell >= 4 else cell),
)
add("all of several is any", JOINED, lambda patch: patch.setattr(several, "all_hold", several.any_holds))
add("public groups: steps in half people", DIFFERENCE, changed(GroupDifference, "signed", doubled), public_groups=True)
add(
    "public groups of means: steps in half people",
    MEANS,
    changed(GroupDifference, "signed", doubled),
    public_groups=True,
)

# fold

add(
    "people outside are no",
    AMONG,
    lambda patch: patch.setattr(
        Threshold, "fold", lambda self, cells: (cells.get(0, 0), sum(cells.values()) - cells.get(0, 0), 0)
    ),
)
add(
    "people outside vote for the first option",
    "winner(vote, ['a', 'b', 'c'] among adult = 'yes')",
    lambda patch: patch.setattr(
        "optimaldp.questions.kinds.of_options.outside_last",
        lambda cells, size, among: base.outside_last(
            {(cell - cell % 2 if cell % 2 else cell): n for cell, n in cells.items()}, size, among
        ),
    ),
)
add(
    "everybody else votes for the first option",
    winner(3),
    changed(OfOptions, "fold", lambda counts, *_: (counts[0] + counts[-1], *counts[1:-1], 0)),
)
add(
    "a cell of the mean one too high",
    MEAN,
    (
        lambda patch: patch.setattr(
            "optimaldp.questions.kinds.mean.outside_last",
            lambda cells, size, among: {
                min(c + 1, size - 1): n for c, n in base.outside_last(cells, size, among).items()
            },
        )
    ),
)
add(
    "the median's cells one too high",
    MEDIAN,
    lambda patch: patch.setattr(
        "optimaldp.questions.kinds.of_bins.outside_last",
        lambda cells, size, among: {min(c + 1, size - 1): n for c, n in base.outside_last(cells, size, among).items()},
    ),
)
add(
    "the median's counts squared",
    MEDIAN,
    changed(OfBins, "fold", lambda valued, *_: replace(valued, values={p: n * n for p, n in valued.values.items()})),
)


def keep_everybody(patch: Patch) -> None:
    def kept(by_level: Any, epsilon: Any, *, everybody_else: int, **_: Any) -> dict[int, int]:
        total: dict[int, int] = {}
        for _own, cells in by_level:
            for cell, people in cells.items():
                total[cell] = total.get(cell, 0) + people
        return total

    patch.setattr("optimaldp.questions.noisy_counts.thinned", kept)


QUANTILES = "quantiles(score, [0.25, 0.5, 0.75], bins=[1, 2, 3, 4, 5])"


def doubled_values(valued: Any, *_: Any) -> Any:
    return replace(valued, values={place: 2 * people for place, people in valued.values.items()})


add("histogram counts doubled", HISTOGRAM, changed(Histogram, "fold", lambda counts, *_: tuple(2 * n for n in counts)))
add(
    "histogram counts one bin too far",
    "histogram(vote, ['a', 'b', 'c'] among adult = 'yes')",
    changed(Histogram, "fold", lambda counts, *_: (*counts[1:], counts[0])),
)
add("counts of quantiles doubled", QUANTILES, changed(OfBins, "fold", doubled_values))
add("counts of a median by level doubled", MEDIAN, changed(OfBins, "fold", doubled_values), levels="trust")
add(
    "counts of the leading options doubled",
    "top(vote, 2, ['a', 'b', 'c'])",
    changed(OfOptions, "fold", lambda counts, *_: tuple(2 * n for n in counts)),
)


def likeliest(probabilities: dict[Any, Any]) -> Any:
    return max(probabilities, key=lambda answer: float(probabilities[answer]))


TOP = "top(vote, 2, ['a', 'b', 'c'])"
add("coins of the leading options squared", TOP, changed(TopLaw, "_coin", lambda coin, *_: coin * coin))
add(
    "the leading options without chance",
    TOP,
    changed(TopLaw, "draw", lambda _, law, counts, __: likeliest(law.probabilities(counts))),
)
add("people of every level are kept", HISTOGRAM, keep_everybody, levels="trust")

# laws/law, sampling

add("ends squared", SHARE, changed(Law, "ends", lambda ends, *_: lambda place: ends(place) ** 2))
add(
    "the order reversed at the draw",
    winner(3),
    lambda patch: patch.setattr(
        Law, "draw", lambda self, source, true=Law.draw: self.order[::-1][self.order.index(true(self, source))]
    ),
)
add(
    "the descent takes the other side",
    winner(3),
    lambda patch: patch.setattr(
        law, "choose_by_ends", lambda end, size, source: size - 1 - sampling.choose_by_ends(end, size, source)
    ),
)
add(
    "the descent never passes an end",
    winner(3),
    lambda patch: patch.setattr(
        law, "choose_by_ends", lambda end, size, source: 0 * sampling.choose_by_ends(end, size, source)
    ),
)


def far_and_certain(self: AtDistance, counted: Any, true: Any = AtDistance.law) -> Any:
    counts = self.question.fold(counted.cells)
    if self.question.flips(counts, self.setting.neighbours) > 40:
        return law.certain(self.question.truth(counts), 2)
    return true(self, counted)


add("answers that are far are certain", SHARE, lambda patch: patch.setattr(AtDistance, "law", far_and_certain))

# histograms

add(
    "lattice noise at twice the level",
    HISTOGRAM,
    lambda patch: patch.setattr(
        histogram_release, "HistogramNoise", lambda bins, level: HistogramNoise(bins, level * 2)
    ),
)
add(
    "Laplace noise at twice the level",
    HISTOGRAM,
    lambda patch: patch.setattr(histogram_release, "LaplaceNoise", lambda bins, level: LaplaceNoise(bins, level * 2)),
    neighbours="add-remove",
)
add(
    "noise on the first bins alone",
    HISTOGRAM,
    changed(LaplaceNoise, "sample", lambda noise, *_: _without_last(noise)),
    neighbours="add-remove",
)


def _without_last(noise: Any) -> Any:
    noise = noise.copy()
    noise[-1] = 0
    return noise


def _one_too_many(noise: Any) -> Any:
    noise = noise.copy()
    noise[0] += 1
    noise[-1] -= 1
    return noise


def _seldom_too_many(noise: Any) -> Any:
    """One drawn vector in many is wrong: those that are large."""
    return _one_too_many(noise) if abs(noise).max() >= 4 else noise


def _same_halves(recipe: Any, source: Any = None, true: Any = recipes.follow) -> Any:
    return 0 * true(recipe, source)


def _two_totals(recipe: Any, source: Any = None, true: Any = recipes.follow) -> Any:
    return true(replace(recipe, shared_total=False), source) if recipe.shared_total else true(recipe, source)


def _from_the_mode_down(*rest: Any, most: Any = None, **more: Any) -> Any:
    """Left of the mode the offset is counted from the mode itself."""
    weight, mode, width, source = rest
    drawn = log_concave.propose(weight, mode, width, source, most=most, **more)
    return drawn if drawn is None or drawn >= mode else drawn + 1


def _noise(name: str) -> Callable[[Callable[[Any], Any]], Callable[[Patch], None]]:
    owner = HistogramNoise if name == "substitution" else LaplaceNoise
    return lambda change: changed(owner, "sample", lambda noise, *_: change(noise))


NOISES: dict[str, Callable[[str], Callable[[Patch], None]]] = {
    "one too many in a cell": lambda name: _noise(name)(_one_too_many),
    "large vectors one too many": lambda name: _noise(name)(_seldom_too_many),
    "its sign lost": lambda name: _noise(name)(abs),
    "its sign turned": lambda name: _noise(name)(lambda noise: -noise),
    "the same in all cells": lambda name: _noise(name)(lambda noise: 0 * noise + noise[0]),
    "cells exchanged": lambda name: _noise(name)(lambda noise: noise[::-1]),
    "doubled": lambda name: _noise(name)(lambda noise: 2 * noise),
    "both halves the same": lambda name: (
        lambda patch: [
            patch.setattr(f"optimaldp.histograms.noise.{place}.follow", _same_halves)
            for place in ("lattice_noise", "laplace")
        ]
    ),
    "totals accepted at twice the level": lambda name: changed(
        TotalLaw, "relative_weight", lambda weight, *_: weight * weight
    ),
    "totals accepted a millionth too often": lambda name: changed(
        TotalLaw, "relative_weight", lambda weight, *_: (weight * (1 + Ball(10) ** -6)).min(Ball(1))
    ),
    "totals always accepted": lambda name: changed(TotalLaw, "relative_weight", lambda *_: Ball(1)),
    "totals left of the mode one too high": lambda name: (
        lambda patch: patch.setattr(
            TotalLaw,
            "propose",
            lambda self, source, **more: _from_the_mode_down(
                self.relative_weight, self.mode, self.width, source, **more
            ),
        )
    ),
    "blocks by an unfair coin": lambda name: (
        lambda patch: patch.setattr(log_concave, "_fair_block", lambda source: source.take(2) == 3)
    ),
    "a total that is never proposed": lambda name: changed(
        TotalLaw, "propose", lambda number, *_: None if number == 0 else number
    ),
    "compositions with the largest first": lambda name: (
        lambda patch: patch.setattr(
            recipes, "weak_composition", lambda *rest, true=weak_composition: -numpy.sort(-true(*rest))
        )
    ),
    "compositions that lose a star": lambda name: (
        lambda patch: patch.setattr(
            recipes, "weak_composition", lambda total, *rest, true=weak_composition: true(max(0, total - 1), *rest)
        )
    ),
    "compositions from few places": lambda name: (
        lambda patch: patch.setattr(
            compositions,
            "uniform_below",
            lambda bound, source: (
                sampling.uniform_below(bound, source) // 2 * 2 % bound
                if bound > 3
                else sampling.uniform_below(bound, source)
            ),
        )
    ),
}
for kind in ("substitution", "add-remove"):
    for what, make in NOISES.items():
        if (kind, what) in {("add-remove", "totals left of the mode one too high")}:
            continue  # the mode is 0 there
        add(f"noise under {kind}, {what}", HISTOGRAM, make(kind), neighbours=kind)
add(
    "lattice noise with a total for each half",
    HISTOGRAM,
    lambda patch: patch.setattr("optimaldp.histograms.noise.lattice_noise.follow", _two_totals),
)
add(
    "people kept as often as the loosest level says",
    HISTOGRAM,
    lambda patch: patch.setattr(keeping, "keep_chance", lambda own, epsilon: Ball(999) / 1000),
    levels="trust",
)
add(
    "people kept a millionth too often",
    HISTOGRAM,
    changed(keeping, "keep_chance", lambda chance, *_: chance * (1 + Ball(10) ** -6)),
    levels="trust",
)
add(
    "people of a cell kept in the next one",
    HISTOGRAM,
    changed(keeping, "_kept", lambda kept, *_: {cell + 1: people for cell, people in kept.items()}),
    levels="trust",
)


@cache
def caches(module: str) -> list[Any]:
    """The caches of one module's functions and classes. Found once: before anything in the module was replaced."""
    things = list(vars(sys.modules[module]).values())
    inside = [method for thing in things if isinstance(thing, type) for method in vars(thing).values()]
    functions = (getattr(thing, "__func__", thing) for thing in things + inside)
    return [function for function in functions if type(function).__name__ == "_lru_cache_wrapper"]


def clear() -> None:
    """Forget what was certified: a wrong twin must be examined anew, and must not stay."""
    for module in [name for name in sys.modules if name.startswith("optimaldp.")]:
        for one in caches(module):
            one.cache_clear()


@pytest.fixture
def fresh() -> Iterator[None]:
    clear()
    yield
    clear()


def ask(one: Twin) -> Any:
    return odp.release(table(), one.question, **({"epsilon": "0.5"} | one.options))


@pytest.mark.parametrize("one", TWINS, ids=str)
def test_no_wrong_twin_is_released(one: Twin, monkeypatch: Patch, fresh: None) -> None:
    one.put_in(monkeypatch)
    with pytest.raises(NotCertifiedError):
        ask(one)


ASKED = {f"{one.question} {one.options or ''}": one for one in TWINS}


@pytest.mark.parametrize("one", ASKED.values(), ids=ASKED)
def test_without_a_mistake_it_is_released(one: Twin) -> None:
    assert ask(one).answer is not None
