"""The page and the docstrings run."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

from optimaldp.certify.winner import read_table

PAGE = Path(__file__).parents[2] / "docs" / "winner.md"
MODULES = [
    "optimaldp.laws.winner",
    "optimaldp.laws.winner",
    "optimaldp.laws.winner",
    "optimaldp.certify.winner",
    "optimaldp.certify.winner",
    "optimaldp.sampling.batch",
]


def test_the_page_runs() -> None:
    outcome = doctest.testfile(str(PAGE), module_relative=False)
    assert outcome.attempted >= 6
    assert outcome.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_run(name: str) -> None:
    outcome = doctest.testmod(import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_the_page_counts_the_brackets() -> None:
    assert f"A table of {sum(map(len, read_table().values()))} accepted brackets" in PAGE.read_text()
