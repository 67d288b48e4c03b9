"""What is said beside a sanitised table: the level, the method, and what is expected to be off by how much."""

from __future__ import annotations

import base64
import datetime
import math
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from optimaldp import __version__
from optimaldp.asking.verifying import SANITISED
from optimaldp.certify.core.examined import Certified
from optimaldp.histograms.noise.sums import QueryError
from optimaldp.histograms.public_error import attained, least_at_least, least_possible
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.privacy.units import limited_unit
from optimaldp.questions.claims import optimality_sentence
from optimaldp.questions.columns import Column
from optimaldp.sanitising.drawing import Drawn, TableNoise
from optimaldp.sanitising.noisy import NoisyTable
from optimaldp.sanitising.rows import cells_of, rows_error

if TYPE_CHECKING:
    from optimaldp.histograms.parameters import Array
    from optimaldp.sanitising.planning import SanitisingPlan

_MARGINS = (
    "measured beside the joint table, with a quarter of epsilon; unbiased, and they say how many people there are"
)
_SPARSE_TIME = "the time it took tells about how many cells are occupied"


def statement_of(
    plan: SanitisingPlan, drawn: Sequence[Drawn], codes: Any, dataset: str | None, time: datetime.datetime
) -> dict[str, Any]:
    """The statement of one sanitised table: public words and numbers only."""
    joint = drawn[0] if plan.method == "joint" else None
    limited, people = limited_unit(plan.people.unit_text), plan.people
    said: dict[str, Any] = {
        "kind": SANITISED,
        "epsilon": str(plan.level.epsilon),
        "delta": 0,
        "neighbours": plan.neighbours.value,
        "neighbours_in_words": plan.neighbours.within(plan.public, limited),
        "method": plan.method,
        "columns": [column.to_document() for column in plan.columns],
        "cells": math.prod(column.size for column in plan.columns),
        "tables": [_table(one, noise) for one, noise in zip(drawn, plan.noises)],
        "expected_error": _expected_error(plan, drawn, codes),
        "one_way_error_95": {column.name: _one_way(column.name, drawn) for column in plan.columns},
        "optimal": optimality_sentence(_claim(plan)),
        "unit": people.unit_text,
        "where": people.where,
        "among": plan.among,
        "part": None if people.part is None else {"column": people.part[0], "value": people.part[1]},
        "levels": people.levels,
        "reduce": people.reduce,
        "order": people.reduce_order,
        **plan.reading,
        "dataset": dataset,
        "time": time.isoformat(timespec="seconds"),
        "version": __version__,
    }
    if plan.selection is not None:
        said["selection"] = dict(plan.selection)
    if limited is not None:
        said["protected"] = limited.words(plan.level)
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


def _claim(plan: SanitisingPlan) -> str | None:
    """What is claimed of the joint table, by the name of the claim; of several tables, or of levels, nothing is."""
    if plan.method != "joint" or plan.people.levels is not None:
        return None
    shared = plan.neighbours is Neighbours.SUBSTITUTION
    if attained(plan.sizes[0], plan.neighbours, plan.prior):
        return "finite optimum" if shared else "independent bins"
    return "lattice noise" if shared else None


def _expected_error(plan: SanitisingPlan, drawn: Sequence[Drawn], codes: Any) -> dict[str, Any]:
    """The sum of errors over all cells, of the counts and of the rows: what to expect, and where it lies for 19 tables in 20."""
    released = drawn[:1] if plan.method == "joint" else drawn
    counts = [(one.expected_error, one.error_interval) for one in released]
    rows = [_rows_error(one, plan, codes) for one in released]
    said, least = {"counts": _summed(counts), "rows": _summed(rows)}, _least(plan, drawn)
    if least["least_possible"] is not None and attained(plan.sizes[0], plan.neighbours, plan.prior):
        for one in said.values():  # the rows are the counts, one by one
            one["value"] = least["least_possible"]
    return said | least


def _least(plan: SanitisingPlan, drawn: Sequence[Drawn]) -> dict[str, float | None]:
    """The least expected sum of errors of any mechanism for the joint table, where a prior makes it known, or what bounds it."""
    if plan.prior is None:
        return {"least_possible": None}
    size = drawn[0].noisy.size
    named: dict[str, Any] = {"epsilon": plan.level.epsilon, "people": drawn[0].total, "prior": plan.prior}
    least = least_possible(size, neighbours=plan.neighbours, **named)
    return {"least_possible": least} | ({"least_at_least": least_at_least(size, **named)} if least is None else {})


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


