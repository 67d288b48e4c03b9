"""Mechanisms and questions as OpenDP measurements, to be chained and composed there (``pip install 'optimaldp[opendp]'``).

OpenDP cannot check a measurement that comes from outside, so it wants ``enable_features("contrib", "honest-but-curious")``. The
promise that it takes on trust is the one that the referee has checked here: only what :mod:`optimaldp.certify` has passed
becomes a measurement. Answers are drawn by :mod:`optimaldp.sampling`, exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from optimaldp.errors import InputError, LevelError, MissingExtraError, NotCertifiedError, OptimalDPError
from optimaldp.privacy import ApproximateDP, Bound, Level, Neighbours
from optimaldp.privacy.balls import ball, precision, upper
from optimaldp.privacy.numbers import is_whole
from optimaldp.sampling import SystemBits, choose

if TYPE_CHECKING:
    from optimaldp.asking.ask import LevelLike
    from optimaldp.graphs import DatasetGraph
    from optimaldp.mechanisms import Mechanism
    from optimaldp.questions.base import Question

_BITS = 96


def mechanism_measurement(mechanism: Mechanism) -> Any:
    """A designed mechanism as an OpenDP measurement from the name of a dataset to an answer.

    **Guarantee.** Datasets at distance 1 are neighbours in the mechanism's graph; the map gives the weakest level of its edges,
    and for larger distances what follows by going from neighbour to neighbour, rounded up. The rows are checked first, exactly.

    >>> import opendp.prelude as dp
    >>> from optimaldp import design, graphs
    >>> dp.enable_features("contrib", "honest-but-curious")
    >>> made = design(graphs.votes(3), truth=graphs.majority, epsilon=1)
    >>> mechanism_measurement(made.mechanism).map(2)
    2.0
    """
    from optimaldp.certify.graphs.verdict import verify  # with numpy

    library = _library()
    verdict = verify(mechanism)
    if not verdict.private:
        raise NotCertifiedError(f"the mechanism is not private and cannot become a measurement: {verdict.reason}")
    bound = _weakest(mechanism.graph.levels)
    numbers = mechanism.graph.numbers

    def member(dataset: object) -> bool:
        return isinstance(dataset, str) and dataset in numbers

    def draw(dataset: Any) -> str:
        if not member(dataset):
            raise InputError("dataset", "the input", "is not the name of a dataset of this mechanism")
        return mechanism.answers[choose(mechanism.rows.row(numbers[dataset]), SystemBits())]

    space = library.user_domain(*_named(mechanism.graph, member)), library.user_distance(_metric_words(mechanism.graph))
    return _measurement(library, space, bound, draw)


def _named(graph: DatasetGraph, member: Callable[[Any], bool]) -> tuple[str, Callable[[Any], bool]]:
    """OpenDP takes two domains for one if they have the same words, so the words name the datasets by a digest."""
    return f"{len(graph)} datasets {_digest(*map(repr, graph.names))}", member


def _metric_words(graph: DatasetGraph) -> str:
    ends = sorted((min(u, v), max(u, v)) for u, v in zip(graph.tails.tolist(), graph.heads.tolist()))
    return f"edges between two datasets {_digest(*map(repr, graph.names), *map(repr, ends))}"


def _digest(*parts: str) -> str:
    return sha256("\n".join(parts).encode()).hexdigest()[:32]


def question_measurement(
    question: Question | str,
    *,
    epsilon: LevelLike,
    delta: LevelLike = 0,
    neighbours: str | Neighbours = Neighbours.SUBSTITUTION,
    persons: int | None = None,
) -> Any:
    """A question at a level as an OpenDP measurement from the counts of its tally to an answer.

    **Guarantee.** The answer is (epsilon, delta)-DP for one move of the *neighbours*, and the map says what k moves cost. With
    ``"add-remove"`` (one person appears or disappears) the input is a vector of counts under the L1 distance, so it can follow
    ``then_count_by_categories``. With ``"substitution"`` (one record is replaced) the number of *persons* is public and has to
    be given; the input is a list of counts with that total, and the distance is the number of people replaced.

    >>> import opendp.prelude as dp
    >>> dp.enable_features("contrib", "honest-but-curious")
    >>> asked = question_measurement("winner(x, ['a', 'b'])", epsilon=1, neighbours="add-remove")
    >>> asked([900, 100, 0]), asked.map(1)
    ('a', 1.0)
    """
    from optimaldp.asking.ask import Ask
    from optimaldp.asking.corridor import withhold_details
    from optimaldp.certify.core.referee import certify
    from optimaldp.laws.law import Setting, Table

    library = _library()
    request = Ask(question, epsilon, delta, neighbours=neighbours).request()
    asked, level, relation = request.question, request.level, request.neighbours
    known = persons if relation is Neighbours.SUBSTITUTION else None
    prepared = certify(asked.mechanism(Setting(level, relation, known))).mechanism
    open_total = relation is Neighbours.ADD_REMOVE
    space = _count_vectors(library) if open_total else _counts_of(library, asked, _read_persons(persons))

    def draw(counts: Sequence[int]) -> Any:
        # OpenDP's vectors of integers hold negative ones; raising them to 0 brings no two vectors further apart.
        clipped = [max(0, count) for count in counts] if open_total else list(counts)
        if not open_total and sum(clipped) != persons:
            raise InputError("counts", "the input", "does not add up to the public number of persons")
        asked.read_counts(clipped)
        table = Table({cell: count for cell, count in enumerate(clipped) if count})
        return withhold_details(lambda: prepared.draw(table, SystemBits()))

    return _measurement(library, space, level.forward[0], draw)


def _library() -> Any:
    try:
        import opendp.prelude as library
    except ImportError:
        raise MissingExtraError("opendp", "opendp") from None
    return library


def _count_vectors(library: Any) -> tuple[Any, Any]:
    return library.vector_domain(library.atom_domain(T=int)), library.l1_distance(T=int)


def _counts_of(library: Any, question: Question, persons: int) -> tuple[Any, Any]:
    def member(counts: Any) -> bool:
        try:
            question.read_counts(counts)
            return bool(sum(counts) == persons)
        except (OptimalDPError, TypeError):
            return False

    description = f"counts of {persons} people for {question}"
    return library.user_domain(description, member), library.user_distance("persons whose record is replaced")


def _read_persons(persons: object) -> int:
    if not is_whole(persons, 0):
        rule = "is not the number of people, which is public when one record is replaced"
        raise InputError("persons", persons, rule, "give persons=1000, or neighbours='add-remove'")
    return persons


def _measurement(library: Any, space: tuple[Any, Any], bound: Bound, draw: Callable[[Any], Any]) -> Any:
    measure = library.max_divergence()
    if bound.delta:
        measure = library.approximate(measure)

    def privacy_map(distance: Any) -> Any:
        epsilon, delta = group_bound(bound, int(distance))
        return (epsilon, delta) if bound.delta else epsilon

    return library.m.make_user_measurement(*space, measure, draw, privacy_map)


def _weakest(levels: Sequence[Level]) -> Bound:
    """One (epsilon, delta) that every edge keeps, in both directions."""
    single = [level for level in levels if isinstance(level, ApproximateDP) and level.is_single]
    if len(single) < len(levels) or not single:
        rule = "cannot be told to OpenDP, which speaks of one epsilon and one delta"
        raise LevelError("level", str(next((one for one in levels if one not in single), None)), rule)
    return Bound(max(level.epsilon for level in single), max(level.delta for level in single))


def group_bound(bound: Bound, distance: int) -> tuple[float, float]:
    """What *distance* moves cost together, rounded up: k epsilon, and delta times the sum of ``e^(i epsilon)`` for i < k.

    >>> from optimaldp.privacy import Epsilon
    >>> group_bound(Bound(Epsilon.read("ln(2)"), Fraction(1, 16)), 3)[1]
    0.4375
    """
    from optimaldp.designing.large import float_above

    if distance <= 0:
        return 0.0, 0.0
    if bound.epsilon.infinite:
        return float("inf"), float_above(bound.delta) if distance == 1 or not bound.delta else 1.0
    with precision(_BITS):
        epsilon = upper((bound.epsilon * distance).ball())
        if not bound.delta:
            return float_above(epsilon), 0.0
        growth, total, ratio = ball(1), ball(0), bound.epsilon.exp()
        for _ in range(distance):
            total, growth = total + growth, growth * ratio
            if total * ball(bound.delta) > 1:
                return float_above(epsilon), 1.0
        return float_above(epsilon), float_above(min(Fraction(1), upper(total * ball(bound.delta))))
