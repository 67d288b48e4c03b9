"""What a release says about itself: plain sentences first, then the proof, then every number that its law depends on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optimaldp.asking.preparing import Prepared
from optimaldp.asking.request import Request
from optimaldp.asking.result import Statement, epsilon_means
from optimaldp.privacy import Neighbours
from optimaldp.privacy.numbers import fraction_text
from optimaldp.questions.counted import ReleasedCounts
from optimaldp.questions.mechanism import QuestionMechanism


def statement(prepared: Prepared) -> Statement:
    """The public statement of a release."""
    request, mechanism = prepared.request, prepared.mechanism
    return {
        "protected": request.protected(),
        "epsilon_means": epsilon_means(request.level),
        "reliable": mechanism.reliability(),
        "mechanism": mechanism.name,
        "neighbours": request.neighbours.words,
        "checked": list(prepared.parts[0][1].finding.checks),
        "theorem": mechanism.proof,
        "optimal": mechanism.optimality,
        "delta_used": fraction_text(prepared.spent.delta),
        "notes": request.notes(),
        **_personal(prepared),
        "mechanism_document": law_document(mechanism, request, _group_sizes(prepared)),
    }


def details_of(answer: object) -> dict[str, Any]:
    """What counts bring along that is private already: the noisy table, the remap, what is expected to be off."""
    if isinstance(answer, ReleasedCounts):
        return {"histogram": answer.details}
    if isinstance(answer, dict):
        inside = {name: one.details for name, one in answer.items() if isinstance(one, ReleasedCounts)}
        return {"histogram": {"groups": inside}} if inside else {}
    return {}


def _personal(prepared: Prepared) -> dict[str, Any]:
    if not prepared.losses:
        return {}
    return {
        "levels": [str(own) for own, _ in prepared.losses],
        "aim": str(prepared.request.aim),
        "public": "each person's level, and how many people have it, are treated as public",
    }


def _group_sizes(prepared: Prepared) -> list[int | None] | None:
    """How many people each group has, where it is public who is in which."""
    if prepared.request.groups is None or not prepared.request.groups.public:
        return None
    return [certified.mechanism.setting.people for _, certified in prepared.parts]


def law_document(
    mechanism: QuestionMechanism, request: Request, group_sizes: Sequence[int | None] | None = None
) -> dict[str, Any]:
    """The mechanism's name and every public number that its law depends on; of public groups the size of each."""
    setting = mechanism.setting
    document: dict[str, Any] = {"name": mechanism.name, **mechanism.parameters()}
    document |= {"epsilon": str(setting.level.epsilon), "delta": fraction_text(setting.level.delta)}
    document |= {"neighbours": str(setting.neighbours)}
    if setting.neighbours is Neighbours.SUBSTITUTION and setting.people is not None:
        document["people"] = {"n": setting.people, "public": True}
        if request.groups is not None and group_sizes is not None:
            document["people"] = {"groups": dict(zip(request.groups.names, group_sizes)), "public": True}
    if setting.levels:
        document["levels"] = [[str(epsilon), people] for epsilon, people in setting.levels]
        document["aim"] = str(setting.aim)
    if setting.public_groups:
        document["public_groups"] = True
    return document


def meaning_of_answer(request: Request, dataset: str | None) -> dict[str, Any]:
    """What else changes the meaning of the answer."""
    people, groups = request.people, request.groups
    return {
        "where": people.where,
        "among": request.question.among,
        "unit": people.unit,
        "reduce": people.reduce,
        "order": people.reduce_order,
        "levels": people.levels,
        "aim": None if people.levels is None else str(request.aim),
        "part": None if people.part is None else {"column": people.part[0], "value": people.part[1]},
        "by": None if groups is None else groups.column,
        "groups": None if groups is None else list(groups.names),
        "public_groups": request.public_groups or None,
        "dataset": dataset,
    }
