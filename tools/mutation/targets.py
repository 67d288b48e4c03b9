"""What is mutated and what has to notice: targets.toml, with its patterns resolved."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@dataclass(frozen=True)
class Target:
    """A package under test: its files and its tests, as paths below the root of the tree."""

    name: str
    sources: tuple[str, ...]
    tests: tuple[str, ...]
    keywords: str = ""
    """Which of the tests, as pytest's -k says it: whatever starts a server would start one in each fork."""
    always: bool = False
    """Whether every sample looks at it."""


def read_targets(
    root: Path = ROOT, table: Path = HERE / "targets.toml", *, sample: bool = False
) -> tuple[list[Target], list[str]]:
    """The targets that exist, and a line for each pattern that matches nothing.

    For a sample: only what it can look at within its two minutes, which may be some files and the quickest of their tests.
    """
    targets, complaints = [], []
    for name, whole in tomllib.loads(table.read_text(encoding="utf-8")).items():
        quick = whole.get("sample", True)
        if sample and quick is False:
            continue
        entry = whole | quick if sample and isinstance(quick, dict) else whole
        folder = root / "src" / "optimaldp"
        left_out = set(_matches(folder, entry.get("without", [])))
        sources = [path for path in _matches(folder, entry["sources"]) if path not in left_out]
        tests = _matches(root / "tests", entry["tests"])
        if sources and tests:
            options = entry.get("keywords", ""), entry.get("always", False)
            targets.append(Target(name, _below(root, sources), _below(root, tests), *options))
        else:
            complaints.append(f"{name}: no {'tests' if sources else 'sources'} match, so it is left out")
    return targets, complaints


def _matches(folder: Path, patterns: Iterable[str]) -> list[Path]:
    paths = {path for pattern in patterns for path in folder.glob(pattern)}
    return sorted(path for path in paths if "__pycache__" not in path.parts)


def _below(root: Path, paths: Iterable[Path]) -> tuple[str, ...]:
    return tuple(path.relative_to(root).as_posix() for path in paths)
