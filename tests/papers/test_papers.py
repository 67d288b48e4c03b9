"""What the papers print stands beside what we compute, and the marks are true."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_line import run_cli

from optimaldp.graphs import boundary_graph
from optimaldp.papers import NUMBERS, paper
from optimaldp.papers.rainbow import figure_1
from optimaldp.privacy import level

NUMERIC = re.compile(r"-?[\d./, ]+")


@pytest.mark.parametrize("number", NUMBERS)
def test_marks_say_the_truth(number: str) -> None:
    items = paper(number).items()
    assert len(items) >= 8
    for item in items:
        if item.agrees:
            assert not item.erratum
            assert item.printed == item.ours or not NUMERIC.fullmatch(item.printed), item
        else:
            assert item.erratum.endswith(".")
            assert item.printed != item.ours, item


@pytest.mark.long
@pytest.mark.parametrize("number", NUMBERS)
def test_figures_are_drawn(number: str, tmp_path: Path) -> None:
    ran = run_cli("papers", number, "--figures", str(tmp_path), "--format", "svg")
    assert ran.code == 0
    wanted = {figure.name for figure in paper(number).figures()}
    assert wanted
    assert {path.stem for path in tmp_path.glob("*.svg")} == wanted
    assert all(path.stat().st_size > 1000 for path in tmp_path.glob("*.svg"))
    assert json.loads(ran.stdout)[0]["paper"] == number


@pytest.mark.parametrize("arguments", [("005",), ("000", "--format", "gif")])
def test_what_is_not_there_is_refused(arguments: tuple[str, ...]) -> None:
    assert run_cli("papers", *arguments).code == 2


def test_the_figures_of_the_first_two_papers_are_all_there() -> None:
    assert {"000-fig1a", "000-fig1b", "000-fig1c", "000-fig2", "000-fig2b", "000-fig3"} == {
        f.name for f in paper("000").figures()
    }
    wanted = {"001-fig1a", "001-fig1b", "001-fig2", "001-fig3", "001-fig4", "001-fig5"}
    assert wanted == {f.name for f in paper("001").figures()}


def test_the_figures_of_the_others_are_all_there() -> None:
    assert {"002-fig2", "002-fig3"} <= {f.name for f in paper("002").figures()}
    assert {"003-fig1a", "003-fig1b", "003-fig1c"} <= {f.name for f in paper("003").figures()}


def test_the_line_of_000_figure_2_has_the_probabilities_that_are_pulled_back() -> None:
    """Printed after Theorem 5: red at i .2, d .36, j .568, e .7446; blue inside of the boundary 1."""
    shown = [line for line in _words_in("000-fig2b").split("\n") if line.replace(".", "").isdigit()]
    assert sorted(shown) == sorted(["1", "1", "0.923", "0.2", "0.36", "0.568", "0.745"])


def test_metric_privacy_has_a_level_between_all_datasets() -> None:
    from optimaldp.papers.paper003 import _hot, _metric, _with_boundary

    graph = _metric()
    assert graph.edge_count == 28
    sparse, dense = _hot().mechanism, _with_boundary(graph).mechanism
    assert sparse is not None
    assert dense is not None
    assert all(sparse[name] == dense[name] for name in graph.names), (
        "the cheapest ways ask nothing that the edges do not"
    )


def _words_in(name: str) -> str:
    figure = next(one for one in paper(name[:3]).figures() if one.name == name)
    return "\n".join(text.get_text() for axes in figure.draw().axes for text in axes.texts)


def test_the_line_of_000_figure_1c_has_the_four_probabilities_of_its_optimum() -> None:
    assert [line for line in _words_in("000-fig1c").split("\n") if line.startswith("0.")] == [
        "0.7",
        "0.9",
        "0.7",
        "0.9",
    ]


def test_000_figure_3_marks_where_the_initial_phase_ends() -> None:
    # s -> 1.2 s + 0.001 as long as s <= (1 - 0.001)/2.2, from s = 0.01
    s, steps = 0.01, 0
    while s < 0.999 / 2.2:
        s, steps = 1.2 * s + 0.001, steps + 1
    assert f"={steps}" in _words_in("000-fig3")


def test_001_figure_1_is_what_its_caption_says() -> None:
    graph, preferences = figure_1(level("ln(2)"))
    chains = boundary_graph(graph, preferences)
    place = dict(zip(graph.names, (chains.graph.names[k] for k in chains.morphism.of.tolist())))
    assert preferences.words(graph.numbers["d1"]) == ("blue", "red", "green")
    assert [name for name, at in place.items() if at == "(red>green>blue, 0)"] == ["d4", "d9"]
    edges = {frozenset((u, v)) for u, v, _ in graph.edges()}
    assert frozenset(("d9", "d13")) in edges
    heads = {frozenset((u, v)) for u, v, _ in chains.graph.edges()}
    assert frozenset((place["d9"], place["d13"])) in heads
    assert place["d13"] == "(red>blue>green, 0)"
    drawn = _words_in("001-fig1a")
    assert all(name in drawn for name in graph.names)
    assert "red>green>blue" in drawn
    assert all(name in _words_in("001-fig1b") for name in chains.graph.names)


def test_001_figure_2_shows_every_order() -> None:
    assert _words_in("001-fig2").count("1>2>3") == 4
    assert _words_in("001-fig2").count("1>3>2") == 1
