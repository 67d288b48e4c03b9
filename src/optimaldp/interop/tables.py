"""A mechanism as a table: one row for each dataset, one column for each answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from optimaldp.errors import MissingExtraError
from optimaldp.privacy.numbers import fraction_text

if TYPE_CHECKING:
    from optimaldp.mechanisms import Mechanism

_DATASET = "dataset"


def to_pandas(mechanism: Mechanism, *, exact: bool = False) -> Any:
    """The probabilities as a pandas DataFrame, datasets as its index; floats, or with *exact* the rationals as text.

    >>> from optimaldp import design, graphs
    >>> made = design(graphs.votes(3), truth=graphs.majority, epsilon="ln(2)")
    >>> to_pandas(made.mechanism, exact=True).loc["111", "yes"]
    '5/6'
    """
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("pandas", "interop") from None
    cells = _texts(mechanism) if exact else mechanism.to_array()
    datasets = pd.Index(list(mechanism.datasets), tupleize_cols=False)  # a node that is a pair is one dataset
    return pd.DataFrame(cells, index=datasets, columns=list(mechanism.answers))


def to_polars(mechanism: Mechanism, *, exact: bool = False) -> Any:
    """The probabilities as a polars DataFrame whose first column, ``dataset``, holds the names; *exact* as for pandas.

    >>> from optimaldp import design, graphs
    >>> made = design(graphs.votes(3), truth=graphs.majority, epsilon="ln(2)")
    >>> to_polars(made.mechanism).columns
    ['dataset', 'yes', 'no']
    """
    try:
        import polars as pl
    except ImportError:
        raise MissingExtraError("polars", "interop") from None
    columns = zip(*_texts(mechanism)) if exact else mechanism.to_array().T
    taken = {_DATASET: list(mechanism.graph.names)}
    return pl.DataFrame(taken | {_free(name): list(column) for name, column in zip(mechanism.answers, columns)})


def _free(answer: str) -> str:
    """The name of an answer's column; an answer that is itself called like the first column gets a mark."""
    return f"{answer}_" if answer.rstrip("_") == _DATASET else answer


def _texts(mechanism: Mechanism) -> list[list[str]]:
    return [[fraction_text(p) for p in mechanism.rows.row(vertex)] for vertex in range(len(mechanism))]
