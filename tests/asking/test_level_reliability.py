"""What a release with personal levels says about its reliability is true for its aim."""

from __future__ import annotations

import pyarrow
import pytest

import optimaldp as odp
from optimaldp.laws.level_accuracy import level_sizes

TABLE = pyarrow.table({"x": ["yes"] * 60 + ["no"] * 41, "level": ["0.1"] * 10 + ["1"] * 91})


def _said(question: str, aim: str) -> str:
    return str(odp.release(TABLE, question, epsilon=1, levels="level", aim=aim).statement["reliable"])


def test_at_every_table_it_is_that_of_the_strictest_person() -> None:
    said = _said("majority(x = 'yes')", "every table")
    assert "24 or more people" in said
    asked = level_sizes(51, [(0.1, 30), (1.0, 71)])  # enough strict people to need all of that margin
    assert asked.worst_at(asked.every_table, 24) <= 0.05 < asked.worst_at(asked.every_table, 23)


@pytest.mark.parametrize("question", ["majority(x = 'yes')", "winner(x, ['yes', 'no', 'perhaps'])"])
def test_the_typical_aim_promises_no_margin(question: str) -> None:
    assert "disagree" in _said(question, "typical")
    asked = level_sizes(51, [(0.1, 10), (1.0, 91)])
    assert asked.worst_at(asked.typical, 3) > 0.5, "the margin that one level would need is not enough"
