"""Explore: what a level means for a question, before there is any data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import optimaldp as odp
from optimaldp.asking.checking import check_request
from optimaldp.asking.inside_groups import setting_inside
from optimaldp.asking.preview_result import Preview
from optimaldp.asking.previewing import preview_of
from optimaldp.asking.request import Request
from optimaldp.asking.result import epsilon_means, percent_up
from optimaldp.errors import InputError, NoMarginError
from optimaldp.laws.setting import Setting
from optimaldp.privacy import ApproximateDP, Neighbours
from optimaldp.privacy.balls import ball, precision
from optimaldp.questions.base import Question
from optimaldp.questions.kinds.threshold import Threshold
from optimaldp.questions.sheets import sheets as question_sheets
from optimaldp.studio.calls import read_fields
from optimaldp.studio.universe import boundary_view, level_sizes, small_view

_ASKED = ("question", "epsilon")
_OF_REQUEST = (
    "delta",
    "neighbours",
    "unit",
    "reduce",
    "reduce_order",
    "where",
    "by",
    "groups",
    "public_groups",
    "aim",
)
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
        "neighbours_words": request.neighbours.words,
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
        "neighbours_words": made.neighbours.words,
        "answers": list(request.question.answers or ()),
        "sentences": made.sentences(),
        "attacker": attacker(made.level),
        "phases": phases(request.question, made.level, made),
    }


def _read(fields: Mapping[str, Any]) -> tuple[Request, Mapping[str, int] | None]:
    """The request, and how many people have each level of their own."""
    sizes = level_sizes_of(fields.get("level_sizes"))
    options = {name: fields[name] for name in _OF_REQUEST if name in fields}
    return check_request(fields["question"], epsilon=fields["epsilon"], **options, personal=sizes is not None), sizes


def level_sizes_of(sizes: object) -> Mapping[str, int] | None:
    """How many people have each level of their own; ``None`` where nobody has one."""
    if sizes is not None and not isinstance(sizes, Mapping):
        raise InputError("level_sizes", sizes, "does not say how many people have each level", 'write {"0.2": 100}')
    return sizes or None


def estimate(body: Mapping[str, Any]) -> dict[str, Any]:
    """What sanitising these columns would be off, from public numbers alone."""
    from optimaldp.sanitising import estimate as estimated
    from optimaldp.sanitising.columns import read_columns
    from optimaldp.sanitising.splitting import read_marginals

    fields = read_fields(body, ("columns", "epsilon"), ("n", "neighbours", "marginals"))
    columns = read_columns(fields["columns"])
    tables = None if "marginals" not in fields else read_marginals(fields["marginals"], columns)
    options = {name: fields[name] for name in ("n", "neighbours") if name in fields}
    named = {column.name: column for column in columns}
    return estimated(named, epsilon=fields["epsilon"], **options, marginals=tables).to_document()


def epsilon(body: Mapping[str, Any]) -> dict[str, Any]:
    """Find epsilon: the least that makes the answer right as often as wanted at the wanted margin."""
    fields = read_fields(body, ("question", "accuracy", "margin", "n"), ("delta", "neighbours"))
    least = odp.epsilon_for(**fields)
    return {"epsilon": str(least), "words": _wanted_words(fields, least)}


def _wanted_words(fields: Mapping[str, Any], least: float) -> str:
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

    >>> from optimaldp.asking.promise import read_release_level
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
