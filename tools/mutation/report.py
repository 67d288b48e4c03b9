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


def summary(outcomes: list[Outcome], listed: Listed) -> str:
    """A table by package, then every survivor that is not listed."""
    packages = sorted({one.mutant.package for one in outcomes})
    rows = [_row(name, [one for one in outcomes if one.mutant.package == name], listed) for name in packages]
    rows.append(_row("all", outcomes, listed))
    head = ("package", "faults", "killed", "too long", "survived", "unreached", "of these listed", "unlisted rate")
    open_ones = [one for one in outcomes if one.alive and not is_listed(one, listed)]
    table = "\n".join(f"{row[0]:<10}" + "".join(f"{cell:>17}" for cell in row[1:]) for row in [head, *rows])
    stale = f"\n\n{len(open_ones)} survivors are not listed in equivalent.toml:\n\n" if open_ones else ""
    return (
        table
        + stale
        + "\n".join(str(one) for one in sorted(open_ones, key=lambda one: (one.mutant.path, one.mutant.first)))
    )


def _row(name: str, outcomes: list[Outcome], listed: Listed) -> tuple[str, ...]:
    count = {
        verdict: sum(one.verdict == verdict for one in outcomes)
        for verdict in ("killed", "timeout", "survived", "unreached")
    }
    known = sum(one.alive and is_listed(one, listed) for one in outcomes)
    rate = f"{100 * survival(outcomes, listed):.1f} %"
    return (name, str(len(outcomes)), *map(str, count.values()), str(known), rate)
