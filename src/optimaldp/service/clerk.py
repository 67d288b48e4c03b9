"""The process that reads tables: it walks the corridor on behalf of an asker, and can be stopped at any moment.

One line of JSON in, one line out, as :mod:`optimaldp.studio.worker` does it. What an asker may do was decided before: here it
is carried out, and the ledger checks the budgets once more in the transaction that spends.

**Guarantee.** Whatever is raised before the spend speaks of the question, the description and the ledger alone. Whatever happens
after it, one fixed sentence is said.
"""

from __future__ import annotations

import json
import signal
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from optimaldp.documents.json_text import read_json_text
from optimaldp.errors import BudgetError, LedgerError, OptimalDPError, TableError
from optimaldp.ledger import Budget, Ledger, open_ledger
from optimaldp.ledger.askers import AskersLedger, Behalf
from optimaldp.privacy import ApproximateDP, Epsilon
from optimaldp.service.asked import read_ask, read_sanitise
from optimaldp.service.configuration import SANITISE
from optimaldp.service.refusals import FAILED, UNAVAILABLE, Refused, refusal_of

if TYPE_CHECKING:
    from optimaldp.asking.corridor import Order
    from optimaldp.tables import Source

ANSWERED, WAITS = 200, 202
Body = dict[str, Any]


