"""make mutation: every fault of every target; make mutation-sample: as many, drawn at random, as two minutes allow."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from hashlib import sha256
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tools.mutation.child import copy_tree, preload
from tools.mutation.mutants import Mutant, mutants_of
from tools.mutation.reach import Reach
from tools.mutation.report import read_listed, summary, too_many
from tools.mutation.serve import Order, serve
from tools.mutation.targets import ROOT, Target, read_targets
from tools.mutation.trial import Outcome, read_outcome

RESULTS = ROOT / "build" / "mutation"


def read_results(path: Path) -> dict[str, Outcome]:
    """What earlier runs found, by the keys of the faults."""
    if not path.exists():
        return {}
    return {
        entry["key"]: read_outcome(entry) for entry in map(json.loads, path.read_text(encoding="utf-8").splitlines())
    }


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    sample = bool(options.seconds)
    targets, complaints = read_targets(sample=sample and not options.package)
    print("\n".join(complaints), file=sys.stderr)
    chosen = [one for one in targets if not options.package or one.name in options.package]
    if sample:
        random.Random(options.seed).shuffle(chosen)
        chosen = sorted(chosen, key=lambda one: not one.always)[: options.pick]  # stable: the rest stays shuffled
        print(f"seed {options.seed}: {', '.join(one.name for one in chosen)}", flush=True)
    results = RESULTS / ("sample.jsonl" if sample else "results.jsonl")
    results.parent.mkdir(parents=True, exist_ok=True)
    if sample or options.afresh:
        results.unlink(missing_ok=True)
    outcomes = _all(chosen, options, results)
    listed = read_listed()
    text = summary(outcomes, listed, {one.name: len(_mutants(one)) for one in chosen})
    results.with_suffix(".txt").write_text(text + "\n", encoding="utf-8")
    print(text)
    if not outcomes:  # a sample on a machine that is too busy says so and nothing else
        print("No fault was tried.", file=sys.stderr)
        return int(not sample)
    failed = too_many(outcomes, listed, options.most / 100, sure=0.99 if sample or options.draw else 0.0)
    if failed:
        print(f"\nMore than {options.most:g} % of the faults survived unlisted.", file=sys.stderr)
    return int(failed)


def _serve(order: Order, connection: Connection) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    silence = os.open(os.devnull, os.O_RDWR)
    os.dup2(silence, 1)  # pytest's own lines
    serve(order, connection.send)


def _try(order: Order) -> Iterator[Outcome]:
    """The outcomes of one target, from a process of its own."""
    receiving, sending = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_serve, args=(order, sending))
    process.start()
    sending.close()
    try:
        while (message := _next(receiving)) is not None:
            if isinstance(message, Outcome):
                yield message
            elif isinstance(message, Reach):
                for test in message.failing:
                    print(f"{order.target.name}: {test} fails without any fault and is left out", file=sys.stderr)
            else:
                print(message, flush=True)
    finally:
        process.terminate()
        process.join()


def _next(receiving: Connection) -> Any:
    try:
        return receiving.recv()
    except EOFError:  # it ended without a word
        return None


def _outcomes(chosen: list[Target], options: argparse.Namespace, known: dict[str, Outcome]) -> Iterator[Outcome]:
    begin = time.monotonic()
    for place, target in enumerate(chosen):
        mutants = _chosen_mutants(target, options, known)
        # Every target of a sample has its share of the time that is left, so that none eats it all.
        share = (begin + options.seconds - time.monotonic()) / (len(chosen) - place)
        with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
            order = Order(
                replace(target, tests=tuple(options.tests) or target.tests),
                mutants,
                copy_tree(ROOT, Path(folder)),
                RESULTS / "reach",
                options.workers,
                most_seconds=options.each,
                # More than half of a sample's time must be left for faults.
                reach_seconds=share * 0.45 if options.seconds else 3600,
                until=time.monotonic() + share if options.seconds else float("inf"),
                blind=options.blind,
            )
            yield from _try(order)
        print(f"{target.name}: done after {time.monotonic() - begin:.0f} s", flush=True)


@cache
def _mutants(target: Target) -> list[Mutant]:
    return [one for path in target.sources for one in mutants_of(target.name, ROOT, path)]


def _drawn(mutant: Mutant, seed: str) -> bytes:
    """A place in a random order that stays when other files change."""
    return sha256(f"{seed} {mutant.path} {mutant.operator} {mutant.occurrence}".encode()).digest()


def _chosen_mutants(target: Target, options: argparse.Namespace, known: dict[str, Outcome]) -> list[Mutant]:
    mutants = [one for one in _mutants(target) if one.path.startswith(tuple(options.only) or "")]
    if options.seconds or options.draw:
        mutants.sort(key=lambda one: _drawn(one, options.seed))
        mutants = mutants[: options.draw]  # a larger draw with the same seed holds the smaller one
    if options.survivors:
        return [one for one in mutants if one.key in known and known[one.key].alive]
    return [one for one in mutants if one.key not in known]


def _all(chosen: list[Target], options: argparse.Namespace, results: Path) -> list[Outcome]:
    preload()
    known = read_results(results)
    outcomes = dict(known)
    with results.open("a", encoding="utf-8") as record:
        for outcome in _outcomes(chosen, options, known):
            record.write(json.dumps(outcome.to_json()) + "\n")
            record.flush()
            outcomes[outcome.mutant.key] = outcome
    current = {mutant.key for target in chosen for mutant in _mutants(target)}
    return [one for key, one in outcomes.items() if key in current]


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.add_argument("package", nargs="*", help="targets of targets.toml; all if none is named")
    parser.add_argument("--seconds", type=float, default=0, help="draw faults at random for about as long")
    parser.add_argument("--seed", default="1", help="what the draw starts from")
    parser.add_argument("--pick", type=int, default=2, help="how many targets a sample looks at")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--most", type=float, default=100, help="fail if more per cent survive unlisted")
    parser.add_argument("--draw", type=int, help="so many faults of each target, drawn at random")
    parser.add_argument("--each", type=float, default=20, help="seconds of tests that one fault may have")
    parser.add_argument("--only", action="append", default=[], help="files, as src/optimaldp/...; a folder does too")
    parser.add_argument("--tests", action="append", default=[], help="tests in place of those of the target")
    parser.add_argument(
        "--blind", action="store_true", help="with --tests: all of them for each fault, none measured first"
    )
    parser.add_argument("--survivors", action="store_true", help="try those that survived once more")
    parser.add_argument("--afresh", action="store_true", help="forget what earlier runs found")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
