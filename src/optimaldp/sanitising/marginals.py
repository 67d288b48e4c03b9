"""Many columns: a public list of tables is measured, and a model that fits all of them makes the rows.

The fit and the rows are by mbi (marginal-based inference), an optional part that is loaded here alone. It sees noisy tables only.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from optimaldp.errors import MissingExtraError
from optimaldp.extras import EXTRAS, requiring
from optimaldp.questions.columns import Column
from optimaldp.sanitising.drawing import Drawn

_STEPS = 1000  # of mirror descent: enough for a few dozen tables (measured on 3 columns: 1 second)


def require_mbi() -> None:
    """Refuse before anything is read or spent where the part is not installed."""
    if find_spec("mbi") is None:  # before its own parts are imported, whose names would tell less
        raise MissingExtraError("mbi", EXTRAS["mbi"])
    _import_mbi()


def _import_mbi() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of settings that are made here
        with requiring("mbi"):
            import jax

            jax.config.update("jax_enable_x64", True)
            import mbi
            from mbi import estimation, extensions

    return mbi, estimation, extensions


def fitted_codes(columns: Sequence[Column], tables: Sequence[Drawn], people: int) -> Any:
    """Rows of positions from a model that fits the measured tables."""
    import numpy as np

    mbi, estimation, extensions = _import_mbi()
    names = [column.name for column in columns]
    domain = mbi.Domain(names, [column.size for column in columns])
    measured = [
        mbi.LinearMeasurement(
            np.asarray(drawn.noisy.dense, dtype=float),
            tuple(column.name for column in drawn.noisy.columns),
            stddev=drawn.noisy.query_error({c.name: c.labels[0] for c in drawn.noisy.columns}).standard_deviation,
        )
        for drawn in tables
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = estimation.MirrorDescent().estimate(domain, measured, iters=_STEPS, known_total=float(people))
        made = extensions.synthetic_data(model, rows=people)
    frame = made.to_dict() if hasattr(made, "to_dict") else made.df
    return np.stack([np.asarray(frame[name], dtype=np.int64) for name in names], axis=1)
