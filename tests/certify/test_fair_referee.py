"""The referee of fair mechanisms: honest certificates pass, every wrong twin is refused, and the gap is what is claimed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from command_line import run_cli

import optimaldp as odp
from optimaldp.certify import verify
from optimaldp.designing import Design
from optimaldp.errors import CertificateError
from optimaldp.mechanisms import Certificate, How, Mechanism, Settling, SharedRows

LINE = {"0": "a", "1": "b", "2": "a", "3": "a"}


def line(**options: object) -> Design:
    """Pair 0 - 1, then 2 across from 1, then 3 with the same answer as 2."""
    graph = odp.graphs.line(4).with_levels(["ln(2)", "ln(3)"], [0, 1, 0])
    return odp.design(graph, LINE, **options)  # type: ignore[arg-type]


def settling_of(found: Design) -> Settling:
    assert found.certificate is not None
    settling = found.certificate.proof.settling
    assert settling is not None
    return settling


def with_settling(found: Design, **changes: object) -> Certificate:
    arrays = {name: np.asarray(value, dtype=getattr(settling_of(found), name).dtype) for name, value in changes.items()}
    assert found.certificate is not None
    return replace(found.certificate.proof, settling=replace(settling_of(found), **arrays))


def with_chances(found: Design, *chances: object) -> Mechanism:
    rows = [(Fraction(t), 1 - Fraction(t)) if LINE[str(v)] == "a" else (1 - Fraction(t), Fraction(t))  # type: ignore[arg-type]
            for v, t in enumerate(chances)]  # fmt: skip
    assert found.mechanism is not None
    return replace(found.mechanism, rows=SharedRows.from_rows(rows))


def test_an_honest_certificate() -> None:
    found = line()
    assert settling_of(found).how.tolist() == [How.PAIR, How.PAIR, How.ACROSS, How.SAME]
    verdict = verify(found.mechanism, found.certificate.proof, boundary="fair")  # type: ignore[arg-type, union-attr]
    assert (verdict.private, verdict.optimal, verdict.claim, verdict.gap) == (True, True, "fair", 0.0)


TWINS: dict[str, Callable[[Design], Certificate]] = {
    "an order that names a dataset twice": lambda f: with_settling(f, order=[0, 1, 2, 2]),
    "an order that is too short": lambda f: with_settling(f, order=[0, 1, 2]),
    "a source after its dataset": lambda f: with_settling(f, order=[0, 1, 3, 2]),
    "a pair that settles one end": lambda f: with_settling(f, how=[2, 1, 1, 0]),
    "a pair with a third": lambda f: with_settling(f, source=[1, 2, 1, 2]),
    "a pair of one colour": lambda f: with_settling(f, how=[2, 2, 2, 2], source=[1, 0, 3, 2]),
    "the same colour across": lambda f: with_settling(f, how=[2, 2, 0, 0]),
    "across inside one colour": lambda f: with_settling(f, how=[2, 2, 1, 1]),
    "no neighbour": lambda f: with_settling(f, source=[1, 0, 1, 0]),
    "nobody": lambda f: with_settling(f, source=[1, 0, -1, 2]),
    "sure without being so": lambda f: with_settling(f, how=[2, 2, 1, 3], source=[1, 0, 1, -1]),
    "given without anything given": lambda f: with_settling(f, how=[4, 2, 1, 0]),
    "no such way": lambda f: with_settling(f, how=[7, 2, 1, 0]),
}


@pytest.mark.parametrize("twin", list(TWINS))
def test_a_wrong_twin_is_refused(twin: str) -> None:
    found = line()
    verdict = verify(found.mechanism, TWINS[twin](found), boundary="fair")  # type: ignore[arg-type]
    assert verdict.private
    assert verdict.optimal is False
    assert verdict.claim is None


@pytest.mark.parametrize(
    "chances",
    [
        ("2/3", "2/3", "3/4", "5/6"),  # balanced: the edge of ln(3) still gives its value after one end settled
        ("2/3", "2/3", "7/9", "5/6"),
        ("1/2", "1/2", "1/2", "1/2"),
        ("2/3", "2/3", "7/9", str(Fraction(8, 9) - Fraction(1, 10**8))),
    ],
)
def test_a_dominated_mechanism_is_not_fair(chances: tuple[str, ...]) -> None:
    found = line()
    forged = with_chances(found, *chances)
    verdict = verify(forged, found.certificate.proof, boundary="fair")  # type: ignore[union-attr]
    assert verdict.private
    assert verdict.optimal is False


def test_undominated_is_not_yet_fair() -> None:
    """One dataset is sure and limits the other: nothing dominates that, but it is not fair."""
    graph = odp.graphs.line(2, level="ln(2)")
    rows = SharedRows.from_rows([(Fraction(1), Fraction(0))] * 2)
    found = odp.design(graph, {"0": "a", "1": "b"})
    forged = Mechanism(graph, found.problem.preferences, rows)
    proof = replace(with_settling(found, how=[3, 1], source=[-1, 0], order=[0, 1]))
    verdict = verify(forged, proof, boundary="fair")
    assert verdict.private
    assert verdict.optimal is False
    assert "larger chance" in verdict.reason


def test_rounding_down_leaves_a_gap_that_is_said() -> None:
    found, hair = line(), Fraction(1, 10**12)
    low = Fraction(2, 3) - hair
    forged = with_chances(found, low, low, Fraction(7, 9), Fraction(8, 9))
    verdict = verify(forged, found.certificate.proof, boundary="fair")  # type: ignore[union-attr]
    assert verdict.optimal
    assert verdict.proof == "floating-point"
    assert 1e-12 <= verdict.gap < 4e-12  # type: ignore[operator]


def test_a_certificate_of_something_else_does_not_prove_it() -> None:
    balanced, fair = line(boundary="balanced"), line()
    proof = replace(balanced.certificate.proof, claim=odp.mechanisms.Claimed.FAIR)  # type: ignore[union-attr]
    assert verify(balanced.mechanism, proof, boundary="balanced").optimal is False  # type: ignore[arg-type]
    proof = replace(fair.certificate.proof, claim=odp.mechanisms.Claimed.UNDOMINATED)  # type: ignore[union-attr]
    assert verify(fair.mechanism, proof, boundary="fair").optimal is False  # type: ignore[arg-type]


def fixed_line() -> Design:
    """A fixed dataset beside an edge across that it leaves open: no optimum, and the fair mechanism beside it."""
    graph = odp.graphs.line(4).with_levels(["ln(2)", "ln(3)"], [0, 1, 0])
    return odp.design(graph, LINE, fixed={"3": {"a": "1/10", "b": "9/10"}})


def test_fixed_values_that_leave_an_edge_open() -> None:
    found = fixed_line()
    assert (found.status, found.claim, found.gap) == ("no-optimum", "fair", 0.0)
    settling = settling_of(found)
    assert settling.order[0] == 3
    assert settling.how[3] == settling.how[2] == How.GIVEN
    assert found.certificate is not None
    for forged in (
        replace(found.certificate.proof, trees=()),
        replace(found.certificate.proof, given=np.zeros(4, dtype=bool)),
        with_settling(found, order=[0, 1, 2, 3]),
    ):
        assert verify(found.mechanism, forged, fixed=found.problem.fixed).optimal is False  # type: ignore[arg-type]
    assert odp.Design.from_json(found.to_json()).claim == "fair"


def document_of(found: Design) -> dict[str, object]:
    return json.loads(found.to_json())


FALSE_WORDS: dict[str, Callable[[dict], dict]] = {  # type: ignore[type-arg]
    "another claim": lambda d: d | {"claim": "greatest"},
    "a coin without a certificate": lambda d: {k: v for k, v in d.items() if k not in ("certificate", "claim", "gap")}
    | {"proof": "floating-point", "mechanism": {name: {"a": "1/2", "b": "1/2"} for name in d["mechanism"]}},
    "exact but a hair too low": lambda d: d
    | {"mechanism": d["mechanism"] | {"3": {"a": str(Fraction(8, 9) - Fraction(1, 10**12)),
                                            "b": str(Fraction(1, 9) + Fraction(1, 10**12))}}},
    "a smaller gap": lambda d: d
    | {"proof": "floating-point", "gap": 0,
       "mechanism": d["mechanism"] | {"3": {"a": str(Fraction(8, 9) - Fraction(1, 10**12)),
                                            "b": str(Fraction(1, 9) + Fraction(1, 10**12))}}},
}  # fmt: skip


@pytest.mark.parametrize("word", list(FALSE_WORDS))
def test_a_file_that_claims_too_much(word: str) -> None:
    text = json.dumps(FALSE_WORDS[word](document_of(line())))
    ran = run_cli("verify", "-", stdin=text)
    assert ran.code == 1
    said = json.loads(ran.stdout)
    assert said["private"] is True
    assert said["optimal"] is False
    assert {"proof", "claim"} <= set(said)
    with pytest.raises(CertificateError):
        Design.from_json(text)


def test_rows_that_contradict_fixed_are_refused() -> None:
    graph = odp.graphs.line(3, level="ln(2)")
    truth = {"0": "a", "1": "a", "2": "a"}
    found = odp.design(graph, truth, answers=["a", "b"], fixed={"0": {"a": "2/3", "b": "1/3"}})
    document = json.loads(found.to_json())
    document["mechanism"]["0"] = {"a": "0.7", "b": "0.3"}
    for forged in (document, {k: v for k, v in document.items() if k not in ("certificate", "claim", "gap")}):
        ran = run_cli("verify", "-", stdin=json.dumps(forged))
        assert ran.code == 1
        assert "fixed" in json.loads(ran.stdout)["reason"]
        with pytest.raises(CertificateError):
            Design.from_json(json.dumps(forged))


def test_what_design_prints_is_accepted_with_its_claim() -> None:
    problem = {
        "answers": ["a", "b"], "prefers": LINE,
        "edges": [["0", "1", {"epsilon": "0.3"}], ["1", "2", {"epsilon": 1}], ["2", "3", {"epsilon": "ln(2)"}]],
    }  # fmt: skip
    for exact in ((), ("--exact",)):
        printed = run_cli("design", "-", *exact, stdin=json.dumps(problem))
        assert printed.code == 0
        ran = run_cli("verify", "-", stdin=printed.stdout)
        assert ran.code == 0, ran.stdout
        assert json.loads(ran.stdout)["claim"] == "fair"
