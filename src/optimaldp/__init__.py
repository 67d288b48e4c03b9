"""optimaldp: the best possible differentially private answer to a discrete question, with proofs.

Names load on first use, so that ``import optimaldp`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# public name -> (module, attribute); an attribute of None means the module itself
_NAMES: dict[str, tuple[str, str | None]] = {
    "graphs": ("optimaldp.graphs", None),
    "errors": ("optimaldp.errors", None),
    "level": ("optimaldp.privacy", "level"),
    "all_of": ("optimaldp.privacy", "all_of"),
    "directed": ("optimaldp.privacy", "directed"),
    "Epsilon": ("optimaldp.privacy", "Epsilon"),
}

__all__ = ["__version__", *_NAMES]


def __getattr__(name: str) -> Any:
    try:
        module, attribute = _NAMES[name]
    except KeyError:
        raise AttributeError(f"module 'optimaldp' has no attribute {name!r}") from None
    loaded = import_module(module)
    value = loaded if attribute is None else getattr(loaded, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
