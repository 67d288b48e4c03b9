"""One comparison: the same task, level and neighbours, ours against one peer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_SIGMAS = 5  # a right formula is refused by chance once in two million checks
_SIMILAR = 2.0  # times on a busy machine differ by this much for no reason
_EQUAL = 0.005  # ratios this close to 1 are called equal


class WrongModelError(Exception):
    """The formula for a peer does not agree with what the peer itself draws."""


@dataclass(frozen=True)
class Estimate:
    """A number that is known exactly, or drawn with an interval of 95 percent."""

    value: float
    spread: float = 0.0
    checked: bool = False
    """Whether an exact number was compared with draws of the peer's own code."""

    @property
    def exact(self) -> bool:
        return self.spread == 0


def drawn(values: Sequence[float]) -> Estimate:
    """The mean of draws, with 1.96 standard errors. Of a single draw nothing is known but itself."""
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return Estimate(mean, math.nan)
    variance = math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1)
    return Estimate(mean, 1.96 * math.sqrt(variance / len(values)))


def checked(value: float, draws: Sequence[float], who: str) -> Estimate:
    """The exact *value*, after the peer's own draws did not contradict it."""
    mean, count = math.fsum(draws) / len(draws), len(draws)
    variance = max(math.fsum((v - mean) ** 2 for v in draws) / count, value * value / count, 1 / count**2)
    if abs(mean - value) > _SIGMAS * math.sqrt(variance / count) + 2 * _SIGMAS / count:
        raise WrongModelError(f"{who}: the formula says {value:.6g}, {count} draws say {mean:.6g}")
    return Estimate(value, checked=True)


@dataclass(frozen=True)
class Comparison:
    """Ours and a peer's number for one task; smaller is better in every one of them."""

    study: str
    task: str
    peer: str
    ours: Estimate
    theirs: Estimate
    note: str = ""
    timed: bool = False
    missing: bool = False
    """Whether the peer could not be run here; the note says why."""

    @property
    def ratio(self) -> float:
        if self.theirs.value == 0:
            return 1.0 if self.ours.value == 0 else math.inf
        return self.ours.value / self.theirs.value

    @property
    def verdict(self) -> str:
        """``equal`` where the intervals meet or the ratio is 1 to half a percent; times from half to double are ``similar``."""
        if self.timed and 1 / _SIMILAR <= self.ratio <= _SIMILAR:
            return "similar"
        if math.isnan(self.theirs.spread):
            return "one draw of theirs"
        slack = self.ours.spread + self.theirs.spread + _EQUAL * abs(self.theirs.value)
        if abs(self.ours.value - self.theirs.value) <= slack:
            return "equal"
        return "better" if self.ours.value < self.theirs.value else "worse"

    def to_document(self) -> dict[str, Any]:
        """Plain values. Times depend on the machine, so of those only the ratio is kept."""
        found: dict[str, Any] = {"study": self.study, "task": self.task, "peer": self.peer}
        if self.missing:
            return found | {"ratio": "–", "verdict": f"not measured: {self.note}", "note": self.note}
        if not self.timed:
            found |= {"ours": _number(self.ours), "theirs": _number(self.theirs)}
        digits = 2 if self.timed else 4
        ratio = "inf" if math.isinf(self.ratio) else float(f"{self.ratio:.{digits}g}")
        return found | {"ratio": ratio, "verdict": self.verdict, "note": self.note}


def _number(estimate: Estimate) -> dict[str, Any]:
    shown: dict[str, Any] = {"value": float(f"{estimate.value:.6g}")}
    if math.isnan(estimate.spread):
        return shown | {"one_draw": True}
    if not estimate.exact:
        shown["plus_minus"] = float(f"{estimate.spread:.2g}")
    if estimate.checked:
        shown["checked_by_draws"] = True
    return shown
