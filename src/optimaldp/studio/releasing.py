"""Release: one question about the steward's table, its price, its answer, and what the ledger has recorded.

**Guarantee.** What leaves here is the schema, what the ledger has recorded, previews of made-up margins, and sampled answers.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimaldp.asking.ask import FIELDS, from_json
from optimaldp.asking.corridor import charge_of
from optimaldp.asking.plans import Plan, parse_plan
from optimaldp.asking.releasing import release_each
from optimaldp.asking.statements import cautions
from optimaldp.errors import InputError, NoMarginError, TableError
from optimaldp.ledger import Charge
from optimaldp.privacy import Epsilon
from optimaldp.privacy.numbers import fraction_text
from optimaldp.questions.base import as_question
from optimaldp.questions.columns import read_columns
from optimaldp.sanitising import estimate
from optimaldp.sanitising import sanitise as sanitised_table
from optimaldp.sanitising.planning import Asked, make_plan
from optimaldp.sanitising.releasing import TableOrder
from optimaldp.studio.answering import answer_document, cost_words
from optimaldp.studio.calls import read_fields
from optimaldp.studio.desk import OPTIONS, Desk, capital, column_document
from optimaldp.tables.tally import rules_for

if TYPE_CHECKING:
    from optimaldp.asking.request import Request


# Sanitise: a whole table of the same kind, which may be published. What it would be off is told before anything is spent.


# Sanitised tables of this session: kept in the studio's own folder until they are downloaded, and gone with it.


@contextlib.contextmanager
def room_for_table(folder: Path | None) -> Iterator[Path]:
    """A file for rows that are still to be drawn; it goes again if nothing comes into it."""
    if folder is None or not folder.is_dir():
        raise TableError("folder", str(folder), "is not there to keep the rows", "start the studio again")
    path = _own_file(folder)
    try:
        yield path
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _own_file(folder: Path) -> Path:
    for number in count(1):
        path = folder / f"clean-{number}.csv"
        try:  # several processes may keep tables at once: a name is taken by making its file
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            continue
        return path
    raise AssertionError("there is always a next number")


def kept_tables(folder: Path | None) -> list[dict[str, Any]]:
    """What was kept, the last one first, in public words."""
    if folder is None:
        return []
    statements = sorted(folder.glob("clean-*.csv.json"), key=number_of, reverse=True)
    return [_line(path) for path in statements]


def number_of(path: Path) -> int:
    """The number under which a table is downloaded."""
    return int(path.name.split(".")[0].removeprefix("clean-"))


def _line(path: Path) -> dict[str, Any]:
    said = json.loads(path.read_text("utf-8"))
    columns = [column["name"] for column in said["columns"]]
    return {"number": number_of(path), "columns": columns, "epsilon": said["epsilon"], "time": said["time"]}


_OPTIONS = ("where", "reduce", "reduce_order", "levels", "part", "marginals")
_MOST_BARS = 40  # a longer column is downloaded, not drawn


def check_sanitise(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """What a sanitised table of these columns would be off, and whether the budget covers it. Reads no row, spends nothing."""
    fields = read_fields(body, ("columns", "epsilon"), ("n", *_OPTIONS))
    ledger, source = desk.table.ledger, desk.source()
    said = {name: value for name, value in fields.items() if name in FIELDS} | {"question": ""}
    asked = Asked(fields["columns"], from_json(said, remedy="correct the field", keys=False), fields.get("marginals"))
    plan = make_plan(source, asked, ledger)
    shown = estimate(
        {column.name: column for column in plan.columns},
        epsilon=fields["epsilon"],
        n=fields.get("n"),
        neighbours=plan.neighbours,
        marginals=fields.get("marginals"),
    )
    if TableOrder(plan, source).replayed(ledger, source.version()) is not None:
        price = {"covered": True, "recorded": True, "words": "This table was made before: asking again costs nothing."}
    else:
        refused = desk.refused([charge_of(plan)])
        price = {
            "covered": refused is None,
            "recorded": False,
            "words": refused or f"It costs {cost_words(plan.level)}.",
        }
    return {
        "estimate": shown.to_document(),
        "method": plan.method,
        "price": price,
        "ledger": desk.book(),
    }


def sanitise(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """Spend, draw, record, and keep the rows for their download."""
    fields = read_fields(body, ("columns", "epsilon", "confirm"), ("labels", *_OPTIONS))
    require_confirmed(fields)
    labels = fields.pop("labels", False) is True
    table = desk.table
    columns = {column.name: column for column in read_columns(fields.pop("columns"))}
    with room_for_table(desk.folder) as path:  # before anything is spent
        made = sanitised_table(table.source, columns, **fields, ledger=table.ledger, **table.reading)
        made.save(path, labels=labels)
    return {
        "number": number_of(path),
        "rows": made.rows,
        "recorded": made.recorded,
        "statement": made.to_document(),
        "margins": {column.name: _margin(made, column) for column in made.columns},
        "made": kept_tables(desk.folder),
        "ledger": desk.book(),
    }


def _margin(made: Any, column: Any) -> dict[str, int] | None:
    """People by one column's values, as the sanitised table has them."""
    if column.size > _MOST_BARS or made.tables[0].noisy.dense is None:
        return None
    counts = made.margin(column.name).counts.tolist()
    return {"(no value)" if label is None else label: count for label, count in zip(column.labels, counts)}


