"""A report to hand over: questions, answers, what they mean, what remains, and the proofs; one page that needs no network."""

from __future__ import annotations

import datetime
import html
import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from optimaldp import __version__
from optimaldp.asking.result import Release, epsilon_means
from optimaldp.documents.json_text import read_json_text
from optimaldp.errors import InputError
from optimaldp.ledger import Ledger, open_ledger
from optimaldp.privacy import ApproximateDP, approximate
from optimaldp.privacy.numbers import fraction_text
from optimaldp.reporting.page import standing_alone
from optimaldp.reporting.pictures import answer_bars, budget_gauge, reliability_curve
from optimaldp.reporting.printing import print_page
from optimaldp.reporting.published import Published, from_document, from_record, protected_by, spent_by
from optimaldp.reporting.reliability import reliability_of

Location = str | os.PathLike[str]
_FIRST = ("protected", "epsilon_means", "reliable")
_NOT_PROOF = (*_FIRST, "mechanism_document")


def write_report(
    ledger: Ledger | Location | None = None,
    output: Location = "report.html",
    *,
    documents: Sequence[Release | Mapping[str, Any] | Location] = (),
) -> Path:
    """Write a report on *ledger*, or on the *documents* of single releases, as one HTML or PDF file.

    Reads the ledger or the documents and nothing else, and spends nothing.
    """
    target = Path(output)
    if target.suffix.lower() not in (".html", ".htm", ".pdf"):
        raise InputError("output", str(output), "is not a name for a page", "end it in .html or .pdf")
    if not target.parent.is_dir():
        raise InputError("output", str(output), "names a folder that does not exist", "make the folder first")
    page = _page(ledger, documents)
    if target.suffix.lower() == ".pdf":
        print_page(page, target)
        return target
    try:
        target.write_text(page, "utf-8")
    except OSError as error:
        raise InputError("output", str(output), f"cannot be written ({error.strerror})", "check the folder") from None
    return target


def _page(ledger: Ledger | Location | None, documents: Sequence[Release | Mapping[str, Any] | Location]) -> str:
    if ledger is not None and documents:
        rule = "goes with no documents: a ledger has its answers already"
        raise InputError("ledger", str(getattr(ledger, "location", ledger)), rule, "name the ledger or the documents")
    if ledger is None and not documents:
        remedy = "name a ledger, or files that release --json wrote"
        raise InputError("ledger", "--ledger", "is missing, and no documents are named", remedy)
    return report_html(ledger) if ledger is not None else documents_html(documents)


def report_html(ledger: Ledger | Location) -> str:
    """The report on *ledger* as a page that stands alone."""
    if not isinstance(ledger, Ledger):
        with open_ledger(ledger, readonly=True) as book:
            return report_html(book)
    answers = [from_record(record) for record in ledger.history()]
    opening = ledger.opening
    parts = [
        _head(answers, "from the ledger alone", opening.unit, opening.neighbours.words),
        _overview(answers),
        _budget(ledger),
        _one_by_one(answers),
        _appendix(answers),
        "<h3>The ledger</h3><p>Every entry is chained to the one before; the last one is "
        f"<code>{html.escape(ledger.head)}</code>. <code>optimaldp ledger verify</code> checks the chain.</p>",
    ]
    return standing_alone(f"Private answers about {opening.dataset}", "".join(parts))


def documents_html(documents: Sequence[Release | Mapping[str, Any] | Location]) -> str:
    """The report on single releases, from their documents: each is examined again."""
    read = [(one, source) for document in documents for one, source in _read(document)]
    answers = [from_document(document, number, source) for number, (document, source) in enumerate(read, start=1)]
    people = {protected_by(document) for document, _ in read}
    unit, neighbours = people.pop() if len(people) == 1 else (None, "")
    names = dict.fromkeys(str(document["dataset"]) for document, _ in read if document.get("dataset"))
    parts = [
        _head(answers, "from the documents of the releases", unit, neighbours),
        _overview(answers),
        _together([spent_by(document) for document, _ in read], alike=bool(neighbours)),
        _one_by_one(answers),
        _appendix(answers),
    ]
    title = f"Private answers about {', '.join(names)}" if names else "Private answers"
    return standing_alone(title, "".join(parts))


def _read(document: Release | Mapping[str, Any] | Location) -> list[tuple[Any, str]]:
    """The releases in a document, each with the name of where it came from; a file may hold a list of them."""
    if isinstance(document, Release):
        return [(document.to_document(), "release")]
    if isinstance(document, Mapping):
        return [(document, "document")]
    source = os.fspath(document)
    try:
        content = read_json_text(Path(source).read_text("utf-8"), source=source)
    except OSError as error:
        raise InputError("file", source, f"cannot be read ({error.strerror})", "check the path") from None
    except UnicodeDecodeError:
        raise InputError("file", source, "is not UTF-8 text", "give what release --json wrote") from None
    return [(one, source) for one in (content if isinstance(content, list) and content else [content])]


