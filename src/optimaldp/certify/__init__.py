"""The referee: checks privacy and optimality from a mechanism and its certificate alone.

Nothing here imports the designers or their kernels; every bound is derived again from the raw (epsilon, delta) of the levels.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from optimaldp.certify.graphs.verdict import DesignVerdict, verify

__all__ = ["DesignVerdict", "verify"]


def __getattr__(name: str) -> Any:
    if name == "Verdict":  # of version 0.2, for one version
        warnings.warn("optimaldp.certify.Verdict is called DesignVerdict now.", DeprecationWarning, stacklevel=2)
        name = "DesignVerdict"
    if name not in __all__:
        raise AttributeError(f"module 'optimaldp.certify' has no attribute {name!r}")
    from optimaldp.certify.graphs import verdict  # late: the smaller referees in this package need no arrays

    return getattr(verdict, name)
