"""make mutation: every fault of every target; make mutation-sample: as many, drawn at random, as two minutes allow."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from tools.mutation.child import copy_tree, preload
from tools.mutation.mutants import Mutant, mutants_of
from tools.mutation.reach import Reach, measure
from tools.mutation.report import read_listed, summary, survival
from tools.mutation.targets import ROOT, Target, read_targets
from tools.mutation.trial import Outcome, attempt, read_outcome

RESULTS = ROOT / "build" / "mutation"
_PATIENCE, _AT_LEAST = 10, 10.0  # a fault may take ten times as long as the tests without it, and ten seconds


@dataclass(frozen=True)
class Job:
    """A fault and the tests that reach it."""

    mutant: Mutant
    tests: list[str]
    most_seconds: float


_tree: Path  # each worker's own copy


def _start_worker(folder: str) -> None:
    global _tree
    _tree = copy_tree(ROOT, Path(tempfile.mkdtemp(dir=folder)))


def _try(job: Job) -> Outcome:
    return attempt(job.mutant, job.tests, _tree, most_seconds=job.most_seconds)


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
    waiting: set[Future[Outcome]] = set()
    for job in jobs:
        if time.monotonic() > until:
            break
        waiting.add(pool.submit(_try, job))
        if len(waiting) >= 2 * workers:
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in finished)
    for future in waiting:
        if time.monotonic() < until or not future.cancel():
            yield future.result()


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
    rate = 100 * survival(outcomes, listed)
    if rate > options.most:
        print(f"\n{rate:.1f} % of the faults survived unlisted; at most {options.most:g} % may.", file=sys.stderr)
    return int(rate > options.most)


def _all(
    chosen: list[Target], generator: random.Random | None, options: argparse.Namespace, results: Path
) -> list[Outcome]:
    preload()
    begin, known = time.monotonic(), read_results(results)
    outcomes: list[Outcome] = []
    fork = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder, results.open("a", encoding="utf-8") as record:
        tree = copy_tree(ROOT, Path(folder) / "measured")
        with ProcessPoolExecutor(options.workers, fork, _start_worker, (folder,)) as pool:
            for number, target in enumerate(chosen, start=1):
                # Every target of a sample has its share of the time that is left, so that no target eats it all.
                left = options.seconds - (time.monotonic() - begin)
                until = time.monotonic() + left / (len(chosen) - number + 1) if options.seconds else float("inf")
                if options.seconds and left <= 0:
                    break
                reach = measure(target, tree)
                for test in reach.failing:
                    print(f"{target.name}: {test} fails without any fault and is left out", file=sys.stderr)
                for outcome in run(_jobs(target, reach, generator, set(known)), pool, options.workers, until):
                    record.write(json.dumps(outcome.to_json()) + "\n")
                    record.flush()
                    outcomes.append(outcome)
                print(
                    f"{target.name}: {sum(one.mutant.package == target.name for one in outcomes)} faults tried",
                    flush=True,
                )
    current = {
        mutant.key for target in chosen for path in target.sources for mutant in mutants_of(target.name, ROOT, path)
    }
    return [one for key, one in known.items() if key in current] + outcomes


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.add_argument("package", nargs="*", help="targets of targets.toml; all if none is named")
    parser.add_argument("--seconds", type=float, default=0, help="draw faults at random for about as long")
    parser.add_argument("--seed", default="1", help="what the draw starts from")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--most", type=float, default=100, help="fail if more per cent survive unlisted")
    parser.add_argument("--afresh", action="store_true", help="forget what earlier runs found")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
