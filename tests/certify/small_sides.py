"""Mechanisms with two answers in floats."""

from __future__ import annotations

import numpy as np

from optimaldp.graphs import DatasetGraph, NumberNames, Preferences
from optimaldp.mechanisms import Mechanism, TwoSides

LARGEST = float.fromhex("0x1.fffffffffffffp+1023")


def mechanism_of(sides, edges, levels, kinds=None, favourites=None):
    chosen = np.zeros(len(sides), dtype=np.int32) if favourites is None else np.array(favourites, dtype=np.int32)
    graph = DatasetGraph(
        NumberNames(len(sides)),
        [u for u, _ in edges],
        [v for _, v in edges],
        levels=levels,
        level_of_edge=[0] * len(edges) if kinds is None else kinds,
    )
    return Mechanism(graph, Preferences.of_truth(("yes", "no"), chosen), TwoSides(np.array(sides), chosen))
