"""The graph of 000 Fig. 2, reconstructed from the numbers that the paper prints about it (the figure is lost in the text)."""

from __future__ import annotations

from optimaldp.graphs import DatasetGraph
from optimaldp.privacy import Level

BLUE = "abcghkl"
RED = "defijmnopqr"
_EDGES = "ab ag bk gk gl kl ch hl hi hn lq id no qm qn dj op mr je pf rf ef"


def figure_2(level: Level) -> DatasetGraph:
    """Eighteen datasets, seven of them blue; the blue boundary is h and l, the red one i, n and q."""
    return DatasetGraph.from_edges(list(BLUE + RED), [tuple(edge) for edge in _EDGES.split()], level=level)


def colours() -> dict[str, str]:
    """The true answer of each dataset."""
    return {name: "blue" if name in BLUE else "red" for name in BLUE + RED}
