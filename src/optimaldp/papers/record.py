"""What a paper prints beside what we compute: one record for each number, table or figure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from optimaldp.graphs import DatasetGraph, Preferences, ring
from optimaldp.privacy import Level


@dataclass(frozen=True)
class Item:
    """One statement of a paper with numbers in it.

    ``agrees`` says whether the printed value is right; if it is not, ``erratum`` says why in one sentence.
    """

    where: str
    what: str
    printed: str
    ours: str
    agrees: bool
    erratum: str = ""


@dataclass(frozen=True)
class Figure:
    """A figure regenerated; ``draw`` returns a matplotlib figure."""

    name: str
    caption: str
    draw: Callable[[], Any]


@dataclass(frozen=True)
class Paper:
    """One of the five papers."""

    number: str
    authors: str
    title: str
    items: Callable[[], list[Item]]
    figures: Callable[[], list[Figure]]


def item(where: str, what: str, printed: str, ours: str, erratum: str = "") -> Item:
    """A record that agrees unless it names an erratum."""
    return Item(where, what, printed, ours, not erratum, erratum)


def decimals(number: Any, places: int = 4) -> str:
    """A number as papers print it."""
    return f"{float(number):.{places}f}".rstrip("0").rstrip(".")


# The graph of 000 Fig. 2, reconstructed from the numbers that the paper prints about it (the figure is lost in the
# text).


BLUE = "abcghkl"
RED = "defijmnopqr"
_FIGURE2_EDGES = "ab ag bk gk gl kl ch hl hi hn lq id no qm qn dj op mr je pf rf ef"


def figure_2(level: Level) -> DatasetGraph:
    """Eighteen datasets, seven of them blue; the blue boundary is h and l, the red one i, n and q."""
    return DatasetGraph.from_edges(list(BLUE + RED), [tuple(edge) for edge in _FIGURE2_EDGES.split()], level=level)


def colours() -> dict[str, str]:
    """The true answer of each dataset."""
    return {name: "blue" if name in BLUE else "red" for name in BLUE + RED}


# The rainbow graphs of 001: Fig. 1, reconstructed from its caption (the figure is lost in the text), and Fig. 2.


COLOURS = ("blue", "red", "green")
# Who prefers what: d1 blue, red, green; d4 and d9 are the boundary of (red, green, blue); d13 prefers red, blue, green.
_REGIONS = {
    ("blue", "red", "green"): (1, 2, 3),
    ("red", "green", "blue"): (4, 5, 6, 7, 8, 9),
    ("red", "blue", "green"): (10, 11, 12, 13),
    ("green", "red", "blue"): (14, 15, 16),
}
_RAINBOW_EDGES = (
    "1-2 1-3 2-3 3-4 4-5 4-6 5-6 5-7 6-7 7-8 8-9 6-9 9-13 13-12 13-10 12-11 10-11 3-14 13-14 14-15 14-16 15-16"
)


def figure_1(level: Level) -> tuple[DatasetGraph, Preferences]:
    """Sixteen datasets of four rainbows; everything that the caption of Fig. 1 says of it is true."""
    names = [f"d{k}" for k in range(1, 17)]
    edges = [tuple(f"d{end}" for end in edge.split("-")) for edge in _RAINBOW_EDGES.split()]
    graph = DatasetGraph.from_edges(names, edges, level=level)
    wants = {f"d{k}": list(order) for order, members in _REGIONS.items() for k in members}
    return graph, Preferences.read(graph, wants, COLOURS)


def example_1(level: Level) -> tuple[DatasetGraph, Preferences]:
    """Fig. 2, the ring of Example 1: five datasets, four of which prefer 1 to 2 to 3 and one 1 to 3 to 2."""
    graph, answers = ring(5, level=level), ["1", "2", "3"]
    wants = {name: answers if name != "4" else ["1", "3", "2"] for name in graph.names}
    return graph, Preferences.read(graph, wants, answers)
