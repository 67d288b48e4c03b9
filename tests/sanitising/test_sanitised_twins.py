"""Code between the counts and the noisy tables that is broken: each of these must be refused before anything is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow
import pytest

import optimaldp as odp
from optimaldp.errors import NotCertifiedError
from optimaldp.histograms.release import thinned
from optimaldp.sanitising import drawing, planning, releasing

COLUMNS = {"sex": ["m", "f"], "smokes": ["yes", "no"], "ward": ["a", "b", "c"]}


def people() -> pyarrow.Table:
    random = np.random.default_rng(2)
    values = {name: random.choice(options, 400).tolist() for name, options in COLUMNS.items()}
    return pyarrow.table(values | {"own": ["0.2"] * 100 + ["1"] * 300})


def halved(cells: Any, columns: Any, certified: Any, source: Any) -> Any:
    noisy = drawing.draw_table({}, columns, certified, source)
    table = noisy.dense // 2
    for cell, number in cells.items():
        table[cell] += number
    return type(noisy)(noisy.columns, noisy.epsilon, noisy.neighbours, dense=table)


def nothing_on_empty_cells(cells: Any, columns: Any, certified: Any, source: Any) -> Any:
    noisy = drawing.draw_table(cells, columns, certified, source)
    empty = [cell for cell in range(noisy.size) if not cells.get(cell)]
    noisy.dense[empty] = 0
    return noisy


def the_truth(cells: Any, columns: Any, certified: Any, source: Any) -> Any:
    noisy = drawing.draw_table({}, columns, certified, source)
    noisy.dense[:] = 0
    for cell, number in cells.items():
        noisy.dense[cell] += number
    return noisy


def twice(cells: Any, columns: Any, certified: Any, source: Any) -> Any:
    return drawing.draw_table({cell: 2 * number for cell, number in cells.items()}, columns, certified, source)


def levels_forgotten(by_level: Any, epsilon: Any, **options: Any) -> Any:
    return thinned([(epsilon, cells) for _, cells in by_level], epsilon, **options)


def level_zero_left_out(by_level: Any, epsilon: Any, **options: Any) -> Any:
    kept = thinned(by_level, epsilon, everybody_else=None, source=options.get("source"))
    return kept | {0: kept.get(0, 0) + 1}


@pytest.mark.parametrize("neighbours", ["substitution", "add-remove"])
@pytest.mark.parametrize("twin", [halved, nothing_on_empty_cells, the_truth, twice])
def test_a_draw_that_is_not_the_certified_noise(monkeypatch: Any, twin: Any, neighbours: str) -> None:
    assert odp.sanitise(people(), COLUMNS, epsilon=1, neighbours=neighbours).rows > 0
    monkeypatch.setattr(releasing, "draw_table", twin)
    with pytest.raises(NotCertifiedError):
        odp.sanitise(people(), COLUMNS, epsilon=1, neighbours=neighbours)


@pytest.mark.parametrize("twin", [levels_forgotten, level_zero_left_out])
def test_levels_that_are_not_honoured(monkeypatch: Any, twin: Any) -> None:
    assert odp.sanitise(people(), COLUMNS, epsilon=1, levels="own").rows == 400
    monkeypatch.setattr(releasing, "thinned", twin)
    with pytest.raises(NotCertifiedError):
        odp.sanitise(people(), COLUMNS, epsilon=1, levels="own")


@pytest.mark.long
def test_the_whole_level_for_every_marginal(monkeypatch: Any) -> None:
    pytest.importorskip("mbi", reason="marginals need the optional part sanitise")
    monkeypatch.setattr(planning, "split_epsilon", lambda epsilon, sizes: (epsilon,) * len(sizes))
    with pytest.raises(NotCertifiedError, match="cost more"):
        odp.sanitise(people(), COLUMNS, epsilon=1, marginals="sex,smokes; smokes,ward")
