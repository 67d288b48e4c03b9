"""One fault, tried in a fork: put it into the loaded code, run the tests that reach it, say what became of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tools.mutation.child import allow
from tools.mutation.mutants import Change, Mutant
from tools.mutation.swap import Functions, Spoiled, import_afresh

KILLED, SURVIVED, TIMEOUT, UNREACHED = "killed", "survived", "timeout", "unreached"
_ALIVE = (SURVIVED, UNREACHED)

PYTEST_OPTIONS = (
    *("-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov", "--capture=no"),
    *("-m", "not slow and not spark", "--hypothesis-seed=0"),
    *("--assert=plain", "--tb=native"),  # nobody reads why a test failed, so nothing is worked out for readers
)


@dataclass(frozen=True)
class Outcome:
    """What became of a fault. A fault that makes the tests run forever was noticed; one that no test runs was not."""

    mutant: Mutant
    before: str
    after: str
    verdict: str
    seconds: float
    by: str = ""
    """The test that noticed."""

    @property
    def alive(self) -> bool:
        return self.verdict in _ALIVE

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"key": self.mutant.key}

    def __str__(self) -> str:
        where = f"{self.mutant.path}:{self.mutant.first} {self.mutant.function} ({self.verdict})"
        return f"{where}\n    - {self.before}\n    + {self.after}"


def read_outcome(entry: dict[str, Any]) -> Outcome:
    """The inverse of :meth:`Outcome.to_json`."""
    mutant = Mutant(**entry["mutant"])
    return Outcome(mutant, *(entry[name] for name in ("before", "after", "verdict", "seconds", "by")))


Usual = dict[str, float]
_AT_LEAST, _TIMES = 1.0, 5  # seconds of the processor: with a fault a test may take five times as long as without


def noticed_by(change: Change, items: list[Any], usual: Usual, functions: Functions, tree: Path) -> Iterator[str]:
    """Each test before it is run, in the end an empty text if none fails. Spoils this process for good."""
    path = tree / change.path
    if functions.exchange(path, path.read_text(encoding="utf-8"), change.text):
        yield from until_one_fails(items, usual)
    else:
        yield "all of them"
        allow(5 + _TIMES * sum(usual[item.nodeid] for item in items))
        yield from _until_one_fails_afresh([item.nodeid for item in items], Spoiled(tree, path, change.text), tree)


def until_one_fails(items: list[Any], usual: Usual) -> Iterator[str]:
    """Run the collected tests *items*, each within its time."""
    from _pytest.runner import runtestprotocol

    for item, following in zip(items, [*items[1:], None]):
        yield item.nodeid
        allow(_AT_LEAST + _TIMES * usual[item.nodeid])
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            return
    yield ""


def _until_one_fails_afresh(names: list[str], spoiled: Spoiled, tree: Path) -> Iterator[str]:
    """The same, with everything imported again: also a test that can no longer be imported has noticed."""
    import pytest

    import_afresh(tree)
    sys.meta_path.insert(0, spoiled)
    outcome = _Failures()
    code = pytest.main([*PYTEST_OPTIONS, "-x", *names], plugins=[outcome, NoShrinking()])
    yield (outcome.names or ["the import"])[0] if code not in (0, 5) else ""


class _Failures:
    """A plugin of pytest: which tests failed."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.names.append(report.nodeid)


class NoShrinking:
    """A plugin of pytest: that a test fails is all we want to know, not the simplest example."""

    def pytest_collection(self) -> None:
        from hypothesis import Phase, settings

        settings.register_profile("mutation", deadline=None, database=None, phases=(Phase.explicit, Phase.generate))
        settings.load_profile("mutation")
