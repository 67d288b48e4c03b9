"""What the document of a release says about itself, read strictly: a claim that cannot be true is a failure, not a surprise."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import Any

from optimaldp import __version__
from optimaldp.asking.ask import MEANING, from_json
from optimaldp.asking.releasing import restored_answer
from optimaldp.asking.request import Groups, Request
from optimaldp.asking.result import About, Release, epsilon_means
from optimaldp.asking.statements import (
    LEVELS_ARE_PUBLIC,
    claimed_optimality,
    law_document,
    meaning_of_answer,
    reliability_of,
)
from optimaldp.errors import InputError
from optimaldp.extras import numpy_if_installed
from optimaldp.laws.law import Aim
from optimaldp.privacy import Epsilon, level
from optimaldp.privacy.epsilon import ZERO
from optimaldp.privacy.levels import single_level
from optimaldp.privacy.numbers import fraction_text, is_whole
from optimaldp.questions.mechanism import QuestionMechanism
from optimaldp.questions.personal import FairLevels, HedgedVotes
from optimaldp.tables.tally import KeyTally

FORMAT = "optimaldp release 2"
_VERSION = re.compile(r"[0-9]{1,5}(\.[0-9]{1,5}){1,3}((a|b|rc|\.dev|\.post)[0-9]{1,5})*")
_MOST_PEOPLE = 2**63
_TEXTS = ("among", "dataset", "time", "version", "format")
_NO_RELEASE = "is not the document of a release"
_AS_WRITTEN = "give the document as release --json wrote it"


def request_of(document: Mapping[str, Any]) -> Request:
    """The request that a document is about."""
    for name in ("epsilon", "neighbours"):
        _need(bool(document.get(name)), name, document.get(name), "is missing")
    for name in _TEXTS:
        _need(isinstance(document.get(name), (str, type(None))), name, document.get(name), "is not a text")
    for name in ("question", "neighbours"):
        _need(isinstance(document[name], str), name, document[name], "is not a text")
    meaning = document.get("meaning", 1)
    _need(meaning is None or (type(meaning) is int and meaning > 0), "meaning", meaning, "is not a whole number from 1")
    request = from_json(document, remedy=_AS_WRITTEN).request()
    request.people.rules(request.tally)  # refuses what reduces nobody's rows
    return request


_OF_EVERY_RELEASE = {
    *("format", "answer", "question", "epsilon", "delta", "neighbours", "certificate", "time", "version"),
    *("spent", "mechanism", "histogram", "answers"),
}
_OF_SOME = {"histogram", "answers"}
_OF_A_SERVICE = {"replayed", "request", "remaining"}
"""What a service writes beside a release."""


def release_of(document: Mapping[str, Any]) -> Release:
    """The release that a document describes: what ``release.to_document()`` wrote, or what a service answered.

    Nothing is examined here: :func:`optimaldp.asking.verifying.verify` does that.
    """
    _need({"answer", "question", "epsilon", "neighbours"} <= set(document), "document", sorted(document), _NO_RELEASE)
    request, spent = request_of(document), document.get("spent")
    question, answer = request.question, document["answer"]
    return Release(
        restored_answer(question, answer, by_group=request.groups is not None),
        question,
        request.level,
        request.neighbours,
        About(_statement_of(document, request), meaning_of_answer(request, document.get("dataset")), ()),
        request.level if spent is None else single_level(level(spent["epsilon"], spent["delta"]), "a release"),
        recorded=document.get("replayed") is True,
        time=str(document.get("time", "")),
    )


def _statement_of(document: Mapping[str, Any], request: Request) -> dict[str, Any]:
    """The statement, with what a document writes beside its certificate put back."""
    statement = dict(document.get("certificate") or {})
    statement["mechanism_document"] = document.get("mechanism")
    if "histogram" in document:
        statement["histogram"] = document["histogram"]
    if "answers" in document:
        groups = {name: {k: v for k, v in one.items() if k != "answer"} for name, one in document["answers"].items()}
        statement["number"] = {"groups": groups}
    elif "exact" in document:
        apart = {*_OF_EVERY_RELEASE, *_OF_A_SERVICE, *meaning_of_answer(request, None)}
        beside = {name: value for name, value in document.items() if name not in apart}
        statement["number"] = {name: value for name, value in beside.items() if not isinstance(value, bool)}
    return statement


def people_of(published: Mapping[str, Any]) -> int | None:
    """The public number of people; ``None`` where it is not published."""
    known = published.get("people")
    if known is None:
        return None
    _need(isinstance(known, Mapping) and set(known) <= {"n", "groups", "public"}, "people", known, "is not a number")
    return None if known.get("n") is None else whole(known["n"], "people")


def group_sizes(published: Mapping[str, Any], groups: Groups) -> list[int | None]:
    """The public size of each group; ``None`` where they are not published."""
    sizes = (published.get("people") or {}).get("groups")
    if sizes is None:
        return [None] * len(groups.names)
    named = isinstance(sizes, Mapping) and list(sizes) == list(groups.names)
    _need(named, "people", sizes, "does not give one size for each group")
    return [whole(size, "people") for size in sizes.values()]


def levels_of(published: Mapping[str, Any], people: int | None) -> tuple[tuple[Epsilon, int], ...]:
    """The public levels with how many people have each, in rising order."""
    listed = published.get("levels")
    if listed is None:
        return ()
    pairs = isinstance(listed, (list, tuple)) and all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 and isinstance(pair[0], str) for pair in listed
    )
    _need(pairs, "levels", listed, "are not pairs of a level and a number of people")
    levels = tuple((Epsilon.read(own), whole(number, "levels")) for own, number in listed)
    rising = [own for own, _ in levels]
    _need(rising == sorted(set(rising)), "levels", rising, "are not different levels in rising order")
    _need(sum(number for _, number in levels) == people, "levels", listed, "do not add up to the number of people")
    return levels


def whole(value: Any, name: str) -> int:
    """A whole number of people."""
    fits = is_whole(value, 0, _MOST_PEOPLE - 1)
    _need(fits, name, value, "is not a number of people")
    return int(value)


def false_claim(
    document: Mapping[str, Any], request: Request, mechanisms: Sequence[QuestionMechanism], checks: Sequence[str]
) -> str:
    """The first thing that the document says and that is not so; nothing if all of it is.

    Numbers and names are compared whatever version wrote them, sentences only if it was this one.
    """
    mechanism, ours = mechanisms[0], document.get("version") == _own_version()
    if document.get("format") not in (None, FORMAT):
        return "its format is not one that this version knows"
    if (problem := _time_problem(document.get("time"))) or (problem := _version_problem(document.get("version"))):
        return problem
    if (document.get("meaning") or 1) > MEANING:
        return "a later version than this one says what its question means: verify it with that one"
    if ours and (name := _written_otherwise(document, request)):
        return f"it does not say what a release of this request says: {name}"
    if "among" in document and document["among"] != request.question.among:
        return "among is not that of its question"
    if not _spent_is_right(document.get("spent"), request, mechanism):
        return "what it says was spent is not what such a release costs"
    certificate = document.get("certificate")
    if certificate is None:
        return ""
    if not isinstance(certificate, Mapping):
        return "its certificate is not an object"
    claims = _numbers(request, mechanism)
    if ours:
        claims |= _sentences(request, mechanism) | {"checked": list(checks)}
        known = reliability_known(mechanism)
        claims["reliable"] = reliability_of(request, mechanisms) if known else certificate.get("reliable")
    named = [*claims, *certificate] if ours else [name for name in claims if name in certificate]
    for name in named:
        if name in ("levels", "not_asked"):
            continue
        if name not in claims or name not in certificate or plain(certificate[name]) != plain(claims[name]):
            return f"its certificate says something else than this release can: {name}"
    if not _levels_agree(certificate.get("levels"), certificate.get("not_asked", []), mechanism, told=ours):
        return "its certificate says something else than this release can: levels"
    return ""


def _written_otherwise(document: Mapping[str, Any], request: Request) -> str:
    """The first thing that this version writes into every document and that is missing here, or says something else.

    The steward's name for the data and the time of the release follow from nothing: they only have to be there.
    """
    said = meaning_of_answer(request, None) | {"format": FORMAT, "neighbours": str(request.neighbours)}
    for name in sorted(_OF_EVERY_RELEASE - _OF_SOME | set(said)):
        if name not in document or (name in said and name != "dataset" and plain(document[name]) != plain(said[name])):
            return name
    counted = request.groups is None and not isinstance(request.tally, KeyTally)
    if counted and request.setting(0).people is not None and document["mechanism"].get("people") is None:
        return "people"
    return next((name for name in ("certificate", "spent", "time") if not document[name]), "")


def reliability_known(mechanism: QuestionMechanism) -> bool:
    """Whether the sentence on reliability can be computed here: that of a quantile takes arrays."""
    return numpy_if_installed() is not None or not mechanism.question.reliable_by_arrays


def not_recomputed(document: Mapping[str, Any], request: Request, mechanism: QuestionMechanism) -> tuple[str, ...]:
    """What a document says and nobody compared: sentences of another version, and what takes arrays that are not installed.

    Privacy is never among it: the law is made of the document's numbers.
    """
    ours = document.get("version") == _own_version()
    left = [] if ours else ["its sentences, and counts beside a noisy table: another version of optimaldp wrote them"]
    if numpy_if_installed() is not None:
        return tuple(left)
    left += [] if reliability_known(mechanism) else ["the sentence on how reliable the answer is"]
    left += ["the counts that follow from the noisy table"] if mechanism.follows_by_arrays else []
    if request.aim is Aim.TYPICAL and mechanism.name in (FairLevels.name, HedgedVotes.name):
        left.append("that no other law for these levels is better on average")
    return tuple(left)


def _numbers(request: Request, mechanism: QuestionMechanism) -> dict[str, Any]:
    claims: dict[str, Any] = {"mechanism": mechanism.name, "delta_used": fraction_text(_used_delta(request, mechanism))}
    return claims | ({"aim": str(request.aim)} if mechanism.setting.levels else {})


def _sentences(request: Request, mechanism: QuestionMechanism) -> dict[str, Any]:
    return {
        "protected": request.protected(),
        "epsilon_means": epsilon_means(request.level, request.limited),
        "neighbours": request.neighbours_words(),
        "theorem": mechanism.proof,
        "optimal": claimed_optimality(request, mechanism),
        "notes": request.notes(),
        **({"public": LEVELS_ARE_PUBLIC} if mechanism.setting.levels else {}),
    }


def _used_delta(request: Request, mechanism: QuestionMechanism) -> Any:
    return request.level.delta if mechanism.spends_delta else 0


def _spent_is_right(spent: object, request: Request, mechanism: QuestionMechanism) -> bool:
    """The level without a delta that is not used; nothing at all for an answer that a ledger had already."""
    if spent is None:
        return True
    if not isinstance(spent, Mapping) or set(spent) != {"epsilon", "delta"}:
        return False
    used = {"epsilon": str(request.level.epsilon), "delta": fraction_text(_used_delta(request, mechanism))}
    return plain(spent) in (used, {"epsilon": "0", "delta": "0"})


def _levels_agree(written: object, not_asked: object, mechanism: QuestionMechanism, *, told: bool) -> bool:
    """Levels as people wrote them: cut at the release's own, and 0 for who is not asked, they are those of the mechanism.

    *told*: whether the document says who is not asked. Version 0.2 did not.
    """
    if not mechanism.setting.levels:
        return written is None and not not_asked
    listed = isinstance(written, (list, tuple)) and isinstance(not_asked, (list, tuple))
    if not listed or not all(isinstance(own, str) for own in (*written, *not_asked)):  # type: ignore[misc]
        return False
    most, left = mechanism.setting.level.epsilon, {Epsilon.read(own) for own in not_asked}  # type: ignore[attr-defined]
    own = {Epsilon.read(one) for one in written}  # type: ignore[attr-defined]
    lost = {ZERO if one in left else min(one, most) for one in own}
    honoured = {one for one, _ in mechanism.setting.levels}
    if told and list(written) != [str(one) for one in sorted(own)]:  # type: ignore[call-overload]
        return False
    return left <= own - {ZERO} and (honoured == lost or (not told and honoured <= lost | {ZERO}))


def _time_problem(time: Any) -> str:
    if time:
        try:
            datetime.datetime.fromisoformat(time)
        except ValueError:
            return "its time is not one"
    return ""


def _version_problem(version: Any) -> str:
    if version is None or not _VERSION.fullmatch(version):
        return "its version is not one"
    if tuple(map(int, version.split(".")[:2])) > tuple(map(int, _own_version().split(".")[:2])):
        return "a later version than this one wrote it: verify it with that one"
    return ""


def _own_version() -> str:
    return __version__


def possible(answer: object, request: Request, mechanisms: Sequence[QuestionMechanism]) -> bool:
    """Whether a release of this request can give this answer: one, or one for each group."""
    if request.groups is None:
        return mechanisms[0].possible(answer)
    if not isinstance(answer, Mapping) or list(answer) != list(request.groups.names):
        return False
    return all(mechanism.possible(one) for one, mechanism in zip(answer.values(), mechanisms))


def differing_field(
    mechanism: QuestionMechanism, request: Request, published: Mapping[str, Any], sizes: Sequence[int | None] | None
) -> str:
    """The first public number of a mechanism that differs from the one which the question has; nothing if none does."""
    expected = law_document(mechanism, request, sizes)
    names = sorted({*expected, *map(str, published)})
    return next((name for name in names if plain(expected.get(name)) != plain(published.get(name))), "")


def plain(value: object) -> Any:
    """As JSON writes and reads it: tuples are lists, numbers are themselves."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    return value if isinstance(value, (bool, type(None))) else str(value)


def _need(holds: bool, name: str, value: object, rule: str) -> None:
    if not holds:
        raise InputError(name, value, rule, _AS_WRITTEN)
