"""The table of certified brackets that lets a release be instant: ``python -m optimaldp.certify.winner.brackets [options ...]``.

Each bracket ``[x_low, x_high]`` with its reach was accepted by the finite certificate, so the lattice version is
epsilon-DP for every n and every epsilon with ``e^-epsilon`` inside. The brackets of one number of options join
without a gap, from below the place where H1 and H2 take over down to the epsilon where checking becomes slow.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from optimaldp.certify.winner.certificate import certify
from optimaldp.certify.winner.shapes import compiled

TABLE = Path(__file__).with_suffix(".json")

# number of options -> (epsilon above which H1 and H2 hold, with a little overlap; smallest epsilon that is worth the time)
RANGES = {4: (1.11, 0.084), 5: (1.55, 0.2), 6: (1.9, 0.35), 7: (2.16, 0.5), 8: (2.36, 0.67), 9: (2.54, 1.4)}

_REACHES = (8, 10, 12, 16)  # in units of 1/epsilon: the far options' mass falls like e^-(reach epsilon / 2)
_DIGITS = 6  # of a bracket's ends
_WIDEST = 0.1

Bracket = tuple[Fraction, Fraction, int]


def _decay(epsilon: float) -> Fraction:
    """A short decimal near ``e^-epsilon``: only where brackets are cut, so a float may choose it."""
    return Fraction(f"{math.exp(-epsilon):.{_DIGITS}f}")


def find_brackets(options: int, loops: SimpleNamespace) -> Iterator[Bracket]:
    """Certified brackets for one number of options, from large epsilon to small ones."""
    epsilon, end = RANGES[options]
    width = _WIDEST
    while epsilon > end:
        target = max(end, epsilon - width)
        bracket = _certified(options, _decay(epsilon), _decay(target), target, loops)
        if bracket is None:
            # A bracket may fail by its width alone: the intervals cover every x in it at once.
            width *= 0.6
            if width < 10 ** (1 - _DIGITS):
                return
            continue
        yield bracket
        epsilon, width = target, min(_WIDEST, 1.3 * width)


def _certified(options: int, low: Fraction, high: Fraction, epsilon: float, loops: SimpleNamespace) -> Bracket | None:
    for units in _REACHES:
        reach = math.ceil(units / epsilon)
        if certify(options, low, high, reach, loops=loops):
            return low, high, reach
    return None


def read_table() -> dict[int, list[Bracket]]:
    """The shipped table: number of options -> brackets, by rising x."""
    rows = json.loads(TABLE.read_text("utf-8"))["brackets"]
    return {
        int(options): [(Fraction(low), Fraction(high), reach) for low, high, reach in brackets]
        for options, brackets in rows.items()
    }


def write_table(table: dict[int, list[Bracket]]) -> None:
    rows: dict[str, list[Any]] = {}
    for options, brackets in sorted(table.items()):
        rows[str(options)] = [[_text(low), _text(high), reach] for low, high, reach in brackets]
    lines = ",\n".join(f'  "{options}": [\n{_listed(brackets)}\n  ]' for options, brackets in rows.items())
    title = '"format": "optimaldp-winner-brackets/1",\n "columns": ["x_low", "x_high", "reach"]'
    TABLE.write_text(f'{{{title},\n "brackets": {{\n{lines}\n }}}}\n', "utf-8")


def _listed(brackets: list[Any]) -> str:
    return ",\n".join(f"    {json.dumps(bracket)}" for bracket in brackets)


def _text(number: Fraction) -> str:
    return f"{float(number):.{_DIGITS}f}"


def main(arguments: list[str]) -> int:
    """Certify the brackets anew for the named numbers of options, or for all."""
    table = read_table() if TABLE.exists() and arguments else {}
    loops = compiled()
    for options in map(int, arguments) if arguments else RANGES:
        table[options] = []
        start = time.perf_counter()
        for bracket in find_brackets(options, loops):
            table[options].append(bracket)
            seconds = time.perf_counter() - start
            print(f"{options} options: x up to {_text(bracket[1])}, {seconds:.0f} s", file=sys.stderr)
        write_table(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
