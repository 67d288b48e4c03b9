"""The examples in the documentation and in the docstrings run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import optimaldp.channels

DOCUMENT = Path(__file__).parents[2] / "docs" / "channels.md"
MODULES = [module.name for module in pkgutil.walk_packages(optimaldp.channels.__path__, "optimaldp.channels.")]


def test_the_document_runs() -> None:
    text = "\n".join(line for line in DOCUMENT.read_text("utf-8").splitlines() if not line.startswith("```"))
    parsed = doctest.DocTestParser().get_doctest(text, {"Fraction": None}, "channels.md", str(DOCUMENT), 0)
    assert len(parsed.examples) > 15
    assert doctest.DocTestRunner().run(parsed).failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
