"""Mechanisms in the hands of other libraries: OpenDP, dp-accounting, pandas, polars, networkx. Each loads on first use.

What leaves here is public: a mechanism is known to everybody, and only its answer about a dataset is private.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from optimaldp.graphs.readers import to_networkx
    from optimaldp.interop.accounting import loss_of_edge, worst_loss
    from optimaldp.interop.opendp import mechanism_measurement, question_measurement
    from optimaldp.interop.tables import to_pandas, to_polars

_HOMES = {
    "loss_of_edge": "optimaldp.interop.accounting",
    "worst_loss": "optimaldp.interop.accounting",
    "mechanism_measurement": "optimaldp.interop.opendp",
    "question_measurement": "optimaldp.interop.opendp",
    "to_networkx": "optimaldp.graphs.readers",
    "to_pandas": "optimaldp.interop.tables",
    "to_polars": "optimaldp.interop.tables",
}

__all__ = [
    "loss_of_edge",
    "mechanism_measurement",
    "question_measurement",
    "to_networkx",
    "to_pandas",
    "to_polars",
    "worst_loss",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'optimaldp.interop' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
