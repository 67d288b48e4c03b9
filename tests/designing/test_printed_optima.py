"""What is designed, printed and read back is private and optimal for the referee: problems that once came back as less."""

from __future__ import annotations

from typing import Any

import pytest

from optimaldp.certify import verify
from optimaldp.designing import Status, solve
from optimaldp.documents.json_text import json_text, read_json_text
from optimaldp.mechanisms.documents import read_given, read_mechanism, read_problem

ZERO_GIVEN = {
    "answers": ["a0", "a1", "a2"],
    "privacy": {"epsilon": "ln(3/2)", "delta": "1/7"},
    "edges": [
        ["v1", "v0", {"epsilon": "ln(5/4)", "delta": "0"}],
        ["v2", "v1", {"epsilon": "ln(3)", "delta": "0.05"}],
        ["v3", "v0", {"epsilon": "ln(11/10)", "delta": "1/7"}],
        ["v4", "v0", {"epsilon": "ln(5/4)", "delta": "1e-6"}],
        ["v3", "v1", {"epsilon": "ln(3)", "delta": "1/7"}],
        ["v1", "v4"],
        ["v0", "v1", {"epsilon": "0", "delta": "0.05"}],
    ],
    "prefers": {
        "v0": ["a2", "a1", "a0"],
        "v1": ["a0", "a2", "a1"],
        "v2": ["a2", "a0", "a1"],
        "v3": ["a0", "a2", "a1"],
        "v4": ["a0", "a1", "a2"],
    },
    "fixed": {"v0": {"a0": "1/5", "a1": "4/5", "a2": "0"}},
}
DUAL = {
    "answers": ["a0", "a1", "a2"],
    "privacy": {"epsilon": "ln(3)", "delta": "0"},
    "edges": [["v1", "v0"], ["v2", "v0"], ["v3", "v1"]],
    "prefers": {"v0": ["a1", "a0", "a2"], "v1": ["a1", "a0", "a2"], "v2": ["a0", "a1", "a2"], "v3": ["a2", "a1", "a0"]},
    "fixed": {"v0": {"a0": "1/2", "a1": "1/10", "a2": "2/5"}, "v3": {"a0": "2/17", "a1": "8/17", "a2": "7/17"}},
}
ZERO_GIVEN_IRRATIONAL = {
    "answers": ["a0", "a1", "a2"],
    "privacy": {"epsilon": "0.5", "delta": "1/7"},
    "edges": [["v1", "v0"], ["v2", "v1", {"epsilon": 1, "delta": "0.1"}], ["v3", "v0"], ["v3", "v0"]],
    "prefers": {"v0": ["a1", "a0", "a2"], "v1": ["a0", "a1", "a2"], "v2": ["a2", "a1", "a0"], "v3": ["a2", "a1", "a0"]},
    "fixed": {"v3": {"a0": "7/20", "a1": "7/20", "a2": "3/10"}, "v2": {"a0": "0", "a1": "5/9", "a2": "4/9"}},
}
DEGENERATE = {
    "answers": ["a0", "a1", "a2"],
    "privacy": {"epsilon": "ln(3)", "delta": "0"},
    "edges": [
        ["v1", "v0", {"epsilon": "ln(5/4)", "delta": "0"}],
        ["v2", "v1", {"epsilon": "ln(11/10)", "delta": "0"}],
        ["v3", "v1"],
        ["v5", "v3", {"epsilon": "ln(3/2)", "delta": "0"}],
        ["v0", "v3", {"epsilon": "ln(11/10)", "delta": "0"}],
        ["v4", "v1", {"epsilon": "0", "delta": "0"}],
        ["v2", "v5", {"epsilon": "0", "delta": "0"}],
        ["v1", "v5", {"epsilon": "ln(11/10)", "delta": "0"}],
        ["v2", "v0", [{"epsilon": "ln(3/2)", "delta": "0"}, {"epsilon": "ln(5/4)", "delta": "0"}]],
        ["v6", "v5", {"epsilon": "ln(11/10)", "delta": "0"}],
        ["v5", "v4"],
    ],
    "prefers": {
        "v0": ["a0", "a2", "a1"],
        "v1": ["a0", "a1", "a2"],
        "v2": ["a1", "a0", "a2"],
        "v3": ["a0", "a2", "a1"],
        "v4": ["a1", "a0", "a2"],
        "v5": ["a0", "a2", "a1"],
        "v6": ["a0", "a1", "a2"],
    },
    "fixed": {"v2": {"a0": "0", "a1": "269/600", "a2": "331/600"}},
}
DEGENERATE_MANY = {
    "answers": ["a0", "a1", "a2", "a3"],
    "privacy": {"epsilon": "0.1", "delta": "0"},
    "edges": [["v1", "v0"], ["v3", "v2"], ["v4", "v2"], ["v4", "v3"]],
    "prefers": {
        "v0": ["a0", "a2", "a3", "a1"],
        "v1": ["a2", "a1", "a0", "a3"],
        "v2": ["a1", "a3", "a2", "a0"],
        "v3": ["a2", "a1", "a3", "a0"],
        "v4": ["a3", "a1", "a2", "a0"],
    },
    "fixed": {"v3": {"a0": "1/8", "a1": "1/4", "a2": "3/8", "a3": "1/4"}},
}


@pytest.mark.parametrize("digits", [None, 17, 30])
@pytest.mark.parametrize("document", [ZERO_GIVEN, DUAL, ZERO_GIVEN_IRRATIONAL], ids=["zero", "dual", "irrational"])
def test_the_printed_optimum_is_still_one(document: dict[str, Any], digits: int | None) -> None:
    found = solve(read_problem(document))
    assert found.status is Status.OPTIMAL
    written = read_json_text(json_text(found.to_document(digits=digits)), source="test")
    mechanism, certificate = read_mechanism(written)
    verdict = verify(mechanism, certificate, **read_given(written, mechanism))
    assert (verdict.private, verdict.optimal) == (True, True), verdict.reason
    assert verdict.gap is not None
    assert verdict.gap < 1e-12


@pytest.mark.parametrize("document", [ZERO_GIVEN, ZERO_GIVEN_IRRATIONAL], ids=["zero", "irrational"])
def test_a_given_zero_is_printed_as_zero(document: dict[str, Any]) -> None:
    mechanism = solve(read_problem(document)).to_document(digits=17)["mechanism"]
    for name, row in document["fixed"].items():
        for answer, given in row.items():
            assert (mechanism[name][answer] == 0) == (given == "0")


@pytest.mark.parametrize("document", [DEGENERATE, DEGENERATE_MANY], ids=["three answers", "four answers"])
def test_degenerate_programs_are_decided_and_what_they_yield_is_private(document: dict[str, Any]) -> None:
    """Irrational levels whose tight constraints agree to 60 digits: floats alone could not repair their point."""
    found = solve(read_problem(document))
    assert found.status is Status.NO_OPTIMUM
    assert found.mechanism is not None
    assert verify(found.mechanism).private
