"""Synthetic rows of the ANES survey: the mean error of all counts of one, two and three columns, beside OpenDP's and dpmm's.

Each library runs in an environment of its own, made under ``build/peers`` (their pins exclude each other), on the same file of
codes. One that cannot be installed or does not finish is named in the report with the reason. ``SYNTHESIS_EPSILONS``,
``SYNTHESIS_DRAWS`` and ``SYNTHESIS_SECONDS`` make the study longer.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import optimaldp as odp
from benchmarks.peers.environments import PLACE, environment, reason, run
from benchmarks.peers.record import Comparison, Estimate, drawn
from optimaldp.sanitising.planning import CHOOSE

STUDY = "Synthetic rows of a survey: one person more or less, theirs with δ = 10⁻⁶, ours without"
DELTA = 1e-6
_SOURCE = Path(__file__).parents[2] / "examples" / "data" / "anes1996.csv"
_PROGRAMS = Path(__file__).parent / "synthesisers"
_AGES = (30, 45, 65)
_NAMES = {"opendp": "OpenDP", "smartnoise": "SmartNoise", "dpmm": "dpmm"}
_NO_VALUE = "-1"  # OpenDP's rows have empty cells beside the public values
_WAYS = {1: "one column", 2: "two columns", 3: "three columns"}
# Ours: a public list of tables, decided without the data. Each pair of columns would leave so little for each of the 21 that
# counts of one, two and three columns are all worse (measured at epsilon 1: 44, 12 and 3.7 people instead of 7, 8 and 3).
# Beside it each column and pairs that are chosen privately.
OURS: dict[str, int | str] = {"each column": 1, "pairs chosen": CHOOSE}


@dataclass(frozen=True)
class Sizes:
    """Levels, draws of each library and the seconds granted to them together; how many columns; whether peers are installed."""

    epsilons: tuple[float, ...]
    draws: int
    seconds: float
    columns: int
    install: bool


FULL = Sizes(
    epsilons=tuple(map(float, os.environ.get("SYNTHESIS_EPSILONS", "1").split(","))),
    draws=max(1, int(os.environ.get("SYNTHESIS_DRAWS", "3"))),
    seconds=float(os.environ.get("SYNTHESIS_SECONDS", "150")),
    columns=7,
    install=True,
)
SAMPLE = Sizes(epsilons=(1.0,), draws=1, seconds=1, columns=3, install=False)

Codes = Any
Errors = dict[int, float]


def comparisons(sizes: Sizes = FULL) -> Iterator[Comparison]:
    codes, domain = read_codes(sizes.columns)
    PLACE.mkdir(parents=True, exist_ok=True)
    path = _write(codes, domain)
    ours = {
        (name, epsilon): _ours(codes, domain, name, epsilon, sizes.draws) for name in OURS for epsilon in sizes.epsilons
    }
    for library in _NAMES:
        python = environment(library) if sizes.install else "not installed for a sample"
        for algorithm in ("MST", "AIM"):
            peer = f"{_NAMES[library]} {algorithm}"
            for epsilon in sizes.epsilons:
                theirs = _theirs(library, algorithm, python, path, codes, domain, epsilon, sizes)
                if isinstance(theirs, str):
                    yield Comparison(
                        STUDY, f"ε = {epsilon:g}", peer, Estimate(0), Estimate(0), note=theirs, missing=True
                    )
                else:
                    yield from _compared(ours, theirs, peer, epsilon)


def _compared(
    ours: Mapping[tuple[str, float], list[Errors]], theirs: list[Errors], peer: str, epsilon: float
) -> Iterator[Comparison]:
    for ways, words in _WAYS.items():
        for name in OURS:
            task = f"counts of {words}, ours: {name}, ε = {epsilon:g}"
            mine = drawn([one[ways] for one in ours[name, epsilon]])
            yield Comparison(STUDY, task, peer, mine, drawn([one[ways] for one in theirs]))


def read_codes(count: int = 7) -> tuple[Codes, dict[str, int]]:
    """The first *count* columns of the survey as codes 0, 1, ... of public values, and how many values each column has."""
    with _SOURCE.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    parties = ["strong Democrat", "weak Democrat", "independent Democrat", "independent", "independent Republican"]
    parties = [*parties, "weak Republican", "strong Republican"]
    columns = {
        "expected_vote": (2, [("Clinton", "Dole").index(row["expected_vote"]) for row in rows]),
        "party": (7, [parties.index(row["party"]) for row in rows]),
        "self_placement": (7, [int(row["self_placement"]) - 1 for row in rows]),
        "tv_news_days": (8, [int(row["tv_news_days"]) for row in rows]),
        "age": (4, [sum(int(row["age"]) >= edge for edge in _AGES) for row in rows]),
        "education": (7, [int(row["education"]) - 1 for row in rows]),
        "income_group": (6, [(int(row["income_group"]) - 1) // 4 for row in rows]),
    }
    columns = dict(list(columns.items())[:count])
    codes = np.array([values for _, values in columns.values()]).T
    return codes, {name: size for name, (size, _) in columns.items()}


def _write(codes: Codes, domain: Mapping[str, int]) -> Path:
    path = (PLACE / "anes-codes.csv").resolve()
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([list(domain), *codes.tolist()])
    return path


def errors(made: Codes, truth: Codes, domain: Mapping[str, int]) -> Errors:
    """The mean absolute error of all counts of one, two and three columns."""
    sizes = list(domain.values())
    means = {}
    for ways in _WAYS:
        off = [
            np.abs(_table(made[:, list(chosen)], sizes, chosen) - _table(truth[:, list(chosen)], sizes, chosen))
            for chosen in combinations(range(len(sizes)), ways)
        ]
        means[ways] = float(np.concatenate(off).mean())
    return means


def _table(codes: Codes, sizes: Sequence[int], chosen: Sequence[int]) -> Any:
    """Rows in each cell of the chosen columns; a row without a value there is in none."""
    shape = [sizes[place] for place in chosen]
    complete = codes[(codes >= 0).all(axis=1)]
    return np.bincount(np.ravel_multi_index(list(complete.T), shape), minlength=int(np.prod(shape)))


def _ours(codes: Codes, domain: Mapping[str, int], name: str, epsilon: float, draws: int) -> list[Errors]:
    source = _closed_table(codes, domain)
    ways = OURS[name]
    tables = ways if isinstance(ways, str) else [list(chosen) for chosen in combinations(domain, ways)]
    made = []
    for _ in range(draws):
        clean = odp.sanitise(source, dict.fromkeys(domain), epsilon=epsilon, neighbours="add-remove", marginals=tables)
        rows = clean.to_frame("arrow")
        made.append(errors(np.array([list(map(int, rows[column].to_pylist())) for column in domain]).T, codes, domain))
    return made


def _closed_table(codes: Codes, domain: Mapping[str, int]) -> str:
    """The table with types that list all values and rule out a missing one: what the peers take for granted."""
    import duckdb

    path = (PLACE / "anes-codes.db").absolute()
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as database:
        for name, size in domain.items():
            listed = ", ".join(f"'{code}'" for code in range(size))
            database.execute(f"CREATE TYPE {name}_codes AS ENUM ({listed})")
        columns = ", ".join(f"{name} {name}_codes NOT NULL" for name in domain)
        database.execute(f"CREATE TABLE people ({columns})")
        marks = ", ".join("?" for _ in domain)
        database.executemany(f"INSERT INTO people VALUES ({marks})", [list(map(str, row)) for row in codes.tolist()])
    return f"duckdb://{path}?table=people"


def _theirs(
    library: str,
    algorithm: str,
    python: Path | str,
    path: Path,
    codes: Codes,
    domain: Mapping[str, int],
    epsilon: float,
    sizes: Sizes,
) -> list[Errors] | str:
    if isinstance(python, str):
        return python
    output = PLACE.resolve() / f"{library}-{algorithm}-{epsilon:g}"
    job = {"data": str(path), "domain": dict(domain), "rows": len(codes), "algorithm": algorithm}
    job |= {"epsilon": epsilon, "delta": DELTA, "draws": sizes.draws, "output": str(output)}
    description = output.with_name(f"{output.name}.json")
    description.write_text(json.dumps(job), encoding="utf-8")
    made = [output.with_name(f"{output.name}-{draw}.csv") for draw in range(sizes.draws)]
    for path_of_draw in made:
        path_of_draw.unlink(missing_ok=True)
    why = ""
    try:
        run(
            [str(python), "-W", "ignore", str(_PROGRAMS / f"{library}_rows.py"), str(description)],
            seconds=sizes.seconds,
        )
    except (OSError, subprocess.SubprocessError) as error:
        why = f"does not run here: {reason(error)}"
    # What was drawn before the time was over counts.
    finished = [errors(_read(str(one), domain), codes, domain) for one in made if one.exists()]
    return finished or why


def _read(path: str, domain: Mapping[str, int]) -> Codes:
    with Path(path).open(encoding="utf-8") as file:
        return np.array([[int(float(row[name] or _NO_VALUE)) for name in domain] for row in csv.DictReader(file)])
