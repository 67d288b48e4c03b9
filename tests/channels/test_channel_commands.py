"""The commands as a user meets them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CHANNEL = {"inputs": ["sick", "well"], "outputs": ["+", "-"], "rows": [["3/4", "1/4"], ["1/4", "3/4"]], "prior": None}


Run = Callable[..., Any]  # the command line in this process, as tests/channels/conftest.py makes it


def test_leakage_in_numbers_and_in_words(run: Run) -> None:
    printed = json.loads(run("leakage", "-", stdin=json.dumps(CHANNEL)).stdout)
    assert printed["min_entropy_leakage"] == pytest.approx(0.5849625)
    assert printed["bayes_success_posterior"] == 0.75
    assert printed["bayes_success_posterior_exact"] == "0.75"
    words = run("leakage", "-", "--words", stdin=json.dumps(CHANNEL)).stdout
    assert "Before: an attacker guesses the input with 50 %; after seeing the output: 75 %." in words
    assert "epsilon = 1.09861" in words


def test_optimal_channels_can_be_piped_into_leakage(run: Run, tmp_path: Path) -> None:
    made = run("channel", "optimal", "--graph", "ring:6", "--epsilon", "ln(2)")
    assert json.loads(made.stdout)["utility"] == "8/21"
    assert json.loads(run("leakage", "-", stdin=made.stdout).stdout)["bayes_success_posterior"] == pytest.approx(8 / 21)
    graph = tmp_path / "graph.json"
    graph.write_text(json.dumps({"edges": [["a", "b"], ["b", "c"]]}))
    prior = tmp_path / "prior.json"
    prior.write_text('[0.5, "1/4", 0.25]')
    found = run(
        "channel", "optimal", "--graph", str(graph), "--epsilon", "1", "--prior", str(prior), "--gain", "negdist"
    )
    assert json.loads(found.stdout)["optimal"] is True
    typed = run(
        "channel",
        "optimal",
        "--graph",
        "clique:3",
        "--epsilon",
        "ln(2)",
        "--prior",
        "1/2,1/4,1/4",
        "--gain",
        "2,0;0,1;0,1",
    )
    assert json.loads(typed.stdout)["route"] == "linear-program"


def test_explain(run: Run) -> None:
    assert "at most 73 %" in run("channel", "explain", "--epsilon", "1").stdout


def test_audit_exit_codes(run: Run) -> None:
    claimed = ["--epsilon", "1"]
    broken = run("audit", "-", *claimed, stdin=json.dumps({"first": ["y"] * 500, "second": ["n"] * 500}))
    assert broken.code == 1
    assert json.loads(broken.stdout)["violation"] is True
    right = run("audit", "-", *claimed, stdin=json.dumps({"first": ["y", "n"] * 300, "second": ["n", "y"] * 300}))
    assert right.code == 0


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        (["leakage", "-"], "{", "is not JSON"),
        (["leakage", "-"], '{"rows": [[0.5, 0.4]]}', "0.1 too little"),
        (["leakage", "-"], '{"rows": [[NaN, 1]]}', "not a finite number"),
        (["leakage", "-"], '{"rows": [[1.5, -0.5]]}', "is negative"),
        (["leakage", "-"], '{"rows": [[1]], "prior": [0.5, 0.5]}', "wrong length"),
        (["leakage", "-", "--gap", "0"], '{"rows": [[1]]}', "gap"),
        (["leakage", "nowhere.json"], "", "cannot be read"),
        (["channel", "optimal", "--graph", "rung:6", "--epsilon", "1"], "", "neither a family nor a file"),
        (["channel", "optimal", "--graph", "grid:3", "--epsilon", "1"], "", "family's sizes"),
        (["channel", "optimal", "--graph", "hypercube:60", "--epsilon", "1"], "", "family's sizes"),
        (["channel", "optimal", "--graph", "ring:6", "--epsilon", "much"], "", "epsilon: 'much'"),
        (["channel", "optimal", "--graph", "ring:6", "--epsilon", "1", "--prior", "a,b"], "", "prior: 'a,b'"),
        (["channel", "optimal", "--graph", "ring:3", "--epsilon", "1", "--prior", "1,1,1"], "", "2 too much"),
        (["channel", "optimal", "--graph", "ring:3", "--epsilon", "1", "--gain", "[1"], "", "gain: '[1'"),
        (["channel", "optimal", "--graph", "-", "--epsilon", "1"], '{"edges": [[1, 2, 0]]}', "is not positive"),
        (["audit", "-"], '{"first": [1]}', "samples"),
        (["audit", "-"], '{"first": [1], "second": [2]}', "too few"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(run: Run, arguments: list[str], stdin: str, words: str) -> None:
    failed = run(*arguments, stdin=stdin)
    assert failed.code == 2
    assert failed.stdout == ""
    assert len(failed.stderr.strip().splitlines()) == 1
    assert words in failed.stderr


def test_help_stays_light() -> None:
    code = """if True:
        import sys
        from optimaldp.cli import audit, channel, leakage
        print([name for name in ("numpy", "scipy", "matplotlib") if name in sys.modules])"""
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def test_plots_draw_something(tmp_path: Path) -> None:
    from optimaldp.channels import AnswerGraph, extremal_channel, optimal_mechanism
    from optimaldp.plots.channels import bound_against_epsilon, leakage_against_epsilon, utility_against_epsilon

    def saved(axes: Any) -> int:
        target = tmp_path / "figure.png"
        axes.figure.savefig(target)
        return target.stat().st_size

    assert saved(optimal_mechanism(AnswerGraph.ring(6), "ln(2)").plot()) > 3000
    figure_3 = bound_against_epsilon()
    assert len(figure_3.lines) == 3
    assert figure_3.lines[0].get_ydata()[-1] == pytest.approx(99.99, abs=0.05)  # towards u log2 v = 100 bits
    assert saved(figure_3) > 3000
    attained = leakage_against_epsilon(lambda e: extremal_channel(2, 2, e), [0.1, 1.0, 2.0], individuals=2)
    assert attained.lines[0].get_ydata() == pytest.approx(attained.lines[1].get_ydata())  # the bound is attained
    rising = utility_against_epsilon(AnswerGraph.path(4), [0.1, 1.0, 3.0]).lines[0].get_ydata()
    assert list(rising) == sorted(rising)
