"""Tables: the only code that sees data. It opens sources, checks readings against their schema, and counts people."""

from __future__ import annotations

from optimaldp.tables.counting import count_checked, count_people
from optimaldp.tables.description import Description, parse_description, read_description
from optimaldp.tables.opening import open_source
from optimaldp.tables.plans import plan_counting
from optimaldp.tables.readings import Predicate, parse_predicate
from optimaldp.tables.schema import ColumnType, Schema
from optimaldp.tables.source import Source
from optimaldp.tables.tally import MEANING, Bins, Condition, Counted, Grid, KeyTally, Options, People, Steps, Tally

__all__ = [
    "MEANING",
    "Bins",
    "ColumnType",
    "Condition",
    "Counted",
    "Description",
    "Grid",
    "KeyTally",
    "Options",
    "People",
    "Predicate",
    "Schema",
    "Source",
    "Steps",
    "Tally",
    "count_checked",
    "count_people",
    "open_source",
    "parse_description",
    "parse_predicate",
    "plan_counting",
    "read_description",
]
