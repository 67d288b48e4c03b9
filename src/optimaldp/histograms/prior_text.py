"""Priors as text, so that a question, a ledger and a command line can name one: ``parse(write(prior)) == prior``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from optimaldp.errors import HistogramError
from optimaldp.histograms.independent import IndependentPrior, independent, poisson
from optimaldp.histograms.priors import CountPrior, DirichletPrior, MultinomialPrior, dirichlet, multinomial
from optimaldp.privacy.numbers import fraction_text

PLAIN = ("flat", "uniform")
_KINDS: Mapping[str, Callable[[Any], Any]] = {"dirichlet": dirichlet, "poisson": poisson, "independent": independent}
_CALL = re.compile(r"([a-z]+)\s*(?:\((.*)\)|:(.*))", re.DOTALL)
_FRACTION = re.compile(r"(\d+)/(\d+)")
_WAY_OUT = "write flat, uniform, [0.2, 0.8], dirichlet([1, 2]), poisson([5, 2]) or independent([[0.5, 0.5], [1, 2, 1]])"


def read_prior_text(text: str) -> Any:
    """A prior as :func:`~optimaldp.histograms.private_histogram` takes it.

    >>> read_prior_text("[1/3, 2/3]"), read_prior_text("'flat'"), read_prior_text("poisson([3, 0.5])").bins
    (['1/3', '2/3'], 'flat', 2)
    """
    plain = text.strip().strip("'\"")
    if plain in PLAIN:
        return plain
    called = _CALL.fullmatch(plain)
    kind, inside = (called[1], called[2] if called[2] is not None else called[3]) if called else ("", plain)
    try:
        values = json.loads(_FRACTION.sub(r'"\1/\2"', inside), parse_float=str)
    except json.JSONDecodeError:
        values = None
    if not isinstance(values, list) or (kind and kind not in _KINDS):
        raise HistogramError("prior", text, "is not a prior", _WAY_OUT)
    return _KINDS[kind](values) if kind else values


def write_prior(prior: Any) -> str:
    """The text of a prior.

    >>> write_prior(read_prior_text("dirichlet([1, 1/2])")), write_prior("flat")
    ('dirichlet([1, 0.5])', "'flat'")
    """
    if isinstance(prior, str):
        return f"'{prior}'"
    if isinstance(prior, DirichletPrior):
        return f"dirichlet({_numbers(prior.concentrations)})"
    if isinstance(prior, IndependentPrior):
        if prior.poisson_means:
            return f"poisson({_numbers(prior.poisson_means)})"
        return "independent([" + ", ".join("[" + ", ".join(map(repr, law)) + "]" for law in prior.laws) + "])"
    if isinstance(prior, MultinomialPrior):
        return _numbers(prior.probabilities)
    if isinstance(prior, CountPrior) or not hasattr(prior, "__len__"):
        raise HistogramError("prior", str(prior), "has no text", _WAY_OUT)
    return _numbers(multinomial(list(prior)).probabilities)


def _numbers(values: Any) -> str:
    return "[" + ", ".join(fraction_text(value) for value in values) + "]"
