"""The process that tries the faults of one target: its tests are collected once, each fault is tried in a fork of it."""

from __future__ import annotations

import gc
import json
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from tools.mutation.child import Child, allow, import_all, live_in, wait_for
from tools.mutation.mutants import Mutant, change
from tools.mutation.reach import Reach, in_functions, is_named_for, measure
from tools.mutation.swap import Functions
from tools.mutation.targets import Target
from tools.mutation.trial import (
    KILLED,
    PYTEST_OPTIONS,
    SURVIVED,
    TIMEOUT,
    UNREACHED,
    NoShrinking,
    Outcome,
    noticed_by,
    until_one_fails,
)

_QUICK = 0.02  # seconds of a test that nobody has timed


@dataclass(frozen=True)
class Order:
    """What is to be tried, and how long."""

    target: Target
    mutants: list[Mutant]
    tree: Path
    notes: Path
    """Where it is kept which tests reach what."""
    workers: int = 1
    most_seconds: float = 20.0
    """Of tests for one fault: what the quickest tests of so many seconds do not notice has survived."""
    reach_seconds: float = 3600.0
    until: float = float("inf")
    """When to stop (monotonic); a fault that is still being tried then is not counted."""
    blind: bool = False
    """Whether every test is taken to reach every line: nothing is measured first, for few and quick tests."""


def serve(order: Order, send: Callable[[Reach | Outcome | str | None], None]) -> None:
    """Collect, measure the reach and try every fault; *send* gets the reach, the outcomes, and ``None`` at the end."""
    import pytest

    live_in(order.tree)
    loop = _Loop(order, send)
    options = [*PYTEST_OPTIONS, f"--basetemp={order.tree / 'temporary'}", "-k", order.target.keywords]
    code = pytest.main([*options, *order.target.tests], plugins=[loop, NoShrinking()])
    if code:
        send(f"{order.target.name}: pytest could not do it (exit {int(code)})")
    send(None)


class _Loop:
    """A plugin of pytest: in place of running the tests once, run them for each fault."""

    def __init__(self, order: Order, send: Callable[[Reach | Outcome | str | None], None]) -> None:
        self.order, self._send, self.ran = order, send, False

    def pytest_runtestloop(self, session: Any) -> bool:
        if session.testsfailed:
            return True
        self.ran = True
        order = self.order
        import_all(order.target.sources)
        functions = Functions(order.tree)
        session.config._tmp_path_factory.getbasetemp()  # one folder for all forks, in the tree, gone with it
        gc.freeze()  # forks share what is not touched
        reach = _blind_reach(order, session.items) if order.blind else _reach(order, session.items, functions)
        if reach is None:
            self._send(
                f"{order.target.name}: its tests take longer than {order.reach_seconds:.0f} s here, so it is left out"
            )
            return True
        self._send(reach)
        items = {item.nodeid: item for item in session.items}
        for outcome in _Trials(order, reach, items, functions).run():
            self._send(outcome)
        return True


def _blind_reach(order: Order, items: list[Any]) -> Reach:
    """Every test for every line; one that needs longer than it is given here is timed alone before its verdict counts."""
    names = [item.nodeid for item in items]
    lengths = {path: len((order.tree / path).read_text(encoding="utf-8").splitlines()) for path in order.target.sources}
    lines = {path: dict.fromkeys(range(1, length + 1), names) for path, length in lengths.items()}
    return Reach(lines, dict.fromkeys(names, _QUICK), [])


def _reach(order: Order, items: list[Any], functions: Functions) -> Reach | None:
    """Run each test alone in a fork; what is known of a file of tests is kept until it or the target changes."""
    reach, limit = Reach({}, {}, []), time.monotonic() + order.reach_seconds
    order.notes.mkdir(parents=True, exist_ok=True)
    for path in sorted({item.path for item in items}):
        own = [item for item in items if item.path == path]
        kept = order.notes / f"{order.target.name}-{path.stem}-{_digest(order, path, own)}.json"
        if not kept.exists():
            measured = _measured(own, order, functions, limit)
            if measured is None:
                return None
            kept.with_suffix(".new").write_text(json.dumps(measured), encoding="utf-8")
            kept.with_suffix(".new").rename(kept)
        for test, found in json.loads(kept.read_text(encoding="utf-8")).items():
            reach.add(test, found)
    return reach


def _measured(items: list[Any], order: Order, functions: Functions, limit: float) -> dict[str, Any] | None:
    """What each test reaches, or ``None`` if the time is up."""
    waiting = deque(items)
    running: dict[Child, tuple[str, Path]] = {}
    found: dict[str, Any] = {}
    try:
        while waiting or running:
            if time.monotonic() > limit:
                return None
            while waiting and len(running) < order.workers:
                item = waiting.popleft()
                result = order.tree / f"reach-{len(waiting)}.json"
                work = partial(_measure, item, order, functions, result)
                running[Child(work, seconds=600)] = item.nodeid, result
            left = wait_for(list(running))
            for child in [one for one in running if one not in left]:
                test, result = running.pop(child)
                found[test] = json.loads(result.read_text(encoding="utf-8")) if result.exists() else None
                result.unlink(missing_ok=True)
    finally:
        for child in running:
            child.stop()
    return found


