"""Several quantiles at once: how many people lie between an answer and the truth, averaged over the quantiles.

Peers by their published formulas, on values that are spread evenly inside their bins (as a public jitter would), their
answers brought back to bins, and one record replaced:

* *JointExp* (Gillenwater, Joseph and Kulesza, "Differentially private quantiles", ICML 2021): all quantiles at once by the
  exponential mechanism, scored by how far the numbers of people between them are from the wanted ones; the score moves by
  2.
* *AQ* (Kaplan, Schnapp and Stemmer, "Differentially private approximate quantiles", ICML 2022): the median first, then the
  quantiles of each half, one exponential mechanism for each, epsilon divided by the depth. The two changed parts of a
  replaced record are charged once, which is to its favour.
* *SliceQuantiles* (Imola and others, "Differentially private quantiles with smaller error", 2025): noisy ranks by a tree,
  then a median of a slice around each. Where slices would meet, its answer is a random number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

import optimaldp as odp
from benchmarks.peers import data
from benchmarks.peers.record import Comparison, drawn

STUDY = "Several quantiles at once, people between an answer and the truth, averaged over the quantiles"
JOINT, SEARCH, SLICES = "JointExp", "AQ, recursive medians", "SliceQuantiles"

Floats = npt.NDArray[np.float64]
Random = np.random.Generator
_LEFT = 0.05  # SliceQuantiles' probability that some slice has no good median


@dataclass(frozen=True)
class Sizes:
    """Releases of ours and draws of a peer's formula, of the survey and of a large table; how many people that one has."""

    releases: int
    draws: int
    large_releases: int
    large_draws: int
    large: int


FULL = Sizes(releases=200, draws=1000, large_releases=60, large_draws=200, large=20_000)
SAMPLE = Sizes(releases=2, draws=3, large_releases=2, large_draws=3, large=200)


