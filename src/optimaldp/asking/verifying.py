"""Verifying what was published: a mechanism on a graph of datasets, or a release from its document alone."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from optimaldp import __version__
from optimaldp.asking.ask import READING_FIELDS
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
from optimaldp.certify.asked import require_groups_together
from optimaldp.certify.core.referee import examine_release
from optimaldp.certify.noise import check_noise
from optimaldp.documents.json_text import read_json_text
from optimaldp.errors import InputError, OptimalDPError
from optimaldp.laws.law import Setting
from optimaldp.privacy.epsilon import ZERO, Epsilon
from optimaldp.privacy.levels import approximate
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.privacy.units import limited_unit
from optimaldp.questions.claims import optimality_sentence
from optimaldp.questions.mechanism import QuestionMechanism
from optimaldp.results import Result, Verdict
from optimaldp.tables.description import published_reading

if TYPE_CHECKING:
    from optimaldp.certify.graphs.verdict import DesignVerdict, StatusVerdict
    from optimaldp.designing import Design
    from optimaldp.mechanisms import Mechanism


SANITISED = "sanitised table"
_ROWS = "the rows, remaps and expected errors: they are made of noisy tables that the statement does not hold"


@dataclass(frozen=True, repr=False)
class ReleaseVerdict(Verdict):
    """What the referee says of a published release, from its document alone."""

    holds: bool
    checked: tuple[str, ...]
    failure: str = ""
    not_recomputed: tuple[str, ...] = ()
    """What the document says beside privacy and nobody compared, because something is not installed here."""

    def __bool__(self) -> bool:
        return self.holds

    def summary(self) -> str:
        return (
            f"ReleaseVerdict(holds, {len(self.checked)} checks)"
            if self.holds
            else f"ReleaseVerdict(fails: {self.failure})"
        )

    def to_document(self) -> dict[str, Any]:
        document: dict[str, Any] = {"holds": self.holds, "checked": list(self.checked)}
        if self.not_recomputed:
            document["not_recomputed"] = list(self.not_recomputed)
        return document if self.holds else document | {"failure": self.failure}


@overload
def verify(published: Release, /) -> ReleaseVerdict: ...


@overload
def verify(published: Design, /) -> DesignVerdict | StatusVerdict: ...


@overload
def verify(
    published: Mapping[str, Any] | str | os.PathLike[str], /
) -> ReleaseVerdict | DesignVerdict | StatusVerdict: ...


@overload
def verify(published: Mechanism, /, *claims: object, **options: object) -> DesignVerdict: ...


def verify(published: Any, /, *claims: Any, **options: Any) -> DesignVerdict | StatusVerdict | ReleaseVerdict:
    """Examine what was published: a release, a sanitised table, a design, the document or file of one, or a mechanism.

    Of a release the referee rebuilds the mechanism from the public numbers in the document, without any data, and examines it
    anew; whatever the document says about itself must agree with that. Of a design the referee checks privacy on every edge and
    the claim by its certificate, or the proof that nothing private has the fixed values or that none of them is the best. Of a
    sanitised table the referee examines the noise of every measured table, and whether all levels add up to the stated one.
    *claims* and *options* go with a mechanism alone: what is claimed of it, and how the referee is to examine that.

    >>> from optimaldp import design, graphs
    >>> verify(design(graphs.votes(3), graphs.majority, epsilon="ln(2)", delta="0.1"))
    DesignVerdict(private, fair, proven exactly, least epsilon 0.693147, worst edge 111 – 211)
    """
    if isinstance(published, Release):
        return verify_document(published.to_document())
    if isinstance(published, (str, os.PathLike)):
        published = _read(os.fspath(published))
    if isinstance(published, Mapping) and "edges" not in published:
        return verify_document(published)
    from optimaldp.certify.graphs.verdict import verify as verify_mechanism
    from optimaldp.designing import Design
    from optimaldp.designing.solving import examined
    from optimaldp.mechanisms import Mechanism

    if isinstance(published, (Design, Mapping)):
        return examined(published)
    if isinstance(published, Result) and (document := published.to_document()).get("kind") == SANITISED:
        return verify_document(document)
    if not isinstance(published, Mechanism):
        remedy = "give a release, a design, a mechanism, or the document or file of one"
        raise InputError("published", type(published).__name__, "is nothing that the referee examines", remedy)
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


def verify_document(document: Mapping[str, Any]) -> ReleaseVerdict:
    """Re-examine the document of a release, or the statement of a sanitised table."""
    sanitised, mechanism = document.get("kind") == SANITISED, document.get("mechanism")
    if not sanitised and not {"question", "answer", "epsilon", "neighbours"} <= set(document):
        remedy = "give what release --json wrote, or the .json beside sanitised rows"
        raise InputError("document", sorted(map(str, document)), "is not the document of a release", remedy)
    if not sanitised and not isinstance(mechanism, Mapping):
        rule = "is missing, so its law cannot be computed again (version 0.1.0 did not write it)"
        raise InputError("mechanism", mechanism, rule, "release it anew")
    try:
        if isinstance(mechanism, Mapping) and not sanitised:
            return _compared(document, request_of(document), mechanism)
        return _statement_verdict(document)
    except OptimalDPError as error:
        return ReleaseVerdict(False, (), str(error))
    except RecursionError:
        return ReleaseVerdict(False, (), "the document is nested too deeply")
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
        wrote = "sanitise" if sanitised else "release"
        return ReleaseVerdict(False, (), f"a part of the document has another form than {wrote} writes")


def _compared(document: Mapping[str, Any], request: Request, published: Mapping[str, Any]) -> ReleaseVerdict:
    settings = settings_of(request, published)
    mechanisms = [request.question.published_mechanism(setting, published) for setting in settings]
    sizes = [setting.people for setting in settings] if "groups" in (published.get("people") or {}) else None
    if different := differing_field(mechanisms[0], request, published, sizes):
        return ReleaseVerdict(
            False, (), f"the document's mechanism differs from the one of its question in: {different}"
        )
    if not possible(document["answer"], request, mechanisms):
        return ReleaseVerdict(False, (), "the answer is not one that the question has")
    if wrong := _contradiction(document, request, mechanisms):
        return ReleaseVerdict(False, (), wrong)
    findings = [examine_release(mechanism) for mechanism in dict.fromkeys(mechanisms)]
    failed = next((finding for finding in findings if not finding.private), None)
    if failed is not None:
        return ReleaseVerdict(False, failed.checks, failed.failure)
    checks = tuple(dict.fromkeys(check for finding in findings for check in finding.checks))
    if claim := false_claim(document, request, mechanisms, checks):
        return ReleaseVerdict(False, (), claim)
    return ReleaseVerdict(True, checks, not_recomputed=not_recomputed(document, request, mechanisms[0]))


def _statement_verdict(document: Mapping[str, Any]) -> ReleaseVerdict:
    """The noise of each measured table for its own cells and level, and the sum of everything that was spent."""
    neighbours = Neighbours(str(document.get("neighbours")))
    stated = Epsilon.read(document.get("epsilon"))
    sizes = dict(map(_size_of_column, _parts(document, "columns", "name", "values", "bins")))
    spent, checks = _spent_on_choices(document.get("selection"), neighbours), []
    for names, written, cells, recipe in _parts(document, "tables", "columns", "epsilon", "cells", "certificate"):
        epsilon, shown = Epsilon.read(written), " × ".join(map(str, names))
        if cells != math.prod(sizes.get(str(name), 0) for name in names):
            return ReleaseVerdict(False, (), f"the table {shown} has other columns or cells than the statement lists")
        noise = check_noise(recipe, cells=cells, epsilon=epsilon, neighbours=neighbours)
        if not noise.accepted:
            return ReleaseVerdict(False, (), f"the noise of the table {shown}: {noise.objections[0]}")
        spent = spent + epsilon
        checks.append(f"the noise of the table {shown}: {cells} cells at epsilon {epsilon}, {neighbours.value}")
    if (
        not float(stated) * _ALL_SPENT <= float(spent)
        or not spent <= stated
        or str(document.get("delta")) != "0"
        or not checks
    ):
        return ReleaseVerdict(False, (), f"the tables and choices spend epsilon {spent}, and {stated} is stated")
    if document.get("version") == __version__ and (name := _stated_otherwise(document, neighbours, sizes)):
        return ReleaseVerdict(False, (), f"it does not say what the statement of such a table says: {name}")
    return ReleaseVerdict(True, (*checks, f"all levels add up to at most epsilon {stated}"), not_recomputed=(_ROWS,))


_ALL_SPENT = 1 - 1e-6  # of epsilon: its parts are rounded down


def _stated_otherwise(document: Mapping[str, Any], neighbours: Neighbours, sizes: Mapping[str, int]) -> str:
    """The first thing that this version says of every sanitised table and that is missing here, or cannot be so."""
    part, levels = document["part"], document["levels"]
    public = dict.fromkeys([*([] if part is None else [part["column"]]), *([] if levels is None else [levels])])
    joint, limited = document["method"] == "joint", limited_unit(document["unit"])
    shared = (
        ("lattice noise", "finite optimum") if neighbours is Neighbours.SUBSTITUTION else (None, "independent bins")
    )
    claims = map(optimality_sentence, shared if joint and levels is None else (None,))  # which of them, a prior decides
    follows = {
        "neighbours_in_words": neighbours.within(tuple(public), limited),
        "cells": math.prod(sizes.values()),
        "optimal": document["optimal"] if document["optimal"] in claims else "",
        "selection": document.get("selection") if document["method"] == "chosen" else None,
        "method": document["method"] if document["method"] in ("joint", "marginals", "chosen") else "",
        "protected": None if limited is None else limited.words(approximate(Epsilon.read(document["epsilon"]))),
    }
    if (told := document.get("described")) is not None and (wrong := _read_otherwise(told, document)):
        return wrong
    there = ("expected_error", "one_way_error_95", "where", "among", "reduce", *READING_FIELDS, "dataset", "time")
    return next((name for name in there if name not in document), "") or next(
        (name for name, value in follows.items() if document.get(name) != value), ""
    )


def _parts(document: Mapping[str, Any], field: str, *keys: str) -> list[tuple[Any, ...]]:
    """The named entries of each object in a list of the statement; what has another form is refused."""
    forms: dict[str, Any] = {"columns": list, "certificate": Mapping, "cells": int, "name": str}
    forms |= {"values": (list, type(None)), "bins": (int, type(None))}
    listed = document.get(field)
    for one in listed if isinstance(listed, list) else [None]:
        if not isinstance(one, Mapping) or any(not isinstance(one.get(key), forms.get(key, object)) for key in keys):
            rule = f"is not a list of objects with {', '.join(keys)}"
            raise InputError(field, listed, rule, "give the .json that sanitise wrote beside the rows")
    return [tuple(one.get(key) for key in keys) for one in listed or ()]


def _size_of_column(said: tuple[str, list[Any] | None, int | None]) -> tuple[str, int]:
    """A column's name and how many cells it has: its values are listed, or there are equal bins and a cell for none."""
    name, values, bins = said
    if (values is None) is (bins is None):
        raise InputError(
            "columns", name, "lists neither values nor bins", "give the .json that sanitise wrote beside the rows"
        )
    return name, (bins or 0) + 1 if values is None else len(values)


