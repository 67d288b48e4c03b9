"""OpenDP's synthesisers over mbi: MST and AIM, for one person more or less."""

from __future__ import annotations

from typing import Any

import opendp.prelude as dp
import polars as pl
from job import Job, concentrated, run


def make(job: Job) -> Any:
    dp.enable_features("contrib")
    # It works with rho; delta comes in by the conversion alone, since the keys of all columns are public.
    loss = {"rho": concentrated(job.epsilon, job.delta)}
    context = dp.Context.compositor(
        data=pl.scan_csv(job.data), privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(**loss)
    )
    algorithm = {"MST": dp.mbi.MST, "AIM": dp.mbi.AIM}[job.algorithm]()
    keys = {name: list(range(size)) for name, size in job.domain.items()}
    table = context.query(**loss).contingency_table(keys=keys, algorithm=algorithm).release()
    return table.synthesize(rows=job.rows)


if __name__ == "__main__":
    run(make)
