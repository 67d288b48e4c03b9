"""From counted cells to a noisy table and back to counts: the one step that adds noise, and what follows it for free."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optimaldp.certify.core.examined import Certified
from optimaldp.errors import HistogramError, NotCertifiedError
from optimaldp.histograms import HistogramNoise, LaplaceNoise
from optimaldp.histograms.independent import IndependentPrior, read_independent_prior
from optimaldp.histograms.noise.sparse import MOST_CELLS, SparseNoise, sparse_noise
from optimaldp.histograms.noise.sums import QueryError
from optimaldp.histograms.priors import CountPrior, read_prior
from optimaldp.histograms.remaps.cell_law import NoisyValues, learn_cell_law
from optimaldp.histograms.remaps.choosing import Judge, apply_remap
from optimaldp.histograms.remaps.projection import mapped_values
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.questions.columns import Column
from optimaldp.sampling import BitSource
from optimaldp.sanitising.noisy import NoisyTable
from optimaldp.sanitising.rows import generator, placed_codes, rows_error

TableNoise = HistogramNoise | LaplaceNoise | SparseNoise
_REMAPS = ("automatic", "projection", "empirical-bayes", "threshold")
MOST_ROWS = 50_000_000
MOST_DENSE = 4_000_000  # cells that all get noise in memory; beyond, only under add-remove, sparsely


@dataclass(frozen=True, eq=False)
class Drawn:
    """A noisy table with the counts made of it. Everything here is private already."""

    noisy: NoisyTable
    counts: Mapping[int, int]
    """People by cell, where there are any."""
    remap: str
    reason: str
    expected_error: float
    total: int | None
    """The public number of people."""
    error_interval: tuple[float, float] | None = None
    """Where the real sum of errors lies for about 19 tables in 20; ``None`` where that cannot be told."""
    judge: Judge | None = None
    """What the noisy table teaches about its cells; ``None`` where it is drawn sparsely."""

    @property
    def unplaced(self) -> int:
        """People whose cell is too small to be told from noise."""
        return 0 if self.total is None else max(0, self.total - sum(self.counts.values()))


def noise_for(cells: int, epsilon: Epsilon, neighbours: Neighbours) -> TableNoise:
    """The noise of a table with this many cells, chosen by public numbers. Refuses what cannot be drawn."""
    if cells <= MOST_DENSE:
        return (HistogramNoise if neighbours is Neighbours.SUBSTITUTION else LaplaceNoise)(cells, epsilon)
    if neighbours is Neighbours.SUBSTITUTION:
        rule = f"is too many for a table whose total is public (at most {MOST_DENSE:,})"
        raise HistogramError("cells", cells, rule, "use neighbours='add-remove', which draws sparsely, or marginals")
    if cells > MOST_CELLS:
        rule = f"is too many (at most {MOST_CELLS:,})"
        raise HistogramError("cells", cells, rule, "use fewer columns or wider bins, or measure marginals")
    return sparse_noise(cells, epsilon=epsilon)


def check_sizes(sizes: Sequence[int], epsilon: Epsilon, neighbours: Neighbours, *, joint: bool) -> None:
    """Refuse, by public numbers, what could be drawn but not be written out afterwards."""
    if not joint and max(sizes) > MOST_DENSE:
        rule = f"is too many for a table that a model is fitted to (at most {MOST_DENSE:,})"
        raise HistogramError("marginals", f"{max(sizes)} cells", rule, "measure smaller tables")
    if neighbours is Neighbours.ADD_REMOVE and min(sizes[0], MOST_DENSE) / float(epsilon) > MOST_ROWS:
        rule = f"would make more than {MOST_ROWS:,} rows of noise alone"
        raise HistogramError("epsilon", str(epsilon), rule, "use a larger epsilon, fewer cells, or substitution")


def read_mapping(
    remap: str, prior: object, sizes: Sequence[int], neighbours: Neighbours, *, joint: bool
) -> tuple[str, CountPrior | IndependentPrior | None]:
    """A remap that gives counts of people, and the public prior that it needs, checked before anything is read."""
    known = [*_REMAPS, *(["top-fill"] if neighbours is Neighbours.SUBSTITUTION else [])]
    if prior is None:
        if remap not in known:
            remedy = f"use one of {', '.join(known)}, or bayes with a prior"
            raise HistogramError("remap", remap, "is not a remap of a sanitised table", remedy)
        return remap, None
    if not joint or sizes[0] > MOST_DENSE:
        rule = "is for a joint table in which every cell is drawn"
        raise HistogramError("prior", str(prior), rule, "leave it out: the noisy table teaches its own")
    if remap not in ("automatic", "bayes"):
        raise HistogramError("remap", remap, "makes no use of a prior", "leave one of the two out")
    read = read_prior if neighbours is Neighbours.SUBSTITUTION else read_independent_prior
    return "bayes", read(prior, sizes[0])


def draw_table(
    cells: Mapping[int, int],
    columns: Sequence[Column],
    certified: Certified[TableNoise],
    source: BitSource,
) -> NoisyTable:
    """Add certified noise to every cell. *cells* are true counts; nothing else of them leaves."""
    if not isinstance(certified, Certified):
        raise NotCertifiedError("The noise was not certified. Nothing was sampled and nothing was spent.")
    noise = certified.mechanism
    if isinstance(noise, SparseNoise):
        kept = noise.sample(cells, source)
        return NoisyTable(tuple(columns), noise.epsilon, Neighbours.ADD_REMOVE, kept=kept, least=noise.least)
    table = noise.sample(source)
    for cell, people in cells.items():
        table[cell] += people
    neighbours = Neighbours.SUBSTITUTION if isinstance(noise, HistogramNoise) else Neighbours.ADD_REMOVE
    return NoisyTable(tuple(columns), noise.epsilon, neighbours, dense=table)


def map_back(
    noisy: NoisyTable,
    noise: TableNoise,
    *,
    remap: str = "automatic",
    prior: CountPrior | IndependentPrior | None = None,
) -> Drawn:
    """Counts of people from a noisy table, which is private already: this costs nothing and may be done again."""
    if isinstance(noise, SparseNoise):
        return _sparsely(noisy, noise)
    table = noisy.dense
    public_total = noisy.neighbours is Neighbours.SUBSTITUTION
    total = int(table.sum()) if public_total else None

    # With several columns whoever is left out follows the margins, which any rule by single cells would pull towards each other
    # (100 × 100 cells, 10,000 people: the largest row came out 205 too low in the rows, and so only 26).
    def error_of_rows(judge: Judge, counts: Any) -> float:
        missing = 0 if total is None else total - int(counts.sum())
        if missing <= 0:
            return judge.error(counts)
        occupied = _occupied(counts)
        return rows_error(judge, noisy, occupied, placed_codes(noisy, occupied, missing, generator(0)))[0]

    mapped = apply_remap(
        remap,
        table,
        epsilon=noisy.epsilon,
        prior=prior,
        public_total=public_total,
        keep_total=False if len(noisy.columns) > 1 else None,
        published=error_of_rows,
    )
    bound = float(noise.expected_error())
    if total is not None:
        bound = min(bound, 2.0 * total)
    error = bound if mapped.expected_error is None else mapped.expected_error
    return Drawn(
        noisy, _occupied(mapped.counts), mapped.remap, mapped.reason, error, total, mapped.error_interval, mapped.judge
    )


def _occupied(counts: Any) -> dict[int, int]:
    import numpy as np

    occupied = np.flatnonzero(counts)
    return dict(zip(occupied.tolist(), counts[occupied].tolist()))


def _sparsely(noisy: NoisyTable, noise: SparseNoise) -> Drawn:
    import numpy as np

    kept = noisy.kept
    assert kept is not None
    values, places, times = np.unique(
        np.array(list(kept.values()), dtype=np.int64), return_inverse=True, return_counts=True
    )
    known = NoisyValues(values, times, hidden=noise.cells - len(kept), least=noise.least)
    ratio = math.exp(-min(300.0, float(noise.epsilon)))
    law = learn_cell_law(known, ratio, people=max(1, int((values * times).sum()))).law
    counts = mapped_values(law, known, total=None, keep_total=False)(places.reshape(-1))
    released = {cell: int(people) for cell, people in zip(kept, counts.tolist()) if people > 0}
    shown = counts > 0
    error = float(law.mean_distances(values[places.reshape(-1)][shown], counts[shown]).sum())
    reason = f"a table of {noise.cells:,} cells is drawn sparsely, from {noise.least} people on"
    return Drawn(noisy, released, "empirical-bayes", reason, error, None)


def noisy_total(tables: Sequence[Drawn]) -> int:
    """The number of people where it is private: the sums of the measured tables, each by how well it is known."""
    weighed = weights = 0.0
    for one in tables:
        size, epsilon = one.noisy.size, one.noisy.epsilon
        weight = QueryError(size, size, epsilon, Neighbours.ADD_REMOVE).standard_deviation ** -2
        weighed, weights = weighed + weight * int(one.noisy.dense.sum()), weights + weight
    return max(0, round(weighed / weights))
