"""Files: what is written and read back is the same, and what is wrong is refused by field and value."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from copy import deepcopy
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from golden import vectors
from hypothesis import given, settings
from hypothesis import strategies as st

import optimaldp as odp
from optimaldp.designing import Design
from optimaldp.documents.json_text import json_text, read_json_text
from optimaldp.errors import CertificateError, InputError, LevelError, OptimalDPError, ProblemError
from optimaldp.graphs import DatasetGraph, NumberNames, Preferences
from optimaldp.mechanisms import BoundTree, Certificate, DualProof, EventConstraint, Mechanism, SharedRows, TwoSides
from optimaldp.mechanisms.certificate import FREE, ROOT
from optimaldp.mechanisms.certificate_documents import level_document, read_written_level
from optimaldp.mechanisms.documents import (
    design_document,
    mechanism_document,
    problem_document,
    read_given,
    read_mechanism,
    read_problem,
)
from optimaldp.privacy import Bound, Epsilon, all_of, directed, level

GOOD = {
    "answers": ["yes", "no"],
    "privacy": {"epsilon": "ln(2)", "delta": "0.1"},
    "edges": [["a", "b"], ["b", "c", {"epsilon": 0.5}]],
    "prefers": {"a": "yes", "b": ["no", "yes"], "c": "no"},
    "fixed": {"a": {"yes": "0.7", "no": "0.3"}},
}
LEVELS = [
    level("ln(3/2)"),
    level(0.1, "1e-9"),
    level("0.5+ln(2)", "1/3"),
    level("inf", "0.2"),
    level(mu="3/7"),
    all_of(level("ln(3)"), level("ln(2)", "1/8")),
    directed(forward=level("ln(2)"), backward=all_of(level("ln(4)", "0.01"), level("ln(3)", "0.1"))),
]


@pytest.mark.parametrize("promise", LEVELS, ids=str)
def test_levels_round_trip(promise):
    assert read_written_level(read_json_text(json_text(level_document(promise))), name="privacy") == promise


@pytest.mark.parametrize("case", vectors("graphs", "solve"), ids=lambda case: case["id"])
def test_problems_round_trip(case):
    problem = read_problem(case["problem"])
    again = read_problem(read_json_text(json_text(problem_document(problem))))
    assert again.graph.edges() == problem.graph.edges()
    assert again.preferences == problem.preferences
    assert again.fixed == problem.fixed
    assert again.boundary == problem.boundary


@st.composite
def mechanisms(draw):
    count, answers = draw(st.integers(1, 5)), draw(st.integers(2, 4))
    ends = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(lambda e: e[0] != e[1])
    edges = draw(st.lists(ends, max_size=6)) if count > 1 else []
    kinds = draw(st.lists(st.integers(0, len(LEVELS) - 1), min_size=len(edges), max_size=len(edges)))
    tails, heads = [u for u, _ in edges], [v for _, v in edges]
    graph = DatasetGraph(NumberNames(count), tails, heads, levels=LEVELS, level_of_edge=kinds)
    orders = tuple(dict.fromkeys(tuple(draw(st.permutations(range(answers)))) for _ in range(3)))
    of = draw(st.lists(st.integers(0, len(orders) - 1), min_size=count, max_size=count))
    preferences = Preferences(("ä ", "'\"\\c\n", "d", "e")[:answers], orders, np.array(of, dtype=np.int32))
    weights = st.lists(st.integers(1, 10**30), min_size=answers, max_size=answers)
    drawn = [draw(weights) for _ in range(count)]
    rows = [tuple(Fraction(w, sum(ws)) for w in ws) for ws in drawn]
    return Mechanism(graph, preferences, SharedRows.from_rows(rows))


@given(mechanisms())
@settings(max_examples=100, deadline=None)
def test_to_json_and_back_is_the_identity(mechanism):
    again = Mechanism.from_json(mechanism.to_json())
    assert again.to_json() == mechanism.to_json()
    assert again.graph.edges() == mechanism.graph.edges()
    assert again.preferences == mechanism.preferences
    assert [again.rows.row(v) for v in range(len(again))] == [mechanism.rows.row(v) for v in range(len(mechanism))]


def test_sides_are_written_exactly():
    graph = DatasetGraph(NumberNames(3), [0, 1], [1, 2], levels=[level(1)])
    favourites = np.array([0, 1, 1], dtype=np.int32)
    rows = TwoSides(np.array([0.1, -1e-200, -(2.0**-1022)]), favourites)
    mechanism = Mechanism(graph, Preferences.of_truth(("yes", "no"), favourites), rows)
    again = Mechanism.from_json(mechanism.to_json())
    assert [again.rows.row(v) for v in range(3)] == [rows.row(v) for v in range(3)]


def test_rows_of_many_thousand_digits_round_trip():
    tiny = Fraction(2**20000, 3**20000)
    graph = DatasetGraph(["a"], [], [])
    preferences = Preferences(("yes", "no"), ((0, 1),), np.zeros(1, dtype=np.int32))
    mechanism = Mechanism(graph, preferences, SharedRows.from_rows([(tiny, 1 - tiny)]))
    assert Mechanism.from_json(mechanism.to_json()).rows.row(0) == (tiny, 1 - tiny)


def a_certificate():
    tree = BoundTree((0,), np.array([ROOT, 0, FREE], dtype=np.int32))
    constraint = EventConstraint(0, 1, (1,), Bound(Epsilon.read("ln(2)"), Fraction(1, 10)))
    dual = DualProof(
        1, (1,), Fraction(2, 7), ((constraint, Fraction(3, 5)), (EventConstraint(1, 0, (0,)), Fraction(1)))
    )
    return Certificate(np.array([True, False, False]), (tree,), (dual,), "because")


def test_designs_with_their_certificates_round_trip():
    problem = read_problem(GOOD)
    half = Fraction(1, 2)
    rows = SharedRows.from_rows([(Fraction(7, 10), Fraction(3, 10)), (half, half), (half, half)])
    mechanism = Mechanism(problem.graph, problem.preferences, rows)
    document = design_document(
        status="optimal", route="dijkstra", problem=problem, mechanism=mechanism, certificate=a_certificate()
    )
    read = read_json_text(json_text(document))
    again, certificate = read_mechanism(read)
    assert read_given(read, again) == {"fixed": problem.fixed}
    assert again.to_json() == mechanism.to_json()
    expected = a_certificate()
    assert certificate is not None
    assert certificate.given.tolist() == expected.given.tolist()
    assert certificate.trees[0].event == (0,)
    assert certificate.trees[0].predecessor.tolist() == [ROOT, 0, FREE]
    assert vars(certificate.duals[0]) == vars(expected.duals[0])
    assert certificate.statement == "because"


def test_answers_may_be_left_out_of_a_mechanism():
    document = mechanism_document(Mechanism.read(*_pair(), {"a": {"yes": 1}, "b": {"no": "1/2", "yes": "1/2"}}))
    del document["answers"]
    assert set(read_mechanism(document)[0].answers) == {"yes", "no"}


def _pair():
    graph = DatasetGraph.from_edges(["a", "b"], [("a", "b")], level=level("ln(2)"))
    return graph, Preferences.read(graph, {"a": "yes", "b": "no"})


def with_(path, value):
    document = deepcopy(GOOD)
    *way, last = path
    target = document
    for key in way:
        target = target[key]
    target[last] = value
    return document


def without(field):
    return {key: value for key, value in GOOD.items() if key != field}


BAD = {
    "unknown field": (GOOD | {"colour": 1}, "colour"),
    "no object": ([1, 2], "[1, 2]"),
    "a number": (3, "3"),
    "answers missing": (without("answers"), "answers"),
    "edges missing": (without("edges"), "edges"),
    "prefers missing": (without("prefers"), "prefers"),
    "one answer": (with_(["answers"], ["yes"]), "yes"),
    "answer twice": (with_(["answers"], ["yes", "yes"]), "yes"),
    "answer no word": (with_(["answers"], ["yes", 3]), "3"),
    "answers no list": (with_(["answers"], "yes"), "yes"),
    "empty graph": (with_(["prefers"], {}), "prefers"),
    "prefers no object": (with_(["prefers"], ["a"]), "prefers"),
    "unknown answer": (with_(["prefers", "a"], "maybe"), "maybe"),
    "preference true": (with_(["prefers", "a"], True), "prefers[a]"),
    "preference null": (with_(["prefers", "a"], None), "prefers[a]"),
    "half a preference": (with_(["prefers", "a"], ["yes"]), "prefers[a]"),
    "preference twice": (with_(["prefers", "a"], ["yes", "yes"]), "prefers[a]"),
    "edges no list": (with_(["edges"], {"a": "b"}), "edges"),
    "edge no list": (with_(["edges", 0], "ab"), "edges[0]"),
    "edge of one": (with_(["edges", 0], ["a"]), "edges[0]"),
    "edge of four": (with_(["edges", 0], ["a", "b", {"epsilon": 1}, 4]), "edges[0]"),
    "unknown vertex": (with_(["edges", 0], ["a", "z"]), "z"),
    "vertex no word": (with_(["edges", 0], ["a", 1]), "edges[0]"),
    "vertex a list": (with_(["edges", 0], ["a", ["b"]]), "edges[0]"),
    "loop": (with_(["edges", 0], ["a", "a"]), "a"),
    "no level": (without("privacy"), "edges[0]"),
    "privacy a number": (with_(["privacy"], 1), "privacy"),
    "privacy a word": (with_(["privacy"], "strong"), "strong"),
    "privacy empty": (with_(["privacy"], {}), "epsilon"),
    "privacy empty list": (with_(["privacy"], []), "privacy"),
    "privacy unknown field": (with_(["privacy", "gamma"], 1), "gamma"),
    "epsilon negative": (with_(["privacy", "epsilon"], -1), "-1"),
    "epsilon NaN": (with_(["privacy", "epsilon"], float("nan")), "nan"),
    "epsilon a word": (with_(["privacy", "epsilon"], "small"), "small"),
    "epsilon null": (with_(["privacy", "epsilon"], None), "epsilon"),
    "epsilon true": (with_(["privacy", "epsilon"], True), "True"),
    "epsilon a list": (with_(["privacy", "epsilon"], [1]), "epsilon"),
    "epsilon huge": (with_(["privacy", "epsilon"], Decimal("1e999999999")), "epsilon"),
    "delta above one": (with_(["privacy", "delta"], "1.1"), "1.1"),
    "delta NaN": (with_(["privacy", "delta"], Decimal("NaN")), "NaN"),
    "delta over zero": (with_(["privacy", "delta"], "1/0"), "1/0"),
    "delta tiny": (with_(["privacy", "delta"], Decimal("1e-999999999")), "delta"),
    "mu negative": (with_(["privacy"], {"mu": -1}), "mu"),
    "mu and epsilon": (with_(["privacy"], {"mu": 1, "epsilon": 1}), "epsilon"),
    "one direction": (with_(["privacy"], {"forward": {"epsilon": 1}}), "backward"),
    "edge level a word": (with_(["edges", 1, 2], "strong"), "edges[1]"),
    "edge epsilon negative": (with_(["edges", 1, 2], {"epsilon": -3}), "-3"),
    "fixed and boundary": (GOOD | {"boundary": "balanced"}, "boundary"),
    "boundary a number": (without("fixed") | {"boundary": 3}, "boundary"),
    "fixed no object": (with_(["fixed"], ["a"]), "fixed"),
    "fixed unknown vertex": (with_(["fixed"], {"z": {"yes": 1}}), "z"),
    "fixed unknown answer": (with_(["fixed", "a"], {"maybe": 1}), "maybe"),
    "fixed no row": (with_(["fixed", "a"], 0.7), "fixed[a]"),
    "fixed sum": (with_(["fixed", "a"], {"yes": 0.7, "no": 0.7}), "fixed[a]"),
    "fixed negative": (with_(["fixed", "a"], {"yes": -0.5, "no": 1.5}), "-0.5"),
    "fixed NaN": (with_(["fixed", "a"], {"yes": float("nan"), "no": 1}), "nan"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_problems_are_refused_by_field_and_value(name):
    document, named = BAD[name]
    with pytest.raises(InputError) as caught:
        read_problem(document)
    assert named in str(caught.value)
    assert len(str(caught.value)) < 500


def test_the_good_twin_of_the_bad_problems_is_read():
    problem = read_problem(GOOD)
    assert problem.fixed == {0: (Fraction(7, 10), Fraction(3, 10))}
    assert isinstance(problem.graph.edges()[1][2], type(level(1)))


def test_errors_are_of_the_right_kind():
    with pytest.raises(ProblemError):
        read_problem(BAD["unknown vertex"][0])
    with pytest.raises(LevelError):
        read_problem(BAD["epsilon negative"][0])


MECHANISM = without("fixed") | {"mechanism": {n: {"yes": "1/2", "no": "1/2"} for n in "abc"}}
BAD_MECHANISMS = {
    "no mechanism": without("fixed"),
    "not an object": MECHANISM | {"mechanism": [1]},
    "a row missing": MECHANISM | {"mechanism": {"a": {"yes": 1}}},
    "an unknown row": MECHANISM | {"mechanism": MECHANISM["mechanism"] | {"z": {"yes": 1}}},
    "a row that is a number": MECHANISM | {"mechanism": MECHANISM["mechanism"] | {"a": 1}},
    "a sum": MECHANISM | {"mechanism": MECHANISM["mechanism"] | {"a": {"yes": 0.7, "no": 0.7}}},
    "an unknown answer": MECHANISM | {"mechanism": MECHANISM["mechanism"] | {"a": {"maybe": 1}}},
    "certificate a word": MECHANISM | {"certificate": "trust me"},
    "certificate empty": MECHANISM | {"certificate": {}},
    "certificate unknown vertex": MECHANISM | {"certificate": {"given": ["z"]}},
    "certificate unknown field": MECHANISM | {"certificate": {"given": [], "trust": 1}},
    "tree no object": MECHANISM | {"certificate": {"given": [], "trees": [1]}},
    "tree without event": MECHANISM | {"certificate": {"given": [], "trees": [{"predecessor": {}}]}},
    "tree unknown answer": MECHANISM | {"certificate": {"given": [], "trees": [{"event": ["x"], "predecessor": {}}]}},
    "tree unknown vertex": MECHANISM
    | {"certificate": {"given": [], "trees": [{"event": ["yes"], "predecessor": {"a": "z"}}]}},
    "tree vertex a list": MECHANISM
    | {"certificate": {"given": [], "trees": [{"event": ["yes"], "predecessor": {"a": []}}]}},
    "dual no object": MECHANISM | {"certificate": {"given": [], "duals": [[]]}},
}


@pytest.mark.parametrize("name", BAD_MECHANISMS)
def test_bad_mechanisms_are_refused(name):
    read_mechanism(MECHANISM)
    with pytest.raises(InputError):
        read_mechanism(BAD_MECHANISMS[name])


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
SPOTS = [[key] for key in GOOD] + [
    ["privacy", "epsilon"],
    ["privacy", "delta"],
    ["edges", 0],
    ["edges", 1, 2],
    ["prefers", "a"],
    ["fixed", "a"],
]


@pytest.mark.long
@given(st.sampled_from(SPOTS), JUNK)
@settings(max_examples=500, deadline=None)
def test_junk_anywhere_gives_an_error_of_ours_or_a_problem(path, junk):
    with suppress(OptimalDPError):  # any other error fails
        read_problem(with_(path, junk))


@pytest.mark.long
@given(st.sampled_from([*SPOTS[:4], ["mechanism"], ["mechanism", "a"], ["certificate"]]), JUNK)
@settings(max_examples=300, deadline=None)
def test_junk_in_a_mechanism_gives_an_error_of_ours(path, junk):
    document = deepcopy(MECHANISM)
    *way, last = path
    target = document
    for key in way:
        target = target[key]
    target[last] = junk
    with suppress(OptimalDPError):
        read_mechanism(document)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "",
        "[1,",
        '{"a": NaN}',
        '{"a": 1, "a": 2}',
        "[" * 100_000,
        '{"a": ' + "9" * 5000 + "}",
        '{"a": 1e9999999999}',
    ],
)
def test_text_that_is_not_json_is_refused(text):
    with pytest.raises(InputError) as caught:
        read_problem(read_json_text(text))
    assert "\n" not in str(caught.value)


def test_a_million_bytes_of_noise_are_refused():
    noise = random.Random(1).randbytes(10**6)
    with pytest.raises(InputError):
        read_json_text(noise.decode("latin-1"))


def test_json_text_is_json_and_keeps_every_digit():
    long = Decimal("0." + "9" * 300)
    document = {
        "a": long,
        "b": [1, True, None, "ä\n", 0.5],
        "c": {},
        "d": [],
        "e": Fraction(1, 3),
        "f": Decimal("1E-200"),
    }
    for indent in (None, 2):
        text = json_text(document, indent=indent)
        assert json.loads(text)["b"] == [1, True, None, "ä\n", 0.5]
        again = read_json_text(text)
        assert again["a"] == long
        assert again["e"] == "1/3"
        assert again["f"] == Decimal("1E-200")


def test_a_design_is_read_back_from_its_file_and_checked_again():
    graph = odp.graphs.votes(3, level="ln(2)")
    for digits in (None, 17):
        found = odp.design(graph, odp.graphs.majority)
        again = Design.from_json(json_text(found.to_document(digits=digits)))
        assert repr(again) == repr(found)
        assert again.mechanism["111"]["yes"] == pytest.approx(5 / 6)
        assert again.certificate.check().optimal
    lie = read_json_text(found.to_json())
    lie["mechanism"]["111"] = {"yes": "1/2", "no": "1/2"}
    with pytest.raises(CertificateError, match="referee"):
        Design.from_json(json_text(lie))


def test_half_of_a_character_is_refused_where_it_is_read():
    """It could be written nowhere: not into a file, and not on a screen."""
    whole = read_json_text('{"a": "\\ud83d\\ude00", "b": 0.5}')
    assert whole == {"a": "\U0001f600", "b": Decimal("0.5")}
    with pytest.raises(InputError, match=r"holds half of a character \(\\ud83d\); write the whole one"):
        read_json_text('{"a": ["\\ud83d"], "b": 0.5}')
    with pytest.raises(InputError, match="half of a character"):
        read_json_text('{"\\udc00": 1}')


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({}, "file: 'answers' is missing; the file has: nothing."),
        ({"answers": ["a", "b"]}, "file: 'edges' is missing; the file has: answers."),
    ],
)
def test_a_missing_field_is_named_beside_those_that_are_there(document, words):
    with pytest.raises(ProblemError) as caught:
        read_problem(document)
    assert str(caught.value) == words


def test_a_design_without_a_mechanism_says_so():
    graph = odp.graphs.line(2, level="ln(2)")
    sure = {"0": {"a": 1}, "1": {"b": 1}}
    found = odp.design(graph, {"0": "a", "1": "b"}, answers=["a", "b"], fixed=sure)
    with pytest.raises(ProblemError, match="'mechanism' is missing; a design that is infeasible has none"):
        read_mechanism(read_json_text(found.to_json()))


def test_a_number_of_a_file_is_shown_as_the_file_has_it():
    with pytest.raises(LevelError, match=r"privacy\.delta: 1\.50 is not a probability"):
        read_problem(read_json_text(json.dumps(GOOD).replace('"0.1"', "1.50")))
