"""What is said beside a sanitised table: the level, the method, and what is expected to be off by how much."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from optimaldp import __version__
from optimaldp.certify.findings import Certified
from optimaldp.histograms.noise.sums import QueryError
from optimaldp.histograms.public_error import least_possible
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.sanitising.drawing import Drawn, TableNoise
from optimaldp.sanitising.rows import cells_of, rows_error

if TYPE_CHECKING:
    from optimaldp.sanitising.planning import SanitisingPlan

_OPTIMAL = (
    "for large tables of independent people no epsilon-DP mechanism has a smaller expected sum of errors, over the cells that "
    "are possible; what follows the noise is post-processing"
)
_MARGINS = (
    "measured beside the joint table, with a quarter of epsilon; unbiased, and they say how many people there are"
)
_SPARSE_TIME = "the time it took tells about how many cells are occupied"


def statement_of(
    plan: SanitisingPlan, drawn: Sequence[Drawn], codes: Any, dataset: str | None, time: datetime.datetime
) -> dict[str, Any]:
    """The statement of one sanitised table: public words and numbers only."""
    joint = drawn[0] if plan.method == "joint" else None
    said: dict[str, Any] = {
        "kind": "sanitised table",
        "epsilon": str(plan.level.epsilon),
        "delta": 0,
        "neighbours": plan.neighbours.value,
        "neighbours_in_words": plan.neighbours.within(plan.public),
        "method": plan.method,
        "columns": [column.to_document() for column in plan.columns],
        "cells": math.prod(column.size for column in plan.columns),
        "tables": [_table(one, noise) for one, noise in zip(drawn, plan.noises)],
        "expected_error": _expected_error(plan, drawn, codes),
        "one_way_error_95": {column.name: _one_way(column.name, drawn) for column in plan.columns},
        "optimal": _OPTIMAL if joint and plan.neighbours is Neighbours.SUBSTITUTION else "not claimed",
        "unit": plan.people.unit,
        "where": plan.people.where,
        "among": plan.among,
        "levels": plan.people.levels,
        "dataset": dataset,
        "time": time.isoformat(timespec="seconds"),
        "version": __version__,
    }
    if plan.among is not None:
        said["not_among"] = "people who are not among those asked have a row without values, like people who gave none"
    if joint:
        said |= {"remap": joint.remap, "reason": joint.reason, "unplaced": joint.unplaced}
        if joint.unplaced:
            said["unplaced_rows"] = _unplaced_words(len(plan.columns))
        if joint.noisy.kept is not None:
            said["caution"] = _SPARSE_TIME
            said["margins"] = _MARGINS if drawn[1:] else "not measured"
    return said


def _expected_error(plan: SanitisingPlan, drawn: Sequence[Drawn], codes: Any) -> dict[str, Any]:
    """The sum of errors over all cells, of the counts and of the rows: what to expect, and where it lies for 19 tables in 20."""
    released = drawn[:1] if plan.method == "joint" else drawn
    counts = [(one.expected_error, one.error_interval) for one in released]
    rows = [_rows_error(one, plan, codes) for one in released]
    return {"counts": _summed(counts), "rows": _summed(rows), "least_possible": _least(plan, drawn)}


def _least(plan: SanitisingPlan, drawn: Sequence[Drawn]) -> float | None:
    """The least expected sum of errors of any mechanism for the joint table, where a prior makes it known."""
    if plan.prior is None:
        return None
    named: dict[str, Any] = {"epsilon": plan.level.epsilon, "neighbours": plan.neighbours, "people": drawn[0].total}
    return least_possible(drawn[0].noisy.size, prior=plan.prior, **named)


def _summed(errors: Sequence[tuple[float, tuple[float, float] | None]]) -> dict[str, Any]:
    known = [interval for _, interval in errors if interval is not None]
    ends = [math.fsum(ends) for ends in zip(*known)] if len(known) == len(errors) else None
    return {"value": math.fsum(error for error, _ in errors), "interval": ends}


def _rows_error(one: Drawn, plan: SanitisingPlan, codes: Any) -> tuple[float, tuple[float, float] | None]:
    """What the rows are off in one table: they are a table made of the same noisy one."""
    if one.judge is None:
        # Drawn sparsely: whoever follows the margins is missing in one cell and too many in another.
        extra = float(len(codes) - sum(one.counts.values()))
        interval = one.error_interval
        return one.expected_error + extra, None if interval is None else (interval[0] + extra, interval[1] + extra)
    names = [column.name for column in plan.columns]
    own = codes[:, [names.index(column.name) for column in one.noisy.columns]]
    if plan.method == "joint":
        return rows_error(one.judge, one.noisy, one.counts, own)
    return one.judge.stated(cells_of(own, one.noisy.shape))


def _unplaced_words(columns: int) -> str:
    people = "people whose cell is too small to be told from noise"
    return f"{people} have no value" if columns == 1 else f"{people} follow the margin of each column by itself"


def _table(drawn: Drawn, noise: Certified[TableNoise]) -> dict[str, Any]:
    return {
        "columns": [column.name for column in drawn.noisy.columns],
        "epsilon": str(drawn.noisy.epsilon),
        "cells": drawn.noisy.size,
        "expected_error": drawn.expected_error,
        "certificate": noise.mechanism.recipe_document,
        "checked": list(noise.finding.checks),
    }


def _one_way(name: str, drawn: Sequence[Drawn]) -> int | None:
    """How far off a count of one column is, at most with probability 0.95, from the best of the noisy tables."""
    reaches = []
    for one in drawn:
        sizes = {column.name: column.size for column in one.noisy.columns}
        if name in sizes and one.noisy.dense is not None:
            reaches.append(
                QueryError(one.noisy.size, one.noisy.size // sizes[name], one.noisy.epsilon, one.noisy.neighbours)
            )
    return min((error.quantile() for error in reaches), default=None)
