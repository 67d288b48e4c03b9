"""OpenDP's synthesisers over mbi: MST and AIM, for one person more or less."""

from __future__ import annotations

from typing import Any

import opendp.prelude as dp
import polars as pl
from job import Job, concentrated, run
from opendp.mod import OpenDPException


def make(job: Job) -> Any:
    dp.enable_features("contrib")
    # It works with rho; delta comes in by the conversion alone, since the keys of all columns are public.
    rho = concentrated(job.epsilon, job.delta)
    # Its own sums of parts of rho may exceed rho by a rounding, and are then refused: a hair less is tried.
    for share in (1.0, 1 - 1e-9, 1 - 2e-9, 1 - 3e-9):
        try:
            return _rows(job, {"rho": rho * share})
        except OpenDPException as error:
            if "insufficient budget" not in str(error):
                raise
            refused = error
    raise refused


def _rows(job: Job, loss: dict[str, float]) -> Any:
    context = dp.Context.compositor(
        data=pl.scan_csv(job.data), privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(**loss)
    )
    algorithm = {"MST": dp.mbi.MST, "AIM": dp.mbi.AIM}[job.algorithm]()
    keys = {name: list(range(size)) for name, size in job.domain.items()}
    table = context.query(**loss).contingency_table(keys=keys, algorithm=algorithm).release()
    return table.synthesize(rows=job.rows)


if __name__ == "__main__":
    run(make)
