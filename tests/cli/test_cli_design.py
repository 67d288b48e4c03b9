"""The design command on the vectors and on bad input, as a user would call it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from command_line import run_cli
from golden import vectors


@pytest.mark.parametrize("instance", vectors("graphs", "solve"), ids=lambda x: x["id"])
def test_vectors_through_the_command_line(instance: dict[str, Any]) -> None:
    ran = run_cli("design", "-", "--exact", stdin=json.dumps(instance["problem"]))
    got = json.loads(ran.stdout)
    assert got["status"] == instance["expect"]["status"]
    assert ran.code == (0 if got["status"] == "optimal" else 1)
    assert ("mechanism" in got) == (got["status"] != "infeasible")
    for name, row in instance["expect"].get("mechanism", {}).items():
        assert {a: Fraction(p) for a, p in got["mechanism"][name].items()} == {a: Fraction(p) for a, p in row.items()}


@pytest.mark.parametrize("exact", [(), ("--exact",)])
@pytest.mark.parametrize("epsilon", ["ln(2)", "1/3", "0.5"])
def test_what_design_prints_the_referee_accepts(exact: tuple[str, ...], epsilon: str) -> None:
    problem = {
        "answers": ["yes", "no"],
        "privacy": {"epsilon": epsilon, "delta": "1e-6"},
        "edges": [["a", "b"], ["b", "c"], ["c", "d"], ["a", "d", {"epsilon": "0.1", "delta": 0}]],
        "prefers": {"a": "yes", "b": "no", "c": "no", "d": "no"},
        "boundary": "balanced",
    }
    designed = run_cli("design", "-", *exact, stdin=json.dumps(problem))
    verdict = run_cli("verify", "-", stdin=designed.stdout)
    assert verdict.code == 0, verdict.stderr
    assert json.loads(verdict.stdout)["private"] is True


IRRATIONAL = {
    "answers": ["a", "b"],
    "privacy": {"epsilon": "0.5"},
    "edges": [["0", "1"], ["1", "2", {"epsilon": "0.7"}], ["2", "3"]],
    "prefers": {"0": "a", "1": "a", "2": "b", "3": "b"},
    "fixed": {"0": {"a": "2/3", "b": "1/3"}},
}


def test_why_there_is_no_optimum_fits_on_a_line() -> None:
    ran = run_cli("design", "-", stdin=json.dumps(IRRATIONAL))
    reason = json.loads(ran.stdout)["witness"]["reason"]
    assert "1 can have about 0.797823113 and 2 can have about 0.776324947" in reason
    assert len(reason) < 120
    assert run_cli("verify", "-", stdin=ran.stdout).code == 0


def test_a_terminal_is_told_the_claim_and_never_a_bare_optimum(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from optimaldp.certify.graphs.verdict import verify_document
    from optimaldp.cli.verify import _show

    problem = base(boundary=None, privacy={"epsilon": "ln(2)"})
    made = json.loads(run_cli("design", "-", "--exact", stdin=problem).stdout)
    _show(*verify_document(made))
    shown = capsys.readouterr().out
    assert "fair, proven exactly" in shown
    assert "optimal" not in shown


def base(**changes: Any) -> str:
    problem: dict[str, Any] = {
        "answers": ["a", "b"],
        "privacy": {"epsilon": 1},
        "edges": [["u", "v"]],
        "prefers": {"u": "a", "v": "b"},
        "boundary": "balanced",
    }
    problem.update(changes)
    return json.dumps({name: value for name, value in problem.items() if value is not None})


BAD = {
    "not JSON": ("{", "JSON"),
    "noise": ("\x00\x7fq" * 300_000, "JSON"),
    "a list": ("[]", "object"),
    "unknown field": (base(colour=1), "colour"),
    "negative epsilon": (base(privacy={"epsilon": -1}), "-1"),
    "no epsilon": (base(privacy={"delta": 0}), "epsilon"),
    "no privacy": (base(privacy=None), "privacy"),
    "NaN": (base().replace(": 1}", ": NaN}"), "NaN"),
    "delta above 1": (base(privacy={"epsilon": 1, "delta": 2}), "delta"),
    "row sum": (base(boundary=None, fixed={"u": {"a": 0.7, "b": 0.7}}), "1.4"),
    "unknown vertex in an edge": (base(edges=[["u", "w"]]), "w"),
    "unknown vertex fixed": (base(boundary=None, fixed={"w": {"a": 1}}), "w"),
    "unknown answer": (base(prefers={"u": "a", "v": "c"}), "c"),
    "answer twice": (base(answers=["a", "a"]), "a"),
    "one answer": (base(answers=["a"], prefers={"u": "a", "v": "a"}), "answers"),
    "empty graph": (base(prefers={}, edges=[]), "no dataset"),
    "name twice": ('{"answers": ["a", "b"], "prefers": {"u": "a", "u": "b"}}', "twice"),
    "loop": (base(edges=[["u", "u"]]), "u"),
    "rule unknown": (base(boundary="tilted"), "tilted"),
    "rule and fixed": (base(fixed={"u": {"a": 1}}), "boundary"),
    "an edge of one": (base(edges=[["u"]]), "edges"),
    "half an order": (base(answers=["a", "b", "c"], prefers={"u": "a", "v": "b"}), "a"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_that_names_it(name: str) -> None:
    text, names = BAD[name]
    ran = run_cli("design", "-", stdin=text)
    assert ran.code == 2
    assert len(ran.stderr.strip().splitlines()) == 1
    assert names in ran.stderr
    assert ran.stdout == ""


def test_a_missing_file_is_named() -> None:
    ran = run_cli("design", "no-such-file.json")
    assert ran.code == 2
    assert "no-such-file.json" in ran.stderr


def test_output_is_written_and_can_be_verified(tmp_path: Path) -> None:
    target = tmp_path / "mechanism.json"
    assert run_cli("design", "-", "--output", str(target), stdin=base()).code == 0
    assert run_cli("verify", str(target)).code == 0
    ran = run_cli("design", "-", "--output", str(tmp_path / "no" / "folder.json"), stdin=base())
    assert ran.code == 2
    assert "folder.json" in ran.stderr


HEAVY = ("numpy", "scipy", "numba", "ibis", "matplotlib", "pandas", "flint")


@pytest.mark.parametrize(
    "code", ["import optimaldp", "import sys; sys.argv = ['optimaldp', '--help']; import optimaldp.cli as c; c.main()"]
)
def test_help_and_import_load_nothing_heavy(code: str) -> None:
    watch = f"import atexit, sys; atexit.register(lambda: print('LOADED', [m for m in {HEAVY} if m in sys.modules]))\n"
    ran = subprocess.run([sys.executable, "-c", watch + code], capture_output=True, text=True, env={**os.environ})
    assert "LOADED []" in ran.stdout


@pytest.mark.parametrize("words", [(), ("ledger",)])
def test_a_bare_group_of_commands_shows_its_help_and_nothing_else(words: tuple[str, ...]) -> None:
    ran = run_cli(*words)
    assert (ran.code, ran.stderr) == (0, "")
    assert "Usage" in ran.stdout
