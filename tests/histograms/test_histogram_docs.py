"""Docs run: the page and every docstring of the package."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

import optimaldp.histograms

PAGE = Path(__file__).parents[2] / "docs" / "histograms.md"
MODULES = [
    "optimaldp.certify.noise",
    *(module.name for module in pkgutil.walk_packages(optimaldp.histograms.__path__, "optimaldp.histograms.")),
]


@pytest.mark.long
def test_the_page_runs():
    found = doctest.testfile(str(PAGE), module_relative=False)
    assert found.attempted > 10
    assert found.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_run(name):
    assert doctest.testmod(import_module(name)).failed == 0


@pytest.mark.parametrize("bins", [2, 3, 5, 10, 100])
def test_the_comparison_table_is_right(bins):
    """Each row of the page against the closed forms: no printed number may drift from the code."""
    row = next(line for line in PAGE.read_text().splitlines() if line.startswith(f"| {bins} |"))
    cells = row.strip("| ").split(" | ")[1:]
    for cell, epsilon in zip(cells, ("0.5", "1", "2")):
        least, rest = cell.split(" / ")
        laplace, ratio = rest.replace("*", "").split(" = ")
        exact = optimaldp.histograms.optimal_error(bins, epsilon=epsilon)
        other = optimaldp.histograms.many_bins_error(bins, epsilon=epsilon)
        digits = len(least.split(".")[1])
        assert abs(float(least) - exact) <= 0.5001 * 10**-digits
        assert abs(float(laplace) - other) <= 0.5001 * 10 ** -len(laplace.split(".")[1])
        assert abs(float(ratio) - exact / other) <= 0.005001