def _spent_on_choices(selection: object, neighbours: Neighbours) -> Epsilon:
    """What choosing pairs of columns cost: permute-and-flip, each choice by scores that one person moves so far at most."""
    if selection is None:
        return ZERO
    moved = 2 if neighbours is Neighbours.SUBSTITUTION else 1
    number = selection.get("pairs") if isinstance(selection, Mapping) else None
    if (
        not isinstance(selection, Mapping)
        or type(number) is not int
        or number < 0
        or selection.get("sensitivity") != moved
    ):
        rule = f"is not a choice of pairs by scores that one person moves by at most {moved}"
        raise InputError("selection", selection, rule, "give the .json that sanitise wrote beside the rows")
    return Epsilon.read(selection.get("epsilon_of_each_choice")) * number


def _contradiction(document: Mapping[str, Any], request: Request, mechanisms: list[QuestionMechanism]) -> str:
    """Whether what stands beside the answer, or beside that of each group, follows from it and from the description."""
    if (told := document.get("described")) is not None and (wrong := _read_otherwise(told, document)):
        return wrong
    if "histogram" in document and document.get("version") != __version__:
        return ""  # another version chose remaps by other rules
    if request.groups is None:
        return mechanisms[0].contradiction(document["answer"], document)
    numbers, tables = document.get("answers", {}), (document.get("histogram") or {}).get("groups", {})
    known = isinstance(numbers, Mapping) and all(isinstance(one, Mapping) for one in numbers.values())
    if not known or (numbers and {name: one.get("answer") for name, one in numbers.items()} != document["answer"]):
        return "the answers beside their intervals are not the answers of its groups"
    for (name, answer), mechanism in zip(document["answer"].items(), mechanisms):
        beside = {**numbers.get(name, {}), "histogram": tables.get(name)}
        if wrong := mechanism.contradiction(answer, beside):
            return wrong
    return ""


def _read_otherwise(told: Any, document: Mapping[str, Any]) -> str:
    """What the description beside an answer says and the answer's own words do not; nothing where they agree."""
    read = published_reading(told)
    said = {"encoding": read.encoding, "delimiter": read.delimiter} | ({"unit": read.unit} if read.says_person else {})
    named = [name for name, value in said.items() if document.get(name) != value]
    named += [] if read.reviewed and document.get("description") else ["description"]
    return f"it was not read as its description says: {named[0]}" if named else ""


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
            setting,
            groups=len(made),
            public=request.groups.public,
            per_person=request.groups.per_person,
        )
    return made


def __getattr__(name: str) -> object:
    """The name of version 0.2, for one version."""
    if name == "Reexamined":
        warnings.warn("Reexamined is called ReleaseVerdict now.", DeprecationWarning, stacklevel=2)
        return ReleaseVerdict
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
