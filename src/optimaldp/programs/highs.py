"""HiGHS, asked in one place: the least ``cost · x`` with ``rows · x <= bounds``, ``equal · x = values`` and ``x >= 0``.

Its floats prove nothing: a proof takes the tight constraints to rationals (:mod:`optimaldp.programs.exact`), or the prices to
a referee.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from optimaldp.extras import requiring

Floats = npt.NDArray[np.float64]
Method = Literal[
    "highs", "highs-ds", "highs-ipm"
]  # its own choice, the dual simplex (which ends at a vertex), interior point

_SOLVED, _INFEASIBLE = 0, 2  # scipy's words
_PRECISE = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_NONE: Floats = np.zeros(0)


@dataclass(frozen=True, eq=False)
class HighsAnswer:
    """What HiGHS found: the point, its cost, and what each constraint costs.

    ``row_prices`` are not negative at an optimum; ``equal_prices`` are what the cost grows by with each value, ``zero_prices``
    with each lower bound. Everything is empty where nothing was ``solved``.
    """

    solved: bool
    infeasible: bool
    message: str
    point: Floats
    value: float
    row_prices: Floats
    equal_prices: Floats
    zero_prices: Floats
    slacks: Floats


def minimise(
    cost: Any,
    *,
    rows: Any = None,
    bounds: Any = None,
    equal: Any = None,
    values: Any = None,
    method: Method = "highs",
    precise: bool = False,
) -> HighsAnswer:
    """Solve one program; *precise* asks for ten digits where seven are usual."""
    with requiring("scipy"):
        from scipy.optimize import linprog

    found = linprog(
        cost,
        A_ub=rows,
        b_ub=bounds,
        A_eq=equal,
        b_eq=values,
        bounds=(0, None),
        method=method,
        options=_PRECISE if precise else {},
    )
    message = " ".join(str(found.message).split())
    if found.status != _SOLVED:
        nothing = (_NONE, float("nan"), _NONE, _NONE, _NONE, _NONE)
        return HighsAnswer(False, found.status == _INFEASIBLE, message, *nothing)
    return HighsAnswer(
        True,
        False,
        message,
        np.asarray(found.x),
        float(found.fun),
        -np.asarray(found.ineqlin.marginals),
        np.asarray(found.eqlin.marginals),
        np.asarray(found.lower.marginals),
        np.asarray(found.ineqlin.residual),
    )
