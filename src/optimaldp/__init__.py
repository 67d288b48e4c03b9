"""optimaldp: the best possible differentially private answer to a discrete question, with proofs.

Names load on first use, so that ``import optimaldp`` costs next to nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what readers of types see: the functions, not the modules of the same names
    from optimaldp.designing import design as design
    from optimaldp.preview import epsilon_for as epsilon_for
    from optimaldp.preview import preview as preview
    from optimaldp.questions.choices import compare as compare
    from optimaldp.questions.choices import histogram as histogram
    from optimaldp.questions.choices import winner as winner
    from optimaldp.questions.quantiles import median as median
    from optimaldp.questions.quantiles import quantile as quantile
    from optimaldp.questions.thresholds import all_ as all_
    from optimaldp.questions.thresholds import any_ as any_
    from optimaldp.questions.thresholds import count as count
    from optimaldp.questions.thresholds import majority as majority
    from optimaldp.questions.thresholds import share as share
    from optimaldp.release import release as release
    from optimaldp.release import release_many as release_many

__version__ = "0.1.0"

# public name -> (module, attribute); an attribute of None means the module itself
_NAMES: dict[str, tuple[str, str | None]] = {
    "graphs": ("optimaldp.graphs", None),
    "errors": ("optimaldp.errors", None),
    "design": ("optimaldp.designing", "design"),
    "solve": ("optimaldp.designing", "solve"),
    "choose_boundary": ("optimaldp.designing.choosing", "choose_boundary"),
    "boost": ("optimaldp.designing.choosing", "boost"),
    "lexicographic": ("optimaldp.designing.choosing", "lexicographic"),
    "baselines": ("optimaldp.designing.baselines", None),
    "verify": ("optimaldp.certify", "verify"),
    "Mechanism": ("optimaldp.mechanisms", "Mechanism"),
    "dominance": ("optimaldp.mechanisms.dominance", None),
    "channels": ("optimaldp.channels", None),
    "histograms": ("optimaldp.histograms", None),
    "private_histogram": ("optimaldp.histograms", "private_histogram"),
    "interop": ("optimaldp.interop", None),
    "level": ("optimaldp.privacy", "level"),
    "all_of": ("optimaldp.privacy", "all_of"),
    "directed": ("optimaldp.privacy", "directed"),
    "Epsilon": ("optimaldp.privacy", "Epsilon"),
    "questions": ("optimaldp.questions", None),
    "count": ("optimaldp.questions.thresholds", "count"),
    "share": ("optimaldp.questions.thresholds", "share"),
    "majority": ("optimaldp.questions.thresholds", "majority"),
    "any_": ("optimaldp.questions.thresholds", "any_"),
    "all_": ("optimaldp.questions.thresholds", "all_"),
    "compare": ("optimaldp.questions.choices", "compare"),
    "winner": ("optimaldp.questions.choices", "winner"),
    "histogram": ("optimaldp.questions.choices", "histogram"),
    "median": ("optimaldp.questions.quantiles", "median"),
    "quantile": ("optimaldp.questions.quantiles", "quantile"),
    "ledger": ("optimaldp.ledger", None),
    "Budget": ("optimaldp.ledger", "Budget"),
    "open": ("optimaldp.opened", "open_table"),
    "release": ("optimaldp.release", "release"),
    "release_many": ("optimaldp.release", "release_many"),
    "preview": ("optimaldp.preview", "preview"),
    "epsilon_for": ("optimaldp.preview", "epsilon_for"),
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


class _Package(ModuleType):
    """``optimaldp.release`` is the function of that name, also after its module of the same name was imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and _NAMES.get(name, ("", None))[1] is not None:
            return  # the import system would put the module in the function's place
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
