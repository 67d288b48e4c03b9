"""Optimal mechanisms on graphs and leakage, against qif; composition, against dp-accounting."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.peers import libraries
from benchmarks.peers.record import Comparison, Estimate
from benchmarks.report import best_time
from optimaldp import design, graphs
from optimaldp.channels import (
    AnswerGraph,
    Channel,
    min_entropy_leakage,
    mutual_information,
    optimal_mechanism,
    posterior_guessing_entropy,
)
from optimaldp.ledger.composition.optimal import compose_optimal
from optimaldp.privacy import Bound, Epsilon

OPTIMUM = "Optimal mechanism on a graph"
LEAKAGE = "Leakage"
COMPOSITION = "Many releases together"
_LN2 = math.log(2)
_COST = "expected cost"


@dataclass(frozen=True)
class Sizes:
    """How many voters, how large a channel, how many releases, and how often each side is timed."""

    voters: tuple[int, ...]
    channel: int
    releases: int
    repeats: int


FULL = Sizes(voters=(3, 5, 7), channel=200, releases=100, repeats=5)
SAMPLE = Sizes(voters=(3,), channel=10, releases=5, repeats=1)


def comparisons(sizes: Sizes = FULL) -> Iterator[Comparison]:
    for name, graph in (
        ("ring of 6 answers", AnswerGraph.ring(6)),
        ("path of 24 answers", AnswerGraph.path(24)),
        ("grid of 4 × 5 answers", AnswerGraph.grid(4, 5)),
        ("tree of 15 answers", AnswerGraph.tree(2, 3)),
    ):
        yield from _answers(name, graph, sizes.repeats)
    for voters in sizes.voters:
        yield from _voters(voters, sizes.repeats)
    yield from _leakage(sizes.channel, sizes.repeats)
    yield from _composition(sizes.releases)


def _answers(name: str, graph: AnswerGraph, repeats: int) -> Iterator[Comparison]:
    """Uniform prior, cost 1 for a wrong answer, ε = ln 2."""
    size, steps = len(graph.vertices), np.asarray(graph.distances)
    prior = [1 / size] * size

    def theirs() -> Any:
        return libraries.qif_least_cost(prior, size, steps, _LN2, lambda a, b: float(a != b))

    cost = Estimate(1 - float(optimal_mechanism(graph, "ln(2)").utility))
    yield Comparison(OPTIMUM, f"{name}: {_COST}", "qif linear program", cost, Estimate(1 - np.trace(theirs()) / size))
    ours = best_time(lambda: optimal_mechanism(graph, "ln(2)"), repeats=repeats)
    yield _timed(OPTIMUM, f"{name}: time", "qif linear program", ours, best_time(theirs, repeats=repeats))


def _voters(voters: int, repeats: int) -> Iterator[Comparison]:
    """Majority of single votes: every dataset is a vertex. qif gets the same freedom as we do."""
    graph = graphs.votes(voters)
    names = list(graph.names)
    truth = ["yes" if 2 * name.count("1") > voters else "no" for name in names]
    steps = [[sum(x != y for x, y in zip(a, b)) for b in names] for a in names]
    prior = [1 / len(names)] * len(names)

    def theirs() -> Any:
        return libraries.qif_least_cost(prior, 2, steps, _LN2, lambda a, b: float((truth[a] == "yes") != (b == 0)))

    def ours() -> Any:
        return design(graphs.votes(voters), truth=graphs.majority, epsilon="ln(2)").mechanism

    made, rows = ours(), theirs()
    cost = 1 - sum(made.row(name)[wanted] for name, wanted in zip(names, truth)) / len(names)
    found = 1 - sum(rows[i][0 if wanted == "yes" else 1] for i, wanted in enumerate(truth)) / len(names)
    task = f"majority of {voters} single votes"
    yield Comparison(OPTIMUM, f"{task}: {_COST}", "qif linear program", Estimate(float(cost)), Estimate(float(found)))
    spent = best_time(ours, repeats=repeats), best_time(theirs, repeats=repeats)
    yield _timed(OPTIMUM, f"{task}: time", "qif linear program", *spent)


def _leakage(size: int, repeats: int) -> Iterator[Comparison]:
    import qif

    generator = np.random.default_rng(7)
    rows, prior = generator.random((size, size)), generator.random(size)
    rows, prior = rows / rows.sum(axis=1, keepdims=True), prior / prior.sum()
    channel, peer = Channel(rows), qif.measure
    pairs: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "min-entropy leakage": (
            lambda: min_entropy_leakage(channel, prior),
            lambda: peer.bayes_vuln.min_entropy_leakage(prior, rows),
        ),
        "mutual information": (
            lambda: mutual_information(channel, prior),
            lambda: peer.shannon.add_leakage(prior, rows),
        ),
        "guessing entropy": (
            lambda: posterior_guessing_entropy(channel, prior),
            lambda: peer.guessing.posterior(prior, rows),
        ),
    }
    for name, (ours, theirs) in pairs.items():
        task = f"{name}, {size} × {size}"
        yield Comparison(LEAKAGE, f"{task}: value", "qif", Estimate(float(ours())), Estimate(float(theirs())))
        yield _timed(
            LEAKAGE, f"{task}: time", "qif", best_time(ours, repeats=repeats), best_time(theirs, repeats=repeats)
        )


def _composition(count: int) -> Iterator[Comparison]:
    """The least ε of many releases at ε = 0.1 each, at a total δ of 1e-6."""
    from dp_accounting.pld import common, privacy_loss_distribution

    epsilon, delta = "0.1", Fraction(1, 10**6)

    def theirs() -> float:
        one = privacy_loss_distribution.from_privacy_parameters(common.DifferentialPrivacyParameters(0.1, 0.0))
        return float(one.self_compose(count).get_epsilon_for_delta(float(delta)))

    def ours() -> float:
        compose_optimal.cache_clear()
        return float(compose_optimal(Bound(Epsilon.read(epsilon), Fraction(0)), count, delta))

    task, peer = f"{count} releases at ε = 0.1, δ = 1e-6", "dp-accounting privacy-loss distribution"
    yield Comparison(COMPOSITION, f"{task}: ε of all", peer, Estimate(ours()), Estimate(theirs()))
    yield _timed(COMPOSITION, f"{task}: time", peer, best_time(ours), best_time(theirs))


def _timed(study: str, task: str, peer: str, ours: float, theirs: float) -> Comparison:
    return Comparison(study, task, peer, Estimate(ours), Estimate(theirs), timed=True)
