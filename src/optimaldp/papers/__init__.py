"""Every number and figure of the five papers, regenerated: ``optimaldp papers``."""

from __future__ import annotations

from importlib import import_module

from optimaldp.errors import InputError
from optimaldp.papers.record import Figure, Item, Paper

NUMBERS = ("000", "001", "002", "003", "004")

__all__ = ["NUMBERS", "Figure", "Item", "Paper", "paper"]


def paper(number: str) -> Paper:
    """One paper by its number; nothing is computed before its items or figures are asked for."""
    if number not in NUMBERS:
        raise InputError("paper", number, f"is not one of {', '.join(NUMBERS)}")
    loaded: Paper = import_module(f"optimaldp.papers.paper{number}").PAPER
    return loaded
