"""Several questions at once: priced together, charged together or not at all, and kept as a plan file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from optimaldp.asking.cautions import cautions
from optimaldp.asking.draft import Draft
from optimaldp.asking.plans import Plan, parse_plan
from optimaldp.asking.releasing import release_each
from optimaldp.errors import InputError
from optimaldp.ledger import Charge
from optimaldp.privacy import Epsilon
from optimaldp.privacy.numbers import fraction_text
from optimaldp.studio.calls import read_fields
from optimaldp.studio.desk import OPTIONS, Desk, charge_of
from optimaldp.studio.releasing import answer_document, require_confirmed

MOST_QUESTIONS = 100


def check_plan(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """What several questions cost together, and whether the budget covers them. Reads no row and spends nothing."""
    asked = _questions(read_fields(body, ("questions",)))
    source = desk.source()
    version = source.version()
    shown: list[dict[str, Any]] = []
    charges: list[Charge] = []
    texts: set[str] = set()
    epsilon, delta = Epsilon.read(0), Fraction(0)
    for fields in asked:
        try:
            request = desk.checked(fields, source)
        except InputError as error:
            shown.append({"question": str(fields["question"]), "error": str(error)})
            continue
        recorded = desk.is_recorded(request, version)
        line: dict[str, Any] = {"question": request.text, "level": str(request.level), "recorded": recorded}
        if request.text in texts:
            line["error"] = "This question is in the list twice: take one of them out."
        texts.add(request.text)
        shown.append(line | {"cautions": list(cautions(request, source.schema))})
        if not recorded:
            charges.append(charge_of(request))
            epsilon, delta = epsilon + request.level.epsilon, delta + request.level.delta
    broken = sum("error" in line for line in shown)
    refused = desk.refused(charges) if charges and not broken else None
    sentence = refused or _cost_words(epsilon, delta, len(charges), len(shown))
    if broken:
        sentence = "One of the questions cannot be asked." if broken == 1 else f"{broken} questions cannot be asked."
    price = {"covered": not broken and refused is None, "recorded": not charges, "words": sentence}
    return {"questions": shown, "price": price, "epsilon": str(epsilon), "ledger": desk.book()}


def _cost_words(epsilon: Epsilon, delta: Fraction, fresh: int, all_of_them: int) -> str:
    if not fresh:
        return "All of them were answered before: asking again costs nothing."
    cost = f"epsilon {epsilon}" + (f", delta {fraction_text(delta)}" if delta else "")
    known = all_of_them - fresh
    return f"Together they cost {cost}." + (f" {known} of them were answered before and cost nothing." if known else "")


def release_plan(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """Spend for all questions together or for none, then sample, then record."""
    fields = read_fields(body, ("questions", "confirm"))
    require_confirmed(fields)
    drafts, table = [Draft(**one) for one in _questions(fields)], desk.table
    made = release_each(table.source, drafts, ledger=table.ledger, types=table.types)
    return {"answers": [answer_document(one) for one in made], "ledger": desk.book()}


def read_plan(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """The questions of a plan file; who is one person must be as the ledger has it. No path in it is looked at."""
    text = read_fields(body, ("plan",))["plan"]
    if not isinstance(text, str):
        raise InputError("plan", text, "is not the text of a plan file", "give the file's text")
    plan, opening = parse_plan(text), desk.table.ledger.opening
    own = {"unit": opening.unit, "neighbours": str(opening.neighbours)}
    for name, here in own.items():
        wanted = getattr(plan, name)
        if wanted is not None and wanted != here:
            remedy = "change the plan, or open the table with a ledger that says the same"
            raise InputError("plan", wanted, f"is not the {name} of this ledger, which is {here}", remedy)
    questions = [{"question": one["text"]} | {k: v for k, v in one.items() if k != "text"} for one in plan.questions]
    sentence = f"The plan names {plan.source}; its questions are asked of the table that is open here."
    return {"questions": questions, "words": sentence}


def write_plan(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """The questions as a plan file, for ``optimaldp preview --plan`` and ``optimaldp release --plan``."""
    asked = _questions(read_fields(body, ("questions",)))
    opening = desk.table.ledger.opening
    named = [{"text": one["question"]} | {k: v for k, v in one.items() if k != "question"} for one in asked]
    source = desk.name or str(desk.data)
    plan = Plan(source, tuple(named), unit=opening.unit, neighbours=str(opening.neighbours))
    return {"plan": plan.to_toml()}


def _questions(fields: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    listed = fields["questions"]
    if not isinstance(listed, list) or not 1 <= len(listed) <= MOST_QUESTIONS:
        remedy = "put at least one question into it"
        raise InputError("questions", "the list", f"does not hold 1 to {MOST_QUESTIONS} questions", remedy)
    read = []
    for number, one in enumerate(listed, 1):
        if not isinstance(one, dict):
            raise InputError("questions", f"number {number}", "is not an object with question and epsilon")
        read.append(read_fields(one, ("question", "epsilon"), ("delta", *OPTIONS)))
    return read
