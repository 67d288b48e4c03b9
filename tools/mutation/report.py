"""The summary: how many survive in each package, and which."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable
from pathlib import Path

from tools.mutation.targets import HERE
from tools.mutation.trial import Outcome

Listed = dict[tuple[str, str, str, str], str]
_ANY = "*"  # whatever is changed in the line


def read_listed(path: Path = HERE / "equivalent.toml") -> Listed:
    """Survivors that were looked at, with their reasons."""
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("survivor", [])
    return {(e["package"], e["function"], e["before"], e.get("after", _ANY)): e["reason"] for e in entries}


def is_listed(outcome: Outcome, listed: Listed) -> bool:
    place = outcome.mutant.package, outcome.mutant.function, outcome.before
    return (*place, outcome.after) in listed or (*place, _ANY) in listed


def survival(outcomes: Iterable[Outcome], listed: Listed) -> float:
    """The share of faults that nobody noticed, without those that were looked at."""
    counted = [one for one in outcomes if not (one.alive and is_listed(one, listed))]
    return sum(one.alive for one in counted) / len(counted) if counted else 0.0


def too_many(outcomes: Iterable[Outcome], listed: Listed, most: float, *, sure: float) -> bool:
    """Whether more than the share *most* survive. For a sample: whether chance explains it with at most 1 - *sure*."""
    counted = [one for one in outcomes if not (one.alive and is_listed(one, listed))]
    alive, total = sum(one.alive for one in counted), len(counted)
    if alive <= most * total:
        return False
    # The probability that so many or more survive if each does with probability *most*.
    tail = sum(math.comb(total, k) * most**k * (1 - most) ** (total - k) for k in range(alive, total + 1))
    return sure == 0 or tail <= 1 - sure


def interval(alive: int, total: int) -> tuple[float, float]:
    """Where the share among all faults lies, with 95 %, if *alive* of *total* drawn at random survive (Wilson)."""
    z, share = 1.96, alive / total
    middle = share + z * z / (2 * total)
    reach = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return max(0.0, (middle - reach) / (1 + z * z / total)), min(1.0, (middle + reach) / (1 + z * z / total))


def summary(outcomes: list[Outcome], listed: Listed, sizes: dict[str, int] | None = None) -> str:
    """A table by package, then every survivor that is not listed. *sizes*: how many faults each package has at all."""
    packages = sorted({one.mutant.package for one in outcomes})
    rows = [
        _row(name, [one for one in outcomes if one.mutant.package == name], listed, (sizes or {}).get(name))
        for name in packages
    ]
    rows.append(_row("all", outcomes, listed, None))
    head = (
        "package",
        "faults",
        "of",
        "killed",
        "too long",
        "survived",
        "unreached",
        "listed",
        "unlisted",
        "95 % interval",
    )
    open_ones = [one for one in outcomes if one.alive and not is_listed(one, listed)]
    table = "\n".join(f"{row[0]:<10}" + "".join(f"{cell:>12}" for cell in row[1:]) for row in [head, *rows])
    stale = f"\n\n{len(open_ones)} survivors are not listed in equivalent.toml:\n\n" if open_ones else ""
    return (
        table
        + stale
        + "\n".join(str(one) for one in sorted(open_ones, key=lambda one: (one.mutant.path, one.mutant.first)))
    )


def _row(name: str, outcomes: list[Outcome], listed: Listed, size: int | None) -> tuple[str, ...]:
    count = {
        verdict: sum(one.verdict == verdict for one in outcomes)
        for verdict in ("killed", "timeout", "survived", "unreached")
    }
    known = sum(one.alive and is_listed(one, listed) for one in outcomes)
    rate = f"{100 * survival(outcomes, listed):.1f} %"
    drawn = len(outcomes) > known and size is not None and len(outcomes) < size
    low, high = interval(sum(one.alive for one in outcomes) - known, len(outcomes) - known) if drawn else (0.0, 0.0)
    between = f"{100 * low:.0f} to {100 * high:.0f} %" if drawn else ""
    return (name, str(len(outcomes)), str(size or ""), *map(str, count.values()), str(known), rate, between)
