"""Answers to questions: latency of one release after counting, throughput of simulation, and errors against OpenDP by margin."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.report import Row, at_most, best_time
from optimaldp.asking.previewing import preview, release_many
from optimaldp.asking.request import read_release_level
from optimaldp.certify.core.referee import certify, draw
from optimaldp.laws.law import Setting, Table
from optimaldp.privacy import Neighbours
from optimaldp.questions import parse
from optimaldp.sampling import SystemBits

_DRAWS = 5_000
_MARGINS = (1, 2, 4)
_EPSILON = 1.0


def rows() -> Iterator[Row]:
    yield from _latency()
    yield _throughput()
    peers = _opendp()
    if peers is not None:
        yield from _errors_of_thresholds(peers)
        yield from _errors_of_leads(peers)
        yield from _errors_of_winners(peers)


def _latency() -> Iterator[Row]:
    cases: list[tuple[str, str, tuple[int, ...]]] = [
        ("majority, n = 944", "majority(x)", (551, 393)),
        ("majority, n = 10^9", "majority(x)", (600_000_000, 400_000_000)),
        ("share, add/remove, n = 10^9", "share(x) >= 0.3", (300_000_123, 699_999_877)),
        ("median of 5 bins, n = 944", "median(x, bins=[0, 1, 2, 3, 4, 5])", (100, 200, 300, 200, 144, 0)),
        ("winner of 4, n = 210", "winner(x, ['a', 'b', 'c', 'd'])", (58, 63, 30, 59, 0)),
    ]
    for name, text, counts in cases:
        relation = Neighbours.ADD_REMOVE if "add/remove" in name else Neighbours.SUBSTITUTION
        ours = _draw_time(text, counts, relation)
        yield at_most(f"one release after counting: {name}", ours, "target 1 ms", 1e-3, 1)
    peers = _opendp()
    if peers is not None:
        ours = _draw_time("majority(x)", (551, 393), Neighbours.SUBSTITUTION)
        noisy = peers.laplace(1 / _EPSILON)
        theirs = best_time(lambda: [noisy(551) >= 472 for _ in range(500)]) / 500
        note = "ours certifies the draw by ball arithmetic; both are far below the cost of counting"
        yield Row("one yes/no release after counting", ours, "OpenDP integer Laplace", theirs, "shown", None, "s", note)


def _draw_time(text: str, counts: tuple[int, ...], neighbours: Neighbours) -> float:
    table, source = Table(dict(enumerate(counts))), SystemBits()
    people = table.people if neighbours is Neighbours.SUBSTITUTION else None
    passed = certify(
        parse(text).mechanism(Setting(read_release_level(_EPSILON), neighbours, people))
    )  # once, whatever the counts
    draw(passed, table, source)
    return best_time(lambda: [draw(passed, table, source) for _ in range(200)], repeats=5) / 200


def _throughput() -> Row:
    draws = 2_000_000
    seconds = best_time(lambda: release_many("majority(x)", [551, 393], draws=draws, epsilon=_EPSILON))
    return at_most("simulated answers, seconds for 2 million", seconds, "target 10^6 per second", draws / 1e6, 1)


def _errors_of_thresholds(peers: OpenDP) -> Iterator[Row]:
    """count >= t with the count ``t + f - 1``: the margin is f."""
    noisy = peers.laplace(1 / _EPSILON)
    for margin in _MARGINS:
        theirs = _frequency(lambda margin=margin: noisy(1000 + margin - 1) < 1000)  # type: ignore[misc]
        yield _compared(f"count >= t, margin {margin}", "count(x) >= 1000", margin, "OpenDP integer Laplace", theirs)


def _errors_of_leads(peers: OpenDP) -> Iterator[Row]:
    """A beats B: a margin f belongs to the leads 2f - 1 and 2f, and on the other side to 2 - 2f and 1 - 2f."""
    noisy = peers.laplace(2 / _EPSILON)  # a replaced person moves the lead by 2
    for margin in _MARGINS:
        leads = (2 * margin - 1, 2 * margin, 2 - 2 * margin, 1 - 2 * margin)
        wrong = [_frequency(lambda lead=lead: (noisy(lead) > 0) != (lead > 0)) for lead in leads]  # type: ignore[misc]
        theirs = sum(wrong) / len(wrong)
        yield _compared(f"compare, margin {margin}", "compare(x, 'a', 'b')", margin, "OpenDP integer Laplace", theirs)


def _errors_of_winners(peers: OpenDP) -> Iterator[Row]:
    question = parse("winner(x, ['a', 'b', 'c', 'd'])")
    choose = peers.noisy_max(_EPSILON)
    for votes in ((31, 30, 30, 30), (40, 37, 30, 14), (63, 59, 58, 30)):
        theirs = _frequency(lambda votes=votes: choose(list(votes)) != 0)  # type: ignore[misc]
        drawn = release_many(question, votes, draws=1_000_000, epsilon=_EPSILON)
        ours = 1 - drawn["a"] / 1_000_000
        yield _never_worse(f"winner, votes {votes}", ours, "OpenDP noisy max", theirs)


def _compared(task: str, question: str, margin: int, peer: str, theirs: float) -> Row:
    shown = preview(question, epsilon=_EPSILON, margins=[margin])
    return _never_worse(task, shown.error(margin), peer, theirs)


def _never_worse(task: str, ours: float, peer: str, theirs: float) -> Row:
    spread = 4 * math.sqrt(max(theirs * (1 - theirs), 1e-9) / _DRAWS)
    limit = f"≤ 1 × (± {spread:.1g})"
    return Row(f"error: {task}", ours, peer, theirs, limit, ours <= theirs + spread, "", f"epsilon {_EPSILON:g}")


def _frequency(wrong: Callable[[], bool]) -> float:
    return sum(wrong() for _ in range(_DRAWS)) / _DRAWS


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
