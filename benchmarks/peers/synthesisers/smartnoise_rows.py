"""SmartNoise's MST and AIM, which is OpenDP's older library for synthetic rows."""

from __future__ import annotations

from typing import Any

import pandas as pd
from job import Job, run
from snsynth import Synthesizer
from snsynth.transform import LabelTransformer, TableTransformer


def make(job: Job) -> Any:
    data = pd.read_csv(job.data)
    synthesiser = Synthesizer.create(job.algorithm.lower(), epsilon=job.epsilon, delta=job.delta)
    transformer = TableTransformer([_codes(size) for size in job.domain.values()])
    return synthesiser.fit_sample(data, transformer=transformer, preprocessor_eps=0.0)[list(job.domain)]


def _codes(size: int) -> Any:
    """Public labels: every code that can occur, so nothing is spent on finding them."""
    labels = LabelTransformer(nullable=False)
    labels.fit(list(range(size)))
    return labels


if __name__ == "__main__":
    run(make)
