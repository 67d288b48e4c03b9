"""A sanitised table as a ledger keeps it: noisy cells and rows, packed, so that asking the same again costs nothing.

Everything here is private already. What does not fit into :data:`MOST_CHARACTERS` is not kept: then the ledger knows what was
spent, and whoever asks again pays again. Save the rows.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from optimaldp.privacy.neighbours import Neighbours
from optimaldp.questions.columns import Column
from optimaldp.sanitising.noisy import NoisyTable

if TYPE_CHECKING:
    from optimaldp.histograms.arrays import Array

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
