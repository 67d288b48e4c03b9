"""What is said beside a sanitised table: the level, the method, and what is expected to be off by how much."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from optimaldp import __version__
from optimaldp.certify.findings import Certified
from optimaldp.histograms.noise.sums import QueryError
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.sanitising.drawing import Drawn, TableNoise

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
    plan: SanitisingPlan, drawn: Sequence[Drawn], dataset: str | None, time: datetime.datetime
) -> dict[str, Any]:
    """The statement of one sanitised table: public words and numbers only."""
    joint = drawn[0] if plan.method == "joint" else None
    said: dict[str, Any] = {
        "kind": "sanitised table",
        "epsilon": str(plan.level.epsilon),
        "delta": 0,
        "neighbours": plan.neighbours.value,
        "neighbours_in_words": plan.neighbours.words,
        "method": plan.method,
        "columns": [column.to_document() for column in plan.columns],
        "cells": math.prod(column.size for column in plan.columns),
        "tables": [_table(one, noise) for one, noise in zip(drawn, plan.noises)],
        "expected_error": sum(one.expected_error for one in ([joint] if joint else drawn)),
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
        if joint.error_interval is not None:
            said["expected_error_interval"] = list(joint.error_interval)
        if joint.unplaced:
            said["unplaced_rows"] = _unplaced_words(len(plan.columns))
        if joint.noisy.kept is not None:
            said["caution"] = _SPARSE_TIME
            said["margins"] = _MARGINS if drawn[1:] else "not measured"
    return said


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
