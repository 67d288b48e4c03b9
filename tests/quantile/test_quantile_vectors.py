"""The public vectors: exact laws of every mode."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from optimaldp.questions import quantile_probabilities

_VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "quantile.json").read_text())["instances"]
_NAMES = {"smooth": "smoothed rank", "flip": "flip", "flip+": "flip+"}


@pytest.mark.parametrize("case", _VECTORS, ids=lambda case: case["id"])
def test_public_vector(case: dict[str, Any]) -> None:
    rank = Fraction(case["q"]) if "q" in case else Fraction(case["T"], sum(case["counts"]))
    epsilon = case.get("epsilon") or f"ln({1 / Fraction(case['x'])})"
    law = quantile_probabilities(
        case["counts"],
        rank,
        epsilon=epsilon,
        delta=case["delta"],
        weights=case["weights"],
        mechanism=_NAMES[case["mode"]],
    )
    if "data" not in case:
        assert law == [Fraction(text) for text in case["probabilities"]]
        return
    for ours, text in zip(law, case["probabilities"], strict=True):
        assert isinstance(ours, Decimal)
        wanted = Decimal(text)
        # The vectors have 20 digits, or 120 places where a number is smaller than that.
        assert abs(ours - wanted) <= max(abs(wanted) * Decimal("1e-19"), Decimal("1e-119"))
