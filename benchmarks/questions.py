"""Answers to questions: latency of one release after counting, throughput of simulation, and errors against OpenDP by margin."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import optimaldp as odp
from benchmarks.report import Row, best_time, within
from optimaldp.asking.request import read_release_level
from optimaldp.certify.core.referee import certify, draw
from optimaldp.laws.law import Setting, Table
from optimaldp.privacy import Neighbours
from optimaldp.questions import parse
from optimaldp.sampling import SystemBits


@dataclass(frozen=True)
class Sizes:
    """How many draws of a peer, how many of ours at once, and how many releases are timed together."""

    peer: int
    ours: int
    together: int


FULL = Sizes(peer=5_000, ours=1_000_000, together=200)
SAMPLE = Sizes(peer=50, ours=1_000, together=2)

_MARGINS = (1, 2, 4)
_EPSILON = 1.0


def rows(sizes: Sizes = FULL) -> Iterator[Row]:
    yield from _latency(sizes.together)
    yield _throughput(2 * sizes.ours)
    peers = _opendp()
    if peers is not None:
        yield from _errors_of_thresholds(peers, sizes.peer)
        yield from _errors_of_leads(peers, sizes.peer)
        yield from _errors_of_winners(peers, sizes)


def _latency(together: int) -> Iterator[Row]:
    cases: list[tuple[str, str, tuple[int, ...]]] = [
        ("majority, n = 944", "majority(x)", (551, 393)),
        ("majority, n = 10^9", "majority(x)", (600_000_000, 400_000_000)),
        ("share, add/remove, n = 10^9", "share(x) >= 0.3", (300_000_123, 699_999_877)),
        ("median of 5 bins, n = 944", "median(x, bins=[0, 1, 2, 3, 4, 5])", (100, 200, 300, 200, 144, 0)),
        ("winner of 4, n = 210", "winner(x, ['a', 'b', 'c', 'd'])", (58, 63, 30, 59, 0)),
    ]
    for name, text, counts in cases:
        relation = Neighbours.ADD_REMOVE if "add/remove" in name else Neighbours.SUBSTITUTION
        ours = _draw_time(text, counts, relation, together)
        yield within(f"one release after counting: {name}", ours, 1e-3)
    peers = _opendp()
    if peers is not None:
        ours = _draw_time("majority(x)", (551, 393), Neighbours.SUBSTITUTION, together)
        noisy = peers.laplace(1 / _EPSILON)
        theirs = best_time(lambda: [noisy(551) >= 472 for _ in range(together)]) / together
        note = "ours certifies the draw by ball arithmetic; both are far below the cost of counting"
        yield Row("one yes/no release after counting", ours, "OpenDP integer Laplace", theirs, "shown", None, "s", note)


def _draw_time(text: str, counts: tuple[int, ...], neighbours: Neighbours, together: int) -> float:
    table, source = Table(dict(enumerate(counts))), SystemBits()
    people = table.people if neighbours is Neighbours.SUBSTITUTION else None
    passed = certify(
        parse(text).mechanism(Setting(read_release_level(_EPSILON), neighbours, people))
    )  # once, whatever the counts
    draw(passed, replace(table), source)
    return best_time(lambda: [draw(passed, replace(table), source) for _ in range(together)], repeats=3) / together


def _throughput(draws: int) -> Row:
    seconds = best_time(lambda: odp.release_many("majority(x)", [551, 393], draws=draws, epsilon=_EPSILON))
    return within(f"{draws:,} simulated answers", seconds, draws / 1e6)


def _errors_of_thresholds(peers: OpenDP, draws: int) -> Iterator[Row]:
    """count >= t with the count ``t + f - 1``: the margin is f."""
    noisy = peers.laplace(1 / _EPSILON)
    for margin in _MARGINS:
        theirs = _frequency(lambda margin=margin: noisy(1000 + margin - 1) < 1000, draws)  # type: ignore[misc]
        yield _compared(
            f"count >= t, margin {margin}", "count(x) >= 1000", margin, "OpenDP integer Laplace", theirs, draws
        )


def _errors_of_leads(peers: OpenDP, draws: int) -> Iterator[Row]:
    """A beats B: a margin f belongs to the leads 2f - 1 and 2f, and on the other side to 2 - 2f and 1 - 2f."""
    noisy = peers.laplace(2 / _EPSILON)  # a replaced person moves the lead by 2
    for margin in _MARGINS:
        leads = (2 * margin - 1, 2 * margin, 2 - 2 * margin, 1 - 2 * margin)
        wrong = [_frequency(lambda lead=lead: (noisy(lead) > 0) != (lead > 0), draws) for lead in leads]  # type: ignore[misc]
        theirs = sum(wrong) / len(wrong)
        yield _compared(
            f"compare, margin {margin}", "compare(x, 'a', 'b')", margin, "OpenDP integer Laplace", theirs, draws
        )


def _errors_of_winners(peers: OpenDP, sizes: Sizes) -> Iterator[Row]:
    question = parse("winner(x, ['a', 'b', 'c', 'd'])")
    choose = peers.noisy_max(_EPSILON)
    for votes in ((31, 30, 30, 30), (40, 37, 30, 14), (63, 59, 58, 30)):
        theirs = _frequency(lambda votes=votes: choose(list(votes)) != 0, sizes.peer)  # type: ignore[misc]
        drawn = odp.release_many(question, votes, draws=sizes.ours, epsilon=_EPSILON)
        ours = 1 - drawn["a"] / sizes.ours
        yield _never_worse(f"winner, votes {votes}", ours, "OpenDP noisy max", theirs, sizes.peer)


def _compared(task: str, question: str, margin: int, peer: str, theirs: float, draws: int) -> Row:
    shown = odp.preview(question, epsilon=_EPSILON, margins=[margin])
    return _never_worse(task, shown.error(margin), peer, theirs, draws)


def _never_worse(task: str, ours: float, peer: str, theirs: float, draws: int) -> Row:
    spread = 4 * math.sqrt(max(theirs * (1 - theirs), 1e-9) / draws)
    limit = f"≤ 1 × (± {spread:.1g})"
    return Row(f"error: {task}", ours, peer, theirs, limit, ours <= theirs + spread, "", f"epsilon {_EPSILON:g}")


def _frequency(wrong: Callable[[], bool], draws: int) -> float:
    return sum(wrong() for _ in range(draws)) / draws


class OpenDP:
    """The peer's mechanisms, calibrated by its own privacy maps."""

    def __init__(self, library: Any) -> None:
        library.enable_features("contrib")
        self._dp = library

    def laplace(self, scale: float) -> Callable[[int], int]:
        space = self._dp.atom_domain(T=int), self._dp.absolute_distance(T=int)
        made: Callable[[int], int] = space >> self._dp.m.then_laplace(scale=scale)
        return made

    def noisy_max(self, epsilon: float) -> Callable[[list[int]], int]:
        """The loosest scale whose map promises *epsilon* when every score may change by 1."""
        dp = self._dp
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)

        def make(scale: float) -> Any:
            return space >> dp.m.then_noisy_max(dp.max_divergence(), scale=scale)

        made: Callable[[list[int]], int] = make(dp.binary_search_param(make, d_in=1, d_out=epsilon))
        return made


def _opendp() -> OpenDP | None:
    try:
        import opendp.prelude as library
    except ImportError:
        return None
    return OpenDP(library)
