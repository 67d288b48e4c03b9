"""optimaldp: private answers to bounded questions, each by the best mechanism that is known or proven for it.

Names load on first use, so that ``import optimaldp`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # What readers of types see. Everything public is here, and nothing else: a name that does not exist is an error to them.
    from optimaldp import channels as channels
    from optimaldp import errors as errors
    from optimaldp import graphs as graphs
    from optimaldp import histograms as histograms
    from optimaldp import interop as interop
    from optimaldp import ledger as ledger
    from optimaldp import questions as questions
    from optimaldp import theory as theory
    from optimaldp.asking.preview_result import Preview as Preview
    from optimaldp.asking.previewing import epsilon_for as epsilon_for
    from optimaldp.asking.previewing import preview as preview
    from optimaldp.asking.previewing import release_many as release_many
    from optimaldp.asking.releasing import release as release
    from optimaldp.asking.result import Release as Release
    from optimaldp.asking.session import open_table
    from optimaldp.asking.verifying import verify as verify
    from optimaldp.client import connect as connect
    from optimaldp.designing import Design as Design
    from optimaldp.designing import baselines as baselines
    from optimaldp.designing import design as design
    from optimaldp.designing import solve as solve
    from optimaldp.designing.choosing import boost as boost
    from optimaldp.designing.choosing import choose_boundary as choose_boundary
    from optimaldp.designing.choosing import lexicographic as lexicographic
    from optimaldp.histograms import private_histogram as private_histogram
    from optimaldp.ledger import Budget as Budget
    from optimaldp.mechanisms import Mechanism as Mechanism
    from optimaldp.mechanisms import dominance as dominance
    from optimaldp.privacy import Epsilon as Epsilon
    from optimaldp.privacy import all_of as all_of
    from optimaldp.privacy import directed as directed
    from optimaldp.privacy import level as level
    from optimaldp.questions.kinds.compare import compare as compare
    from optimaldp.questions.kinds.crosstab import crosstab as crosstab
    from optimaldp.questions.kinds.histogram import histogram as histogram
    from optimaldp.questions.kinds.keys import keys as keys
    from optimaldp.questions.kinds.mean import mean as mean
    from optimaldp.questions.kinds.quantile import median as median
    from optimaldp.questions.kinds.quantile import quantile as quantile
    from optimaldp.questions.kinds.quantiles import quantiles as quantiles
    from optimaldp.questions.kinds.ratio import ratio as ratio
    from optimaldp.questions.kinds.sum import sum_ as sum_
    from optimaldp.questions.kinds.threshold import all_ as all_
    from optimaldp.questions.kinds.threshold import any_ as any_
    from optimaldp.questions.kinds.threshold import count as count
    from optimaldp.questions.kinds.threshold import majority as majority
    from optimaldp.questions.kinds.threshold import share as share
    from optimaldp.questions.kinds.top import top as top
    from optimaldp.questions.kinds.winner import winner as winner
    from optimaldp.reporting.report import write_report
    from optimaldp.sanitising import bins as bins
    from optimaldp.sanitising import sanitise as sanitise
    from optimaldp.tables.describing import describe as describe

    open = open_table
    report = write_report
    sum = sum_

__version__ = "0.3.0"

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
    "theory": ("optimaldp.theory", None),
    "verify": ("optimaldp.asking.verifying", "verify"),
    "Mechanism": ("optimaldp.mechanisms", "Mechanism"),
    "Design": ("optimaldp.designing", "Design"),
    "dominance": ("optimaldp.mechanisms.dominance", None),
    "channels": ("optimaldp.channels", None),
    "histograms": ("optimaldp.histograms", None),
    "private_histogram": ("optimaldp.histograms", "private_histogram"),
    "sanitise": ("optimaldp.sanitising", "sanitise"),
    "bins": ("optimaldp.sanitising", "bins"),
    "interop": ("optimaldp.interop", None),
    "level": ("optimaldp.privacy", "level"),
    "all_of": ("optimaldp.privacy", "all_of"),
    "directed": ("optimaldp.privacy", "directed"),
    "Epsilon": ("optimaldp.privacy", "Epsilon"),
    "questions": ("optimaldp.questions", None),
    "count": ("optimaldp.questions.kinds.threshold", "count"),
    "share": ("optimaldp.questions.kinds.threshold", "share"),
    "majority": ("optimaldp.questions.kinds.threshold", "majority"),
    "any_": ("optimaldp.questions.kinds.threshold", "any_"),
    "all_": ("optimaldp.questions.kinds.threshold", "all_"),
    "compare": ("optimaldp.questions.kinds.compare", "compare"),
    "top": ("optimaldp.questions.kinds.top", "top"),
    "winner": ("optimaldp.questions.kinds.winner", "winner"),
    "crosstab": ("optimaldp.questions.kinds.crosstab", "crosstab"),
    "histogram": ("optimaldp.questions.kinds.histogram", "histogram"),
    "median": ("optimaldp.questions.kinds.quantile", "median"),
    "quantile": ("optimaldp.questions.kinds.quantile", "quantile"),
    "quantiles": ("optimaldp.questions.kinds.quantiles", "quantiles"),
    "ledger": ("optimaldp.ledger", None),
    "Budget": ("optimaldp.ledger", "Budget"),
    "open": ("optimaldp.asking.session", "open_table"),
    "connect": ("optimaldp.client", "connect"),
    "describe": ("optimaldp.tables.describing", "describe"),
    "release": ("optimaldp.asking.releasing", "release"),
    "release_many": ("optimaldp.asking.previewing", "release_many"),
    "preview": ("optimaldp.asking.previewing", "preview"),
    "epsilon_for": ("optimaldp.asking.previewing", "epsilon_for"),
    "keys": ("optimaldp.questions.kinds.keys", "keys"),
    "mean": ("optimaldp.questions.kinds.mean", "mean"),
    "ratio": ("optimaldp.questions.kinds.ratio", "ratio"),
    "sum": ("optimaldp.questions.kinds.sum", "sum_"),
    "sum_": ("optimaldp.questions.kinds.sum", "sum_"),
    "report": ("optimaldp.reporting.report", "write_report"),
    "Release": ("optimaldp.asking.result", "Release"),
    "Preview": ("optimaldp.asking.preview_result", "Preview"),
}

__all__ = ["__version__", *_NAMES]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
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
