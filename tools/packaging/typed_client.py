"""A program that uses optimaldp from outside: it must run, and pass a strict type checker, with the wheel alone."""

from __future__ import annotations

import sys

import optimaldp as odp


def older_than_65(path: str, epsilon: float) -> bool:
    """Whether at least a fifth are 65 or older, privately."""
    asked = odp.share("age >= 65") >= 0.2
    answer = odp.release(path, asked, epsilon=epsilon)
    return str(answer.answer) == "yes"


if __name__ == "__main__":
    print(older_than_65(sys.argv[1], 1.0))
