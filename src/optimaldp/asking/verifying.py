"""Verifying what was published: a mechanism on a graph of datasets, or a release from its document alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from optimaldp.asking.inside_groups import setting_inside
from optimaldp.asking.request import OTHER, Groups, Request, read_request
from optimaldp.asking.result import Release
from optimaldp.asking.statements import mechanism_document
from optimaldp.certify.questions import examine_release
from optimaldp.errors import InputError, OptimalDPError
from optimaldp.laws.setting import Setting
from optimaldp.privacy import Epsilon
from optimaldp.results import Result
from optimaldp.tables.people import People

if TYPE_CHECKING:
    from optimaldp.certify.graphs.verdict import Verdict
    from optimaldp.mechanisms import Mechanism


@dataclass(frozen=True, repr=False)
class Reexamined(Result):
    """What the referee says of a published release, from its document alone."""

    holds: bool
    checked: tuple[str, ...]
    failure: str = ""

    def summary(self) -> str:
        return f"Reexamined(holds, {len(self.checked)} checks)" if self.holds else f"Reexamined(fails: {self.failure})"

    def to_document(self) -> dict[str, Any]:
        document: dict[str, Any] = {"holds": self.holds, "checked": list(self.checked)}
        return document if self.holds else document | {"failure": self.failure}


@overload
def verify(published: Release, /) -> Reexamined: ...


@overload
def verify(published: Mapping[str, Any], /) -> Reexamined: ...


@overload
def verify(published: Mechanism, /, *claims: Any, **options: Any) -> Verdict: ...


def verify(published: Any, /, *claims: Any, **options: Any) -> Verdict | Reexamined:
    """Examine what was published: a :class:`Release` or its document, or a mechanism with its claim.

    Of a release the referee rebuilds the mechanism from the public numbers in the document, without any data, and examines it
    anew; whatever the document says about itself must agree with that.
    """
    if isinstance(published, Release):
        return verify_document(published.to_document())
    if isinstance(published, Mapping):
        return verify_document(published)
    from optimaldp.certify.graphs.verdict import verify as verify_mechanism

    return verify_mechanism(published, *claims, **options)


def verify_document(document: Mapping[str, Any]) -> Reexamined:
    """Re-examine the document of a release."""
    if not {"question", "answer", "epsilon", "neighbours"} <= set(document):
        remedy = "give a file that release --json wrote"
        raise InputError("document", sorted(document), "is not the document of a release", remedy)
    published = document.get("mechanism")
    if not isinstance(published, Mapping):
        rule = "is missing, so its law cannot be computed again (version 0.1.0 did not write it)"
        raise InputError("mechanism", published, rule, "release it anew")
    try:
        request = _request(document)
        return _compared(document, request, published)
    except OptimalDPError as error:
        return Reexamined(False, (), str(error))


def _request(document: Mapping[str, Any]) -> Request:
    groups = document.get("groups")
    part = document.get("part")
    people = People(
        document.get("unit"),
        document.get("reduce"),
        document.get("order"),
        document.get("where"),
        None if part is None else (part["column"], part["value"]),
        document.get("levels"),
    )
    return read_request(
        str(document["question"]),
        epsilon=str(document["epsilon"]),
        delta=str(document.get("delta", 0)),
        neighbours=str(document["neighbours"]),
        people=people,
        by=document.get("by"),
        groups=groups,
        public_groups=bool(document.get("public_groups")),
        aim=document.get("aim"),
    )


def _compared(document: Mapping[str, Any], request: Request, published: Mapping[str, Any]) -> Reexamined:
    mechanism = request.question.mechanism(_setting(request, published))
    expected = mechanism_document(mechanism, request)
    different = sorted(
        name for name in {*expected, *published} if _plain(expected.get(name)) != _plain(published.get(name))
    )
    if different:
        return Reexamined(
            False, (), f"the document's mechanism differs from the one of its question in: {different[0]}"
        )
    answers = request.question.answers
    if answers is not None and not _possible(document["answer"], answers, request.groups):
        return Reexamined(False, (), "the answer is not one that the question has")
    finding = examine_release(mechanism)
    return Reexamined(finding.private, finding.checks, finding.failure)


def _setting(request: Request, published: Mapping[str, Any]) -> Setting:
    levels = tuple((Epsilon.read(str(own)), int(people)) for own, people in published.get("levels") or ())
    known = published.get("people") or {}
    people = int(known["n"]) if "n" in known else None
    if request.groups is None:
        return Setting(request.level, request.neighbours, people, levels, request.aim, request.public_groups)
    return setting_inside(request, people)


def _possible(answer: Any, answers: Any, groups: Groups | None) -> bool:
    if groups is not None:
        return isinstance(answer, Mapping) and all(value in answers for value in answer.values())
    if isinstance(answer, Mapping):
        return set(answer) <= {*answers, OTHER}
    return answer in answers if isinstance(answer, str) else True


def _plain(value: Any) -> Any:
    """As JSON writes and reads it: tuples are lists, numbers are themselves."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return value if isinstance(value, (bool, type(None))) else str(value)
