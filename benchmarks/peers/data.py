"""The tables of the comparisons: two surveys that everybody can have, and made-up ones with a fixed seed."""

from __future__ import annotations

import csv
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

_FOLDER = Path(__file__).parents[2] / "examples" / "data"


@cache
def column(file: str, name: str) -> tuple[str, ...]:
    with (_FOLDER / file).open(encoding="utf-8") as lines:
        return tuple(row[name] for row in csv.DictReader(lines))


def whole(file: str, name: str) -> Integers:
    """A column of whole numbers."""
    return np.array([int(float(cell)) for cell in column(file, name)])


def ages() -> Integers:
    """944 ages of the survey of 1996."""
    return whole("anes1996.csv", "age")


def visits() -> Integers:
    """20,190 numbers of visits to a doctor: most are small, the largest is 77."""
    return whole("rand_health.csv", "doctor_visits")


def lognormal(people: int) -> Integers:
    return np.round(np.random.default_rng(1).lognormal(8, 1, people)).astype(np.int64)


def pareto(people: int) -> Integers:
    """A heavy tail: the exponent is 1.5, so that the variance is infinite."""
    return np.round(1000 * (1 + np.random.default_rng(2).pareto(1.5, people))).astype(np.int64)


def held_by_few() -> Integers:
    """20 of 10,000 people have nearly everything: the table at which a private clip must lose."""
    return np.array([1] * 9_980 + [1000] * 20)


def held(values: Integers) -> dict[int, int]:
    """How many people have each value."""
    return dict(Counter(values.tolist()))


def votes(name: str) -> dict[str, int]:
    """How many people of the survey of 1996 gave each answer, the most frequent first."""
    return dict(Counter(column("anes1996.csv", name)).most_common())
