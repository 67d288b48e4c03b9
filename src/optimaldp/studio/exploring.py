"""Explore: what a level means for a question, before there is any data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import optimaldp as odp
from optimaldp.asking.ask import FIELDS, READING_FIELDS, from_json
from optimaldp.asking.checking import check_ask
from optimaldp.asking.preview_result import Preview
from optimaldp.asking.previewing import preview_of, read_level_sizes
from optimaldp.asking.request import Request, setting_inside
from optimaldp.asking.result import epsilon_means, percent_up
from optimaldp.errors import InputError, NoMarginError
from optimaldp.laws.law import Setting, Table
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours
from optimaldp.privacy.balls import ball, precision
from optimaldp.questions.base import Question
from optimaldp.questions.kinds.compare import Compare
from optimaldp.questions.kinds.threshold import Threshold
from optimaldp.questions.kinds.winner import Winner
from optimaldp.questions.sheets import sheets as question_sheets
from optimaldp.studio.calls import read_fields

# Pictures of where a dataset can stand: all datasets of a few people, or the chains towards the boundary.


MOST_DATASETS = 128  # a larger universe is a blot on the screen
_CHAIN = 8  # steps of a chain that are drawn
_VALUES = "abcdefghijklmnopqrstuvwxyz"

Groups = tuple[tuple[Epsilon, ...], tuple[int, ...]]


def level_sizes(request: Request, sizes: Mapping[str, int] | None) -> Groups | None:
    """People's own levels in rising order with how many people have each; nobody's is above the level of the request."""
    if sizes is None:
        return None
    read = read_level_sizes(sizes, request.level.epsilon)
    return tuple(own for own, _ in read), tuple(people for _, people in read)


def small_view(request: Request, n: object, groups: Groups | None) -> dict[str, Any] | None:
    """Every dataset of *n* people with what would be answered, or ``None`` if there are too many of them."""
    question, level, neighbours = request.question, request.level, request.neighbours
    if request.groups is not None:
        return None
    persons = sum(groups[1]) if groups else n
    if not isinstance(persons, int) or persons < 1 or neighbours is not Neighbours.SUBSTITUTION:
        return None
    values = kinds(question)
    if not values or persons > 12 or len(values) ** persons > MOST_DATASETS:
        return None
    if groups is not None:
        return _personal_view(question, groups) if isinstance(question, Threshold) else None
    rows = {name: _position(question, level, neighbours, name, values) for name in _names(values, persons)}
    return _document(question, values, persons, rows)


def kinds(question: Question) -> str:
    """One letter for each way in which a person can count: y and n, or a, b, c … for options and bins; none if too many."""
    if isinstance(question, Threshold) and question.among is None:
        return "yn"
    if not isinstance(question, (Compare, Winner)) or question.answers is None or question.among is not None:
        return ""
    size = len(question.answers)
    return _VALUES[:size] if size <= len(_VALUES) else ""


def _names(values: str, persons: int) -> Iterator[str]:
    return map("".join, product(values, repeat=persons))


def _position(
    question: Question, level: ApproximateDP, neighbours: Neighbours, name: str, values: str
) -> dict[str, Any]:
    counts = tuple(name.count(value) for value in values)
    return _of_counts(question, level, neighbours, counts)


@cache
def _of_counts(
    question: Question, level: ApproximateDP, neighbours: Neighbours, counts: tuple[int, ...]
) -> dict[str, Any]:
    """The row that a release would sample from at these made-up counts."""
    with precision(96):
        mechanism = question.mechanism(Setting(level, neighbours, sum(counts)))
        law = mechanism.law(Table({cell: people for cell, people in enumerate(counts) if people}))
        row = [float(p) if isinstance(p, Fraction) else float(p.mid()) for p in law.probabilities()]
    answers = question.answers or ()
    moves = question.flips(question.read_counts(counts), neighbours)
    distance = None if moves == float("inf") else int(moves) - 1
    return {
        "row": dict(zip(answers, row)),
        "truth": answers[question.truth(question.read_counts(counts))],
        "distance": distance,
    }


def _document(question: Question, values: str, persons: int, rows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    names = list(rows)
    edges = [[name, other] for name in names for other in _neighbours(name, values) if name < other]
    paths = {} if isinstance(question, Winner) else _towards_boundary(rows, values)
    return {
        "kind": "datasets",
        "words": f"all {len(names)} datasets of {persons} people; each edge changes one person's value",
        "answers": list(question.answers or ()),
        "points": _layout(names, values),
        "edges": edges,
        "vertices": rows,
        "towards": paths,
    }


def _neighbours(name: str, values: str) -> Iterator[str]:
    for i, own in enumerate(name):
        yield from (name[:i] + other + name[i + 1 :] for other in values if other != own)


def _towards_boundary(rows: dict[str, dict[str, Any]], values: str) -> dict[str, str]:
    """For each dataset inside its region the next one on a shortest path to the boundary: where its bound comes from."""
    towards: dict[str, str] = {}
    for name, own in rows.items():
        if own["distance"]:
            nearer = (own["truth"], own["distance"] - 1)
            steps = (o for o in _neighbours(name, values) if (rows[o]["truth"], rows[o]["distance"]) == nearer)
            towards[name] = next(steps)
    return towards


def _layout(names: list[str], values: str) -> dict[str, list[float]]:
    """Layers by the number of people with the first value; each layer from top to bottom."""
    layers: dict[int, list[str]] = {}
    for name in names:
        layers.setdefault(name.count(values[0]), []).append(name)
    across = max(1, len(layers) - 1)
    return {
        name: [1 - layer / across, (i + 0.5) / len(inside)]
        for layer, inside in layers.items()
        for i, name in enumerate(inside)
    }


def _personal_view(question: Threshold, groups: Groups) -> dict[str, Any] | None:
    """The whole graph when every person has a level: the fair design, and who limits whom."""
    levels = [own for own, persons in zip(*groups) for _ in range(persons)]
    graph = odp.graphs.values(2, len(levels), levels=levels, names=["y", "n"])

    def truth(name: str) -> str:
        return "yes" if question.truth((name.count("y"), name.count("n"), 0)) == 0 else "no"

    if len({truth(name) for name in graph.names}) < 2:
        return None
    designed = odp.design(graph, truth, answers=["yes", "no"])
    assert designed.mechanism is not None
    assert designed.certificate is not None
    settling = designed.certificate.proof.settling
    assert settling is not None
    tree = settling.source.tolist()
    rows = {
        name: {
            "row": {a: float(p) for a, p in designed.mechanism[name].items()},
            "truth": truth(name),
            "distance": None,
        }
        for name in graph.names
    }
    document = _document(question, "yn", len(levels), rows)
    marks = ", ".join(f"{persons} with ε = {own}" for own, persons in zip(*groups))
    towards = {graph.names[v]: graph.names[u] for v, u in enumerate(tree) if u >= 0}
    return document | {"towards": towards, "words": f"{document['words']}; in order {marks}"}


def boundary_view(request: Request, n: object) -> dict[str, Any]:
    """One chain for each answer, by the distance from the boundary; the heads are joined where regions touch."""
    most = min(_CHAIN, max(1, n // 2)) if isinstance(n, int) and n > 0 else _CHAIN
    made = preview_of(request, margins=range(1, most + 1))
    answers = list(request.question.answers or ())
    shown = answers[:6]
    right = [1 - error for error in made.series[0][1]]
    return {
        "kind": "boundary",
        "words": "the boundary graph: one chain for each answer, by the distance from the boundary (0: one person decides)",
        "answers": shown,
        "more": max(0, len(answers) - len(shown)),
        "chains": dict.fromkeys(shown, right),
    }


_ASKED = ("question", "epsilon")
_OF_REQUEST = tuple(name for name in FIELDS if name not in (*_ASKED, "levels", "part", *READING_FIELDS))
_WITH = ("n", "level_sizes", *_OF_REQUEST)


def preview(body: Mapping[str, Any]) -> dict[str, Any]:
    """Error by margin next to the usual mechanisms, what it means in words, what an attacker gains, and the phases."""
    fields = read_fields(body, _ASKED, (*_WITH, "margins"))
    request, sizes = _read(fields)
    try:
        made = preview_of(request, n=fields.get("n"), margins=fields.get("margins"), level_sizes=sizes)
    except NoMarginError:
        return without_margin(request, fields.get("n"))
    return shown_preview(request, made) | {"snippet": _snippet(fields)}


def sheets(body: Mapping[str, Any]) -> dict[str, Any]:
    """Questions to fill in: what a page needs to draw the form of every kind."""
    read_fields(body, ())
    return {"sheets": [sheet.to_document() for sheet in question_sheets()]}


def without_margin(request: Request, n: object) -> dict[str, Any]:
    """What can be said of a question whose error does not depend on a margin: what its mechanism says of itself."""
    known = n if isinstance(n, int) and request.neighbours is Neighbours.SUBSTITUTION else None
    whole = Setting(request.level, request.neighbours, known, public_groups=request.public_groups)
    mechanism = request.question.mechanism(whole if request.groups is None else setting_inside(request))
    return {
        "question": str(request.question),
        "level": str(request.level),
        "neighbours_words": request.neighbours_words(),
        "error": None,
        "sentences": [mechanism.reliability()],
        "notes": list(request.notes()),
        "attacker": attacker(request.level),
        "phases": {"tau": [], "exact_from": None, "words": []},
    }


def shown_preview(request: Request, made: Preview) -> dict[str, Any]:
    """A preview as the pages draw it."""
    document = made.to_document()
    return document | {
        "error": document["error"] if made.margins else None,
        "level": str(made.level),
        "neighbours_words": request.neighbours_words(),
        "answers": list(request.question.answers or ()),
        "sentences": made.sentences(),
        "attacker": attacker(made.level),
        "phases": phases(request.question, made.level, made),
    }


def _read(fields: Mapping[str, Any]) -> tuple[Request, Mapping[str, int] | None]:
    """The request, and how many people have each level of their own."""
    sizes = level_sizes_of(fields.get("level_sizes"))
    ask = from_json(fields, remedy="correct the field", keys=False)
    return check_ask(ask, personal=sizes is not None), sizes


def level_sizes_of(sizes: object) -> Mapping[str, int] | None:
    """How many people have each level of their own; ``None`` where nobody has one."""
    if sizes is not None and not isinstance(sizes, Mapping):
        raise InputError("level_sizes", sizes, "does not say how many people have each level", 'write {"0.2": 100}')
    return sizes or None


def estimate(body: Mapping[str, Any]) -> dict[str, Any]:
    """What sanitising these columns would be off, from public numbers alone."""
    from optimaldp.questions.columns import read_columns
    from optimaldp.sanitising import estimate as estimated

    fields = read_fields(body, ("columns", "epsilon"), ("n", "neighbours", "marginals"))
    columns = read_columns(fields["columns"])
    options = {name: fields[name] for name in ("n", "neighbours", "marginals") if name in fields}
    named = {column.name: column for column in columns}
    return estimated(named, epsilon=fields["epsilon"], **options).to_document()


def epsilon(body: Mapping[str, Any]) -> dict[str, Any]:
    """Find epsilon: the least that makes the answer right as often as wanted at the wanted margin."""
    fields = read_fields(body, ("question", "n"), ("accuracy", "margin", "within", "delta", "neighbours"))
    if "within" not in fields:
        fields = read_fields(body, ("question", "accuracy", "margin", "n"), ("delta", "neighbours"))
    least = odp.epsilon_for(**fields)
    return {"epsilon": str(least), "words": _wanted_words(fields, least)}


def _wanted_words(fields: Mapping[str, Any], least: float) -> str:
    if "within" in fields:
        return f"epsilon {least:g} keeps the answer within {fields['within']} of the truth in 95 % of cases"
    accuracy, margin = (100 * float(Fraction(str(fields[name]))) for name in ("accuracy", "margin"))
    return f"epsilon {least:g} is right in {accuracy:.4g} % of cases when the margin is at least {margin:.4g} % of {fields['n']}"


def universe(body: Mapping[str, Any]) -> dict[str, Any]:
    """The graph of all datasets if it is small, else the boundary graph, with the probability of the right answer."""
    fields = read_fields(body, _ASKED, _WITH)
    request, sizes = _read(fields)
    small = small_view(request, fields.get("n"), level_sizes(request, sizes))
    return small or boundary_view(request, fields.get("n"))


def attacker(bound: ApproximateDP) -> dict[str, Any]:
    """The best guess of one person's yes or no, everybody else known: before, and at most after the answer was seen.

    Under (epsilon, delta) an even chance rises at most to ``(e^epsilon + delta) / (e^epsilon + 1)``: half of one plus the largest
    distance in total variation between neighbours, ``(e^epsilon - 1 + 2 delta) / (e^epsilon + 1)``.

    >>> from optimaldp.asking.request import read_release_level
    >>> attacker(read_release_level("ln(3)"))["after"]
    0.75
    """
    with precision(128):
        ratio = bound.epsilon.exp()
        after = min(1.0, float(((ratio + ball(bound.delta)) / (ratio + 1)).mid()))
    return {"before": 0.5, "after": after, "percent": percent_up(after), "words": epsilon_means(bound)}


def phases(question: Question, bound: ApproximateDP, made: Preview) -> dict[str, Any]:
    """tau of every prefix of the answers, and the steps of growth, decay and certainty in words."""
    exact = dict(made.reliable).get("0")
    if not made.margins:
        return {"tau": [], "exact_from": None, "words": []}
    if not isinstance(question, Threshold):
        return {"tau": [], "exact_from": exact, "words": [_end_words(exact)]}
    answers = 2
    with precision(192):
        rest = ball(1 - bound.delta) / (bound.epsilon.exp() + (answers - 1))
        tau = [float(bound.transition(1 - (answers - k) * rest)) for k in range(1, answers)]
    return {"tau": tau, "exact_from": exact, "words": _phase_words(tau, exact)}


def _phase_words(tau: Sequence[float], exact: int | None) -> list[str]:
    first = int(tau[0]) if tau else 0
    steps = "the first step" if first == 1 else f"each of the first {first} steps"
    growth = (
        f"the right answer's probability grows by the factor e^ε with {steps} from the boundary (τ = {first})"
        if first
        else "no phase of growth: the right answer starts with so much that its error decays at once (τ = 0)"
    )
    return [growth, "then the error falls by the factor e^(−ε) with each step", _end_words(exact)]


def _end_words(exact: int | None) -> str:
    if exact is None:
        return "with δ = 0 some error is left at every margin"
    return f"from a margin of {exact} on the answer is always right"


def _snippet(fields: Mapping[str, Any]) -> str:
    options = ", ".join(
        f"{name}={_literal(value)}" for name, value in fields.items() if name not in ("question", "margins")
    )
    return f"import optimaldp as odp\n\nshown = odp.preview({str(fields['question'])!r}, {options})\nprint(shown)\nshown.plot()\n"


def _literal(value: object) -> str:
    return repr(value if isinstance(value, (int, str, list, dict)) else str(value))