def _head(answers: Sequence[Published], origin: str, unit: str | None, neighbours: str) -> str:
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    number = f"{len(answers)} question{'' if len(answers) == 1 else 's'}"
    head = (
        f'<p class="soft">{number}; written on {today} by optimaldp {__version__} {origin}. '
        "Everything in it may be published.</p>"
    )
    if not neighbours:
        return f"{head}<p>Who is protected differs from answer to answer: each says it.</p>"
    person = "Each row counts as one person" if unit is None else f"Each value of {unit} is one person"
    return f"{head}<p>{html.escape(person)}; neighbours: {html.escape(neighbours)}.</p>"


def _overview(answers: Sequence[Published]) -> str:
    if not answers:
        return "<h2>What was asked</h2><p>Nothing was asked yet.</p>"
    names = ("#", "time (UTC)", "question", "part", "epsilon", "delta", "answer")
    table = [
        (str(one.number), _minute(one.time), one.question, one.part, one.epsilon, one.delta, one.short_answer)
        for one in answers
    ]
    # A column that says nothing is left out.
    shown = [i for i, name in enumerate(names) if name not in ("part", "time (UTC)") or any(row[i] for row in table)]
    rows = "".join(f"<tr>{''.join(f'<td>{html.escape(row[i])}</td>' for i in shown)}</tr>" for row in table)
    head = "".join(f"<th>{names[i]}</th>" for i in shown)
    return f'<h2>What was asked</h2><div class="scroll"><table class="asked"><tr>{head}</tr>{rows}</table></div>'


def _minute(time: str) -> str:
    return time[:16].replace("T", " ")


def _budget(ledger: Ledger) -> str:
    remaining = ledger.remaining()
    account = remaining.summary().removeprefix("Remaining(").removesuffix(")")
    shown = [f"<p>For everybody: {html.escape(account)}; composition: {html.escape(remaining.composition)}.</p>"]
    total = float(remaining.budget.epsilon) if not remaining.budget.unlimited else 0.0
    if total:
        shown.insert(0, budget_gauge(float(remaining.spent.epsilon) / total, f"remaining: {account}"))
    shown.append(_meaning_of_all(approximate(remaining.spent.epsilon, remaining.spent.delta)))
    for part in ledger.opening.parts:
        own = ledger.remaining(part=part).summary().removeprefix("Remaining(").removesuffix(")")
        shown.append(f"<p>For people with {html.escape(str(part))}: {html.escape(own)}.</p>")
    for group, rest in ledger.groups().items():
        if group.column is not None:
            own = rest.summary().removeprefix("Remaining(").removesuffix(")")
            shown.append(f"<p>For people with {html.escape(str(group))}: {html.escape(own)}.</p>")
    return f"<h2>The budget</h2>{''.join(shown)}"


def _together(levels: Sequence[ApproximateDP], *, alike: bool) -> str:
    """What several releases cost somebody who is in all of them: the plain sum, which holds whatever was asked."""
    shown = "<p>No ledger kept count: what else was asked of the same people is not in this report.</p>"
    if alike:
        total = levels[0]
        for one in levels[1:]:
            total = approximate(total.epsilon + one.epsilon, min(total.delta + one.delta, Fraction(1)))
        cost = f"epsilon {total.epsilon}, delta {fraction_text(total.delta)}"
        sentence = f"For somebody who is in all of these tables these answers together cost at most {cost}."
        shown = f"<p>{html.escape(sentence)}</p>{_meaning_of_all(total)}{shown}"
    return f"<h2>What it cost</h2>{shown}"


def _meaning_of_all(level: ApproximateDP) -> str:
    if level.epsilon.is_zero or level.epsilon.infinite:
        return ""
    return f"<p>All answers together: {html.escape(epsilon_means(level))}</p>"


def _one_by_one(answers: Sequence[Published]) -> str:
    return f"<h2>The answers, one by one</h2>{''.join(map(_answer, answers))}" if answers else ""


def _answer(one: Published) -> str:
    day = f", on {one.time[:10]}" if one.time else ""
    said = [_sentence(name, one.statement[name]) for name in _FIRST if isinstance(one.statement.get(name), str)]
    said.append(f"It cost epsilon {one.epsilon}, delta {one.delta}{day}.")
    facts = "".join(f"<p>{html.escape(text)}</p>" for text in (*said, *([one.examined] if one.examined else [])))
    preview = reliability_of(one.question, one.statement)
    curve = "" if preview is None else reliability_curve(preview)
    return f"<section><h3>{html.escape(one.title)}</h3>{_value(one)}{facts}{curve}</section>"


def _value(one: Published) -> str:
    if one.missing:
        return f"<p><em>{html.escape(one.missing)}</em></p>"
    if isinstance(one.answer, Mapping):
        return answer_bars(one.answer)
    return f'<p class="big">{html.escape(str(one.answer))}</p>'


def _sentence(name: str, text: str) -> str:
    return f"Protected: {text}." if name == "protected" else text


def _appendix(answers: Sequence[Published]) -> str:
    return f'<h2 class="appendix">Appendix: the proofs</h2>{"".join(map(_proof, answers))}'


def _proof(one: Published) -> str:
    rows = "".join(
        f"<dt>{html.escape(name.replace('_', ' '))}</dt><dd>{html.escape(_listed(value))}</dd>"
        for name, value in one.statement.items()
        if name not in _NOT_PROOF and value not in (None, "", [])
    )
    return f"<section><h3>{html.escape(one.title)}</h3><dl>{rows}</dl></section>" if rows else ""


def _listed(value: object) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)
