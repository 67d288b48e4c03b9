"""Every solved instance of the vectors, exactly, through the library."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from golden import vectors

from optimaldp.designing import Status, solve
from optimaldp.mechanisms.documents import read_problem


@pytest.mark.parametrize("instance", vectors("graphs", "solve"), ids=lambda x: x["id"])
def test_solved_instances(instance: dict[str, Any]) -> None:
    found = solve(read_problem(instance["problem"]))
    assert found.status == instance["expect"]["status"]
    if found.status is not Status.OPTIMAL:
        assert found.witness["reason"]
        return
    assert found.mechanism is not None
    for name, row in instance["expect"].get("mechanism", {}).items():
        assert found.mechanism[name] == {answer: Fraction(p) for answer, p in row.items()}


@pytest.mark.parametrize("instance", vectors("graphs", "solve"), ids=lambda x: x["id"])
def test_the_referee_accepts_what_is_designed(instance: dict[str, Any]) -> None:
    found = solve(read_problem(instance["problem"]))
    if found.status is Status.OPTIMAL:
        assert found.certificate is not None
        verdict = found.certificate.check()
        assert verdict.private
        assert verdict.optimal is True
        assert verdict.gap == 0
    elif found.mechanism is not None:
        from optimaldp.certify import verify

        assert verify(found.mechanism).private