class Clerk:
    """The tables and ledgers of a curator, opened when they are needed."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._datasets: Mapping[str, Mapping[str, str]] = settings["datasets"]
        self._ledgers: dict[str, Ledger] = {}
        self._calls: dict[str, Callable[[Body], tuple[int, Any]]] = {
            "warm": self._warm,
            "preview": self._preview,
            "ask": lambda body: self._answer(body, "ask"),
            SANITISE: lambda body: self._answer(body, SANITISE),
            "verify": self._verify,
        }

    def run(self, name: str, body: str) -> tuple[int, str]:
        """The status and the JSON of an answer."""
        try:
            status, document = self._calls[name](read_json_text(body))
            return status, json.dumps(document, allow_nan=False)
        except Refused as error:
            return error.status, json.dumps(error.document)
        except OptimalDPError as error:
            refused = refusal_of(error)
            return refused.status, json.dumps(refused.document)
        except (Exception, MemoryError):
            return 500, json.dumps(Refused(500, FAILED).document)

    def close(self) -> None:
        for ledger in self._ledgers.values():
            ledger.close()

    def _ledger(self, dataset: str) -> Ledger:
        if dataset not in self._ledgers:
            self._ledgers[dataset] = open_ledger(self._datasets[dataset]["ledger"])
        return self._ledgers[dataset]

    def _opened(self, dataset: str, book: Ledger) -> Source:
        """The table, opened anew for every question, so that changed data has a new version.

        It was in order when the service started: why it is not now is for the steward.
        """
        from optimaldp.asking.releasing import note_description
        from optimaldp.tables import open_source

        try:
            opened = open_source(self._datasets[dataset]["description"])
            note_description(book, opened)
        except (TableError, LedgerError):
            raise Refused(503, UNAVAILABLE) from None
        return opened

    def _warm(self, _: Body) -> tuple[int, Any]:
        """Load what a question needs, so that the first one does not take longer than others; nothing of it leaves."""
        import pyarrow

        from optimaldp.asking.previewing import preview
        from optimaldp.asking.releasing import release
        from optimaldp.tables import count_checked, plan_counting
        from optimaldp.tables.tally import EVERY_RECORD, Condition, People, Tally

        preview("majority(x = 'y')", epsilon=1)
        release(pyarrow.table({"x": ["y", "z"] * 10}), "histogram(x, ['y', 'z'])", epsilon=1)
        for name in self._datasets:
            opened = self._opened(name, self._ledger(name))
            count_checked(opened, plan_counting(opened, Tally((Condition(EVERY_RECORD),)), People()))
        return ANSWERED, {}

    def _preview(self, body: Body) -> tuple[int, Any]:
        from optimaldp.asking.previewing import preview_ask, preview_of
        from optimaldp.asking.releasing import order_of

        ask, options = read_ask(body["ask"])
        book = self._ledger(body["dataset"])
        opened = self._opened(body["dataset"], book)
        order = order_of(ask, opened, book)
        request = order.request
        if order.plan.options is not None:  # as the description lists them
            request = replace(request, question=request.question.with_options(order.plan.options))
        shown = preview_of(request, **options) if ask.levels is None else preview_ask(request.ask, **options)
        waits = _must_wait(body["rule"], request.level, _kinds(request.question))
        return ANSWERED, shown.to_document() | {"dataset": body["dataset"], "waits": waits}

    def _answer(self, body: Body, kind: str) -> tuple[int, Any]:
        from optimaldp.asking.corridor import walk
        from optimaldp.sampling import SystemBits

        bits = SystemBits()  # first: a broken generator is refused before anything is read or spent
        book = self._on_behalf(body)
        opened = self._opened(body["dataset"], book)
        try:
            order, kinds, write = self._ordered(kind, body["ask"], opened, book)
        except LedgerError as error:  # a part that the ledger does not declare
            raise Refused(400, str(error), field="part") from None
        waits = _must_wait(body["rule"], order.asked.level, kinds)
        if waits:  # what she has already she may see again; what others have she may not see past an approver
            book = _without_sharing(book)
        try:
            if waits and order.replayed(book, opened.version()) is None:
                return WAITS, {}
            document = write(walk(opened, [order], book, bits)[0])
            return ANSWERED, document | {"remaining": book.remaining_document()}
        except OptimalDPError as error:
            raise _told(error, book) from None
        except Exception:
            raise Refused(500, FAILED) from None

    def _on_behalf(self, body: Body) -> AskersLedger:
        said = dict(body["behalf"])
        budget = said.pop("budget")
        behalf = Behalf(budget=None if budget is None else Budget.from_document(budget), **said)
        return AskersLedger(self._ledger(body["dataset"]), behalf)

    def _ordered(
        self, kind: str, asked: Body, opened: Source, book: Ledger
    ) -> tuple[Order[Any], frozenset[str], Callable[[Any], Any]]:
        """What is asked, as the corridor takes it, its kinds, and how its answer is written."""
        if kind == SANITISE:
            from optimaldp.sanitising.planning import make_plan
            from optimaldp.sanitising.releasing import TableOrder, require_drawn

            table, labels = read_sanitise(asked)
            plan = make_plan(opened, table, book)
            require_drawn(plan)
            return TableOrder(plan, opened), frozenset({SANITISE}), lambda made: _table_document(made, labels)
        from optimaldp.asking.releasing import order_of

        order = order_of(read_ask(asked)[0], opened, book)
        return order, _kinds(order.request.question), _release_document

    def _verify(self, body: Body) -> tuple[int, Any]:
        from optimaldp.asking.verifying import verify_document

        return ANSWERED, verify_document(body["document"]).to_document()


def _told(error: OptimalDPError, book: AskersLedger) -> Refused:
    """What is said of an error in the corridor: its words while nothing is spent, one fixed sentence from then on."""
    if book.reserved:
        return Refused(500, FAILED)
    ruled_out = (
        isinstance(error, LedgerError) and not isinstance(error, BudgetError) and book.location not in str(error)
    )
    return Refused(409, str(error), field="epsilon") if ruled_out else refusal_of(error)


def _without_sharing(book: AskersLedger) -> AskersLedger:
    return AskersLedger(book, replace(book.behalf, shares=False))


def _kinds(question: Any) -> frozenset[str]:
    from optimaldp.questions.text import kinds_of

    return kinds_of(question)


def _must_wait(rule: Mapping[str, Any] | None, level: ApproximateDP, kinds: frozenset[str]) -> bool:
    """Whether somebody has to approve: by the level that was asked for and the kind of question, never by the data."""
    if rule is None:
        return False
    above = rule["above"]
    return bool(kinds & set(rule["kinds"])) or (above is not None and level.epsilon > Epsilon.read(above))


def _release_document(made: Any) -> Body:
    """The document of a release. What was asked for was charged, whether or not all of it was used."""
    document: Body = made.to_document()
    if not made.recorded:
        document["spent"] = {"epsilon": document["epsilon"], "delta": document["delta"]}
    return document | {"replayed": made.recorded}


def _table_document(made: Any, labels: bool) -> Body:
    frame = made.to_frame("arrow", labels=labels)
    rows = [list(row) for row in zip(*(column.to_pylist() for column in frame.columns))]
    return {"columns": list(frame.column_names), "rows": rows, "statement": made.statement, "replayed": made.recorded}


def main() -> None:
    """Serve calls from standard input until it ends."""
    from optimaldp.studio.worker import serve_calls

    def limited(settings: Mapping[str, Any]) -> Clerk:
        most = settings["memory"] * 2**20
        with suppress(ImportError):  # where the system has such limits
            resource = import_module("resource")
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
        return Clerk(settings)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the service, which lets questions finish
    warnings.simplefilter("ignore")  # they would be printed for nobody
    serve_calls(limited)


if __name__ == "__main__":
    main()
