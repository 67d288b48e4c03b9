"""Primal-dual steps for the program of a channel, on blocks of columns that stay in the cache.

A block holds ``WIDTH`` columns; the innermost loop runs over them, so that it is done by vector instructions. Everything
is in short floats: what comes out is made exact elsewhere.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from optimaldp.kernels.compiled import Floats, Ints, Kernel

WIDTH = 64
ShortFloats = npt.NDArray[np.float32]
State = tuple[ShortFloats, ShortFloats, ShortFloats]
"""Cells, and the prices of the constraints along every edge in its two directions: by block, then place, then column."""


def _column_steps(
    ends: Ints,
    state: State,
    anchor: State,
    factors: ShortFloats,
    forth_steps: ShortFloats,
    back_steps: ShortFloats,
    kernel: ShortFloats,
    cell_sizes: ShortFloats,
    wanted: ShortFloats,
    levels: ShortFloats,
    numbers: ShortFloats,
    sums: ShortFloats,
    pull: ShortFloats,
    ahead: ShortFloats,
    moved: ShortFloats,
) -> None:
    """One reflected step towards the saddle point, drawn back to the anchor; *sums* are the rows of the cells ahead.

    *numbers*: one, the squared ratio, the cells' step, the prices' step, the weight of the new point.
    """
    cells, forth, back = state
    cells_then, forth_then, back_then = anchor
    one, square, cell_step, price_step, kept = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    rest = one - kept
    for block in range(len(cells)):
        for x in range(kernel.shape[1]):
            for j in range(WIDTH):
                pull[x, j] = wanted[block, x, j] - kernel[block, x, j] * levels[x]
        for edge in range(len(ends)):
            x, y = ends[edge, 0], ends[edge, 1]
            for j in range(WIDTH):
                factor = factors[block, edge, j]
                pull[x, j] += square / factor * back[block, edge, j] - forth[block, edge, j]
                pull[y, j] += factor * forth[block, edge, j] - back[block, edge, j]
        for x in range(kernel.shape[1]):
            for j in range(WIDTH):
                old = cells[block, x, j]
                new = max(old + cell_step * pull[x, j] / cell_sizes[block, x, j], one - one)
                further = new + new - old
                ahead[x, j] = further
                sums[x, j] += kernel[block, x, j] * further
                moved[0, j] += (new - old) * (new - old) * cell_sizes[block, x, j]
                cells[block, x, j] = kept * further + rest * cells_then[block, x, j]
        for edge in range(len(ends)):
            x, y = ends[edge, 0], ends[edge, 1]
            for j in range(WIDTH):
                factor = factors[block, edge, j]
                step = forth_steps[block, edge, j]
                old = forth[block, edge, j]
                new = max(old + price_step * step * (ahead[x, j] - factor * ahead[y, j]), one - one)
                moved[1, j] += (new - old) * (new - old) / step
                forth[block, edge, j] = kept * (new + new - old) + rest * forth_then[block, edge, j]
                step = back_steps[block, edge, j]
                old = back[block, edge, j]
                new = max(old + price_step * step * (ahead[y, j] - square / factor * ahead[x, j]), one - one)
                moved[1, j] += (new - old) * (new - old) / step
                back[block, edge, j] = kept * (new + new - old) + rest * back_then[block, edge, j]


def _shortest_way_prices(ends: Ints, distances: Ints, loads: Floats, ways: Floats, forth: Floats, back: Floats) -> None:
    """Prices that carry what every answer holds to the guess, evenly along all shortest ways; *loads* end up carried.

    *ways* are the numbers of an answer's neighbours that are nearer to the guess.
    """
    for level in range(distances.max(), 0, -1):
        for edge in range(len(ends)):
            x, y = ends[edge, 0], ends[edge, 1]
            for j in range(distances.shape[1]):
                if distances[y, j] == level and distances[x, j] == level - 1:
                    forth[edge, j] = loads[y, j] / ways[y, j]
                    loads[x, j] += forth[edge, j]
                elif distances[x, j] == level and distances[y, j] == level - 1:
                    back[edge, j] = loads[x, j] / ways[x, j]
                    loads[y, j] += back[edge, j]


COLUMN_STEPS = Kernel(_column_steps)
SHORTEST_WAY_PRICES = Kernel(_shortest_way_prices)