@dataclass(frozen=True)
class Column:
    """Whole numbers from *low* to below *high*, in bins of *step*."""

    values: data.Integers
    low: int
    high: int
    step: int

    @property
    def spread(self) -> Floats:
        """The values spread evenly inside their bins, in order."""
        bins = (self.values - self.low) // self.step
        held = np.bincount(bins, minlength=(self.high - self.low) // self.step)
        inside = [self.low + self.step * (bin_ + (np.arange(n) + 0.5) / n) for bin_, n in enumerate(held) if n]
        made: Floats = np.concatenate(inside)
        return made

    def people_off(self, answers: Sequence[float], ranks: Sequence[float]) -> float:
        """Mean number of people between the bin of an answer and the rank that was asked for."""
        off = 0.0
        ordered = np.sort(self.values)
        for answer, rank in zip(answers, ranks):
            start = self.low + (min(float(answer), self.high - 1e-9) - self.low) // self.step * self.step
            below, upto = np.searchsorted(ordered, [start, start + self.step])
            target = math.ceil(rank * len(ordered))
            off += max(0.0, below + 1 - target, target - upto)
        return off / len(ranks)


def comparisons(sizes: Sizes = FULL) -> Iterator[Comparison]:
    ages = Column(data.ages(), 18, 100, 1)
    incomes = Column(np.minimum(data.lognormal(sizes.large), 39_999), 0, 40_000, 10)
    quartiles, deciles = (0.25, 0.5, 0.75), tuple(k / 10 for k in range(1, 10))
    few, large = (sizes.releases, sizes.draws), (sizes.large_releases, sizes.large_draws)
    for epsilon in (0.1, 1.0):
        yield from _compared("quartiles of 944 ages", ages, quartiles, epsilon, few, (JOINT, SEARCH))
        yield from _compared("deciles of 944 ages", ages, deciles, epsilon, few, (JOINT, SEARCH))
    many = f"{sizes.large:,} lognormal incomes, 4,000 bins"
    yield from _compared(f"quartiles of {many}", incomes, quartiles, 0.5, large, (SEARCH, SLICES))
    yield from _compared(f"deciles of {many}", incomes, deciles, 0.5, large, (SEARCH, SLICES))


def _compared(
    name: str, column: Column, ranks: tuple[float, ...], epsilon: float, times: tuple[int, int], peers: tuple[str, ...]
) -> Iterator[Comparison]:
    ours = drawn(_released(column, ranks, epsilon, times[0]))
    random, spread = np.random.default_rng(6), column.spread
    ends = float(column.low), float(column.high)
    draws: dict[str, Callable[[], Sequence[float]]] = {SEARCH: lambda: recursive(spread, ends, ranks, epsilon, random)}
    if JOINT in peers:
        draws[JOINT] = JointLaw(spread, ends, ranks, epsilon).drawer(random)
    draws[SLICES] = lambda: slices(spread, ends, ranks, epsilon, random)
    for peer in peers:
        off = [column.people_off(draws[peer](), ranks) for _ in range(times[1])]
        yield Comparison(STUDY, f"{name}, ε = {epsilon:g}", peer, ours, drawn(off))


def _released(column: Column, ranks: tuple[float, ...], epsilon: float, releases: int) -> list[float]:
    import pyarrow

    table = pyarrow.table({"v": column.values})
    question = odp.quantiles("v", ranks, range=[column.low, column.high], step=column.step)
    made = []
    for _ in range(releases):
        answer = odp.release(table, question, epsilon=epsilon).to_document()["answer"]
        made.append(column.people_off([_start(bin_) for bin_ in answer.values()], ranks))
    return made


def _start(bin_: str) -> float:
    """Where a bin begins, from its name: ``44``, or ``[300, 400)``."""
    return float(bin_.strip("[]()").split(",")[0])


def exponential_quantile(
    values: Floats, ends: tuple[float, float], rank: float, epsilon: float, random: Random
) -> float:
    """The exponential mechanism over the gaps between values; the score is the distance in rank, which moves by at most 1."""
    edges = np.concatenate([[ends[0]], np.clip(values, *ends), [ends[1]]])
    widths = np.diff(edges)
    if not widths.sum():
        return ends[0]
    scores = -np.abs(np.arange(len(widths)) - rank * len(values)) * epsilon / 2
    weights = np.log(np.maximum(widths, 1e-300)) + scores + random.gumbel(size=len(widths))
    place = int(weights.argmax())
    return float(edges[place] + widths[place] * random.random())


def recursive(
    values: Floats, ends: tuple[float, float], ranks: Sequence[float], epsilon: float, random: Random
) -> list[float]:
    """The middle quantile first, then those on each side of it among the people on that side."""
    level = epsilon / math.ceil(math.log2(len(ranks) + 1))

    def within(part: Floats, borders: tuple[float, float], wanted: Sequence[float]) -> list[float]:
        if not wanted:
            return []
        middle = len(wanted) // 2
        share = wanted[middle]
        answer = exponential_quantile(part, borders, share, level, random)
        cut = int(np.searchsorted(part, answer))
        below = [rank / share for rank in wanted[:middle]]
        above = [(rank - share) / (1 - share) for rank in wanted[middle + 1 :]]
        left, right = within(part[:cut], (borders[0], answer), below), within(part[cut:], (answer, borders[1]), above)
        return [*left, answer, *right]

    return within(values, ends, ranks)


class JointLaw:
    """JointExp: a chain over the gaps between values, drawn from its end backwards."""

    def __init__(self, values: Floats, ends: tuple[float, float], ranks: Sequence[float], epsilon: float) -> None:
        self.edges = np.concatenate([[ends[0]], values, [ends[1]]])
        self.widths = np.maximum(np.diff(self.edges), 1e-300)
        people, gaps, count = len(values), len(self.widths), len(ranks)
        wanted = np.diff(np.concatenate([[0], np.asarray(ranks), [1]])) * people
        places = np.arange(gaps)
        rise = places[None, :] - places[:, None]  # people between gap i and gap j
        forward = np.exp(-epsilon / 4 * np.abs(places - wanted[0])) * self.widths / self.widths.sum()
        # Several quantiles in one gap: their order is lost, so that m of them weigh 1/m! of the volume.
        self.laws = [{1: forward}]
        self.steps = []
        for number in range(1, count):
            step = np.where(rise > 0, np.exp(-epsilon / 4 * np.abs(rise - wanted[number])), 0.0) * self.widths
            stay = math.exp(-epsilon / 4 * abs(wanted[number])) * self.widths / self.widths.sum()
            before = sum(self.laws[-1].values())
            law = {1: before @ step / self.widths.sum()}
            law |= {run + 1: made * stay / (run + 1) for run, made in self.laws[-1].items()}
            largest = max(float(part.max()) for part in law.values())
            self.laws.append({run: part / largest for run, part in law.items()})
            self.steps.append(step)
        self.last = np.exp(-epsilon / 4 * np.abs(people - places - wanted[-1]))

    def drawer(self, random: Random) -> Callable[[], list[float]]:
        def draw() -> list[float]:
            answers: list[float] = []
            number, weight = len(self.laws) - 1, self.last
            while number >= 0:
                runs = list(self.laws[number])
                chances = np.array([self.laws[number][run] * weight for run in runs])
                flat = random.choice(chances.size, p=(chances / chances.sum()).ravel())
                run, gap = runs[flat // chances.shape[1]], flat % chances.shape[1]
                answers += (self.edges[gap] + self.widths[gap] * random.random(run)).tolist()
                number -= run
                if number >= 0:
                    weight = self.steps[number][:, gap]
            return sorted(answers)

        return draw


def slices(
    values: Floats, ends: tuple[float, float], ranks: Sequence[float], epsilon: float, random: Random
) -> Sequence[float]:
    """Half of epsilon for noisy ranks by a binary tree, half for a median of a slice around each."""
    people, count = len(values), len(ranks)
    half = epsilon / 4  # of its second half, as its authors charge a replaced record
    narrowest = float(np.diff(values).min(initial=1.0)) or 1.0
    reach = math.ceil(2 / half * math.log(count * (ends[1] - ends[0]) / (narrowest * _LEFT)) - 1)
    places = [math.floor(rank * people) + noise for rank, noise in zip(ranks, _tree_noise(count, epsilon / 2, random))]
    apart = all(second - first > 2 * reach for first, second in pairwise(places))
    if not apart or places[0] < reach or places[-1] > people - reach - 1:
        return [float(answer) for answer in np.sort(random.uniform(*ends, size=count))]
    answers, border = [], ends[0]
    for place in places:
        border = exponential_quantile(values[place - reach : place + reach + 1], (border, ends[1]), 0.5, half, random)
        answers.append(border)
    return answers


def _tree_noise(count: int, epsilon: float, random: Random) -> list[int]:
    """Correlated noise on the ranks, as continual counting adds it: one Laplace number for each level of a binary tree."""
    levels = max(1, math.ceil(math.log2(count + 1)))
    nodes: dict[tuple[int, int], float] = {}
    made = []
    for time in range(1, count + 1):
        total, start = 0.0, 0
        for level in reversed(range(levels)):
            if time >> level & 1:
                node = (level, start)
                nodes.setdefault(node, float(random.laplace(scale=levels / epsilon)))
                total, start = total + nodes[node], start + (1 << level)
        made.append(round(total))
    return made
