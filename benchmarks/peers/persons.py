"""People with levels of their own, majority of 1001: the probability of a wrong answer by margin, exactly.

Two stories: 21 strict people among 980 others, and half of everybody strict. The strict ones answer like fair coins (averaged),
or in the way that is worst for the mechanism in question. Both true answers count equally. Averages are those of our aim
"typical", worst cases those of "every table": whoever cares for one of them names that aim.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.peers import libraries
from benchmarks.peers.noise import clamped_laplace, laplace_tail
from benchmarks.peers.record import Comparison, Estimate, checked
from optimaldp.laws.level_accuracy import Floats, LevelSizes, PointRows

STUDY = "People with levels of their own"
THREE = "People with three levels, majority of 1001, everybody a fair coin: probability of a wrong answer"
SAMPLED = "sampling mechanism (Jorgensen, Yu and Cormode)"
THRESHOLD = "best threshold on budgets: who has less is left out, who has more gets no more"
_STRICT, _OTHERS = 0.1, 1.0


@dataclass(frozen=True)
class Sizes:
    """Draws of a peer's own code, and how many people there are."""

    draws: int
    people: int


FULL = Sizes(draws=2000, people=1001)
SAMPLE = Sizes(draws=50, people=101)
# Parts of everybody at epsilon 0.1, 0.5 and 1.
_PARTS = ((0.02, 0.18, 0.8), (0.1, 0.3, 0.6), (0.34, 0.33, 0.33), (0.54, 0.37, 0.09))
_LEVELS = (0.1, 0.5, 1.0)


@dataclass(frozen=True)
class Story:
    """*strict* people at ε = 0.1, the rest of *persons* at ε = 1; yes needs *needed* of them."""

    strict: int
    persons: int = 1001
    needed: int = 501

    def others(self, strict_yes: int, margin: int) -> int:
        """How many others say yes when the answer is yes by *margin*."""
        return self.needed + margin - 1 - strict_yes


Error = Callable[[Story, int, int], float]
"""(story, how many strict people say yes, margin): the error when yes is true. By symmetry no is the mirror image."""


def comparisons(sizes: Sizes = FULL) -> Iterator[Comparison]:
    _compare_with_draws(Story(21), strict_yes=14, margin=6, draws=sizes.draws)
    for parts in _PARTS:
        yield from _three_levels(parts, sizes.people)
    for story, margins in ((Story(21), (1, 5, 15, 25)), (Story(501), (1, 10))):
        for margin in margins:
            yield from _compare(story, margin, "on average", average, typical)
            if story.strict == 21:
                yield from _compare(story, margin, "at worst", worst, every_table)


