"""A report to hand over: questions, answers, what they mean, what remains, and the proofs; one page that needs no network."""

from __future__ import annotations

import ast
import datetime
import html
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import islice, product
from pathlib import Path
from typing import Any

from optimaldp import __version__
from optimaldp.asking.ask import READING_FIELDS
from optimaldp.asking.preview_result import Preview
from optimaldp.asking.previewing import preview
from optimaldp.asking.request import read_release_level
from optimaldp.asking.result import Release, epsilon_means, facts
from optimaldp.asking.verifying import verify_document
from optimaldp.documents.json_text import read_json_text
from optimaldp.errors import InputError, OptimalDPError
from optimaldp.histograms.margins import CrossTable
from optimaldp.ledger import Ledger, open_ledger
from optimaldp.ledger.history import Record
from optimaldp.privacy import ApproximateDP, Neighbours, approximate
from optimaldp.privacy.numbers import fraction_text
from optimaldp.privacy.units import limited_unit, protected_words, unit_columns
from optimaldp.questions.base import Question, as_question
from optimaldp.questions.words import for_each
from optimaldp.reporting.ethics import ethics_appendix
from optimaldp.reporting.pictures import answer_bars, answer_rows, budget_gauge, reliability_curve
from optimaldp.reporting.printing import print_page

# What a report says about one answer, wherever it comes from: an entry of a ledger, or the document of a release.


# What changes the meaning of a document's question, in the words and the order of a ledger's entries.
_CONDITIONS = ("where", "reduce", "order", "levels", "aim")


@dataclass(frozen=True)
class Published:
    """One answer with all that is said about it."""

    number: int
    question: str
    """With every condition that changes its meaning."""
    time: str
    part: str
    epsilon: str
    delta: str
    answer: Any
    statement: Mapping[str, Any]
    missing: str = ""
    """Why there is no answer, where there is none."""
    examined: str = ""
    """What the referee said when it read the document again."""
    holds: bool = True
    """Whether the referee confirmed the document, where one was read again."""
    reading: Mapping[str, Any] = field(default_factory=dict)
    """How cells were read: types, delimiter, encoding, the hash of the description."""

    @cached_property
    def asked(self) -> tuple[Question, str] | None:
        """The question itself and what a ledger adds to its text; ``None`` where this version cannot read it."""
        for text in question_texts(self.question):
            try:
                return as_question(text), self.question[len(text) :]
            except OptimalDPError:
                continue
        return None

    @property
    def words(self) -> str:
        """The question as a person would ask it; its text where it cannot be read."""
        if self.asked is None:
            return self.question
        question, added = self.asked
        by = _BY.search(added)
        said = question.words()
        return for_each(unit_columns(by["column"]), said) if by else said

    @property
    def title(self) -> str:
        return f"{self.number}. {self.words}"

    @property
    def shown(self) -> Any:
        """The answer with groups and options in the order in which the question names them."""
        if self.asked is None:
            return self.answer
        question, added = self.asked
        if isinstance(self.answer, list):
            columns = [str(getattr(reading, "column", "")) for reading in question.readings]
            return [_columns_first(row, columns) if isinstance(row, Mapping) else row for row in self.answer]
        if not isinstance(self.answer, Mapping):
            return self.answer
        names = question.answers or ()
        if not (by := _BY.search(added)):
            return _in_order(self.answer, names)
        groups = _group_names(_listed_groups(by["groups"]))
        return {name: _in_order(one, names) for name, one in _in_order(self.answer, groups).items()}

    @property
    def said(self) -> str:
        """A number with its interval and of how many people, in the question's own words; nothing for other answers."""
        if self.asked is None or not self.holds or not isinstance(self.statement.get("number"), Mapping):
            return ""
        return self.asked[0].answer_words(self.answer, self.statement)

    @property
    def crossed(self) -> CrossTable | None:
        """A cross table with its margins, where the proof holds them; of no other answer."""
        noisy = self.statement.get("histogram") or {}
        if self.asked is None or not self.holds or not isinstance(self.answer, list) or "noisy" not in noisy:
            return None
        return self.asked[0].cross_table(self.answer, noisy)

    def facts(self) -> list[str]:
        """Who is protected, what epsilon means, how far to trust the answer, who was counted: as a release says it."""
        said = {name: text for name in _FIRST if isinstance(text := self.statement.get(name), str)}
        if self.asked is not None and self.holds and len(said) == len(_FIRST):
            # The head of the report names the neighbours once.
            own = {name: value for name, value in self.statement.items() if name != "neighbours"}
            return [text for _, text in facts(self.asked[0], own)]
        return [_sentence(name, text) for name, text in said.items()]

    @property
    def group_words(self) -> Mapping[str, str]:
        """The number of each group in words; empty for other answers."""
        return self.asked[0].group_words(self.statement) if self.asked is not None and self.said else {}

    @property
    def short_answer(self) -> str:
        if self.missing:
            return "(none)"
        return self.said if self.said and len(self.group_words) <= _MOST_CELLS else _short(self.shown)


