"""The rainbow graphs of 001: Fig. 1, reconstructed from its caption (the figure is lost in the text), and Fig. 2."""

from __future__ import annotations

from optimaldp.graphs import DatasetGraph, Preferences, ring
from optimaldp.privacy import Level

COLOURS = ("blue", "red", "green")
# Who prefers what: d1 blue, red, green; d4 and d9 are the boundary of (red, green, blue); d13 prefers red, blue, green.
_REGIONS = {
    ("blue", "red", "green"): (1, 2, 3),
    ("red", "green", "blue"): (4, 5, 6, 7, 8, 9),
    ("red", "blue", "green"): (10, 11, 12, 13),
    ("green", "red", "blue"): (14, 15, 16),
}
_EDGES = "1-2 1-3 2-3 3-4 4-5 4-6 5-6 5-7 6-7 7-8 8-9 6-9 9-13 13-12 13-10 12-11 10-11 3-14 13-14 14-15 14-16 15-16"


def figure_1(level: Level) -> tuple[DatasetGraph, Preferences]:
    """Sixteen datasets of four rainbows; everything that the caption of Fig. 1 says of it is true."""
    names = [f"d{k}" for k in range(1, 17)]
    edges = [tuple(f"d{end}" for end in edge.split("-")) for edge in _EDGES.split()]
    graph = DatasetGraph.from_edges(names, edges, level=level)
    wants = {f"d{k}": list(order) for order, members in _REGIONS.items() for k in members}
    return graph, Preferences.read(graph, wants, COLOURS)


def example_1(level: Level) -> tuple[DatasetGraph, Preferences]:
    """Fig. 2, the ring of Example 1: five datasets, four of which prefer 1 to 2 to 3 and one 1 to 3 to 2."""
    graph, answers = ring(5, level=level), ["1", "2", "3"]
    wants = {name: answers if name != "4" else ["1", "3", "2"] for name in graph.names}
    return graph, Preferences.read(graph, wants, answers)
