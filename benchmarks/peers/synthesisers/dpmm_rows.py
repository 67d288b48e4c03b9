"""dpmm's MST and AIM; the codes are its bins, so nothing is spent on binning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from dpmm.models.aim import AIMGM
from dpmm.models.mst import MSTGM
from job import Job, run


def make(job: Job) -> Any:
    data = pd.read_csv(job.data)
    model = {"MST": MSTGM, "AIM": AIMGM}[job.algorithm](epsilon=job.epsilon, delta=job.delta, n_jobs=1)
    model.set_random_state(np.random.RandomState())  # without one its choice of pairs fails
    model.set_domain(job.domain)
    model.fit(data)
    return model.generate(n_records=job.rows)[list(job.domain)]


if __name__ == "__main__":
    run(make)
