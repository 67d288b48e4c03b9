"""The referee of noise that is drawn sparsely: values from a public *least* on are kept, of noise on every cell.

Each cell's noise is ``P(z) ~ theta^|z|``, independent of all others, and dropping what lies below *least* is
post-processing. One person more or less changes one cell's count by one, so the level is epsilon; a record that is replaced
changes two cells and costs 2 epsilon. What the sampler adds is a plan for the number of empty cells that survive, a
binomial number with ``p = theta^least / (1+theta)`` over *all* cells (those that are occupied are drawn again, by
themselves): this referee derives p anew and checks that the plan dominates that law, so that rejection draws it exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from optimaldp.certify.noise.recipe import NoiseVerdict
from optimaldp.errors import CertificateError
from optimaldp.privacy.balls import Ball, precision, sign
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.neighbours import Neighbours

_FIELDS = {"kind", "cells", "epsilon", "neighbours", "least", "survivors"}


def check_sparse_recipe(document: Mapping[str, Any]) -> NoiseVerdict:
    """Judge a recipe of sparse noise.

    **Guarantee.** An accepted recipe, followed with fair bits, draws exactly noise of the claimed level on every cell, cut
    below *least*.

    >>> check_sparse_recipe({"kind": "sparse-noise", "cells": 100, "epsilon": "ln(2)", "neighbours": "add-remove",
    ...                      "least": 3, "survivors": {"mode": 8, "width": 4}})
    NoiseVerdict(epsilon ln(2), add-remove, accepted)
    """
    if set(document) != _FIELDS or document["kind"] != "sparse-noise":
        raise CertificateError("recipe", sorted(document), f"does not have the fields {sorted(_FIELDS)}")
    cells, least, plan = document["cells"], document["least"], document["survivors"]
    for field, value, smallest in (
        ("cells", cells, 1),
        ("least", least, 1),
        ("mode", plan["mode"], 0),
        ("width", plan["width"], 1),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or value < smallest:
            raise CertificateError(field, value, f"is not an integer from {smallest} on")
    claimed, neighbours = Epsilon.read(document["epsilon"]), Neighbours(document["neighbours"])
    level = claimed if neighbours is Neighbours.ADD_REMOVE else claimed * 2
    objections = []
    if claimed.infinite or claimed.is_zero:
        objections.append("the noise has no proper law")
    elif claimed < level:
        objections.append(f"the noise keeps epsilon {level} only, and {claimed} was claimed")
    else:
        objections += _plan_objections(cells, claimed, least, plan["mode"], plan["width"])
    return NoiseVerdict(claimed, level, neighbours, tuple(objections))


def _plan_objections(cells: int, epsilon: Epsilon, least: int, mode: int, width: int) -> list[str]:
    objections = []
    if (
        mode > cells
        or _mode_gap(cells, epsilon, least, mode) < 0
        or (mode and _mode_gap(cells, epsilon, least, mode - 1) > 0)
    ):
        objections.append(f"{mode} is not a mode of the number of survivors")
    # Binomial weights are log-concave, so they halve again within every further width.
    for side, number in (("right", mode + width), ("left", mode - width)):
        if 0 <= number <= cells and not _halves(cells, epsilon, least, mode, number):
            objections.append(f"the weights do not halve within {width} steps to the {side} of the mode")
    return objections


def _mode_gap(cells: int, epsilon: Epsilon, least: int, number: int) -> int:
    """The sign of ``P(number) - P(number + 1)`` for the binomial law."""
    if epsilon.exact_ratio is not None:
        chance = _exact_chance(epsilon.exact_ratio, least)
        gap = (number + 1) * (1 - chance) - (cells - number) * chance
        return (gap > 0) - (gap < 0)

    # Otherwise e^epsilon is transcendental, and so are the odds: the difference is never 0.
    def difference() -> Ball:
        odds = _odds(epsilon, least)
        return (number + 1) - (cells - number) * odds

    return sign(difference)


def _exact_chance(ratio: Fraction, least: int) -> Fraction:
    return 1 / (ratio**least + ratio ** (least - 1))


def _odds(epsilon: Epsilon, least: int) -> Ball:
    """``p / (1 - p)`` with ``1/p = e^(least epsilon) + e^((least-1) epsilon)``."""
    growth = epsilon.exp()
    return 1 / (growth**least + growth ** (least - 1) - 1)


def _halves(cells: int, epsilon: Epsilon, least: int, mode: int, number: int) -> bool:
    """Whether ``P(number) <= P(mode) / 2``."""
    low, high = sorted((mode, number))
    with precision(320 + 4 * epsilon.leading_zeros + 2 * cells.bit_length()):
        # ln C(N, k) by Euler's beta function: C(N, k) = 1 / ((N+1) B(k+1, N-k+1)).
        growth = _log_beta(low + 1, cells - low + 1) - _log_beta(high + 1, cells - high + 1)
        change = growth + (high - low) * _odds(epsilon, least).log()
        return bool((change if number == high else -change) <= -Ball(2).log())


def _log_beta(a: int, b: int) -> Ball:
    return Ball(a).lgamma() + Ball(b).lgamma() - Ball(a + b).lgamma()