def _three_levels(parts: tuple[float, ...], people: int) -> Iterator[Comparison]:
    """Everybody votes yes with probability one half; the error is averaged over all votes."""
    sizes = [round(part * people) for part in parts]
    sizes[-1] += people - sum(sizes)
    asked = LevelSizes((people + 1) // 2, _LEVELS, tuple(sizes))
    ours = Estimate(asked.average(asked.typical, 0.5))
    task = ", ".join(f"{size} at {level:g}" for size, level in zip(sizes, _LEVELS))
    least = min(threshold_error(sizes, number) for number in range(len(_LEVELS)))
    yield Comparison(THREE, task, THRESHOLD, ours, Estimate(least))
    yield Comparison(THREE, task, SAMPLED, ours, Estimate(asked.average(asked.sampled, 0.5)))


def threshold_error(sizes: Sequence[int], number: int) -> float:
    """Only people of the levels from *number* on are counted, with integer Laplace noise at that level; half of "
    "the others count."""
    from scipy.stats import binom

    left_out, kept = sum(sizes[:number]), sum(sizes[number:])
    needed, scale = (sum(sizes) + 1) // 2, 1 / _LEVELS[number]
    yes = np.arange(kept + 1)
    chances = binom.pmf(yes, kept, 0.5)
    # The answer is yes if the noisy count of those who are kept, and half of the others, reach what is needed.
    says = np.array([laplace_tail(scale, math.ceil(needed - left_out / 2) - int(count)) for count in yes])
    true = binom.sf(needed - yes - 1, left_out, 0.5)
    return float(chances @ (says * (1 - true) + (1 - says) * true))


def _compare(
    story: Story, margin: int, words: str, summary: Callable[[Story, int, Error], float], aim: Error
) -> Iterator[Comparison]:
    task = f"{story.strict} of {story.persons} strict, margin {margin}, {words}"
    ours = Estimate(summary(story, margin, aim))
    peers: dict[str, Error] = {
        "integer Laplace at the strictest level": strictest,
        "integer Laplace for each group, cut to its size": grouped,
    }
    if story.strict < 100:
        peers["integer Laplace, strict people counted as halves"] = left_out
    for peer, error in peers.items():
        yield Comparison(STUDY, task, f"OpenDP, {peer}", ours, Estimate(summary(story, margin, error)))


def _compare_with_draws(story: Story, *, strict_yes: int, margin: int, draws: int) -> None:
    """The formulas below against OpenDP itself, in one state where no answer is almost sure."""
    others = story.others(strict_yes, margin)
    strict, lenient = libraries.opendp_count(1 / _STRICT), libraries.opendp_count(1 / _OTHERS)
    guesses: dict[Error, Callable[[], float]] = {
        strictest: lambda: strict(strict_yes + others),
        grouped: lambda: min(max(strict(strict_yes), 0), story.strict) + lenient(others),
        left_out: lambda: story.strict / 2 + lenient(others),
    }
    for error, guess in guesses.items():
        wrong = [float(guess() < story.needed) for _ in range(draws)]
        checked(error(story, strict_yes, margin), wrong, error.__name__)


def average(story: Story, margin: int, error: Error) -> float:
    """Over fair coins; the mirror image of a state is equally likely, so both true answers are in it."""
    coins = [math.comb(story.strict, k) / 2**story.strict for k in _likely(story)]
    return math.fsum(p * error(story, k, margin) for p, k in zip(coins, _likely(story))) / math.fsum(coins)


def _likely(story: Story) -> range:
    half, reach = story.strict // 2, 4 * math.isqrt(story.strict) + 4
    return range(max(0, half - reach), min(story.strict, half + reach) + 1)


def worst(story: Story, margin: int, error: Error) -> float:
    return max(error(story, k, margin) for k in range(story.strict + 1))


def typical(story: Story, strict_yes: int, margin: int) -> float:
    return _ours(story, strict_yes, margin, LevelSizes.typical)


def every_table(story: Story, strict_yes: int, margin: int) -> float:
    return _ours(story, strict_yes, margin, LevelSizes.every_table)


@cache
def _asked(story: Story) -> LevelSizes:
    """Once for each story: the law for the typical table is searched for, and found the same every time."""
    return LevelSizes(story.needed, (_STRICT, _OTHERS), (story.strict, story.persons - story.strict))


def _ours(story: Story, strict_yes: int, margin: int, aim: Callable[[LevelSizes, PointRows], Floats]) -> float:
    return float(aim(_asked(story), np.array([[strict_yes, story.others(strict_yes, margin)]]))[0])


def strictest(story: Story, strict_yes: int, margin: int) -> float:
    return laplace_tail(1 / _STRICT, margin)


def grouped(story: Story, strict_yes: int, margin: int) -> float:
    """Each group's count at its own level; the strict one is known to lie between 0 and its size."""
    others = story.others(strict_yes, margin)
    guesses = clamped_laplace(1 / _STRICT, strict_yes, story.strict)
    # Wrong when the noise on the others is below what is missing: needed - others - guess.
    wrong = [1 - laplace_tail(1 / _OTHERS, story.needed - others - guess) for guess in range(story.strict + 1)]
    return float(np.dot(guesses, wrong))


def left_out(story: Story, strict_yes: int, margin: int) -> float:
    """The strict people are not looked at: each counts as half a yes."""
    missing = story.needed - story.others(strict_yes, margin) - story.strict / 2
    return 1 - laplace_tail(1 / _OTHERS, math.ceil(missing))
