"""A design read back from its file says what the referee finds, and repeats no word of the file as a finding."""

from __future__ import annotations

import json

import pytest

import optimaldp as odp
from optimaldp import graphs
from optimaldp.designing import Design, Proof, Status, solve
from optimaldp.documents.json_text import json_text
from optimaldp.errors import CertificateError, ProblemError
from optimaldp.mechanisms.documents import PROBLEM_FIELDS, read_problem

ANSWERS = ("a", "b", "c")
OWN = "undominated"
FORGED = "PROVEN BY THE REFEREE"


def three_ways(name: str) -> list[str]:
    return {"0": ["a", "b", "c"], "1": ["a", "b", "c"], "2": ["b", "a", "c"]}.get(name, ["b", "a", "c"])


@pytest.fixture(scope="module")
def found() -> Design:
    return odp.design(graphs.line(5), three_ways, answers=ANSWERS, epsilon="ln(2)", boundary="undominated")


def no_optimum() -> Design:
    """Example 1 of 001."""
    rows = {"0": ("0.2", "0.1", "0.7"), "3": ("0.4", "0.1", "0.5"), "4": ("0.3", "0.1", "0.6")}
    fixed = {name: dict(zip(ANSWERS, row)) for name, row in rows.items()}
    wants = {str(k): ANSWERS if k < 4 else ("a", "c", "b") for k in range(5)}
    return odp.design(graphs.ring(5), wants, answers=ANSWERS, epsilon="ln(2)", fixed=fixed)


def rows(found: Design) -> list[dict]:
    return [found.mechanism[name] for name in found.problem.graph.names]


def forged(found: Design, **fields: object) -> Design:
    document = json.loads(found.to_json())
    return Design.from_json(json.dumps(document | fields))


def test_what_is_read_back_is_the_same(found):
    again = Design.from_json(found.to_json())
    assert again.status_line == found.status_line == "greatest for a boundary of one row per preference, proven exactly"
    assert repr(again) == repr(found)
    assert again.to_json() == found.to_json()
    assert rows(again) == rows(found)


def test_a_rule_that_did_not_choose_the_rows_is_refused(found):
    with pytest.raises(CertificateError, match="did not choose the rows"):
        forged(found, rule=FORGED)
    uniform = {f"{x}": dict.fromkeys(ANSWERS, "1/3") for x in ("a>b>c", "b>a>c")}
    other = odp.design(graphs.line(5), three_ways, answers=ANSWERS, epsilon="ln(2)", boundary=uniform)
    two = odp.design(graphs.line(4), lambda n: "a" if n < "2" else "b", answers=("a", "b"), epsilon="ln(2)")
    for design, rule in ((other, "undominated"), (two, FORGED)):
        with pytest.raises(CertificateError, match="did not choose the rows"):
            forged(design, rule=rule)


def test_a_statement_of_the_file_is_not_repeated(found):
    document = json.loads(found.to_json())
    document["certificate"]["statement"] = FORGED
    again = Design.from_json(json.dumps(document))
    assert FORGED not in repr(again.certificate) + again._repr_html_()
    assert again.certificate.proof.statement == found.certificate.proof.statement


def test_how_it_was_proven_is_what_the_referee_finds():
    path = graphs.line(6, levels=["0.5", "0.3", "0.5", "0.7", "0.2"])
    rough = odp.design(
        path, lambda n: ANSWERS if n < "3" else ANSWERS[::-1], answers=ANSWERS, exact=False, boundary=OWN
    )
    assert rough.proof is Proof.FLOATING_POINT
    with pytest.raises(CertificateError, match="claims an exact proof"):
        forged(rough, proof="exact")
    fine = odp.design(path, lambda n: ANSWERS if n < "3" else ANSWERS[::-1], answers=ANSWERS, boundary=OWN)
    assert Design.from_json(json_text(fine.to_document(digits=17))).proof is Proof.EXACT


def test_a_rule_that_a_problem_names_for_its_rows_is_refused_too(found):
    document = {k: v for k, v in json.loads(found.to_json()).items() if k in PROBLEM_FIELDS}
    assert solve(read_problem(document)).status_line == found.status_line
    uniform = {f"{x}": dict.fromkeys(ANSWERS, "1/3") for x in ("a>b>c", "b>a>c")}
    for change in ({"rule": FORGED}, {"boundary": uniform}):
        with pytest.raises(CertificateError, match="did not choose the rows"):
            solve(read_problem(document | change))


@pytest.mark.parametrize("status", ["infeasible", "no-optimum"])
def test_a_status_without_a_mechanism_is_read_only_where_it_is_true(found, status):
    document = json.loads(found.to_json()) | {"status": status, "witness": {"reason": FORGED}}
    del document["mechanism"], document["certificate"]
    with pytest.raises(
        CertificateError, match=rf"status: '{status}' is not what solving the problem again finds: optimal"
    ):
        Design.from_json(json.dumps(document))


def test_the_reason_of_a_file_is_not_repeated():
    document = json.loads(no_optimum().to_json())
    document["witness"] = {"reason": FORGED}
    assert Design.from_json(json.dumps(document)).witness == no_optimum().witness


def test_infeasible_beside_a_mechanism_is_refused(found):
    with pytest.raises(CertificateError, match="status: 'infeasible' stands beside a mechanism"):
        forged(found, status="infeasible")


def test_no_optimum_beside_an_optimum_is_refused(found):
    with pytest.raises(CertificateError, match="'no-optimum' is not what solving the problem again finds: optimal"):
        forged(found, status="no-optimum")


def test_the_mechanism_of_a_design_without_an_optimum_comes_back():
    found = no_optimum()
    assert found.status is Status.NO_OPTIMUM
    again = Design.from_json(found.to_json())
    assert rows(again) == rows(found)
    assert again.witness == json.loads(json.dumps(found.witness))
    assert again.to_json() == found.to_json()


def test_a_claim_without_a_certificate_holds_where_solving_finds_the_same():
    pair = {
        "graph": graphs.line(4, level=odp.level("ln(2)")),
        "truth": dict(zip("0123", "yynn")),
        "answers": ["y", "n"],
    }
    found = odp.design(**pair, fixed={"0": {"y": "3/4", "n": "1/4"}})
    assert (found.status, found.claim) == (Status.NO_OPTIMUM, "fair")
    document = json.loads(found.to_json())
    del document["certificate"]
    assert odp.verify(document)
    document["mechanism"] |= {
        "1": {"y": "5/8", "n": "3/8"},
        "2": {"y": "1/2", "n": "1/2"},
        "3": {"y": "1/2", "n": "1/2"},
    }
    for status in ("no-optimum", None):
        finding = odp.verify(document | {"status": status})
        assert not finding
        assert (finding.mechanism if status else finding).private


def test_one_that_is_not_private_does_not():
    found = no_optimum()
    document = json.loads(found.to_json())
    document["mechanism"]["1"] = {"a": "1", "b": "0", "c": "0"}
    with pytest.raises(CertificateError, match="is not private"):
        Design.from_json(json.dumps(document))
    with pytest.raises(ProblemError, match="witness: 'none' is not an object"):
        Design.from_json(json.dumps(document | {"witness": "none"}))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"status": "super"}, "status: 'super' is none of optimal, infeasible, no-optimum"),
        ({"route": ["x"]}, r"route: \['x'\] is none of closed-form"),
        ({"proof": "by magic"}, "proof: 'by magic' is none of exact, floating-point"),
    ],
)
def test_words_that_are_none_of_ours_are_refused(found, fields, words):
    with pytest.raises(ProblemError, match=words):
        forged(found, **fields)
