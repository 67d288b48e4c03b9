"""The referee of quantiles: a finding about a law from its public numbers alone, before data is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from optimaldp.certify.findings import Finding
from optimaldp.certify.quantile.real_level import problem_at_real_level
from optimaldp.certify.quantile.stand_ins import Law, problem_at_stand_ins
from optimaldp.privacy import ApproximateDP, level
from optimaldp.privacy.epsilon import Epsilon

_HALF = Fraction(1, 2)
_CHECKS = (
    "on all small tables of a grid, also without anybody, the law's own code gives what direct sums give, exactly",
    "there every shift of a block of cuts, which is all that one person can do, keeps to e^epsilon, exactly, and attains it",
    "with delta it is the derived law, and every event keeps to epsilon and delta",
    "at its real level, bins, weights and rank it agrees with direct sums to 100 bits",
    "the mechanism is one that is proven for these public numbers",
    "the sampler draws from the law: all short sequences of bits, and words next to the ends of bins",
)


@lru_cache(maxsize=256)
def examine(law: Law) -> Finding:
    """What the referee finds about *law*, a frozen ``QuantileLaw``. It sees no data, and the same law is examined once.

    **Guarantee.** A passed finding: the law is the smoothed rank, FLIP or FLIP+ of the theorems, at a level where it is proven
    private for every table, every replaced, added or removed person, with or without a value.
    """
    problem = _public_problem(law) or _code_problem(_template(law)) or problem_at_real_level(law)
    return Finding(False, (), problem) if problem else Finding(True, _CHECKS)


def examine_several(laws: Sequence[Law], promise: ApproximateDP) -> Finding:
    """Laws that are drawn one after the other: each passes, and together they spend no more than *promise*."""
    for law in laws:
        finding = examine(law)
        if not finding.private:
            return finding
    if sum(law.share for law in laws) > 1 or any(law.level.epsilon > promise.epsilon for law in laws):
        return Finding(False, (), "together the laws spend more than epsilon")
    if sum((law.level.delta for law in laws), Fraction(0)) > promise.delta:
        return Finding(False, (), "together the laws spend more than delta")
    return Finding(True, (*_CHECKS, "the parts of epsilon and delta add up to no more than the whole"))


@lru_cache(maxsize=64)
def _code_problem(template: Law) -> str:
    return problem_at_stand_ins(template)


def forget_code() -> None:
    """Examine the code of the laws anew: for whoever changes it while the process runs, or measures how long it takes."""
    _code_problem.cache_clear()


def _template(law: Law) -> Law:
    """What the examination at stand-in levels depends on: mode, share and whether people have levels of their own.

    The rank decides the heights of a table's cuts and nothing else; the real one is examined at the real level.
    """
    levels = None if law.levels is None else (Epsilon.read(1), Epsilon.read(2))[: len(law.levels)]
    loosest = level(1 if levels is None else max(levels))
    return replace(law, bins=4, rank=_HALF, level=loosest, weights=None, levels=levels)


def _public_problem(law: Any) -> str:
    """C10: everything that the law depends on is fixed and makes sense."""
    parameters = getattr(type(law), "__dataclass_params__", None)
    if parameters is None or not parameters.frozen:
        return "C10: the law could change between its examination and the draw"
    if not (isinstance(law.level, ApproximateDP) and law.level.is_single and not law.level.epsilon.infinite):
        return "C10: the level is not one finite (epsilon, delta)"
    if not (isinstance(law.bins, int) and law.bins >= 2 and 0 < law.rank <= 1 and 0 < law.share <= 1):
        return "C10: bins, rank or share make no question"
    if law.weights is not None and (len(law.weights) != law.bins or min(law.weights) <= 0):
        return "C10: weights are not one positive number for each bin"
    if law.levels is not None and (not law.levels or max(law.levels) > law.level.epsilon):
        return "C10: somebody's own level is looser than what is promised"
    return ""
