"""Counting the cells of a table: the one way from here to the data, through :mod:`optimaldp.tables`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optimaldp.sanitising.columns import Column
from optimaldp.tables import Counted, Keys, Options, People, Tally, check, count

_MANY_OPTIONS = 1000  # a query that lists more takes seconds to be written; the values themselves are counted instead


def check_table(opened: Any, columns: Sequence[Column], people: People) -> None:
    """Refuse what cannot be counted, before anything is read."""
    if not _by_keys(opened, columns, people):
        check(opened, _tally(columns), people)
        return
    check(opened, Tally((Options(columns[0].name, columns[0].options[:1]),)), people)
    check(opened, Keys(columns[0].name), people)


def count_table(opened: Any, columns: Sequence[Column], people: People) -> Counted:
    """The people in each cell of the crossed columns; last in each column, everybody else."""
    if not _by_keys(opened, columns, people):
        return count(opened, _tally(columns), people)
    options = columns[0].options
    everybody = count(opened, Tally((Options(columns[0].name, options[:1]),)), people).people
    keys = count(opened, Keys(columns[0].name), people).keys
    cells = {place: keys[option] for place, option in enumerate(options) if keys.get(option)}
    # Never below 0, should a row have gone between the two queries.
    others = max(0, everybody - sum(cells.values()))
    return Counted(cells | ({len(options): others} if others else {}), (len(options) + 1,))


def _tally(columns: Sequence[Column]) -> Tally:
    return Tally(tuple(column.reading for column in columns))


def _by_keys(opened: Any, columns: Sequence[Column], people: People) -> bool:
    """Whether the values that occur are counted, and sorted into the options afterwards: each row is a person with one value."""
    if len(columns) > 1 or people.unit is not None or people.levels is not None:
        return False
    column = columns[0]
    if not isinstance(column.reading, Options) or column.named <= _MANY_OPTIONS:
        return False
    # Where a question says how a cell is read (a number in a column of text), the values themselves do not match.
    fitting = {"text": str, "whole": int}.get(opened.schema[column.name].kind)
    return all(type(option) is fitting for option in column.options)
