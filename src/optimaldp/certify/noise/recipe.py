"""The referee of histogram noise: proves a level from the recipe that the sampler follows.

A recipe draws a total T with weights ``C(K-1+T, T)^copies r^T`` and writes it as a uniform weak composition into K bins.

*One shared total, two copies*: ``z = A - B`` with two compositions of the same T. A given z with ``|z|_1 = 2d`` arises
from T = d + m in ``C(K-1+m, m)`` ways, each of weight ``r^(d+m)``, so ``P(z) = c r^d sum_m C(K-1+m, m) r^m = c'
r^(|z|_1/2)`` on the vectors with sum 0.
*Two totals, one copy each*: every bin gets a difference of two geometric numbers, ``P(z) = c r^(|z|_1)`` on all vectors.

The noise does not depend on the data, so c' is the same for every histogram, and only the change of ``|z|_1`` between
neighbours counts: at most 2 when a record is replaced, at most 1 when a person appears or disappears (and then the sum of
the histogram changes, which noise with sum 0 would betray). Nothing here is shared with the code that makes the recipes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from optimaldp.errors import CertificateError
from optimaldp.privacy.balls import Ball, precision, sign
from optimaldp.privacy.epsilon import INFINITE, Epsilon
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.results import Result

_FIELDS = {"kind", "bins", "epsilon", "neighbours", "shared_total", "totals"}
_PLAN_FIELDS = {"ratio_epsilon", "copies", "mode", "width"}


@dataclass(frozen=True, repr=False)
class NoiseVerdict(Result):
    """What the referee found: the true level, whether it keeps the claim, and whether the plan draws what it says."""

    claimed: Epsilon
    level: Epsilon
    neighbours: Neighbours
    objections: tuple[str, ...]

    @property
    def private(self) -> bool:
        """Whether the noise keeps the level that was claimed (more noise than needed does, too)."""
        return self.level <= self.claimed

    @property
    def accepted(self) -> bool:
        """Whether the level is exactly the one claimed and the plan is sound."""
        return not self.objections

    def summary(self) -> str:
        word = "accepted" if self.accepted else "rejected: " + self.objections[0]
        return f"NoiseVerdict(epsilon {self.level}, {self.neighbours.value}, {word})"

    def to_document(self) -> dict[str, Any]:
        return {
            "claimed_epsilon": str(self.claimed),
            "epsilon": str(self.level),
            "neighbours": self.neighbours.value,
            "private": self.private,
            "accepted": self.accepted,
            "objections": list(self.objections),
        }


def check_recipe(document: Mapping[str, Any]) -> NoiseVerdict:
    """Judge a recipe of histogram noise.

    **Guarantee.** An accepted recipe, followed with fair bits, draws noise whose least epsilon is exactly the claimed one.

    >>> plan = {"ratio_epsilon": "ln(2)", "copies": 2, "mode": 2, "width": 4}
    >>> check_recipe({"kind": "histogram-noise", "bins": 2, "epsilon": "ln(2)", "neighbours": "substitution",
    ...               "shared_total": True, "totals": plan})
    NoiseVerdict(epsilon ln(2), substitution, accepted)
    """
    plan = _read(document)
    claimed, neighbours = Epsilon.read(document["epsilon"]), Neighbours(document["neighbours"])
    decay, copies = Epsilon.read(plan["ratio_epsilon"]), plan["copies"]
    shared = document["shared_total"]
    if (shared, copies) not in {(True, 2), (False, 1)}:
        objection = f"{copies} copies with {'one shared total' if shared else 'two totals'} make no known noise"
        return NoiseVerdict(claimed, INFINITE, neighbours, (objection,))
    # P(z) ~ e^(-decay |z|_1 / 2) on the vectors with sum 0 (shared), or e^(-decay |z|_1) on all: what one person can change.
    replaced, added = (decay, INFINITE) if shared else (decay * 2, decay)
    level = replaced if neighbours is Neighbours.SUBSTITUTION else added
    objections = _plan_objections(document["bins"], decay, plan)
    if claimed < level:
        objections.insert(0, f"the noise keeps epsilon {level} only, and {claimed} was claimed")
    elif level < claimed:
        objections.insert(0, f"the noise keeps epsilon {level} already, so it is larger than {claimed} needs")
    return NoiseVerdict(claimed, level, neighbours, tuple(objections))


def _read(document: Mapping[str, Any]) -> Mapping[str, Any]:
    if set(document) != _FIELDS or document["kind"] != "histogram-noise":
        raise CertificateError("recipe", sorted(document), f"does not have the fields {sorted(_FIELDS)}")
    plan = document["totals"]
    if set(plan) != _PLAN_FIELDS:
        raise CertificateError("totals", sorted(plan), f"does not have the fields {sorted(_PLAN_FIELDS)}")
    for field, value, least in (
        ("bins", document["bins"], 1),
        ("copies", plan["copies"], 1),
        ("mode", plan["mode"], 0),
        ("width", plan["width"], 1),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise CertificateError(field, value, f"is not an integer from {least} on")
    return dict(plan)


def _plan_objections(bins: int, decay: Epsilon, plan: Mapping[str, Any]) -> list[str]:
    """Whether blocks of weights around the mode dominate the law: then rejection draws it exactly."""
    copies, mode, width = plan["copies"], plan["mode"], plan["width"]
    if decay.infinite or decay.is_zero:
        return ["the totals have no proper law"]
    problems = []
    if not _falls(bins, decay, copies, mode) or (mode and _falls(bins, decay, copies, mode - 1, strictly=True)):
        problems.append(f"{mode} is not a mode of the totals")
    # The weights are log-concave: once halved they halve again within every further width, so one look a side is enough.
    for side, total in (("right", mode + width), ("left", mode - width)):
        if total >= 0 and not _halves(bins, decay, copies, mode, total):
            problems.append(f"the weights do not halve within {width} steps to the {side} of the mode")
    return problems


def _falls(bins: int, decay: Epsilon, copies: int, total: int, *, strictly: bool = False) -> bool:
    """Whether the weight of ``total + 1`` is at most (or below) that of ``total``; these quotients fall in T
    (log-concavity)."""
    growth = Fraction(bins + total, total + 1) ** copies
    bound = Epsilon(Fraction(0), max(Fraction(1), growth))
    return bound < decay if strictly else bound <= decay


def _halves(bins: int, decay: Epsilon, copies: int, mode: int, total: int) -> bool:
    low, high = sorted((mode, total))
    span = high - low
    if span <= 64:
        quotient = Fraction(1)
        for step in range(low, high):
            quotient *= Fraction(bins + step, step + 1) ** copies
        larger = quotient if total > mode else 1 / quotient
        return _scaled_at_most(larger, decay, span if total > mode else -span)
    # The four logarithms are about as long as the totals, and what is left of them is about 1.
    with precision(192 + 2 * (total + bins).bit_length()):
        growth = (
            Ball(bins + total).lgamma()
            - Ball(total + 1).lgamma()
            - Ball(bins + mode).lgamma()
            + Ball(mode + 1).lgamma()
        )
        return bool(copies * growth - (total - mode) * decay.ball() <= -Ball(2).log())


def _scaled_at_most(quotient: Fraction, decay: Epsilon, steps: int) -> bool:
    """Whether ``quotient e^(-steps decay) <= 1/2``, exactly."""
    plain, ratio = decay.finite_parts
    scaled = 2 * quotient / ratio**steps
    if plain == 0:
        return scaled <= 1
    # The logarithm of a rational is 0 or irrational, and this power is neither: the sign shows at some precision.
    power = steps * plain
    return (
        sign(lambda: Ball(power.numerator) / power.denominator - (Ball(scaled.numerator) / scaled.denominator).log())
        > 0
    )
