"""A question that was paid for already and is about to be paid again: said before it is.

The ledger's entries decide this and the version of the data, of which a spend tells as much anyway. No row is looked at.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from optimaldp.asking.request import Request
from optimaldp.errors import PaidRepeatWarning

if TYPE_CHECKING:
    from optimaldp.ledger import Ledger


def warn_of_paid_repeats(book: Ledger, requests: Sequence[Request]) -> None:
    """Warn of each question that this ledger has paid for at the same level, though not for this version of the data."""
    together: Counter[tuple[object, ...]] = Counter()
    for request in requests:
        part = None if request.people.part is None else request.people.part[1]
        key = (request.text, request.level, part)
        times = book.times_paid(request.text, request.level, part=part) + together[key]
        together[key] += 1
        if times:
            warnings.warn(paid_repeat(request, times), PaidRepeatWarning, stacklevel=_outside())


def paid_repeat(request: Request, times: int) -> str:
    """The warning, in one sentence for every reason: the data may have changed, or nothing tells whether it did."""
    before = "once" if times == 1 else f"{times} times"
    return (
        f"{request.question} was paid for {before} before at {request.level}, and is paid for again: the table has another "
        "version than then, or none that could be told. The earlier answer is in the history of the ledger."
    )


def _outside() -> int:
    """How many frames up the caller of this package is: a warning should point to the cell that is run again."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "optimaldp":
        depth, frame = depth + 1, frame.f_back
    return depth
