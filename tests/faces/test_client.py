"""The Python client against a real curator: the same words as for a table of one's own, and the library's own objects."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="the service extra is not installed")
pytest.importorskip("httpx", reason="the service extra is not installed")

from served import Served

import optimaldp as odp
from optimaldp.asking.ask import Ask
from optimaldp.client import AsyncWaitingRequest, WaitingRequest, error_of, written
from optimaldp.errors import (
    AccessError,
    BudgetError,
    InputError,
    LedgerError,
    NotApprovedError,
    ServiceError,
    StillWaitingError,
)

OLD = "majority(smokes = true)"


@pytest.mark.slow  # answers come at their fixed time
def test_a_table_is_asked_like_ones_own(curator: Served) -> None:
    with odp.connect(curator.url, curator.keys["ann"]) as connection:
        assert [one["name"] for one in connection.datasets()] == ["hospital"]
        table = connection.table("hospital")
        own = odp.preview(OLD, epsilon=0.25)
        assert table.preview(OLD, epsilon=0.25).sentences() == own.sentences()
        before = table.remaining
        made = table.ask(odp.majority("smokes = true", among="age >= 18"), epsilon=0.25)
        assert isinstance(made, odp.Release)
        assert made.answer in ("yes", "no")
        assert odp.verify(made)
        assert not made.recorded
        again = table.ask(odp.majority("smokes = true", among="age >= 18"), epsilon=0.25)
        assert isinstance(again, odp.Release)
        assert (again.answer, again.recorded) == (made.answer, True)
        assert float(table.remaining.epsilon) == float(before.epsilon) - 0.25
        history = table.history()
        assert [record.answer for record in history if "age >= 18" in record.question] == [made.answer]
        assert "0.25" in str(history)


@pytest.mark.slow  # answers come at their fixed time
def test_what_waits_is_decided_by_an_approver(curator: Served) -> None:
    with (
        odp.connect(curator.url, curator.keys["ben"]) as asker,
        odp.connect(curator.url, curator.keys["dora"]) as approver,
    ):
        table = asker.table("hospital")
        assert "An approver has to let this question through." in table.preview(OLD, epsilon=0.6).notes
        let_through, refused = (table.ask(f"majority(age >= {age})", epsilon=0.6) for age in (60, 61))
        assert isinstance(let_through, WaitingRequest)
        assert isinstance(refused, WaitingRequest)
        assert let_through.status == "waiting"
        with pytest.raises(StillWaitingError):
            let_through.wait(0.1)
        waiting = {one.id: one for one in approver.requests(status="waiting")}
        assert waiting[let_through.id].question == "majority(age >= 60)"
        assert waiting[let_through.id].asker == "ben"
        waiting[let_through.id].approve()
        waiting[refused.id].refuse("Ask for less.")
        assert let_through.wait().answer in ("yes", "no")
        with pytest.raises(NotApprovedError, match="Ask for less"):
            refused.wait()
        with pytest.raises(LedgerError):
            waiting[refused.id].approve()
        with pytest.raises(AccessError):
            asker.request(let_through.id).approve()


@pytest.mark.slow  # answers come at their fixed time
def test_the_asynchronous_twin_does_the_same(curator: Served) -> None:
    async def session() -> None:
        async with (
            odp.connect(curator.url, curator.keys["ann"], asynchronous=True) as asker,
            odp.connect(curator.url, curator.keys["dora"], asynchronous=True) as approver,
        ):
            table = asker.table("hospital")
            assert [one["name"] for one in await asker.datasets()] == ["hospital"]
            assert (await table.preview(OLD, epsilon=0.1)).question == OLD
            asked = [table.ask(f"majority(age >= {age})", epsilon=0.01) for age in (30, 40, 50)]
            assert all(isinstance(one, odp.Release) for one in await asyncio.gather(*asked))
            assert len(await table.history()) >= 3
            assert (await table.remaining).entries >= 3
            waits = await table.ask("majority(age >= 62)", epsilon=0.6)
            assert isinstance(waits, AsyncWaitingRequest)
            (wanted,) = [one for one in await approver.requests(status="waiting") if one.id == waits.id]
            decision, made = await asyncio.gather(wanted.approve(), waits.wait())
            assert decision.settled
            assert made.answer in ("yes", "no")
            assert await waits.status == "answered"

    asyncio.run(session())


def test_errors_are_those_of_the_library(curator: Served) -> None:
    with odp.connect(curator.url, curator.keys["ann"]) as connection:
        table = connection.table("hospital")
        with pytest.raises(InputError, match="is not a column of the table") as unknown:
            table.ask("majority(nobody = 1)", epsilon=0.1)
        assert unknown.value.remedy
        with pytest.raises(InputError, match="epsilon"):
            table.preview(OLD, epsilon=-1)
        with pytest.raises(InputError, match="one question at a time"):
            table.ask([OLD, OLD], epsilon=0.1)  # type: ignore[arg-type]
        with pytest.raises(AccessError):
            connection.table("elsewhere").ask(OLD, epsilon=0.1)
    with odp.connect(curator.url, "odp_0000000000000000_wrong") as stranger, pytest.raises(AccessError):
        stranger.datasets()
    with odp.connect("http://127.0.0.1:9", "key") as nobody, pytest.raises(ServiceError, match="cannot be reached"):
        nobody.datasets()


def test_a_budget_that_does_not_cover_it_is_a_budget_error() -> None:
    words = "release needs epsilon 1 but 0 remains. Nothing was sampled and nothing was spent."
    assert isinstance(error_of(409, {"message": words}), BudgetError)
    assert str(error_of(409, {"message": words})) == words
    assert not isinstance(error_of(409, {"message": "It is not waiting."}), BudgetError)
    assert str(error_of(502, {})) == "The service answered with status 502, which says nothing more."


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("curator.example", "is not the address"),
        ("ftp://curator.example", "is not the address"),
        ("https://ann:SECRET@curator.example", "has more than an address"),
        ("https://curator.example/?key=SECRET", "has more than an address"),
        ("http://curator.example", "is not encrypted"),
    ],
)
def test_addresses_that_would_give_the_key_away_are_refused(url: str, rule: str) -> None:
    with pytest.raises(InputError, match=rule) as refused:
        odp.connect(url, "key")
    assert "SECRET" not in str(refused.value)


def test_the_key_is_in_no_repr() -> None:
    with odp.connect("http://127.0.0.1:9", "odp_SECRET") as connection:
        assert "SECRET" not in repr(connection) + repr(connection.table("x")) + repr(vars(connection.table("x")))


def test_an_ask_is_written_as_json() -> None:
    from fractions import Fraction

    ask = Ask(
        odp.majority("x = 1"), Fraction(1, 2), by="ward", groups=["a", "b"], reduce={"x": "max"}, public_groups=True
    )
    assert json.loads(json.dumps(written(ask))) == {
        "question": "majority(x = 1)",
        "epsilon": "1/2",
        "by": "ward",
        "groups": ["a", "b"],
        "reduce": {"x": "max"},
        "public_groups": True,
    }


@contextmanager
def dropping(times: int) -> Iterator[tuple[str, list[str | None]]]:
    """A server that hangs up *times* times before it answers, and the tickets that it was shown."""
    tickets: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            tickets.append(self.headers["Idempotency-Key"])
            if len(tickets) <= times:
                self.connection.close()
                return
            body = json.dumps({"request": "7", "status": "waiting"}).encode()
            self.send_response(202)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", tickets
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_question_that_is_sent_again_carries_the_same_ticket() -> None:
    with dropping(2) as (url, tickets), odp.connect(url, "key") as connection:
        assert isinstance(connection.table("x").ask(OLD, epsilon=1), WaitingRequest)
        assert isinstance(connection.table("x").ask(OLD, epsilon=1), WaitingRequest)
    assert len(tickets) == 4
    assert tickets[0] == tickets[1] == tickets[2] != tickets[3]  # another question has a ticket of its own


@pytest.mark.long
def test_a_decision_is_not_sent_again() -> None:
    with dropping(1) as (url, tickets), odp.connect(url, "key") as connection:
        with pytest.raises(ServiceError, match="cannot be reached"):
            WaitingRequest(connection, {"request": "7", "status": "waiting"}).approve()
        assert tickets == [None]


@pytest.mark.long
def test_importing_optimaldp_does_not_import_httpx() -> None:
    program = "import optimaldp, sys; optimaldp.connect; print('httpx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "False"
