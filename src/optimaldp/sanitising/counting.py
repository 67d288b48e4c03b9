"""Counting the cells of a table: the one way from here to the data, through :mod:`optimaldp.tables`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from optimaldp.certify.asked import require_planned
from optimaldp.questions.base import outside_last
from optimaldp.questions.columns import Column
from optimaldp.tables import Condition, Counted, People, Source, Tally, count_checked, plan_counting


def check_table(opened: Any, columns: Sequence[Column], people: People, among: str | None = None) -> None:
    """Refuse what cannot be counted, before anything is read."""
    plan_counting(opened, _tally(columns, among), people)


def count_table(opened: Source, columns: Sequence[Column], people: People, among: str | None = None) -> Counted:
    """The people in each cell of the crossed columns; last in each column, everybody else.

    Whoever is not *among* those who are asked is in the very last cell, like a person without any value.
    """
    tally = _tally(columns, among)
    planned = plan_counting(opened, tally, people)
    require_planned(planned.asked, (tally, people))
    counted = count_checked(opened, planned)
    if among is None:
        return counted
    shape = counted.shape[:-1]
    size, by_level = math.prod(shape), counted.by_level
    grouped = None if by_level is None else tuple((own, outside_last(cells, size, among)) for own, cells in by_level)
    return Counted(outside_last(counted.cells, size, among), shape, grouped, counted.options)


def _tally(columns: Sequence[Column], among: str | None) -> Tally:
    asked = () if among is None else (Condition(among),)
    return Tally((*(column.reading for column in columns), *asked))
