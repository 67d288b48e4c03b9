"""Documents, ledgers, plans and certificates that optimaldp 0.2.0 wrote still open and still mean the same."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from command_line import run_cli

import optimaldp as odp
from optimaldp.ledger import open_ledger, verify_ledger

FIXTURES = Path(__file__).parent.parent / "fixtures" / "written_by_0_2"
RELEASES: dict[str, dict[str, Any]] = json.loads((FIXTURES / "releases.json").read_text())
DESIGNS: dict[str, dict[str, Any]] = json.loads((FIXTURES / "designs.json").read_text())
LEDGERS = {"add_remove": 2, "levels": 1, "optimal": 3, "parts": 1, "plain": 4, "sanitised": 1, "unit": 1}


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_document_still_verifies(name: str) -> None:
    verdict = odp.verify(RELEASES[name])
    assert verdict.holds, verdict


@pytest.mark.parametrize("name", ["count", "median_delta", "winner", "levels_every", "by", "histogram"])
def test_a_changed_level_is_still_noticed(name: str) -> None:
    forged = copy.deepcopy(RELEASES[name])
    forged["spent"]["epsilon"] = "0.25"
    assert not odp.verify(forged).holds


@pytest.mark.parametrize("name", LEDGERS)
def test_a_ledger_still_opens_and_counts_the_same_spends(name: str, tmp_path: Path) -> None:
    for suffix in ("", "-head"):
        shutil.copy(FIXTURES / f"{name}.ledger{suffix}", tmp_path / f"{name}.ledger{suffix}")
    with open_ledger(tmp_path / f"{name}.ledger") as ledger:
        assert verify_ledger(ledger.location, head=ledger.head).intact
        assert len(ledger.history()) == LEDGERS[name]
        assert ledger.opening.dataset == "clinic"
        assert str(ledger.history())


def test_a_ledger_goes_on_where_it_stopped(tmp_path: Path) -> None:
    for suffix in ("", "-head"):
        shutil.copy(FIXTURES / f"plain.ledger{suffix}", tmp_path / f"plain.ledger{suffix}")
    path = tmp_path / "people.csv"
    path.write_text("smokes\n" + "yes\nno\n" * 20)
    with odp.open(path, ledger=tmp_path / "plain.ledger") as table:
        before = float(table.remaining.epsilon)
        table.ask("majority(smokes = 'yes')", epsilon="0.25")
        assert float(table.remaining.epsilon) == pytest.approx(before - 0.25)


@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_with_its_certificate_still_verifies(name: str) -> None:
    if json.loads(DESIGNS[name]["design"])["status"] != "optimal":
        return
    result = run_cli("verify", "-", stdin=DESIGNS[name]["design"])
    assert result.code == 0, result.stdout
    assert json.loads(result.stdout)["private"] is True


@pytest.mark.parametrize("name", DESIGNS)
def test_a_problem_still_has_the_same_design_under_the_same_rule(name: str) -> None:
    problem, before = DESIGNS[name]["problem"], json.loads(DESIGNS[name]["design"])
    if "boundary" not in problem and "fixed" not in problem:
        return  # the default rule is another one now
    result = run_cli("design", "-", "--exact", stdin=json.dumps(problem))
    now = json.loads(result.stdout)
    assert (result.code, now["status"]) == (DESIGNS[name]["exit"], before["status"])
    if before["status"] == "optimal":
        assert now["mechanism"] == before["mechanism"]
