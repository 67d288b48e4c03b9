"""The arrays of counts, weights and probabilities that histograms are worked out with."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
"""Numbers of one kind, floats or whole ones. Import it for readers of types only: it loads numpy."""
