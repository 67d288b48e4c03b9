"""Explore: what a level means for a question, before there is any data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import optimaldp as odp
from optimaldp.asking.previewing import Preview, display_float
from optimaldp.asking.promise import read_level
from optimaldp.asking.result import epsilon_means, percent_up
from optimaldp.errors import InputError, QuestionError
from optimaldp.laws.balanced import enclosed_error
from optimaldp.privacy import ApproximateDP, Epsilon, read_neighbours
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.questions.accuracy import least_margin
from optimaldp.questions.base import Question, as_question
from optimaldp.questions.kinds.threshold import Threshold
from optimaldp.studio.calls import read_fields

LIMITS = {"at most 5 %": Fraction(5, 100), "at most 1 %": Fraction(1, 100), "0": Fraction(0)}
BY_GROUP = "optimaldp, levels per group"
_ASKED = ("question", "epsilon")
_WITH = ("delta", "n", "neighbours", "groups")
Groups = tuple[tuple[Epsilon, ...], tuple[int, ...]]


def preview(body: Mapping[str, Any]) -> dict[str, Any]:
    """Error by margin next to the usual mechanisms, what it means in words, what an attacker gains, and the phases."""
    given = read_fields(body, _ASKED, (*_WITH, "margins"))
    groups = _read_groups(given.pop("groups", None), given["epsilon"])
    made = odp.preview(**given)
    question = as_question(given["question"])
    document = made.to_document() | {
        "level": str(made.level),
        "neighbours_words": made.neighbours.words,
        "answers": list(question.answers or ()),
        "sentences": made.sentences(),
        "attacker": attacker(made.level),
        "phases": phases(question, made.level, made),
        "snippet": _snippet(given),
    }
    return document if groups is None else document | _by_group(question, made, groups)


def epsilon(body: Mapping[str, Any]) -> dict[str, Any]:
    """Find epsilon: the least that makes the answer right as often as wanted at the wanted margin."""
    given = read_fields(body, ("question", "accuracy", "margin", "n"), ("delta", "neighbours"))
    found = odp.epsilon_for(**given)
    return {"epsilon": str(found), "words": _wanted_words(given, found)}


def _wanted_words(given: Mapping[str, Any], found: float) -> str:
    accuracy, margin = (100 * float(Fraction(str(given[name]))) for name in ("accuracy", "margin"))
    return f"epsilon {found:g} is right in {accuracy:.4g} % of cases when the margin is at least {margin:.4g} % of {given['n']}"


def universe(body: Mapping[str, Any]) -> dict[str, Any]:
    """The graph of all datasets if it is small, else the boundary graph, with the probability of the right answer."""
    from optimaldp.studio.universe import boundary_view, small_view

    given = read_fields(body, _ASKED, _WITH)
    groups = _read_groups(given.get("groups"), given["epsilon"])
    question, bound = as_question(given["question"]), read_level(given["epsilon"], given.get("delta", 0))
    neighbours = read_neighbours(given.get("neighbours", "substitution"))
    small = small_view(question, bound, neighbours, given.get("n"), groups)
    return small or boundary_view(question, bound, neighbours, given.get("n"))


def attacker(bound: ApproximateDP) -> dict[str, Any]:
    """The best guess of one person's yes or no, everybody else known: before, and at most after the answer was seen.

    Under (epsilon, delta) an even chance rises at most to ``(e^epsilon + delta) / (e^epsilon + 1)``: half of one plus the largest
    distance in total variation between neighbours, ``(e^epsilon - 1 + 2 delta) / (e^epsilon + 1)``.

    >>> attacker(read_level("ln(3)"))["after"]
    0.75
    """
    with precision(128):
        ratio = bound.epsilon.exp()
        after = min(1.0, float(((ratio + ball(bound.delta)) / (ratio + 1)).mid()))
    return {"before": 0.5, "after": after, "percent": percent_up(after), "words": epsilon_means(bound)}


def phases(question: Question, bound: ApproximateDP, made: Preview) -> dict[str, Any]:
    """tau of every prefix of the answers, and the steps of growth, decay and certainty in words."""
    exact = dict(made.reliable)["0"]
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


def _read_groups(rows: Any, most: Any) -> Groups | None:
    """Level groups: the epsilon and the number of persons of each, in rising order; nobody's level is above *most*."""
    if not rows:
        return None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError("groups", rows, "is not a list of groups", 'write [{"epsilon": 0.2, "persons": 100}]')
    cap, merged = Epsilon.read(most), dict[Epsilon, int]()
    for i, row in enumerate(rows):
        given = read_fields(row, ("epsilon", "persons"))
        own = min(Epsilon.read(given["epsilon"], name=f"groups[{i}].epsilon"), cap)
        persons = given["persons"]
        if isinstance(persons, bool) or not isinstance(persons, int) or not 0 < persons <= 10**12:
            raise InputError(
                f"groups[{i}].persons", persons, "is not a number of persons", "give a whole number from 1 on"
            )
        merged[own] = merged.get(own, 0) + persons
    ordered = sorted(merged)
    return tuple(ordered), tuple(merged[own] for own in ordered)


def _by_group(question: Question, made: Preview, groups: Groups) -> dict[str, Any]:
    """The curve of personal levels, at its worst: those who could change the answer are the ones with the strictest levels."""
    if not isinstance(question, Threshold):
        raise QuestionError("groups", str(question), "has no curve by level here", "ask a count, share or majority")
    if made.level.delta > 0:
        shown = str(float(made.level.delta))
        raise InputError(
            "groups", f"delta {shown}", "has no curve by margin", "use delta 0 to compare levels per group"
        )

    def error(margin: int) -> Ball:
        with precision(192):
            return enclosed_error(groups[0], groups[1], margin)

    reliable = {name: least_margin(error, limit) for name, limit in LIMITS.items()}
    series = {BY_GROUP: [display_float(error(margin)) for margin in made.margins]}
    named = [f"error {name} from a margin of {margin}" for name, margin in reliable.items() if margin is not None]
    return {
        "error": series | {name: list(errors) for name, errors in made.series},
        "groups": {"reliable_from": reliable, "sentences": [f"with levels per group: {text}" for text in named]},
    }


def _snippet(given: Mapping[str, Any]) -> str:
    options = ", ".join(
        f"{name}={_literal(value)}" for name, value in given.items() if name not in ("question", "margins")
    )
    return f"import optimaldp as odp\n\nshown = odp.preview({str(given['question'])!r}, {options})\nprint(shown)\nshown.plot()\n"


def _literal(value: Any) -> str:
    return repr(value if isinstance(value, (int, str)) else str(value))
