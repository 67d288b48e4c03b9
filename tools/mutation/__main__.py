"""make mutation: every fault of every target; make mutation-sample: as many, drawn at random, as two minutes allow."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tools.mutation.child import copy_tree, preload
from tools.mutation.mutants import Mutant, mutants_of
from tools.mutation.reach import Reach, measure
from tools.mutation.report import read_listed, summary, too_many
from tools.mutation.targets import ROOT, Target, read_targets
from tools.mutation.trial import TIMEOUT, Outcome, attempt, read_outcome

RESULTS = ROOT / "build" / "mutation"
_PATIENCE, _AT_LEAST = 10, 10.0  # a fault may take ten times as long as the tests without it, and ten seconds


@dataclass(frozen=True)
class Job:
    """A fault and the tests that reach it."""

    mutant: Mutant
    tests: list[str]
    most_seconds: float
    until: float = float("inf")
    """When the sample ends; a fault that is still being tried then is not counted."""


_tree: Path  # each worker's own copy


def _start_worker(folder: str) -> None:
    global _tree
    _tree = copy_tree(ROOT, Path(tempfile.mkdtemp(dir=folder)))


def _measure(target: Target, most_seconds: float) -> Reach | None:
    return measure(target, _tree, most_seconds=most_seconds)


def _try(job: Job) -> Outcome | None:
    seconds = min(job.most_seconds, max(job.until - time.monotonic(), 0))
    outcome = attempt(job.mutant, job.tests, _tree, most_seconds=seconds)
    return None if outcome.verdict == TIMEOUT and seconds < job.most_seconds else outcome


def _jobs(target: Target, reach: Reach, generator: random.Random | None, done: set[str]) -> Iterator[Job]:
    mutants = [mutant for path in target.sources for mutant in mutants_of(target.name, ROOT, path)]
    if generator:
        generator.shuffle(mutants)
    for mutant in mutants:
        tests = reach.tests_for(mutant)
        if mutant.key not in done:
            usual = sum(reach.seconds[test] for test in tests)
            yield Job(mutant, tests, _AT_LEAST + _PATIENCE * usual)


def run(jobs: Iterator[Job], pool: ProcessPoolExecutor, workers: int, until: float) -> Iterator[Outcome]:
    """Try faults until there are no more or the time is up; two wait for each worker, so that none is idle."""
    waiting: set[Future[Outcome | None]] = set()
    for job in jobs:
        if time.monotonic() > until:
            break
        waiting.add(pool.submit(_try, replace(job, until=until)))
        if len(waiting) >= 2 * workers:
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from filter(None, (future.result() for future in finished))
    yield from filter(None, (future.result() for future in waiting))


def read_results(path: Path) -> dict[str, Outcome]:
    """What earlier runs found, by the keys of the faults."""
    if not path.exists():
        return {}
    return {
        entry["key"]: read_outcome(entry) for entry in map(json.loads, path.read_text(encoding="utf-8").splitlines())
    }


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    targets, complaints = read_targets()
    print("\n".join(complaints), file=sys.stderr)
    generator = random.Random(options.seed) if options.seconds else None
    chosen = [
        one for one in targets if (one.name in options.package if options.package else one.sample or not generator)
    ]
    if generator:
        generator.shuffle(chosen)
        chosen = sorted(chosen, key=lambda one: not one.always)[: options.pick]  # stable: the rest stays shuffled
        print(f"seed {options.seed}: {', '.join(one.name for one in chosen)}", flush=True)
    results = RESULTS / ("sample.jsonl" if generator else "results.jsonl")
    results.parent.mkdir(parents=True, exist_ok=True)
    if generator or options.afresh:
        results.unlink(missing_ok=True)
    outcomes = _all(chosen, generator, options, results)
    listed = read_listed()
    text = summary(outcomes, listed)
    results.with_suffix(".txt").write_text(text + "\n", encoding="utf-8")
    print(text)
    if not outcomes:
        print("No fault was tried.", file=sys.stderr)
        return 1
    failed = too_many(outcomes, listed, options.most / 100, sure=0.99 if generator else 0.0)
    if failed:
        print(f"\nMore than {options.most:g} % of the faults survived unlisted.", file=sys.stderr)
    return int(failed)


@contextmanager
def _workers(count: int, folder: str) -> Iterator[ProcessPoolExecutor]:
    """Processes with a copy of the tree each; when this one is stopped, they stop and end what they started."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with ProcessPoolExecutor(count, multiprocessing.get_context("fork"), _start_worker, (folder,)) as pool:
        try:
            yield pool
        except BaseException:
            for worker in multiprocessing.active_children():
                worker.terminate()
            raise


def _outcomes(
    chosen: list[Target],
    generator: random.Random | None,
    options: argparse.Namespace,
    pool: ProcessPoolExecutor,
    done: set[str],
) -> Iterator[Outcome]:
    begin = time.monotonic()
    # More than half of a sample's time must be left for faults; of half a set of tests nothing could be concluded.
    limit = options.seconds * 0.45 or 3600
    for place, (target, reach) in enumerate(zip(chosen, pool.map(_measure, chosen, [limit] * len(chosen)))):
        if reach is None:
            print(f"{target.name}: its tests take longer than {limit:.0f} s here, so it is left out", flush=True)
            continue
        for test in reach.failing:
            print(f"{target.name}: {test} fails without any fault and is left out", file=sys.stderr)
        # Every target of a sample has its share of the time that is left, so that none eats it all.
        share = (begin + options.seconds - time.monotonic()) / (len(chosen) - place)
        until = time.monotonic() + share if options.seconds else float("inf")
        yield from run(_jobs(target, reach, generator, done), pool, options.workers, until)
        print(f"{target.name}: done after {time.monotonic() - begin:.0f} s", flush=True)


def _all(
    chosen: list[Target], generator: random.Random | None, options: argparse.Namespace, results: Path
) -> list[Outcome]:
    preload()
    known, outcomes = read_results(results), []
    with (
        tempfile.TemporaryDirectory(prefix="mutation-") as folder,
        results.open("a", encoding="utf-8") as record,
        _workers(options.workers, folder) as pool,
    ):
        for outcome in _outcomes(chosen, generator, options, pool, set(known)):
            record.write(json.dumps(outcome.to_json()) + "\n")
            record.flush()
            outcomes.append(outcome)
    current = {
        mutant.key for target in chosen for path in target.sources for mutant in mutants_of(target.name, ROOT, path)
    }
    return [one for key, one in known.items() if key in current] + outcomes


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.add_argument("package", nargs="*", help="targets of targets.toml; all if none is named")
    parser.add_argument("--seconds", type=float, default=0, help="draw faults at random for about as long")
    parser.add_argument("--seed", default="1", help="what the draw starts from")
    parser.add_argument("--pick", type=int, default=2, help="how many targets a sample looks at")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--most", type=float, default=100, help="fail if more per cent survive unlisted")
    parser.add_argument("--afresh", action="store_true", help="forget what earlier runs found")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