# What a ledger writes behind a question that was asked of groups: see Request.text.
_BY = re.compile(r" \| by: (?P<column>.*?) (?P<groups>\[.*\])(?= \| |$)", re.DOTALL)
_MOST_CELLS = 6  # of an answer in the table of all answers


def _listed_groups(text: str) -> list[Any]:
    try:
        return list(ast.literal_eval(text))
    except (ValueError, SyntaxError):
        return []


def _group_names(listed: Sequence[Any]) -> list[str]:
    """The groups of one column, or one value of each of several."""
    lists = listed if listed and all(isinstance(one, list) for one in listed) else [listed]
    return [", ".join(map(str, one)) for one in product(*lists)]


def _in_order(answer: Any, names: Sequence[str]) -> Any:
    """A mapping in the order of *names*, if these are its names."""
    if not isinstance(answer, Mapping) or len(answer) != len(names) or set(map(str, answer)) != set(names):
        return answer
    return {name: answer[name] for name in names}


def _columns_first(row: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """A cell of a cross table: its values in the order of the columns, then its count."""
    named = {column: row[column] for column in columns if column in row}
    return named | {name: value for name, value in row.items() if name not in named}


def _short(answer: object) -> str:
    if isinstance(answer, Mapping):
        shown = [f"{name}: {_short(value)}" for name, value in islice(answer.items(), _MOST_CELLS)]
    elif isinstance(answer, list):
        if answer and all(isinstance(one, Mapping) for one in answer):  # whole below, where its columns have room
            return f"a table of {len(answer):,} counts"
        shown = [str(one) for one in answer[:_MOST_CELLS]]
    else:
        return str(answer)
    more = len(answer) - len(shown)
    return "; ".join([*shown, f"and {more:,} more"] if more > 0 else shown)


def from_record(record: Record, number: int) -> Published:
    """An entry of a ledger, as the *number*-th question of a report."""
    bound = record.spend.bound
    lost = "Spent, but no answer was recorded: the process ended before it."
    return Published(
        number,
        record.question,
        record.time,
        record.part,
        str(bound.epsilon),
        fraction_text(bound.delta),
        record.answer,
        record.statement if isinstance(record.statement, Mapping) else {},
        "" if record.recorded is not None else lost,
        reading=dict(record.spend.reading),
    )


def from_document(document: object, number: int, source: str) -> Published:
    """The document of a release, examined again: whoever hands over a file may have changed it."""
    if not isinstance(document, Mapping) or not {"question", "answer", "epsilon", "neighbours"} <= set(document):
        rule = "is not the document of a release"
        raise InputError("file", source, rule, "give what release --json or release.save('answer.json') wrote")
    spent = spent_by(document)
    holds, examined = _examined(document)
    own = document.get("certificate")
    part = document.get("part")
    return Published(
        number,
        _question(document),
        str(document.get("time") or ""),
        f"{part['column']} = {part['value']!r}" if isinstance(part, Mapping) else "",
        str(spent.epsilon),
        fraction_text(spent.delta),
        document["answer"],
        {
            **(own if isinstance(own, Mapping) else {}),
            "mechanism_document": document.get("mechanism"),
            **(_beside_a_number(document) if holds else {}),
        },
        examined=examined,
        holds=holds,
        reading={name: document.get(name) for name in (*READING_FIELDS, "described")},
    )


_BESIDE = ("exact", "unbiased", "recorded", "interval", "confidence", "largest_error", "clipped_at", "people")


def _beside_a_number(document: Mapping[str, Any]) -> dict[str, Any]:
    """What an examined document says of an answer that is a number, or of one for each group, as a statement keeps it."""
    if "answers" in document:
        return {"number": {"groups": {name: _own(one) for name, one in document["answers"].items()}}}
    return {"number": _own(document)} if "interval" in document else {}


def _own(one: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one[name] for name in _BESIDE if name in one}


def spent_by(document: Mapping[str, Any]) -> ApproximateDP:
    """What the release cost; where that is not written, the level that it was asked at."""
    own = document.get("spent")
    stated = own if isinstance(own, Mapping) and "epsilon" in own else document
    return read_release_level(str(stated["epsilon"]), str(stated.get("delta", 0)))


def protected_by(document: Mapping[str, Any]) -> tuple[str | None, str]:
    """The column that names a person, and the neighbours in words: guarantees add up only where both are the same."""
    unit = document.get("unit")
    return unit, Neighbours(str(document["neighbours"])).within((), limited_unit(unit))


def _question(document: Mapping[str, Any]) -> str:
    parts = {name: document.get(name) for name in _CONDITIONS}
    if document.get("by") is not None:
        most = document.get("groups_per_person")
        each = f", at most {most} for each person" if most else ""
        parts["by"] = f"{document['by']} {list(document.get('groups') or [])}{each}"
    if document.get("public_groups"):
        parts["groups"] = "public"
    return str(document["question"]) + "".join(f" | {name}: {value}" for name, value in parts.items() if value)


def _examined(document: Mapping[str, Any]) -> tuple[bool, str]:
    try:
        verdict = verify_document(document)
    except OptimalDPError as error:
        return False, f"The referee could not examine this document: {error}"
    if verdict.holds:
        return True, "The referee examined this document again when the report was written, without any data: it holds."
    return False, f"The referee examined this document again, and it does not hold: {verdict.failure}."


# The page that a report is written on: one file, no script, no network, printable.


_STYLE = """
body { font: 16px/1.5 system-ui, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; color: #1b1f24; max-width: 50rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 2px solid #0072B2; }
h3 { font-size: 1rem; overflow-wrap: anywhere; margin: 1.6rem 0 .3rem; } .soft { color: #55606d; font-size: .9rem; }
.big { font-size: 1.7rem; font-weight: 700; margin: .2rem 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid #d5dae0;
  overflow-wrap: anywhere; }
td.number { text-align: right; font-variant-numeric: tabular-nums; } table.answers { width: auto; }
.asked th { white-space: nowrap; }
.picture { display: block; width: 100%; height: auto; margin: .6rem 0 0; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .1rem 1rem; margin: .2rem 0; padding: 0; font-size: .85rem; }
dl { display: grid; grid-template-columns: minmax(7rem, 10rem) minmax(0, 1fr); gap: .15rem 1rem; font-size: .9rem; }
dt { color: #55606d; } dd { margin: 0; overflow-wrap: anywhere; } code { overflow-wrap: anywhere; }
@media (max-width: 34rem) { dl { grid-template-columns: minmax(0, 1fr); } }
@media print { body { margin: 0; max-width: none; } section { break-inside: avoid; } h2.appendix { break-before: page; } }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def standing_alone(title: str, body: str) -> str:
    """A whole page from its title, which is escaped here, and its body, which is markup."""
    shown = html.escape(title)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{shown}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><style>{_STYLE}</style></head>'
        f"<body><h1>{shown}</h1>{body}</body></html>\n"
    )


# The reliability curve of an answer that was given: computed again from the public numbers in its statement.


# What a ledger remembers after the question itself: see Request.text.
_SUFFIX = re.compile(r" \| (?:where|reduce|order|levels|aim|by|groups): ")


def reliability_of(question: str, statement: Mapping[str, Any] | None) -> Preview | None:
    """Error by margin of the law that gave the answer; ``None`` where there is no margin or no statement."""
    law = (statement or {}).get("mechanism_document")
    if not isinstance(law, Mapping):
        return None
    sizes = law.get("levels")
    options: dict[str, Any] = {"epsilon": law.get("epsilon"), "delta": law.get("delta", 0)}
    options |= {"neighbours": law.get("neighbours", "substitution"), "n": _people(law)}
    if sizes:
        options |= {"level_sizes": {str(own): people for own, people in sizes}, "aim": law.get("aim")}
    if law.get("public_groups"):
        options["public_groups"] = True
    for text in question_texts(question):
        try:
            made = preview(text, **options)
        except OptimalDPError:
            continue
        return made if made.margins else None
    return None


def question_texts(asked: str) -> list[str]:
    """The text that was asked, and its beginnings before each thing that a ledger adds: one of them is the question."""
    return [asked, *(asked[: match.start()] for match in reversed(list(_SUFFIX.finditer(asked))))]


def _people(law: Mapping[str, Any]) -> int | None:
    people = law.get("people")
    count = people.get("n") if isinstance(people, Mapping) else None
    return count if isinstance(count, int) and count > 0 else None


Location = str | os.PathLike[str]
_FIRST = ("protected", "epsilon_means", "reliable")
_NOT_PROOF = (*_FIRST, "notes", "mechanism_document", "number", "histogram")


def write_report(
    ledger: Ledger | Location | None = None,
    output: Location = "report.html",
    *,
    documents: Sequence[Release | Mapping[str, Any] | Location] = (),
) -> Path:
    """Write a report on *ledger*, or on the *documents* of single releases, as one HTML or PDF file: *output*.

    Reads the ledger or the documents and nothing else, and spends nothing.

    >>> import pathlib, tempfile, pyarrow
    >>> from optimaldp import release
    >>> table = pyarrow.table({"smokes": ["yes"] * 10 + ["no"] * 990})
    >>> made = release(table, "share(smokes = 'yes') >= 0.3", epsilon=1, delta=1e-6)
    >>> write_report(output=pathlib.Path(tempfile.mkdtemp()) / "report.html", documents=[made]).name
    'report.html'
    """
    check_sources(ledger, documents)
    target = _target(output, (".html", ".htm", ".pdf"))
    page = report_html(ledger) if ledger is not None else documents_html(documents)
    if target.suffix.lower() == ".pdf":
        print_page(page, target)
        return target
    return write_text(target, (".html", ".htm"), page)


def write_text(output: Location, endings: Sequence[str], text: str) -> Path:
    """Write *text* to a file whose name has one of the *endings*."""
    target = _target(output, endings)
    try:
        target.write_text(text, "utf-8")
    except OSError as error:
        raise InputError("output", str(output), f"cannot be written ({error.strerror})", "check the folder") from None
    return target


def _target(output: Location, endings: Sequence[str]) -> Path:
    target = Path(output)
    if target.suffix.lower() not in endings:
        remedy = f"end it in {', '.join(endings[:-1])} or {endings[-1]}"
        raise InputError("output", str(output), "does not name the kind of file that is written", remedy)
    if not target.parent.is_dir():
        raise InputError("output", str(output), "names a folder that does not exist", "make the folder first")
    return target


def check_sources(ledger: object, documents: Sequence[object]) -> None:
    """Refuse a ledger together with documents, and neither of the two."""
    if ledger is not None and documents:
        rule = "goes with no documents: a ledger has its answers already"
        raise InputError("ledger", str(getattr(ledger, "location", ledger)), rule, "name the ledger or the documents")
    if ledger is None and not documents:
        remedy = "name a ledger, or files that release --json wrote"
        raise InputError("ledger", "--ledger", "is missing, and no documents are named", remedy)


def report_html(ledger: Ledger | Location) -> str:
    """The report on *ledger* as a page that stands alone."""
    if not isinstance(ledger, Ledger):
        with open_ledger(ledger, readonly=True) as book:
            return report_html(book)
    answers = [from_record(record, number) for number, record in enumerate(ledger.history(), start=1)]
    opening = ledger.opening
    parts = [
        _head(answers, "from the ledger alone", opening.unit, ledger.neighbours_words),
        _overview(answers),
        _budget(ledger),
        _one_by_one(answers),
        _appendix(answers),
        "<h3>The ledger</h3><p>Every entry is chained to the one before; the last one is "
        f"<code>{html.escape(ledger.head)}</code>. <code>optimaldp ledger verify</code> checks the chain.</p>",
        ethics_appendix(_spent(ledger), opening.neighbours, f"Of the budget for everybody: {_account(ledger)}."),
    ]
    return standing_alone(f"Private answers about {opening.dataset}", "".join(parts))


def documents_html(documents: Sequence[Release | Mapping[str, Any] | Location]) -> str:
    """The report on single releases, from their documents: each is examined again."""
    read = read_documents(documents)
    answers = [from_document(document, number, source) for number, (document, source) in enumerate(read, start=1)]
    people = {protected_by(document) for document, _ in read}
    unit, neighbours = people.pop() if len(people) == 1 else (None, "")
    names = dict.fromkeys(str(document["dataset"]) for document, _ in read if document.get("dataset"))
    parts = [
        _head(answers, "from the documents of the releases", unit, neighbours),
        _overview(answers),
        _together([spent_by(document) for document, _ in read], unit, alike=bool(neighbours)),
        _one_by_one(answers),
        _appendix(answers),
        _for_a_board([document for document, _ in read], alike=bool(neighbours)),
        *(carried(document) for document, _ in read),
    ]
    title = f"Private answers about {', '.join(names)}" if names else "Private answers"
    return standing_alone(title, "".join(parts))


def _for_a_board(documents: Sequence[Mapping[str, Any]], *, alike: bool) -> str:
    total = added_up([spent_by(document) for document in documents]) if alike else None
    return ethics_appendix(total, Neighbours(str(documents[0]["neighbours"])))


def carried(document: Mapping[str, Any]) -> str:
    """The document of a release inside the page, for whoever wants to verify it again: data, which no browser runs or shows."""
    text = json.dumps(document, ensure_ascii=False, default=float)  # numbers of a file are read as decimals
    return f'<script type="application/json" class="release">{text.replace("<", chr(92) + "u003c")}</script>'


def read_documents(documents: Sequence[Release | Mapping[str, Any] | Location]) -> list[tuple[Any, str]]:
    """The releases in *documents*, each with the name of where it came from."""
    return [one for document in documents for one in _read(document)]


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
    words = protected_words(unit)
    person = words[:1].upper() + words[1:]
    return f"{head}<p>{html.escape(person)}; neighbours: {html.escape(neighbours)}.</p>"


def _overview(answers: Sequence[Published]) -> str:
    if not answers:
        return "<h2>What was asked</h2><p>Nothing was asked yet.</p>"
    names = ("#", "time (UTC)", "question", "part", "epsilon", "delta", "answer")
    table = [
        (str(one.number), _minute(one.time), one.words, one.part, one.epsilon, one.delta, one.short_answer)
        for one in answers
    ]
    # A column that says nothing is left out.
    shown = [i for i, name in enumerate(names) if name not in ("part", "time (UTC)") or any(row[i] for row in table)]
    rows = "".join(f"<tr>{''.join(f'<td>{html.escape(row[i])}</td>' for i in shown)}</tr>" for row in table)
    head = "".join(f"<th>{names[i]}</th>" for i in shown)
    return f'<h2>What was asked</h2><div class="scroll"><table class="asked"><tr>{head}</tr>{rows}</table></div>'


def _minute(time: str) -> str:
    return time[:16].replace("T", " ")


def _account(ledger: Ledger) -> str:
    return ledger.remaining().summary().removeprefix("Remaining(").removesuffix(")")


def _spent(ledger: Ledger) -> ApproximateDP:
    spent = ledger.remaining().spent
    return approximate(spent.epsilon, spent.delta)


def _budget(ledger: Ledger) -> str:
    remaining, account = ledger.remaining(), _account(ledger)
    shown = [f"<p>For everybody: {html.escape(account)}; composition: {html.escape(remaining.composition)}.</p>"]
    total = float(remaining.budget.epsilon) if not remaining.budget.unlimited else 0.0
    if total:
        shown.insert(0, budget_gauge(float(remaining.spent.epsilon) / total, f"remaining: {account}"))
    shown.append(_meaning_of_all(_spent(ledger), ledger.opening.unit))
    for part in ledger.opening.parts:
        own = ledger.remaining(part=part).summary().removeprefix("Remaining(").removesuffix(")")
        shown.append(f"<p>For people with {html.escape(str(part))}: {html.escape(own)}.</p>")
    for group, rest in ledger.groups().items():
        if group.column is not None:
            own = rest.summary().removeprefix("Remaining(").removesuffix(")")
            shown.append(f"<p>For people with {html.escape(str(group))}: {html.escape(own)}.</p>")
    return f"<h2>The budget</h2>{''.join(shown)}"


def _together(levels: Sequence[ApproximateDP], unit: str | None, *, alike: bool) -> str:
    """What several releases cost somebody who is in all of them: the plain sum, which holds whatever was asked."""
    shown = "<p>No ledger kept count: what else was asked of the same people is not in this report.</p>"
    if alike:
        total = added_up(levels)
        cost = f"epsilon {total.epsilon}, delta {fraction_text(total.delta)}"
        sentence = f"For somebody who is in all of these tables these answers together cost at most {cost}."
        shown = f"<p>{html.escape(sentence)}</p>{_meaning_of_all(total, unit)}{shown}"
    return f"<h2>What it cost</h2>{shown}"


def added_up(levels: Sequence[ApproximateDP]) -> ApproximateDP:
    """The plain sum of one or more levels."""
    total = levels[0]
    for one in levels[1:]:
        total = approximate(total.epsilon + one.epsilon, min(total.delta + one.delta, Fraction(1)))
    return total


def _meaning_of_all(level: ApproximateDP, unit: str | None) -> str:
    if level.epsilon.is_zero or level.epsilon.infinite:
        return ""
    limited = limited_unit(unit)
    more = "" if limited is None else f" Protected: {limited.words(level)}."
    return f"<p>All answers together: {html.escape(epsilon_means(level, limited) + more)}</p>"


def _one_by_one(answers: Sequence[Published]) -> str:
    return f"<h2>The answers, one by one</h2>{''.join(map(_answer, answers))}" if answers else ""


def _answer(one: Published) -> str:
    day = f", on {one.time[:10]}" if one.time else ""
    said = [*one.facts(), f"It cost epsilon {one.epsilon}, delta {one.delta}{day}."]
    told = "".join(f"<p>{html.escape(text)}</p>" for text in (*said, *([one.examined] if one.examined else [])))
    preview = reliability_of(one.question, one.statement)
    curve = "" if preview is None else reliability_curve(preview)
    asked = f'<p class="soft"><code>{html.escape(one.question)}</code></p>'
    return f"<section><h3>{html.escape(one.title)}</h3>{asked}{_value(one)}{told}{curve}</section>"


def _value(one: Published) -> str:
    if one.missing:
        return f"<p><em>{html.escape(one.missing)}</em></p>"
    if isinstance(one.shown, Mapping):
        return answer_bars(one.shown, one.group_words)
    if (table := one.crossed) is not None:
        return table._repr_html_()
    if isinstance(one.shown, list) and one.shown and all(isinstance(row, Mapping) for row in one.shown):
        return answer_rows(one.shown)
    return f'<p class="big">{html.escape(one.said or _short(one.shown))}</p>'


def _sentence(name: str, text: str) -> str:
    return f"Protected: {text}." if name == "protected" else text


def _appendix(answers: Sequence[Published]) -> str:
    return f'<h2 class="appendix">Appendix: the proofs</h2>{"".join(map(_proof, answers))}'


def _proof(one: Published) -> str:
    rows = "".join(
        f"<dt>{html.escape(name.replace('_', ' '))}</dt><dd>{html.escape(_listed(value))}</dd>"
        for name, value in {**one.statement, **_reading_words(one.reading)}.items()
        if name not in _NOT_PROOF and value not in (None, "", [])
    )
    return f"<section><h3>{html.escape(one.title)}</h3><dl>{rows}</dl></section>" if rows else ""


def _reading_words(reading: Mapping[str, Any]) -> dict[str, str]:
    """How the cells of the table were read, where it was said: the description by its hash and in full."""
    words = {"types": "types", "delimiter": "delimiter", "encoding": "encoding", "description": "description (hash)"}
    words["described"] = "description"
    return {
        f"read by {word}": value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, word in words.items()
        if (value := reading.get(name)) not in (None, "", {})
    }


def _listed(value: object) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)
