"""The command, as a shell sees it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

RUN = [sys.executable, "-c", "from optimaldp.cli import main; main()", "histogram"]


def run(*arguments, stdin=""):
    return subprocess.run([*RUN, *arguments], input=stdin, capture_output=True, text=True, check=False)


def test_least_error():
    found = run("--epsilon", "ln(2)", "--bins", "3")
    document = json.loads(found.stdout)
    assert document["exact"] == "72/13"
    assert abs(document["optimal_error"] - 72 / 13) < 1e-12
    assert document["neighbours"] == "substitution"


@pytest.mark.long
@pytest.mark.parametrize("epsilon", ["1e-50", "1e-200"])
def test_hardly_any_information(epsilon):
    """The plan of the noise needs more digits than epsilon has zeros."""
    document = json.loads(run("--epsilon", epsilon, "--bins", "3").stdout)
    assert abs(document["optimal_error"] * float(epsilon) - 4) < 1e-9
    found = run("--epsilon", epsilon, "--counts", "-", stdin="[3, 4, 5]")
    assert sum(json.loads(found.stdout)) == 12, found.stderr


@pytest.mark.long
def test_release(tmp_path):
    path, picture = tmp_path / "counts.json", tmp_path / "bars.png"
    path.write_text("[5, 0, 12, 3]")
    found = run("--epsilon", "0.5", "--counts", str(path), "--plot", str(picture))
    counts = json.loads(found.stdout)
    assert sum(counts) == 20
    assert min(counts) >= 0
    assert picture.stat().st_size > 1000
    assert found.stderr == ""


@pytest.mark.long
@pytest.mark.parametrize("prior", ["flat", "uniform", "[0.2, 0.3, 0.5]", "dirichlet:[1, 2, 0.5]"])
def test_priors(prior):
    found = run("--epsilon", "1", "--counts", "-", "--prior", prior, stdin="[5, 6, 9]")
    assert sum(json.loads(found.stdout)) == 20


@pytest.mark.long
def test_remap_errors_for_a_number_of_persons(tmp_path):
    picture = tmp_path / "remaps.svg"
    found = run("--epsilon", "ln(2)", "--bins", "2", "--persons", "10", "--prior", "uniform", "--plot", str(picture))
    finite = json.loads(found.stdout)["finite"]
    assert abs(finite["least"] - 58599 / 32768) < 1e-12
    assert {error["remap"] for error in finite["errors"]} == {"projection", "bayes", "ball", "none"}
    assert picture.read_text().startswith("<?xml")


def test_neighbours_and_no_remap():
    found = run("--epsilon", "1", "--counts", "-", "--neighbours", "add-remove", "--remap", "none", stdin="[0, 0]")
    assert len(json.loads(found.stdout)) == 2


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        (["--epsilon", "0", "--bins", "3"], ""),
        (["--epsilon", "inf", "--bins", "3"], ""),
        (["--epsilon", "1", "--bins", "1"], ""),
        (["--epsilon", "1", "--bins", "three"], ""),
        (["--epsilon", "1"], ""),
        (["--epsilon", "1", "--bins", "3", "--plot", "picture.txt"], ""),
        (["--epsilon", "1", "--bins", "3", "--remap", "bayes"], ""),
        (["--epsilon", "1", "--bins", "3", "--prior", "flat"], ""),
        (["--epsilon", "1", "--bins", "3", "--persons", "0"], ""),
        (["--epsilon", "1", "--bins", "3", "--persons", "many"], ""),
        (["--epsilon", "1", "--counts", "-", "--persons", "9"], "[4, 5]"),
        (["--epsilon", "1", "--counts", "-", "--plot", "no-such-folder/x.png"], "[4, 5]"),
        (["--epsilon", "1", "--counts", "-"], "[5, -1]"),
        (["--epsilon", "1", "--counts", "-"], "[5, 1.5]"),
        (["--epsilon", "1", "--counts", "-"], "[0, 0]"),
        (["--epsilon", "1", "--counts", "-"], '{"a": 1}'),
        (["--epsilon", "1", "--counts", "-"], "[1, 2"),
        (["--epsilon", "1", "--counts", "-", "--bins", "3"], "[1, 2]"),
        (["--epsilon", "1", "--counts", "-", "--prior", "[0, 1]"], "[1, 2]"),
        (["--epsilon", "1", "--counts", "-", "--prior", "great"], "[1, 2]"),
        (["--epsilon", "1", "--counts", "no-such-file.json"], ""),
    ],
)
def test_bad_input_is_one_line(arguments, stdin):
    found = run(*arguments, stdin=stdin)
    assert found.returncode == 2
    assert len(found.stderr.strip().splitlines()) == 1
    assert found.stdout == ""
