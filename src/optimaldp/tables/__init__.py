"""Tables: the only code that sees data. It opens sources, checks predicates against their schema, and counts persons."""

from __future__ import annotations

from optimaldp.tables.counting import check, count
from optimaldp.tables.predicates import Predicate, parse_predicate
from optimaldp.tables.schema import ColumnType, Schema
from optimaldp.tables.sources import Source, open_source

__all__ = ["ColumnType", "Predicate", "Schema", "Source", "check", "count", "open_source", "parse_predicate"]
