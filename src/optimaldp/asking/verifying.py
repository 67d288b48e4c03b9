"""Verifying what was published: a mechanism on a graph of datasets, or a release from its document alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from optimaldp.asking.published import (
    differing_field,
    false_claim,
    group_sizes,
    levels_of,
    not_recomputed,
    people_of,
    possible,
    request_of,
)
from optimaldp.asking.request import Request, setting_inside
from optimaldp.asking.result import Release
from optimaldp.certify.core.referee import examine_release
from optimaldp.certify.keys import require_groups_together
from optimaldp.documents.json_text import read_json_text
from optimaldp.errors import InputError, OptimalDPError
from optimaldp.laws.law import Setting
from optimaldp.questions.mechanism import QuestionMechanism
from optimaldp.results import Result

if TYPE_CHECKING:
    from optimaldp.certify.graphs.verdict import Verdict
    from optimaldp.mechanisms import Mechanism


@dataclass(frozen=True, repr=False)
class Reexamined(Result):
    """What the referee says of a published release, from its document alone."""

    holds: bool
    checked: tuple[str, ...]
    failure: str = ""
    not_recomputed: tuple[str, ...] = ()
    """What the document says beside privacy and nobody compared, because something is not installed here."""

    def __bool__(self) -> bool:
        return self.holds

    def summary(self) -> str:
        return f"Reexamined(holds, {len(self.checked)} checks)" if self.holds else f"Reexamined(fails: {self.failure})"

    def to_document(self) -> dict[str, Any]:
        document: dict[str, Any] = {"holds": self.holds, "checked": list(self.checked)}
        if self.not_recomputed:
            document["not_recomputed"] = list(self.not_recomputed)
        return document if self.holds else document | {"failure": self.failure}


@overload
def verify(published: Release, /) -> Reexamined: ...


@overload
def verify(published: Mapping[str, Any] | str | os.PathLike[str], /) -> Reexamined: ...


@overload
def verify(published: Mechanism, /, *claims: object, **options: object) -> Verdict: ...


def verify(published: Any, /, *claims: Any, **options: Any) -> Verdict | Reexamined:
    """Examine what was published: a :class:`Release`, its document or the path of its file, or a mechanism with its claim.

    Of a release the referee rebuilds the mechanism from the public numbers in the document, without any data, and examines it
    anew; whatever the document says about itself must agree with that.
    """
    if isinstance(published, Release):
        return verify_document(published.to_document())
    if isinstance(published, (str, os.PathLike)):
        published = _read(os.fspath(published))
    if isinstance(published, Mapping):
        return verify_document(published)
    from optimaldp.certify.graphs.verdict import verify as verify_mechanism

    return verify_mechanism(published, *claims, **options)


def _read(path: str) -> Mapping[str, Any]:
    """The document of one release from the file that release --json wrote."""
    try:
        document = read_json_text(Path(path).read_text("utf-8"), source=path)
    except OSError as error:
        raise InputError("file", path, f"cannot be read ({error.strerror})", "check the path") from None
    except UnicodeDecodeError:
        raise InputError("file", path, "is not UTF-8 text", "give what release --json wrote") from None
    if not isinstance(document, Mapping):
        raise InputError("file", path, "does not hold the document of one release", "give what release --json wrote")
    return document


def verify_document(document: Mapping[str, Any]) -> Reexamined:
    """Re-examine the document of a release."""
    if not {"question", "answer", "epsilon", "neighbours"} <= set(document):
        remedy = "give a file that release --json wrote"
        raise InputError("document", sorted(map(str, document)), "is not the document of a release", remedy)
    mechanism = document.get("mechanism")
    if not isinstance(mechanism, Mapping):
        rule = "is missing, so its law cannot be computed again (version 0.1.0 did not write it)"
        raise InputError("mechanism", mechanism, rule, "release it anew")
    try:
        return _compared(document, request_of(document), mechanism)
    except OptimalDPError as error:
        return Reexamined(False, (), str(error))
    except RecursionError:
        return Reexamined(False, (), "the document is nested too deeply")


def _compared(document: Mapping[str, Any], request: Request, published: Mapping[str, Any]) -> Reexamined:
    settings = settings_of(request, published)
    mechanisms = [request.question.published_mechanism(setting, published) for setting in settings]
    sizes = [setting.people for setting in settings] if "groups" in (published.get("people") or {}) else None
    if different := differing_field(mechanisms[0], request, published, sizes):
        return Reexamined(False, (), f"the document's mechanism differs from the one of its question in: {different}")
    if not possible(document["answer"], request, mechanisms):
        return Reexamined(False, (), "the answer is not one that the question has")
    if wrong := _contradiction(document, request, mechanisms):
        return Reexamined(False, (), wrong)
    findings = [examine_release(mechanism) for mechanism in dict.fromkeys(mechanisms)]
    failed = next((finding for finding in findings if not finding.private), None)
    if failed is not None:
        return Reexamined(False, failed.checks, failed.failure)
    if claim := false_claim(document, request, mechanisms[0], findings[0].checks):
        return Reexamined(False, (), claim)
    left = not_recomputed(request, mechanisms[0])
    return Reexamined(True, findings[0].checks, not_recomputed=left)


def _contradiction(document: Mapping[str, Any], request: Request, mechanisms: list[QuestionMechanism]) -> str:
    """Whether what stands beside the answer, or beside that of each group, follows from it."""
    if request.groups is None:
        return mechanisms[0].contradiction(document["answer"], document)
    written = document.get("answers") or {}
    for (name, answer), mechanism in zip(document["answer"].items(), mechanisms):
        if wrong := mechanism.contradiction(answer, written.get(name) or {}):
            return wrong
    return ""


def settings_of(request: Request, published: Mapping[str, Any]) -> list[Setting]:
    """The setting of the whole question, or one for each group whose size is public."""
    people = people_of(published)
    if request.groups is None:
        levels = levels_of(published, people)
        return [Setting(request.level, request.neighbours, people, levels, request.aim, request.public_groups)]
    sizes = group_sizes(published, request.groups)
    made = [setting_inside(request, people if size is None else size) for size in sizes]
    for setting in made:
        require_groups_together(
            request.level,
            request.neighbours,
            setting.level,
            setting.neighbours,
            public=request.groups.public,
            per_person=request.groups.per_person,
        )
    return made