def _measure(item: Any, order: Order, functions: Functions, result: Path, say: Callable[[str], None]) -> None:
    functions.forget_results()
    allow(order.most_seconds / 2)
    measure(item, order.target.sources, order.tree, result)


def _digest(order: Order, path: Path, items: list[Any]) -> str:
    """Of the target's files, a file of tests, which of them are run, and how long a test may take."""
    paths = [*(order.tree / source for source in order.target.sources), path]
    whole = (
        b"\0".join(one.read_bytes() for one in paths)
        + repr((order.most_seconds, [item.nodeid for item in items])).encode()
    )
    return sha256(whole).hexdigest()[:12]


class _Trials:
    """All faults of an order, several at a time."""

    def __init__(self, order: Order, reach: Reach, items: dict[str, Any], functions: Functions) -> None:
        self._order, self._reach, self._items, self._functions = order, reach, items, functions
        self._killers: dict[str, Counter[str]] = {}
        self._alone: dict[str, float] = {}

    def run(self) -> Iterator[Outcome]:
        mutants = deque(self._order.mutants)
        running: dict[Child, Mutant] = {}
        try:
            while (mutants or running) and time.monotonic() < self._order.until:
                while mutants and len(running) < self._order.workers:
                    mutant = mutants.popleft()
                    tests = self._tests(mutant)
                    if tests:
                        running[self._start(mutant, tests)] = mutant
                    else:
                        spoiled = change(self._order.tree, mutant)
                        yield Outcome(mutant, spoiled.before, spoiled.after, UNREACHED, 0.0)
                left = wait_for(list(running))
                for child in [one for one in running if one not in left]:
                    mutant = running.pop(child)
                    outcome = self._outcome(mutant, child)
                    if outcome:
                        yield outcome
                    else:
                        mutants.appendleft(mutant)
        finally:
            for child in running:
                child.stop()

    def _tests(self, mutant: Mutant) -> list[str]:
        """Those that reach it, up to the time that it may have: first those in a file that is named for its module, then those
        that noticed its neighbours, then the quickest."""
        reach, order = self._reach, self._order
        tests = reach.tests_for(mutant, order.tree)
        kills = self._killers.get(mutant.path, Counter()), self._killers.get(mutant.path + mutant.function, Counter())
        source = (order.tree / mutant.path).read_text(encoding="utf-8")
        if tests or mutant.first in in_functions(source):
            tests.sort(key=lambda test: (0.003 + reach.seconds[test]) / (1 + 3 * kills[0][test] + 20 * kills[1][test]))
        else:
            tests = reach.tests_for_import(mutant, order.tree)
        tests.sort(key=lambda test: not is_named_for(test, mutant.path))  # stable
        chosen: list[str] = []
        usual = 0.0
        for test in tests:
            usual += reach.seconds[test]
            if chosen and usual > order.most_seconds:
                break
            chosen.append(test)
        return chosen

    def _start(self, mutant: Mutant, tests: list[str]) -> Child:
        items = [self._items[test] for test in tests]
        usual = {test: max(self._reach.seconds[test], self._alone.get(test, 0)) for test in tests}
        tree, functions = self._order.tree, self._functions

        def work(say: Callable[[str], None]) -> None:
            spoiled = change(tree, mutant)
            say(spoiled.before)
            say(spoiled.after)
            for test in noticed_by(spoiled, items, usual, functions, tree):
                say(test)

        return Child(work, seconds=20 + 5 * sum(usual.values()))

    def _outcome(self, mutant: Mutant, child: Child) -> Outcome | None:
        """What became of it; ``None`` if a test that ran too long would do so alone and without any fault."""
        before, after, *tests = child.said
        by = tests[-1] if tests else "the fault itself"
        if child.too_long and by in self._items and by not in self._alone:
            self._alone[by] = self._seconds_alone(by)
            if self._alone[by] > self._reach.seconds[by]:
                return None
        for place in (mutant.path, mutant.path + mutant.function) if by else ():
            self._killers.setdefault(place, Counter())[by] += 1
        verdict = TIMEOUT if child.too_long else KILLED if by else SURVIVED
        return Outcome(mutant, before, after, verdict, round(child.seconds, 2), by)

    def _seconds_alone(self, test: str) -> float:
        """Of the processor, for a test whose neighbours have not computed and kept anything for it."""

        def work(say: Callable[[str], None]) -> None:
            self._functions.forget_results()
            for _ in until_one_fails([self._items[test]], {test: 100.0}):
                pass
            say(str(time.process_time()))

        child = Child(work, seconds=600)
        while wait_for([child]):
            pass
        return float(child.said[0]) if child.said else 100.0
