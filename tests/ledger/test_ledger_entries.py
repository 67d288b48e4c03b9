"""The promise: an entry that was written once means the same for ever."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger.conftest import make, spend

from optimaldp.errors import LedgerError, LevelError
from optimaldp.ledger import Answer, Budget, Group, Opening, Part, Spend, open_ledger
from optimaldp.ledger.entry import OtherVersionError, canonical, hash_of, read_entry
from optimaldp.ledger.people import read_part
from optimaldp.privacy import Epsilon, Neighbours, level
from optimaldp.privacy.levels import Bound

# Texts of versions 1 and 2, byte for byte. They may be added to and never changed: ledgers out there hold them.
GOLDEN = [
    (
        Opening(
            1,
            "0" * 64,
            "2026-11-15T20:00:00.000+00:00",
            "survey",
            Budget(3, 1e-6),
            Neighbours.SUBSTITUTION,
            None,
            {"rule": "basic"},
            (read_part("north"),),
            ((Group(None, "careful"), Budget("ln(2)")),),
            version=1,
        ),
        '{"budget":{"delta":"1e-06","epsilon":"3"},"composition":{"rule":"basic"},"dataset":"survey",'
        '"groups":{"careful":{"delta":"0","epsilon":"ln(2)"}},"kind":"opening","neighbours":"substitution","parts":["north"],'
        '"previous":"0000000000000000000000000000000000000000000000000000000000000000","sequence":1,'
        '"time":"2026-11-15T20:00:00.000+00:00","unit":null,"version":1}',
    ),
    (
        Spend(
            2,
            "a" * 64,
            "2026-11-15T20:00:01.000+00:00",
            "majority(smokes = 'yes')",
            Bound(Epsilon.read("1/3"), Fraction(1, 10**7)),
            None,
            (("careful", Bound(Epsilon.read(0.1), Fraction(0))),),
            "c0de",
            version=1,
        ),
        '{"data":"c0de","delta":"1e-07","epsilon":"1/3","kind":"spend","part":null,'
        '"personal":{"careful":{"delta":"0","epsilon":"0.1"}},'
        '"previous":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",'
        '"question":"majority(smokes = \'yes\')","sequence":2,"time":"2026-11-15T20:00:01.000+00:00","version":1}',
    ),
    (
        Answer(3, "b" * 64, "2026-11-15T20:00:02.000+00:00", 2, "ja, größer", {"claim": "(1/3, 0)-DP"}),
        '{"answer":"ja, gr\\u00f6\\u00dfer","certificate":{"claim":"(1/3, 0)-DP"},"kind":"answer",'
        '"previous":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","sequence":3,"spend":2,'
        '"time":"2026-11-15T20:00:02.000+00:00","version":1}',
    ),
    (
        Opening(
            1,
            "0" * 64,
            "2026-11-16T20:00:00.000+00:00",
            "visits",
            Budget(3, 1e-6),
            Neighbours.SUBSTITUTION,
            "person",
            {"rule": "basic"},
            (Part("region", "north"), Part("region", "o'hare")),
            ((Group("trust", "0.1"), Budget("ln(2)")),),
            unit_has_one_part=True,
            settings={"types": {"age": "number"}},
        ),
        '{"budget":{"delta":"1e-06","epsilon":"3"},"composition":{"rule":"basic"},"dataset":"visits",'
        '"groups":[{"budget":{"delta":"0","epsilon":"ln(2)"},"column":"trust","level":"0.1"}],"kind":"opening",'
        '"neighbours":"substitution",'
        '"parts":{"column":"region","unit_has_one_part":true,"values":["north","o\'hare"]},'
        '"previous":"0000000000000000000000000000000000000000000000000000000000000000","sequence":1,'
        '"settings":{"types":{"age":"number"}},"time":"2026-11-16T20:00:00.000+00:00","unit":"person","version":2}',
    ),
    (
        Spend(
            3,
            "a" * 64,
            "2026-11-16T20:00:01.000+00:00",
            "majority(smokes = 'yes')",
            Bound(Epsilon.read("1/3"), Fraction(0)),
            Part("region", "north"),
            (("0.1", Bound(Epsilon.read(0.1), Fraction(0))),),
            "c0de",
            levels="trust",
            asked=Bound(Epsilon.read("1/3"), Fraction(1, 10**7)),
            together=2,
        ),
        '{"asked":{"delta":"1e-07","epsilon":"1/3"},"data":"c0de","delta":"0","epsilon":"1/3","kind":"spend",'
        '"levels":"trust","part":{"column":"region","value":"north"},'
        '"personal":{"0.1":{"delta":"0","epsilon":"0.1"}},'
        '"previous":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",'
        '"question":"majority(smokes = \'yes\')","sequence":3,"time":"2026-11-16T20:00:01.000+00:00",'
        '"together":2,"version":2}',
    ),
]


@pytest.mark.parametrize(("entry", "text"), GOLDEN, ids=["opening 1", "spend 1", "answer 1", "opening 2", "spend 2"])
def test_the_texts_of_entries_never_change(entry: Any, text: str) -> None:
    assert entry.text() == text
    assert read_entry(text) == entry
    assert hash_of(text) == hashlib.sha256(text.encode()).hexdigest()


epsilons = st.one_of(
    st.fractions(0, 1000),
    st.floats(0, 1000, allow_subnormal=False),
    st.builds("ln({})".format, st.fractions(1, 50)),
    st.builds("{}+ln({})".format, st.fractions(0, 10), st.fractions(1, 50)),
)
bounds = st.builds(lambda e, d: Bound(Epsilon.read(e), d), epsilons, st.fractions(0, 1))
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


names = st.none() | st.text()
parts = st.builds(Part, st.text(min_size=1), st.text() | st.integers())


@pytest.mark.long
@given(st.text(), bounds, names, st.dictionaries(st.text(), bounds, max_size=3))
def test_every_spend_of_version_one_can_be_read_back(
    question: str, bound: Bound, condition: str | None, personal: dict[str, Bound]
) -> None:
    part = None if condition is None else read_part(condition)
    entry = Spend(5, "0" * 64, "now", question, bound, part, tuple(sorted(personal.items())), None, version=1)
    assert read_entry(entry.text()) == entry


@pytest.mark.long
@given(
    st.text(),
    bounds,
    st.none() | parts,
    st.dictionaries(st.builds(lambda e: str(Epsilon.read(e)), epsilons), bounds, max_size=3),
    names,
    st.none() | bounds,
    st.none() | st.integers(2, 9),
)
def test_every_spend_can_be_read_back(
    question: str,
    bound: Bound,
    part: Part | None,
    personal: dict[str, Bound],
    levels: str | None,
    asked: Bound | None,
    together: int | None,
) -> None:
    own = tuple(sorted(personal.items()))
    entry = Spend(5, "0" * 64, "now", question, bound, part, own, None, levels=levels, asked=asked, together=together)
    assert read_entry(entry.text()) == entry


@given(json_values, json_values)
def test_every_answer_can_be_read_back(answer: Any, certificate: Any) -> None:
    entry = Answer(5, "0" * 64, "now", 4, answer, certificate)
    assert read_entry(entry.text()).text() == entry.text()


@pytest.mark.parametrize(
    "change",
    [
        {"extra": 1},
        {"kind": "refund"},
        {"kind": None},
        {"epsilon": "0.50"},
        {"epsilon": -1},
        {"delta": "2"},
        {"question": None, "personal": []},
        {"personal": {"careful": "0.1"}},
    ],
)
def test_a_text_that_is_not_ours_is_an_error(change: dict[str, Any]) -> None:
    document = GOLDEN[1][0].to_document()
    with pytest.raises(LedgerError, match="damaged"):
        read_entry(canonical({**document, **change}))


@pytest.mark.parametrize(
    ("entry", "change"),
    [
        (GOLDEN[4][0], {"personal": {"careful": {"delta": "0", "epsilon": "0.1"}}}),
        (GOLDEN[4][0], {"personal": {"0.10": {"delta": "0", "epsilon": "0.1"}}}),
        (GOLDEN[4][0], {"part": "region = 'north'"}),
        (GOLDEN[4][0], {"version": True}),
        (GOLDEN[4][0], {"kind": "answer"}),
        (GOLDEN[3][0], {"parts": ["region = 'north'"]}),
        (GOLDEN[3][0], {"groups": [{"column": "trust", "level": "much", "budget": {"delta": "0", "epsilon": "1"}}]}),
        (GOLDEN[3][0], {"settings": None, "unit_has_one_part": True}),
    ],
)
def test_a_text_of_version_two_that_is_not_ours_is_an_error(entry: Any, change: dict[str, Any]) -> None:
    assert read_entry(canonical(entry.to_document())) == entry
    with pytest.raises(LedgerError, match="damaged"):
        read_entry(canonical({**entry.to_document(), **change}))


@pytest.mark.parametrize("version", [0, 5, -1])
def test_an_entry_of_another_version_says_so(version: int) -> None:
    with pytest.raises(OtherVersionError, match=rf"has version {version}, and this optimaldp reads versions 1 to 4"):
        read_entry(canonical({**GOLDEN[4][0].to_document(), "version": version, "kind": "refund"}))


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"version":1}', "[" * 5000, '{"version":1,"kind":[]}'])
def test_rubbish_is_an_error(text: str) -> None:
    with pytest.raises(LedgerError):
        read_entry(text)


def test_spaces_and_order_matter() -> None:
    text = GOLDEN[2][1]
    with pytest.raises(LedgerError, match="damaged"):
        read_entry(text.replace(",", ", "))


def test_answers_of_every_shape_are_kept(file: Path) -> None:
    ledger = make(file, 1)
    shapes = ["yes", True, 7, [3, 0, 9], {"a": 1}, None]
    for number, answer in enumerate(shapes):
        spend(ledger, 0.1, question=f"q{number}", data_version="v").record(answer)
    again = open_ledger(file)
    assert [line.answer for line in again.history()] == shapes
    assert [again.answered(f"q{n}", level(0.1), "v").answer for n in range(6)] == shapes  # type: ignore[union-attr]


def test_an_answer_that_is_not_plain_is_not_recorded_and_stays_spent(file: Path) -> None:
    ledger = make(file, 1)
    with pytest.raises(LedgerError, match="not plain JSON") as caught:
        spend(ledger, 0.1).record(object())
    assert "object at" not in str(caught.value)
    assert str(ledger.spent().epsilon) == "0.1"


def test_budgets_are_exact_and_refuse_nonsense() -> None:
    assert Budget(0.1).epsilon == Epsilon.read("1/10")
    assert Budget(3, 1e-6) == Budget.from_document(Budget(3, 1e-6).to_document())
    for bad in ((-1, 0), ("much", 0), (None, 0), (1, 2), (1, "x")):
        with pytest.raises(LevelError):
            Budget(*bad)


def test_history_is_a_table_in_terminal_and_notebook(file: Path) -> None:
    ledger = make(file, 1)
    spend(ledger, 0.1, question="winner(candidate, ['Dole', '<b>'])").record("Dole", {"x": 1})
    spend(ledger, "ln(3/2)")
    history = ledger.history()
    assert repr(history) == "History('survey', 2 questions, substitution)"
    table = str(history)
    assert "winner(candidate, ['Dole', '<b>'])" in table
    assert "(spent, not recorded)" in table
    assert "ln(3/2)" in table
    assert "&lt;b&gt;" in history._repr_html_()
    assert "one person's record is replaced" in table
    assert history.to_document()["history"][0]["answer"] == "Dole"