# A sanitised table as a ledger keeps it: noisy cells and rows, packed, so that asking the same again costs nothing.
#
# Everything here is private already. What does not fit into :data:`MOST_CHARACTERS` is not kept: then the ledger knows what was
# spent, and whoever asks again pays again. Save the rows.


MOST_CHARACTERS = 8_000_000
_FORMAT = "optimaldp sanitised 1"
_BITS_OF_A_CHARACTER = 6


def too_large(sizes: Sequence[int], epsilon: float) -> bool:
    """Whether the noisy cells alone are too many to be kept: by public numbers, before anything is spent."""
    bits = 2 + max(0.0, math.log2(4 / epsilon))  # of one noisy cell, packed
    return sum(sizes) * bits / _BITS_OF_A_CHARACTER > MOST_CHARACTERS


def packed_release(tables: Sequence[NoisyTable], codes: Array, seed: int) -> dict[str, Any] | None:
    """What a ledger keeps, or ``None`` if it is too large."""
    rows, cells = _packed(codes.reshape(-1)), [_packed_table(table) for table in tables]
    parts = [rows, *(part for table in cells for part in table.values())]
    if sum(len(part["data"]) for part in parts) > MOST_CHARACTERS:
        return None
    return {"format": _FORMAT, "seed": str(seed), "codes": rows, "tables": cells}


def unpacked_release(
    kept: object,
    tables: Sequence[tuple[Column, ...]],
    levels: Sequence[Any],
    neighbours: Neighbours,
    leasts: Sequence[int],
) -> tuple[list[NoisyTable], Any, int] | None:
    """The noisy tables, the rows and the seed that were kept; ``None`` where none were, or by a version that is not known."""
    if not isinstance(kept, dict) or kept.get("format") != _FORMAT or len(kept["tables"]) != len(tables):
        return None
    columns = len(dict.fromkeys(column.name for table in tables for column in table))
    noisy = [
        _unpacked_table(one, table, epsilon, neighbours, least)
        for one, table, epsilon, least in zip(kept["tables"], tables, levels, leasts)
    ]
    return noisy, _unpacked(kept["codes"]).reshape(-1, columns), int(kept["seed"])


def _packed_table(table: NoisyTable) -> dict[str, Any]:
    import numpy as np

    if table.kept is None:
        return {"dense": _packed(table.dense)}
    cells, values = (np.array(list(part), dtype=np.int64) for part in (table.kept, table.kept.values()))
    return {"cells": _packed(cells), "values": _packed(values)}


def _unpacked_table(
    one: Any, columns: tuple[Column, ...], epsilon: Any, neighbours: Neighbours, least: int
) -> NoisyTable:
    if "dense" in one:
        return NoisyTable(columns, epsilon, neighbours, dense=_unpacked(one["dense"]))
    kept = dict(zip(_unpacked(one["cells"]).tolist(), _unpacked(one["values"]).tolist()))
    return NoisyTable(columns, epsilon, neighbours, kept=kept, least=least)


def _packed(numbers: Array) -> dict[str, str]:
    """Whole numbers of any size as text."""
    import numpy as np

    if numbers.dtype == object:
        kind, raw = "text", " ".join(map(str, numbers.tolist())).encode()
    else:
        narrow = np.result_type(
            *(np.min_scalar_type(int(end)) for end in (numbers.min(initial=0), numbers.max(initial=0)))
        )
        stored = numbers.astype(narrow.newbyteorder("<"))
        kind, raw = stored.dtype.str, stored.tobytes()
    return {"kind": kind, "data": base64.b64encode(zlib.compress(raw, 6)).decode("ascii")}


def _unpacked(part: Mapping[str, str]) -> Any:
    import numpy as np

    raw = zlib.decompress(base64.b64decode(part["data"]))
    if part["kind"] == "text":
        return np.array([int(number) for number in raw.split()], dtype=object)
    return np.frombuffer(raw, dtype=part["kind"]).astype(np.int64)
