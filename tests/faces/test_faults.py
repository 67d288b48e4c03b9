"""A small sample of ``make bench-service``: processes and the database are killed while everybody asks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the service extra is not installed")

from postgres_server import why_missing

sys.path.append(str(Path(__file__).parents[2]))


@pytest.mark.slow
@pytest.mark.skipif(why_missing() is not None, reason=str(why_missing()))
def test_nobody_overspends_and_nothing_is_lost_when_processes_are_killed() -> None:
    from benchmarks.service import run

    faults = run(asks=0, kills=12, seconds=120)["faults"]
    assert faults["killed"]["total"] > 0
    assert (faults["overspent"], faults["lost"], faults["answered_twice"]) == (0, 0, 0)
    assert faults["spent"] >= faults["answered_epsilon"]


def test_the_examination_finds_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.service import COST, Given, examined
    from optimaldp.ledger import Budget, open_ledger
    from optimaldp.ledger.askers import AskersLedger, Behalf
    from optimaldp.privacy import level

    path = tmp_path / "tight.ledger"
    with open_ledger(path, dataset="tight", budget=Budget(100)) as ledger:
        book = AskersLedger(ledger, Behalf("ann", request="1"))
        book.reserve(question="q", level=level(COST)).record("yes")
        ledgers = {"tight": str(path)}
        assert examined(ledgers, Given([("tight", "ann", "1", "yes")])).holds
        assert examined(ledgers, Given([("tight", "ann", "1", "no")])).lost == 1  # another answer than the recorded one
        assert examined(ledgers, Given([("tight", "ann", "2", "yes")])).lost == 1  # an answer that nobody paid for
        assert examined(ledgers, Given([("tight", "ann", "1", "yes")] * 2)).twice == 1
        assert not examined(ledgers, Given([("tight", "ann", "1", "yes")] * 2)).holds  # more answered than spent
        monkeypatch.setattr(AskersLedger, "_require_room", lambda *_: None)  # a ledger that does not look
        book.reserve(question="q", level=level(COST))
        assert examined(ledgers, Given()).twice == 1  # two spends for one request
        AskersLedger(ledger, Behalf("ann", request="3")).reserve(question="r", level=level(1))
        assert examined(ledgers, Given()).overspent == 2  # her own budget, and the total
