"""Every example in a docstring of the package runs."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest
from fenced import ROOT

import optimaldp


def _modules() -> list[str]:
    """Modules whose text has an example; the others need not be imported."""
    found = ["optimaldp", *(m.name for m in pkgutil.walk_packages(optimaldp.__path__, "optimaldp.", onerror=_ignore))]
    return [name for name in found if ">>>" in _text(name)]


def _ignore(_: str) -> None:
    """A package that needs an extra is tested where the extra is."""


def _text(name: str) -> str:
    path = ROOT / "src" / name.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return file.read_text()


MODULES = _modules()


def test_the_parts_have_examples() -> None:
    parts = {name.split(".")[1] for name in MODULES if "." in name}
    assert parts >= {
        "asking",
        "certify",
        "channels",
        "designing",
        "graphs",
        "histograms",
        "privacy",
        "questions",
        "sampling",
    }


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_the_docstrings(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    said: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    for test in doctest.DocTestFinder().find(import_module(name)):
        runner.run(test, out=said.append)
    assert runner.tries > 0
    assert not runner.failures, "".join(said)
