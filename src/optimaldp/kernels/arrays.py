"""The arrays that compiled loops walk over, by what they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.integer[Any]]
"""Numbers of datasets, edges and levels, of any width."""

Floats = npt.NDArray[np.float64]

LevelTable = tuple[Ints, Floats, Floats, Floats, Floats]
"""The levels of edges: where the bounds of each begin, and the growth, delta, decay and back delta of each bound."""