_CSV_WORDS = (
    "The first line names the columns and is public. Cells are text until a question says how they are read; nothing is guessed "
    "from them."
)
_DESCRIBED_WORDS = "Cells are read as the description says, which is public. Nothing else is looked at before you ask."
_TYPED_WORDS = "Names and types of columns are public. Nothing else of the file is looked at before you ask."


def session(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """Whether there is a table; its columns by name and type, the budget, and the history."""
    read_fields(body, ())
    made = kept_tables(desk.folder)
    if desk.data is None:
        return {"table": desk.number, "data": None, "ledger": None, "made": made}
    source = desk.source()
    columns = [column_document(name, kind) for name, kind in source.schema.columns]
    read_as = _CSV_WORDS if any(column["open"] for column in columns) else _TYPED_WORDS
    if source.description is not None:
        read_as = _DESCRIBED_WORDS
    shown = {"words": desk.words(source), "columns": columns, "read_as": read_as, "given": desk.name is not None}
    shown |= {"kept": desk.kept, "description": None if source.description is None else source.description.document}
    return {"table": desk.number, "data": shown, "ledger": desk.book() if desk.is_open else None, "made": made}


def settled(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """As session, when nothing is under way any more that could still spend: the web process has waited for it."""
    return session(desk, body)


def check(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """Whether a question can be asked of this table and paid, and its preview. Reads no row and spends nothing."""

    fields = read_fields(body, ("question", "epsilon"), ("delta", "n", "level_sizes", *OPTIONS))
    source = desk.source()
    request = desk.checked(fields, source)
    return {
        "words": request.question.words(),
        "preview": preview_document(request, fields.get("n"), fields.get("level_sizes")),
        "people": f"{capital(request.protected())}; neighbours: {request.neighbours_words()}.",
        "cautions": list(cautions(request, source.schema, fields.get("n"))),
        "price": _price(desk, request, source.version()),
        "ledger": desk.book(),
    }


def _price(desk: Desk, request: Request, version: str | None) -> dict[str, Any]:
    """Whether the answer is already there and costs nothing, and else whether the budget covers it now."""
    if desk.is_recorded(request, version):
        return {"covered": True, "recorded": True, "words": "This was answered before: asking again costs nothing."}
    refused = desk.refused([charge_of(request)])
    return {"covered": refused is None, "recorded": False, "words": refused or f"It costs {cost_words(request.level)}."}


def release(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """Spend, sample, record: one private answer."""
    fields = read_fields(body, ("question", "epsilon", "confirm"), ("delta", *OPTIONS))
    require_confirmed(fields)
    made = desk.table.ask(fields.pop("question"), **fields)
    return answer_document(made) | {"ledger": desk.book()}


def rules(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """Which rules fit a question for people with several rows, and what the description says already. Reads no row."""
    fields = read_fields(body, ("question",))
    told = desk.source().description
    ask = desk.ask({"question": fields["question"], "epsilon": 0}).described(told)
    question = as_question(ask.question)
    said = {} if told is None else dict(told.reduce)
    return {"words": question.words(), "rules": list(rules_for(question.tally)), "said": said}


def report(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that the ledger has recorded, as a page to hand over and as a sheet. Reads no data, spends nothing."""
    from optimaldp.reporting.report import report_html

    read_fields(body, ())
    ledger = desk.table.ledger
    return {"html": report_html(ledger), "csv": ledger.history().to_csv()}


def require_confirmed(fields: dict[str, Any]) -> None:
    """A spend must be confirmed in so many words."""
    confirmed = fields.pop("confirm")
    if confirmed is not True:
        raise InputError("confirm", confirmed, "is not true", "confirm the spend")


def preview_document(request: Request, n: Any, sizes: Any = None) -> dict[str, Any]:
    """What to expect, from public numbers alone."""
    from optimaldp.asking.previewing import preview_of
    from optimaldp.studio.exploring import level_sizes_of, shown_preview, without_margin

    try:
        return shown_preview(request, preview_of(request, n=n, level_sizes=level_sizes_of(sizes)))
    except NoMarginError:
        return without_margin(request, n)


# Several questions at once: priced together, charged together or not at all, and kept as a plan file.


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
        line: dict[str, Any] = {"question": request.text, "words": request.question.words()}
        line |= {"level": str(request.level), "recorded": recorded}
        if request.text in texts:
            line["error"] = "This question is in the list twice: take one of them out."
        texts.add(request.text)
        shown.append(line | {"cautions": list(cautions(request, source.schema))})
        if not recorded:
            charges.append(charge_of(request))
            epsilon, delta = epsilon + request.level.epsilon, delta + request.level.delta
        shown[-1]["running"] = str(epsilon)
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
    cost = f"ε = {epsilon}" + (f", δ = {fraction_text(delta)}" if delta else "")
    known = all_of_them - fresh
    return f"Together they cost {cost}." + (f" {known} of them were answered before and cost nothing." if known else "")


def release_plan(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """Spend for all questions together or for none, then sample, then record."""
    fields = read_fields(body, ("questions", "confirm"))
    require_confirmed(fields)
    table = desk.table
    made = release_each(table.source, [desk.ask(one) for one in _questions(fields)], ledger=table.ledger)
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
