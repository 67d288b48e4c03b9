"""The record that the public registry of deployments asks for, made from a ledger or from the documents of releases."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from optimaldp import __version__
from optimaldp.asking.result import Release, epsilon_means
from optimaldp.errors import InputError
from optimaldp.ledger import Ledger, open_ledger
from optimaldp.privacy import ApproximateDP, Neighbours, approximate
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.numbers import fraction_text
from optimaldp.privacy.units import limited_unit
from optimaldp.questions.claims import CLAIMS, COMPARISONS, NOT_CLAIMED, optimality_sentence
from optimaldp.reporting.report import (
    Location,
    Published,
    added_up,
    check_sources,
    from_document,
    from_record,
    read_documents,
    spent_by,
    write_text,
)

BLANK = "TO BE FILLED IN BY THE CURATOR"
"""The mark of a field, or of a sentence in a field, that only the curator can write."""


@dataclass(frozen=True)
class _Field:
    """A field of the record that the curator may give, and what is asked for where nobody gives it."""

    section: str
    asked: str = ""
    """Written behind the mark of a blank; empty where the record has a text of its own."""
    choices: tuple[str, ...] = ()
    many: bool = False


_FIELDS: Mapping[str, _Field] = {
    "url_slug": _Field(""),
    "name": _Field("basic"),
    "data_curators": _Field("basic", "the entity that publishes the answers", many=True),
    "description": _Field("basic"),
    "intended_use": _Field("basic", "what the answers are for"),
    "data_product_type": _Field(
        "basic",
        choices=(
            "Summary statistics",
            "Machine learning model",
            "Dataset",
            "Synthetic data",
            "Interactive API",
            "SQL queries",
        ),
    ),
    "data_product_region": _Field("basic", "the region that the data describes, or whose laws apply"),
    "publication_date": _Field("basic"),
    "data_product_sector": _Field(
        "basic", choices=("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
    ),
    "data_source_type": _Field("deployment_model", choices=("Static", "Dynamic")),
    "access_type": _Field("deployment_model", choices=("Interactive", "Non-interactive")),
    "access_type_details": _Field("deployment_model", "who may ask, and who may see the answers"),
    "preprocessing_and_hyperparameter_tuning": _Field(
        "implementation",
        "how the table was prepared, and how epsilon, the questions and their options were chosen. "
        "Choices that were made by looking at the data are not covered by the guarantee",
    ),
    "justification": _Field("implementation", "why these choices were made, and who checked them"),
    "sources": _Field("administrative", "links to the answers and to papers about them"),
    "registry_authors": _Field("administrative", "who wrote this record", many=True),
}


@dataclass(frozen=True)
class _Facts:
    """What a ledger or documents say about a deployment."""

    dataset: str
    unit: str | None
    neighbours: Neighbours
    spent: ApproximateDP
    composition: str
    budget: str
    answers: Sequence[Published]
    parts: Sequence[str] = field(default=())
    groups: Sequence[str] = field(default=())
    """What people with a level of their own have spent, one text each."""


def write_registry_record(
    ledger: Ledger | Location | None = None,
    output: Location = "deployment.yaml",
    *,
    documents: Sequence[Release | Mapping[str, Any] | Location] = (),
    fields: Mapping[str, str] | None = None,
) -> Path:
    """Write the record of :func:`registry_record` as one YAML file.

    Reads the ledger or the documents and nothing else, and spends nothing.
    """
    return write_text(output, (".yaml", ".yml"), yaml_text(registry_record(ledger, documents=documents, fields=fields)))


def registry_record(
    ledger: Ledger | Location | None = None,
    *,
    documents: Sequence[Release | Mapping[str, Any] | Location] = (),
    fields: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Make the record that the public registry of deployments asks for, at its third tier.

    *fields* are texts that only the curator knows, by the registry's own names (``intended_use``, ``data_curators``, …; several
    curators are divided by semicolons). What is not given is a blank that starts with :data:`BLANK`, and the record's notes
    name every blank. The record says of privacy what the ledger or the documents say; a document that the referee does not
    confirm gives no record.

    >>> import pyarrow, optimaldp as odp
    >>> made = odp.release(pyarrow.table({"smokes": ["yes", "no", "no"]}), "majority(smokes = 'yes')", epsilon="0.5")
    >>> record = registry_record(documents=[made], fields={"intended_use": "a lesson"})
    >>> record["deployment"]["dp_variant"]["variant_name"], record["deployment"]["privacy_loss"]["privacy_parameters"]
    ('Pure DP', {'epsilon': 0.5})
    """
    check_sources(ledger, documents)
    facts = _ledger_facts(ledger) if ledger is not None else _document_facts(documents)
    if not facts.answers:
        remedy = "ask a question first"
        raise InputError("ledger", facts.dataset, "has no entry, so there is nothing to register", remedy)
    given = _given(fields or {})
    deployment: dict[str, Any] = {
        "basic": _basic(facts),
        "dp_variant": _variant(facts),
        "privacy_loss": _privacy_loss(facts),
        "deployment_model": _model(facts),
        "accounting": _accounting(facts),
        "implementation": {"mechanisms": _mechanisms(facts)},
        "administrative": {},
    }
    for name, one in _FIELDS.items():
        if name in given and one.section:
            deployment[one.section][name] = given[name]
        elif one.asked:
            blank = f"{BLANK}: {one.asked}."
            deployment[one.section][name] = [blank] if one.many else blank
    deployment["administrative"]["notes"] = _notes(deployment, given)
    slug = given.get("url_slug") or re.sub(r"[^a-z0-9]+", "-", facts.dataset.lower()).strip("-") or "private-answers"
    return {"url_slug": slug, "status": "Draft", "tier": 3, "deployment": deployment}


