"""Channels, priors and samples as files on the command line: JSON, CSV, .npy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from optimaldp.channels.reading import columns_of_csv, rows_of_csv

CSV = ",+,-\nsick,3/4,1/4\nwell,0.25,0.75\n"
Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ("1/2,1/2\n1/4,3/4", {"rows": [["1/2", "1/2"], ["1/4", "3/4"]]}),
        ("a,b\n1/2,1/2\n", {"rows": [["1/2", "1/2"]], "outputs": ["a", "b"]}),
        ("name,z\nx,1\ny,1", {"rows": [["1"], ["1"]], "outputs": ["z"], "inputs": ["x", "y"]}),
        ("sick,3/4,1/4\nwell,.5,.5", {"rows": [["3/4", "1/4"], [".5", ".5"]], "inputs": ["sick", "well"]}),
        ("a,1,0,0\nb,0,1,0", {"rows": [["1", "0", "0"], ["0", "1", "0"]], "inputs": ["a", "b"]}),
        ("\ufeff1/2;1/2\n1/4;3/4", {"rows": [["1/2", "1/2"], ["1/4", "3/4"]]}),
        ("a\tb\n1/2\t1/2\n", {"rows": [["1/2", "1/2"]], "outputs": ["a", "b"]}),
        (",0,1\n0,1,0\n1,0,1\n", {"rows": [["1", "0"], ["0", "1"]], "outputs": ["0", "1"], "inputs": ["0", "1"]}),
        (
            "input,0,1\nx,1,0\n\n y ,0,1\n",
            {"rows": [["1", "0"], ["0", "1"]], "outputs": ["0", "1"], "inputs": ["x", "y"]},
        ),
    ],
)
def test_csv_tables(text: str, document: dict[str, Any]) -> None:
    assert rows_of_csv(text, source="t") == document


@pytest.mark.parametrize(
    "first", [".5,x", "nan,1", "x,1", "a,0,1", "sick,3/4,1/3", "sick,3/4,x", "dose,0.5,1.5", "a,1,2", "1/2,,1/2"]
)
def test_a_first_line_that_may_be_names_or_numbers_is_refused(first: str, run: Run) -> None:
    """It used to be taken as names: a slip of the pen lost a row without a word."""
    ran = run("leakage", "-", stdin=f"{first}\n.5,.5\n")
    assert (ran.code, ran.stdout) == (2, "")
    assert "mixes names and numbers" in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_a_text_that_is_not_csv(run: Run) -> None:
    ran = run("leakage", "-", stdin="0.5," + "1" * 200_000)
    assert ran.code == 2
    assert "is not CSV" in ran.stderr


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_short_floats_mean_the_distribution_next_to_them(kind: Any, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "channel.npy"
    np.save(path, np.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]], dtype=kind))
    printed = json.loads(run("leakage", str(path)).stdout)
    assert printed["bayes_success_posterior"] == pytest.approx(0.65, abs=3e-3 if kind is np.float16 else 1e-7)
    np.save(path, np.array([[0.1, 0.2, 0.6]], dtype=kind))
    assert run("leakage", str(path)).code == 2


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"hello", b"PK\x03\x04"])
def test_a_file_that_is_no_matrix(content: bytes, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "channel.npy"
    path.write_bytes(content)
    ran = run("leakage", str(path))
    assert ran.code == 2
    assert str(path.name) in ran.stderr
    assert ran.stderr.endswith(".\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["leakage", "C", "--prior", "1e400,1"],
        ["leakage", "C", "--prior", "1e99999,1"],
        ["channel", "optimal", "--graph", "ring:4", "--epsilon", "1e5"],
        ["channel", "optimal", "--graph", "path:2", "--epsilon", "1", "--gain", "1e400,0;0,1"],
        ["channel", "optimal", "--graph", "G", "--epsilon", "1"],
    ],
)
def test_numbers_beyond_all_floats_are_one_sentence(arguments: list[str], run: Run, tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text(CSV)
    (tmp_path / "g.json").write_text('{"edges": [["a", "b", "1e99999"]]}')
    files = {"C": str(tmp_path / "c.csv"), "G": str(tmp_path / "g.json")}
    ran = run(*(files.get(part, part) for part in arguments))
    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr.count("\n") == 1


def test_leakage_of_a_csv_table(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "channel.csv"
    path.write_text(CSV)
    printed = json.loads(run("leakage", str(path)).stdout)
    assert printed["bayes_success_posterior_exact"] == "0.75"
    assert printed == json.loads(run("leakage", "-", stdin=CSV).stdout)
    skewed = json.loads(run("leakage", str(path), "--prior", "9/10,1/10").stdout)
    assert skewed["bayes_success_prior"] == skewed["bayes_success_posterior"] == 0.9
    assert skewed["additive_leakage"] == 0
    assert skewed["bayes_success_worst_output"] == pytest.approx(0.675 / 0.7)


def test_leakage_of_a_matrix(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "channel.npy"
    np.save(path, np.array([[0.75, 0.25], [0.25, 0.75]]))
    assert json.loads(run("leakage", str(path)).stdout)["bayes_success_posterior"] == 0.75
    np.save(path, np.eye(3, dtype=int))
    assert json.loads(run("leakage", str(path)).stdout)["bayes_success_posterior_exact"] == "1"


def test_the_least_epsilon_on_a_graph_of_histograms(run: Run, tmp_path: Path) -> None:
    made = run("channel", "optimal", "--graph", "histograms:2x3", "--epsilon", "ln(2)")
    assert json.loads(made.stdout)["inputs"][0] == [0, 0, 2]
    graph = tmp_path / "graph.json"
    graph.write_text(json.dumps(json.loads(made.stdout)["graph"]))
    for named in ("histograms:2x3", str(graph)):
        printed = json.loads(run("leakage", "-", "--graph", named, stdin=made.stdout).stdout)
        assert printed["epsilon_on_graph"] == pytest.approx(np.log(2))
    assert (
        "its least epsilon is 0.693147"
        in run("leakage", "-", "--words", "--graph", str(graph), stdin=made.stdout).stdout
    )


@pytest.mark.parametrize(
    "settings",
    [
        ["--graph", "ring:6"],
        ["--graph", "grid:2x3", "--gain", "negdist"],
        ["--graph", "path:5", "--prior", "1/2,0,0,1/4,1/4"],
    ],
)
def test_the_referee_reads_what_is_printed(run: Run, settings: list[str]) -> None:
    made = run("channel", "optimal", "--epsilon", "ln(2)", *settings)
    verdict = run("channel", "verify", "-", stdin=made.stdout)
    assert verdict.code == 0
    assert json.loads(verdict.stdout)["optimal"] is True
    document = json.loads(made.stdout)
    document["rows"][0], document["rows"][1] = document["rows"][1], document["rows"][0]
    swapped = run("channel", "verify", "-", stdin=json.dumps(document))
    assert swapped.code == 1
    assert json.loads(swapped.stdout)["private"] is False
    assert run("channel", "verify", "-", "--epsilon", "0.5", stdin=made.stdout).code == 1
    plain = run("channel", "verify", "-", "--graph", "clique:2", "--epsilon", "ln(3)", stdin="3/4,1/4\n1/4,3/4")
    assert plain.code == 0
    assert json.loads(plain.stdout)["optimal"] is None


def test_samples_as_json_and_csv(run: Run, tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    secrets = generator.integers(0, 2, 4000)
    seen = np.where(generator.random(4000) < 0.75, secrets, 1 - secrets)
    pairs = {"secrets": secrets.tolist(), "observations": seen.tolist()}
    printed = json.loads(run("channel", "estimate", "-", stdin=json.dumps(pairs)).stdout)
    assert 0.68 < printed["bayes_success_posterior_lower"] < 0.75
    path = tmp_path / "pairs.csv"
    path.write_text("secrets,observations\n" + "".join(f"{a},{b}\n" for a, b in zip(secrets, seen)))
    assert json.loads(run("channel", "estimate", str(path)).stdout) == printed
    path.write_text("first,second\n" + "yes,no\n" * 300)
    assert run("audit", str(path), "--epsilon", "1").code == 1


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        (
            ["channel", "optimal", "--graph", "path:3", "--epsilon", "1", "--prior", ",".join(["1/400"] * 400)],
            "",
            "400 numbers",
        ),
        (["channel", "optimal", "--graph", "x" * 5000, "--epsilon", "1"], "", "neither a family nor a file"),
        (["leakage", "-", "--prior", "0." + "3" * 5000], "1/2,1/2\n1/2,1/2", "prior"),
        (["leakage", "-"], "1/2,1/2\n1", "wrong length"),
        (["leakage", "-"], "a,b\n", "rows"),
        (["leakage", "-"], "  ", "is not JSON"),
        (["leakage", "-"], "3", "sum to"),
        (["leakage", "nowhere.npy"], "", "cannot be read"),
        (["leakage", "nowhere.csv"], "", "cannot be read"),
        (["leakage", "-", "--graph", "path:3"], "1/2,1/2\n1/2,1/2", "without a partner"),
        (["channel", "optimal", "--graph", "histograms:900x900", "--epsilon", "1"], "", "family's sizes"),
        (["channel", "verify", "-"], "1/2,1/2\n1/2,1/2", "graph is missing"),
        (["channel", "verify", "-", "--graph", "path:2"], "1/2,1/2\n1/2,1/2", "epsilon is missing"),
        (["channel", "estimate", "-"], '{"secrets": [1]}', "two lists secrets and observations"),
        (["channel", "estimate", "-"], '{"secrets": [1], "observations": [1]}', "too few"),
        (["channel", "estimate", "-"], '{"secrets": 1, "observations": [1]}', "is not a list"),
    ],
)
def test_bad_files_are_one_line_and_exit_code_2(run: Run, arguments: list[str], stdin: str, words: str) -> None:
    failed = run(*arguments, stdin=stdin)
    assert failed.code == 2
    assert failed.stdout == ""
    assert len(failed.stderr.strip().splitlines()) == 1
    assert words in failed.stderr


def test_files_that_are_no_matrix(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "odd.npy"
    for array in (np.ones(3), np.array([["a"]]), np.array([[{}]], dtype=object)):
        np.save(path, array, allow_pickle=True)
        failed = run("leakage", str(path))
        assert failed.code == 2
        assert "matrix of numbers" in failed.stderr
    path.write_text("not a matrix")
    assert run("leakage", str(path)).code == 2


def test_columns_of_samples() -> None:
    assert columns_of_csv("a, b\n1,x\n2.5,y\n", ("a", "b"), source="t") == ([1.0, 2.5], ["x", "y"])


def test_samples_that_are_objects_are_one_sentence(run: Run) -> None:
    ran = run("channel", "estimate", "-", stdin=json.dumps({"secrets": [{}] * 50, "observations": [1.5] * 50}))
    assert (ran.code, ran.stdout) == (2, "")
    assert "sample: {} is neither a text nor a number" in ran.stderr
