"""Warnings that help before anything is spent. Nothing in them comes from the data: names, types and public numbers only."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from optimaldp.asking.ask import MEANING, key_of
from optimaldp.asking.request import Request
from optimaldp.asking.result import About, Statement, epsilon_means
from optimaldp.certify.asked import require_words
from optimaldp.errors import NotCertifiedError, ReadingWarning, printable
from optimaldp.privacy import Neighbours
from optimaldp.privacy.numbers import fraction_text
from optimaldp.questions.base import Detailed
from optimaldp.questions.claims import NOT_CLAIMED, SENTENCES
from optimaldp.questions.mechanism import QuestionMechanism
from optimaldp.tables.plans import filled_columns, reading_cautions
from optimaldp.tables.schema import Schema

if TYPE_CHECKING:
    from optimaldp.asking.releasing import Prepared

LEVELS_ARE_PUBLIC = "each person's level, and how many people have it, are treated as public"
_LARGE_EPSILON = 10
_IDENTIFIER = re.compile(
    r"(^|_|\b)(id|ids|uid|uuid|guid|key|code|nr|no|number|person|patient|user|member|customer|client|student|household|"
    r"subject|participant|respondent|name|email)($|_|\b|\d)",
    re.IGNORECASE,
)


def cautions(request: Request, schema: Schema, people: int | None = None) -> tuple[str, ...]:
    """What a careful colleague would say before this is asked."""
    said = [_large_epsilon(request), _large_delta(request, people), _unit(request, schema), *_options(request)]
    said += reading_cautions(schema, request.tally, request.people)
    return tuple(printable(text) for text in said if text)


def warn_of_reading(request: Request, schema: Schema, stacklevel: int) -> None:
    """Say before anything is spent how undeclared columns are read, and that each row is taken for a person."""
    for text in (_unit(request, schema), *reading_cautions(schema, request.tally, request.people)):
        if text:
            warnings.warn(printable(text), ReadingWarning, stacklevel=stacklevel + 1)


def _large_epsilon(request: Request) -> str:
    if float(request.level.epsilon) <= _LARGE_EPSILON:
        return ""
    return f"epsilon {request.level.epsilon} is above {_LARGE_EPSILON}: that protects hardly anybody"


def _large_delta(request: Request, people: int | None) -> str:
    delta = request.level.delta
    if not delta or (people is not None and delta * people <= 1) or (people is None and delta <= 1e-3):
        return ""
    size = "1 / the number of people" if people is None else f"1/{people}"
    return f"delta {fraction_text(delta)} is above {size}: somebody may be given away entirely"


def _unit(request: Request, schema: Schema) -> str:
    unit = request.people.unit
    if request.ask.description is not None:  # which says who is a person
        return ""
    if unit is None:
        likely = likely_person(schema)
        if likely is None:
            return ""
        return f"each row counts as one person; if a person can have several rows, name the unit: {likely}?"
    if _looks_like_identifier(unit):
        return ""
    return f"the unit {unit} does not look like an identifier by its name: each of its values counts as one person"


def likely_person(schema: Schema) -> str | None:
    """The first column that identifies a person, by its name alone; ``None`` where no name looks so."""
    return next((name for name in schema.names if _looks_like_identifier(name)), None)


def _looks_like_identifier(name: str) -> bool:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return bool(_IDENTIFIER.search(spaced))


def _options(request: Request) -> list[str]:
    named: Any = getattr(request.question, "options", None) or ()
    folded: dict[str, str] = {}
    said = []
    for option in map(str, named):
        plain = _folded(option)
        if plain in folded:
            said.append(f"the options {folded[plain]!r} and {option!r} differ by case, accents or spaces alone")
        folded[plain] = option
    return said


def _folded(text: str) -> str:
    if text.isascii():  # a histogram may have 100,000 options
        return text.casefold().strip()
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter)).casefold().strip()


# What a release says about itself: plain sentences first, then the proof, then every number that its law depends on.


class AboutPrepared(About):
    """What a new release says of itself, written when somebody looks at it: that takes longer than the answer."""

    def __init__(self, prepared: Prepared, answer: object, schema: Schema, dataset: str | None) -> None:
        self._prepared, self._answer, self._schema, self._dataset = prepared, answer, schema, dataset

    @cached_property
    def statement(self) -> Statement:  # type: ignore[override]
        made = statement(self._prepared) | details_of(self._answer)
        request = self._prepared.request
        return made | {"notes": [*made["notes"], *filled_columns(self._schema, request.tally, request.people)]}

    @cached_property
    def meaning(self) -> dict[str, Any]:  # type: ignore[override]
        return meaning_of_answer(self._prepared.request, self._dataset)

    @cached_property
    def warnings(self) -> tuple[str, ...]:  # type: ignore[override]
        setting = self._prepared.mechanism.setting
        return cautions(self._prepared.request, self._schema, setting.people)


def statement(prepared: Prepared) -> Statement:
    """The public statement of a release."""
    request, mechanism = prepared.request, prepared.mechanism
    neighbours, means = guarantee_words(request)
    return {
        "protected": request.protected(),
        "epsilon_means": means,
        "reliable": reliability_of(request, [certified.mechanism for _, certified in prepared.parts]),
        "mechanism": mechanism.name,
        "neighbours": neighbours,
        "checked": list(dict.fromkeys(check for _, part in prepared.parts for check in part.finding.checks)),
        "theorem": mechanism.proof,
        "optimal": claimed_optimality(request, mechanism),
        "delta_used": fraction_text(prepared.spent.delta),
        "notes": request.notes(),
        **_personal(prepared),
        "mechanism_document": law_document(mechanism, request, _group_sizes(prepared)),
    }


def guarantee_words(request: Request) -> tuple[str, str]:
    """Which tables are neighbours and what epsilon means for them, as it is printed: the referee has read both."""
    neighbours, means = request.neighbours_words(), epsilon_means(request.level, request.limited)
    require_words(request, neighbours, means)
    return neighbours, means


def reliability_of(request: Request, mechanisms: Sequence[QuestionMechanism]) -> str:
    """How far to trust the answer; of public groups of several sizes the smallest, whose answer is the least reliable."""
    if request.groups is None or len({one.setting.people for one in mechanisms}) == 1:
        return mechanisms[0].reliability()
    named = zip(request.groups.names, mechanisms, strict=True)
    name, smallest = min(named, key=lambda part: part[1].setting.people or 0)
    said, others = smallest.reliability(), mechanisms[0].reliability()
    return said if said == others else f"In {name}, the smallest group: {said[0].lower()}{said[1:]}"


def claimed_optimality(request: Request, mechanism: QuestionMechanism) -> str:
    """In which sense the whole release is the best: what holds inside one private group does not hold for all of them."""
    if request.groups is not None and not request.groups.public and not mechanism.setting.groups:
        return NOT_CLAIMED
    if mechanism.optimality not in SENTENCES:
        raise NotCertifiedError("What would be claimed stands in no table. Nothing was sampled and nothing was spent.")
    return mechanism.optimality


def details_of(answer: object) -> dict[str, Any]:
    """What an answer brings along that is private already: a noisy table, an interval, what is expected to be off."""
    if isinstance(answer, Detailed):
        return {answer.section: answer.details}
    if isinstance(answer, dict):
        inside = {name: one for name, one in answer.items() if isinstance(one, Detailed)}
        details = {name: one.details for name, one in inside.items()}
        return {one.section: {"groups": details} for one in inside.values()}
    return {}


def _personal(prepared: Prepared) -> dict[str, Any]:
    if not prepared.losses:
        return {}
    not_asked = [str(own) for own, lost in prepared.losses if lost.is_zero and not own.is_zero]
    return {
        "levels": [str(own) for own in sorted({own for own, _ in prepared.losses})],
        **({"not_asked": not_asked} if not_asked else {}),
        "aim": str(prepared.request.aim),
        "public": LEVELS_ARE_PUBLIC,
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
    """Everything that was asked, by the keys of a document: all of it changes the meaning of the answer."""
    said = {key_of(name): value for name, value in request.said().items()}
    told = {} if request.described is None else {"described": request.described}
    return said | told | {"among": request.question.among, "dataset": dataset, "meaning": MEANING}