def _given(fields: Mapping[str, str]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name, text in fields.items():
        if name not in _FIELDS:
            raise InputError(
                "field", name, "is not a field that the curator writes", f"use one of {', '.join(_FIELDS)}"
            )
        one = _FIELDS[name]
        if not text.strip():
            raise InputError("field", f"{name}=", "has no text", "write the text, or leave the field out")
        if one.choices and text not in one.choices:
            rule = f"is not a choice for {name}"
            raise InputError("field", text, rule, f"use one of {', '.join(one.choices)}")
        if name == "publication_date" and not _is_date(text):
            raise InputError("field", text, "is not a date", "write it as 2026-05-31")
        if name == "url_slug" and not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", text):
            rule = "is not the end of an address"
            raise InputError("field", text, rule, "use small letters, digits and single hyphens")
        given[name] = [part.strip() for part in text.split(";") if part.strip()] or [text] if one.many else text
    return given


def _is_date(text: str) -> bool:
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


# What the ledger and the documents say.


def _ledger_facts(ledger: Ledger | Location) -> _Facts:
    if not isinstance(ledger, Ledger):
        with open_ledger(ledger, readonly=True) as book:
            return _ledger_facts(book)
    opening, spent, remaining = ledger.opening, ledger.spent(), ledger.remaining()
    budget = "no limit is set" if opening.budget.unlimited else f"the limit for every person is {opening.budget}"
    return _Facts(
        opening.dataset,
        opening.unit,
        opening.neighbours,
        approximate(spent.epsilon, spent.delta),
        f"the ledger's rule {_code(remaining.composition)}",
        f"{budget}; {remaining.summary()}",
        [from_record(record, number) for number, record in enumerate(ledger.history(), start=1)],
        [str(part) for part in opening.parts],
        [f"{group}: {rest.summary()}" for group, rest in ledger.groups().items() if group.column is not None],
    )


def _document_facts(documents: Sequence[Release | Mapping[str, Any] | Location]) -> _Facts:
    read = read_documents(documents)
    answers = [from_document(document, number, source) for number, (document, source) in enumerate(read, start=1)]
    for one in answers:
        if not one.holds:
            rule = f"is not confirmed by the referee ({one.examined})"
            raise InputError("document", one.question, rule, "give the document as it was released")
    protected = {(document.get("unit"), Neighbours(str(document["neighbours"]))) for document, _ in read}
    if len(protected) != 1:
        rule = "do not protect the same people under the same neighbours"
        raise InputError("documents", f"{len(read)} releases", rule, "write one record for each kind of neighbours")
    (unit, neighbours) = protected.pop()
    names = dict.fromkeys(str(document["dataset"]) for document, _ in read if document.get("dataset"))
    return _Facts(
        ", ".join(names) or "private answers",
        unit,
        neighbours,
        added_up([spent_by(document) for document, _ in read]),
        "the plain sum (basic composition), for a person who is in all the tables",
        "no ledger kept count, so what else was asked about the same people is not in this record",
        answers,
    )


# The sections of the record.


def _basic(facts: _Facts) -> dict[str, Any]:
    first = min((one.time[:10] for one in facts.answers if one.time), default="")
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    number = f"{len(facts.answers)} answer{'' if len(facts.answers) == 1 else 's'}"
    return {
        "name": facts.dataset,
        "description": f"{number} to questions about a table of people:\n\n" + _list(_questions(facts)),
        "data_product_type": "Summary statistics",
        "publication_date": first or today,
    }


def _variant(facts: _Facts) -> dict[str, str]:
    person = "row" if facts.unit is None else f"person (all rows with one value of {_code(facts.unit)})"
    return {
        "variant_name": "Approximate DP" if facts.spent.delta else "Pure DP",
        "data_domain": f"Every table with the declared columns. A {person} may hold any values: NULL, NaN, and values that no "
        "question lists are included.",
        "unprotected_quantities": _list(_unprotected(facts)),
    }


def _unprotected(facts: _Facts) -> list[str]:
    laws = [law for one in facts.answers if isinstance(law := one.statement.get("mechanism_document"), Mapping)]
    counted = [people for law in laws if isinstance(people := law.get("people"), Mapping) and people.get("public")]
    sizes = sorted({people["n"] for people in counted if isinstance(people.get("n"), int)})
    if facts.neighbours is Neighbours.SUBSTITUTION:
        known = f" ({', '.join(f'{n:,}' for n in sizes)})" if sizes else ""
        shown = [f"The number of people is public{known}."]
    else:
        shown = ["The number of people is protected."]
    shown.append(
        "The questions are public, with their thresholds, ranges, options, bins and lists of groups. "
        "None of these are taken from the data: " + "; ".join(_questions(facts))
    )
    if any(law.get("public_groups") for law in laws) or any(
        "| groups: public" in one.question for one in facts.answers
    ):
        shown.append("Which person is in which group is public where a question says `groups: public`.")
    levels = dict.fromkeys(
        "; ".join(f"epsilon {own}: {people} people" for own, people in law["levels"])
        for law in laws
        if law.get("levels")
    )
    if levels or facts.groups:
        shown.append("Every person's own privacy level is public, and so is the number of people at each level.")
        shown += [f"People at each level: {text}." for text in levels]
    if facts.parts:
        parts = ", ".join(map(_code, facts.parts))
        shown.append(f"Which of these disjoint parts a person belongs to is public: {parts}.")
    shown.append("The names of columns, epsilon, delta, the mechanisms, and the times of the answers are public.")
    return shown


def _privacy_loss(facts: _Facts) -> dict[str, Any]:
    unit = (
        "One row, which counts as one person" if facts.unit is None else f"One person: one value of {_code(facts.unit)}"
    )
    record = "one row" if facts.unit is None else f"all rows of one person, who is one value of {_code(facts.unit)}"
    if (limited := limited_unit(facts.unit)) is not None:
        unit = f"One {limited.record}, by {', '.join(map(_code, limited.columns))}"
        record = f"all rows of one {limited.record}"
    if facts.neighbours is Neighbours.SUBSTITUTION:
        adjacent = f"{record} replaced by the record of any other person, so that the number of people stays the same"
    else:
        adjacent = f"{record} added or removed"
    kept = []
    if facts.parts:
        kept.append("A person's part stays the same, because it is public.")
    if facts.groups or any((one.statement.get("mechanism_document") or {}).get("levels") for one in facts.answers):
        kept.append("A person's own privacy level stays the same, because it is public.")
    spent = facts.spent
    parameters: dict[str, Any] = {} if spent.epsilon.infinite else {"epsilon": number_at_least(spent.epsilon)}
    if spent.delta:
        parameters["delta"] = fraction_text(spent.delta)
    details = [
        f"The answers of this record cost the person who lost most epsilon {spent.epsilon} and delta "
        f"{fraction_text(spent.delta)}, exactly; {facts.budget}."
    ]
    if not spent.epsilon.is_zero and not spent.epsilon.infinite:
        details.append(f"All answers together: {epsilon_means(spent, limited)}")
    details += [f"People with a level of their own, {text}." for text in facts.groups]
    details += [f"{_question(one)}: epsilon {one.epsilon}, delta {one.delta}." for one in facts.answers]
    return {
        "privacy_unit": f"{unit}.",
        "privacy_unit_details": " ".join(
            [
                f"Neighbours: {facts.neighbours.within((), limited)}.",
                f"Two tables are adjacent if one comes from the other with {adjacent}.",
                "The distance of two tables is the least number of such steps between them, and the bound is 1.",
                *kept,
                *([] if limited is None else [f"Protected: {limited.words(spent)}."]),
                "k people together are protected by k times epsilon.",
            ]
        ),
        "privacy_parameters": parameters,
        "privacy_parameters_details": _list(details),
    }


def number_at_least(epsilon: Epsilon) -> float:
    """A finite epsilon as a number: itself where a short decimal says it, else the next number above.

    >>> from optimaldp.privacy.epsilon import Epsilon
    >>> number_at_least(Epsilon.read("0.3")), number_at_least(Epsilon.read("ln(3)")) > 1.0986122886681096
    (0.3, True)
    """
    near = float(epsilon)
    text = str(epsilon)
    if re.fullmatch(r"[0-9.e+-]+", text) and Fraction(text) == Fraction(repr(near)):
        return near
    return math.nextafter(near, math.inf)


def _model(facts: _Facts) -> dict[str, str]:
    return {
        "model_name": "Central",
        "actors": "The curator holds the table and runs the library on it; both are trusted. Readers of the answers are not "
        "trusted: they may know every other record, and they may work together, because one account adds up what all answers "
        f"cost. {BLANK}: who else can see the table or the answers.",
        "release_type": "One release" if len(facts.answers) == 1 else "Many releases",
        "release_type_details": f"{facts.budget[0].upper()}{facts.budget[1:]}. What was spent never comes back. {BLANK}: "
        "which further uses of the table are planned.",
    }


def _accounting(facts: _Facts) -> dict[str, str]:
    remaps = {
        own["remap"]
        for one in facts.answers
        if isinstance(own := one.statement.get("histogram"), Mapping) and own.get("remap")
    }
    undone = f" Histograms were mapped after the noise ({', '.join(sorted(remaps))})." if remaps else ""
    parts = (
        " A person in one disjoint part pays for the questions to that part alone (parallel)." if facts.parts else ""
    )
    return {
        "composition": f"Costs are added up by {facts.composition}. Adaptive questions are covered.{parts}",
        "post_processing": "The sentences beside an answer are computed from public numbers and from the answer."
        f"{undone} {BLANK}: what was done with the answers after they were released.",
    }


def _mechanisms(facts: _Facts) -> str:
    used: dict[tuple[str, str, str], list[str]] = {}
    for one in facts.answers:
        said = one.statement
        key = (
            str(said.get("mechanism") or "not recorded"),
            str(said.get("theorem") or ""),
            claimed(said.get("optimal")),
        )
        used.setdefault(key, []).append(_question(one))
    shown = [
        f"{name}, for {'; '.join(questions)}. {f'Private by theorem: {theorem}. ' if theorem else ''}Optimality: {claim}."
        for (name, theorem, claim), questions in used.items()
    ]
    return _list(
        [
            *shown,
            f"Library: optimaldp {__version__} wrote this record. A referee with code of its own examined every mechanism "
            "before an answer was drawn, without data.",
            "Floating point: no float decides an answer. Probabilities are exact fractions or enclosures that are refined "
            "until a random bit decides, and the bits come from the operating system.",
            "Time: draws do not take constant time. The option `answer_after` gives answers at fixed times. "
            f"{BLANK}: whether that option was used.",
            "Other side channels: memory, temporary files, and logs of databases are not protected by the library.",
            f"Access: {BLANK}: who can read the table, and how it is secured.",
        ]
    )


def claimed(sentence: object) -> str:
    """A claim with its reference, where the table of claims has it; nothing is claimed in other words.

    >>> claimed("the best mechanism of all")
    'not claimed'
    """
    for key, claim in CLAIMS.items():
        if sentence == optimality_sentence(key):
            return f"{sentence} ({claim.reference})" if claim.reference else str(sentence)
    return next((said for said in map(optimality_sentence, COMPARISONS) if said == sentence), NOT_CLAIMED)


def _notes(deployment: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    open_fields = [
        f"{section}.{name}"
        for section, content in deployment.items()
        for name, value in content.items()
        if BLANK in str(value)
    ]
    left_out = [
        f"{one.section}.{name} ({', '.join(one.choices)})"
        for name, one in _FIELDS.items()
        if one.choices and name not in deployment[one.section]
    ]
    notes = ["Written from public documents alone; no data was read."]
    if "publication_date" not in given:
        notes.append(
            "The publication date is the day of the first answer, or of this record: correct it if it is another."
        )
    return _list([*notes, f"{BLANK}: {', '.join([*open_fields, *left_out])}."])


# Words. The registry shows every text as Markdown, so what others wrote stands in code.


def _questions(facts: _Facts) -> list[str]:
    return list(dict.fromkeys(_question(one) for one in facts.answers))


def _question(one: Published) -> str:
    return _code(one.question) + (f" (asked of {_code(one.part)} alone)" if one.part else "")


def _code(text: str) -> str:
    flat = " ".join(text.split())
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", flat)), default=0))
    return f"{fence} {flat} {fence}" if "`" in flat else f"{fence}{flat}{fence}"


def _list(texts: Sequence[str]) -> str:
    return "\n".join(f"- {text}" for text in texts)


_PLAIN_LINES = re.compile(
    r"(?:(?:[\x21-\x7e\xa1-\u1fff][\x20-\x7e\xa1-\u1fff]*)?\n)*[\x21-\x7e\xa1-\u1fff][\x20-\x7e\xa1-\u1fff]*"
)


def yaml_text(value: Mapping[str, Any], indent: str = "") -> str:
    """A record of mappings, lists of texts, texts and numbers as YAML. Every text is quoted, or a block of plain lines.

    >>> print(yaml_text({"tier": 3, "basic": {"name": "yes: no", "authors": ["A"]}}), end="")
    tier: 3
    basic:
      name: "yes: no"
      authors:
        - "A"
    """
    return "".join(f"{indent}{name}:{_yaml(own, indent + '  ')}" for name, own in value.items())


def _yaml(value: object, indent: str) -> str:
    if isinstance(value, Mapping):
        return "\n" + yaml_text(value, indent) if value else " {}\n"
    if isinstance(value, list):
        return "\n" + "".join(f"{indent}-{_yaml(own, indent + '  ')}" for own in value)
    if isinstance(value, str) and "\n" in value and _PLAIN_LINES.fullmatch(value):
        return " |-\n" + "".join(f"{indent}{line}\n" if line else "\n" for line in value.split("\n"))
    if isinstance(value, float) and "e" in repr(value):  # YAML 1.1 reads 1e-05 as a text: it wants a point.
        digits, power = repr(value).split("e")
        return f" {digits if '.' in digits else digits + '.0'}e{power if power[0] in '+-' else '+' + power}\n"
    quoted = json.dumps(value, ensure_ascii=False)
    return " " + re.sub(r"[^\x20-\x7e\xa1-\u1fff]", lambda found: f"\\U{ord(found[0]):08x}", quoted) + "\n"
