"""Published releases are re-examined from their documents alone: what was written passes, what was changed does not."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pyarrow
import pytest
from command_line import run_cli

import optimaldp as odp
from optimaldp.errors import InputError
from optimaldp.privacy.levels import GroupLevel

PEOPLE = 60
TABLE = pyarrow.table(
    {
        "smokes": ["yes" if i % 3 else "no" for i in range(PEOPLE)],
        "arm": [("a", "b", None)[i % 3] for i in range(PEOPLE)],
        "vote": ["abcd"[i % 4] for i in range(PEOPLE)],
        "age": [i % 90 for i in range(PEOPLE)],
        "trust": [0.2 if i % 7 == 0 else 2.0 for i in range(PEOPLE)],
        "person": [i // 2 for i in range(PEOPLE)],
    }
)
GROUPS = {"by": "arm", "groups": ["a", "b"]}
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "share": ("share(smokes = 'yes' among age > 3) >= 0.3", {}),
    "mean": ("mean(age, range=[0, 90]) >= 30", {"unit": "person", "reduce": "mean"}),
    "winner": ("winner(vote, ['a', 'b', 'c'])", {"delta": "1e-6"}),
    "median": ("median(age, bins=[0, 18, 65, 120])", {"where": "vote <> 'a'"}),
    "quantiles": ("quantiles(age, [0.25, 0.5, 0.75], bins=[0, 18, 65, 120])", {}),
    "histogram": ("histogram(vote, ['a', 'b'])", {}),
    "independent": ("histogram(vote, ['a', 'b'])", {"neighbours": "add-remove"}),
    "keys": ("keys(vote)", {"delta": "1e-6"}),
    "top": ("top(vote, 2, ['a', 'b', 'c'])", {}),
    "two groups": ("share(smokes = 'yes' among arm = 'a') > share(smokes = 'yes' among arm = 'b')", {}),
    "joined": ("count(smokes = 'yes') >= 10 and share(arm = 'a') >= 0.5", {}),
    "by group": ("count(*) >= 11", {"by": "arm", "groups": ["a", "b", "(other)"], "delta": "1e-6"}),
    "histogram by group": ("histogram(vote, ['a', 'b'])", GROUPS),
    "public groups": ("share(smokes = 'yes') >= 0.3", GROUPS | {"public_groups": True}),
    "levels": ("share(smokes = 'yes') >= 0.3", {"levels": "trust"}),
    "weighted winner": ("winner(vote, ['a', 'b', 'c'])", {"levels": "trust"}),
    "every table": ("share(smokes = 'yes') >= 0.3", {"levels": "trust", "aim": "every table"}),
    "kept counts": ("histogram(vote, ['a', 'b'])", {"levels": "trust"}),
    "weighted median": ("median(age, range=[0, 90], step=1)", {"levels": "trust"}),
}


@pytest.fixture(scope="module")
def documents() -> dict[str, dict[str, Any]]:
    made = {name: odp.release(TABLE, text, epsilon=1, **options) for name, (text, options) in ASKED.items()}
    return {name: json.loads(release.to_json()) for name, release in made.items()}


@pytest.mark.parametrize("name", ASKED)
def test_what_was_written_passes(name: str, documents: dict[str, dict[str, Any]]) -> None:
    report = odp.verify(documents[name])
    assert report.holds, report.failure
    assert report.checked


Forgery = Callable[[dict[str, Any]], Any]


def put(path: str, value: Any) -> Forgery:
    def forge(document: dict[str, Any]) -> None:
        *way, last = path.split(".")
        for name in way:
            document = document[name]
        document[last] = value

    return forge


def both(*forgeries: Forgery) -> Forgery:
    return lambda document: [forge(document) for forge in forgeries]


EVERYWHERE: dict[str, Forgery] = {
    "a smaller epsilon": put("epsilon", "0.1"),
    "a smaller epsilon of the mechanism": put("mechanism.epsilon", "0.1"),
    "both, but what it means": both(put("epsilon", "0.1"), put("mechanism.epsilon", "0.1")),
    "less spent": put("spent.epsilon", "0.5"),
    "more spent": put("spent", {"epsilon": "1", "delta": "0.5"}),
    "spent is a text": put("spent", "nothing"),
    "an infinite epsilon": put("epsilon", "inf"),
    "an epsilon that is none": put("epsilon", "nan"),
    "an endless epsilon": put("epsilon", "1e99999999"),
    "an epsilon in a list": put("epsilon", ["1"]),
    "a delta of one": put("delta", 1),
    "a delta that is none": put("delta", float("nan")),
    "a delta that is not charged": put("delta", "0.01"),
    "a delta that is true": put("delta", True),
    "other neighbours": put("neighbours", "any two tables"),
    "neighbours in a list": put("neighbours", ["substitution"]),
    "another unit": put("unit", "household"),
    "a unit that is a number": put("unit", 3),
    "another place": put("among", "age > 100"),
    "another mechanism": put("mechanism.name", "in clear"),
    "a parameter more": put("mechanism.temperature", 3),
    "no answer": put("answer", None),
    "an answer that is not one": put("answer", "perhaps"),
    "a number for an answer": put("answer", 3),
    "an answer within an answer": put("answer", {"a": {"b": {"c": 1}}}),
    "a question that is none": put("question", "is it true"),
    "a question that is a list": put("question", ["majority(x)"]),
    "a later version": put("version", "99.0.0"),
    "a version that is none": put("version", "x'); DROP TABLE"),
    "a version that is a number": put("version", Decimal("0.2")),
    "another format": put("format", "optimaldp release 77"),
    "a time that is none": put("time", "yesterday"),
    "another theorem": put("certificate.theorem", "trust me"),
    "another optimum": put("certificate.optimal", "the best of all"),
    "more was checked": put("certificate.checked", ["everything"]),
    "other people are protected": put("certificate.protected", "nobody"),
    "another delta was used": put("certificate.delta_used", "0.25"),
    "another reliability": put("certificate.reliable", "always right"),
    "a certificate that is a text": put("certificate", "certified"),
    "levels that nobody has": put("certificate.levels", ["0.001", "5"]),
    "groups that are a number": both(put("by", "arm"), put("groups", 7)),
    "groups that are true or false in words": put("public_groups", "no"),
    "a part that is none": put("part", "north"),
    "people who are negative": put("mechanism.people", {"n": -5, "public": True}),
    "people in parts": put("mechanism.people", {"n": 2.5, "public": True}),
    "people who are true": put("mechanism.people", {"n": True, "public": True}),
    "people who are a list": put("mechanism.people", [60]),
    "more people than there are": put("mechanism.people", {"n": 10**40, "public": True}),
    "levels that are a number": put("mechanism.levels", 3),
    "levels of too many": put("mechanism.levels", [["0.2", 9], ["1", 9999]]),
    "levels that fall": put("mechanism.levels", [["1", 51], ["0.2", 9]]),
}


@pytest.mark.long
@pytest.mark.parametrize("forgery", EVERYWHERE)
def test_a_forged_document_does_not_pass(forgery: str, documents: dict[str, dict[str, Any]]) -> None:
    for name, document in documents.items():
        forged = copy.deepcopy(document)
        EVERYWHERE[forgery](forged)
        assert not odp.verify(forged).holds, name


ONE: list[tuple[str, str, Forgery]] = [
    ("share", "the other comparison", put("question", "share(smokes = 'yes' among age > 3) >= 0.3 or majority(x)")),
    ("share", "people counted twice", put("mechanism.people.n", 61)),
    ("winner", "fewer options", put("question", "winner(vote, ['a', 'b'])")),
    ("winner", "no delta in the mechanism", put("mechanism.delta", "0")),
    ("winner", "no delta at all", both(put("delta", "0"), put("mechanism.delta", "0"))),
    ("winner", "an option outside", put("answer", "d")),
    ("median", "a bin outside", put("answer", "[120, 300)")),
    ("median", "without its condition", put("where", None)),
    ("quantiles", "falling", put("answer", {"0.25": "[65, 120]", "0.5": "[18, 65)", "0.75": "[0, 18)"})),
    ("quantiles", "another rank", put("answer", {"0.1": "[0, 18)", "0.5": "[18, 65)", "0.75": "[18, 65)"})),
    ("histogram", "another total", put("answer", {"a": 1, "b": 2, "(everyone else)": 3})),
    ("histogram", "below zero", put("answer", {"a": -1, "b": 1, "(everyone else)": 60})),
    ("histogram", "a bin less", put("answer", {"a": 30, "b": 30})),
    ("histogram", "in words", put("answer", {"a": "30", "b": "20", "(everyone else)": "10"})),
    ("histogram", "delta was used", put("spent.delta", "1e-06")),
    ("independent", "as if n were public", put("mechanism.people", {"n": 60, "public": True})),
    ("keys", "a category twice", put("answer", ["a", "a"])),
    ("keys", "a category that is a list", put("answer", [["a"]])),
    ("top", "a leader twice", put("answer", ["a", "a"])),
    ("top", "one leader less", put("answer", ["a"])),
    ("by group", "a group less", put("answer", {"a": "yes", "b": "yes"})),
    ("by group", "a group that was not asked", put("answer", {"a": "yes", "b": "yes", "c": "no"})),
    ("by group", "all of epsilon in each group", put("mechanism.epsilon", "1")),
    ("by group", "all of delta in each group", put("mechanism.delta", "1e-06")),
    ("by group", "as if the groups were public", put("public_groups", True)),
    ("by group", "without groups", both(put("by", None), put("groups", None))),
    ("public groups", "as if they were private", put("public_groups", None)),
    ("public groups", "a group's size less", put("mechanism.people.groups", {"a": 20})),
    ("public groups", "sizes below zero", put("mechanism.people.groups", {"a": 20, "b": -20})),
    ("levels", "a level that nobody lost", put("certificate.levels", ["0.2", "0.4", "1"])),
    ("levels", "levels above the ones that are honoured", put("certificate.levels", ["0.2", "0.5", "inf"])),
    ("levels", "somebody who is not asked, though all are", put("certificate.not_asked", ["0.2"])),
    ("levels", "another aim", put("aim", "every-table")),
    ("levels", "another aim of the mechanism", put("mechanism.aim", "every-table")),
    ("levels", "without levels", both(put("levels", None), put("aim", None), put("mechanism.levels", None))),
    ("levels", "looser levels", put("mechanism.levels", [["0.5", 9], ["1", 51]])),
    ("levels", "levels above epsilon", put("mechanism.levels", [["0.2", 9], ["2", 51]])),
    ("kept counts", "levels that are not kept", put("mechanism.levels", [["0.1", 9], ["1", 51]])),
]


@pytest.mark.parametrize(("name", "what", "forge"), ONE, ids=[f"{name}: {what}" for name, what, _ in ONE])
def test_a_document_forged_in_its_own_way_does_not_pass(
    name: str, what: str, forge: Forgery, documents: dict[str, dict[str, Any]]
) -> None:
    forged = copy.deepcopy(documents[name])
    forge(forged)
    assert forged != documents[name]
    assert not odp.verify(forged).holds


# Every field by itself: taken away, and with another value of its kind.


MORE: dict[str, tuple[str, dict[str, Any]]] = {
    "count": ("count(smokes = 'yes')", {}),
    "mean number": ("mean(age, range=[0, 90], step=1 among smokes = 'yes')", {"neighbours": "add-remove"}),
    "numbers by group": ("count(smokes = 'yes')", GROUPS),
    "cross table": ("crosstab(vote: ['a'], smokes: ['yes'])", {}),
    "several groups": ("count(*) >= 3", GROUPS | {"unit": "person", "groups_per_person": 2}),
}
FIELD_BY_FIELD = (
    "share",
    "median",
    "histogram",
    "histogram by group",
    "independent",
    "keys",
    "levels",
    "kept counts",
    *MORE,
)
FREE = {"dataset", "delimiter", "encoding", "description", "by"}
"""Names that somebody gave, and how cells were written: no number of the law depends on them."""


def fields(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inside:
        yield (*path, name)
        yield from fields(one, (*path, name))


def changed(value: Any) -> Any:
    if isinstance(value, (dict, list)):
        return type(value)()
    if isinstance(value, bool) or value is None:
        return ["x"]
    return value + 1 if isinstance(value, (int, float)) else value + "x"


@pytest.mark.long
@pytest.mark.parametrize("name", FIELD_BY_FIELD)
def test_no_field_can_be_left_out_or_changed_alone(name: str, documents: dict[str, dict[str, Any]]) -> None:
    document = documents.get(name)
    if document is None:
        text, options = MORE[name]
        document = json.loads(odp.release(TABLE, text, epsilon=1, **options).to_json())
    assert odp.verify(document).holds
    # A category that was named may be any, and where the law does not depend on how many people there are, nothing tells n.
    free = FREE | (
        {"answer", "answer.0", "answer.1"} if name == "keys" else {"mechanism.people.n"} if name == "count" else set()
    )
    passed = []
    for path in fields(document):
        for change in ("left out", "changed"):
            forged = copy.deepcopy(document)
            place = forged
            for part in path[:-1]:
                place = place[part]
            named = ".".join(map(str, path))
            if change == "changed":
                place[path[-1]] = changed(place[path[-1]])
                if named in free or forged == document:
                    continue
            elif isinstance(place, list) or path[-1] in ("law", "cap"):  # written as null, and null where it is missing
                continue
            else:
                del place[path[-1]]
            if passes(forged):
                passed.append(f"{named} {change}")
    assert not passed


def passes(document: dict[str, Any]) -> bool:
    try:
        return odp.verify(document).holds
    except InputError:  # it is not the document of a release any more
        return False


def test_a_document_of_another_version_says_that_its_sentences_were_not_compared(
    documents: dict[str, dict[str, Any]],
) -> None:
    assert odp.verify(documents["share"]).not_recomputed == ()
    (left,) = odp.verify(documents["share"] | {"version": "0.2.0"}).not_recomputed
    assert "sentences" in left


def test_groups_that_spend_too_much_together_are_not_certified(
    documents: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where the library itself would split the level wrongly."""

    def whole(epsilon: Any, delta: Any, relation: Any, *, public_groups: bool, per_person: int) -> GroupLevel:
        return GroupLevel(epsilon, delta, odp.privacy.Neighbours.ADD_REMOVE)

    monkeypatch.setattr("optimaldp.asking.request.level_of_each_group", whole)
    forged = copy.deepcopy(documents["by group"])
    forged["mechanism"] |= {"epsilon": "1", "delta": "1e-06"}
    report = odp.verify(forged)
    assert not report.holds
    assert "groups together" in report.failure


def test_a_document_without_its_mechanism_cannot_be_examined(documents: dict[str, dict[str, Any]]) -> None:
    for value in (None, "balanced chain", [], 3):
        with pytest.raises(InputError, match="mechanism"):
            odp.verify(documents["share"] | {"mechanism": value})
    with pytest.raises(InputError, match="not the document"):
        odp.verify({"question": "majority(x)", 3: 4})


def nested(depth: int) -> Any:
    value: Any = "yes"
    for _ in range(depth):
        value = {"answer": value}
    return value


@pytest.mark.parametrize("place", ["answer", "certificate.notes", "mechanism.people", "part", "epsilon"])
def test_deep_nesting_is_no_way_out(place: str, documents: dict[str, dict[str, Any]]) -> None:
    forged = copy.deepcopy(documents["by group"])
    put(place, nested(100_000))(forged)
    assert not odp.verify(forged).holds


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"question": "majority(x)", "question": "majority(y)", "answer": "yes"}', 2),
        ('{"question": "majority(x)", "answer": "yes", "epsilon": NaN}', 2),
        ('{"question": "majority(x)", "answer": "yes", "epsilon": 1e9999999999}', 2),
        ("[" * 100_000, 2),
        ("[]", 2),
        ("3", 2),
        ("null", 2),
        ('{"answer": "yes"}', 2),
        ('[{"question": "majority(x)", "answer": "yes"}, 3]', 2),
        ("{", 2),
    ],
    ids=lambda value: str(value)[:40],
)
def test_files_that_are_no_documents_end_with_one_sentence(text: str, code: int, tmp_path: Any) -> None:
    file = tmp_path / "release.json"
    file.write_text(text, "utf-8")
    done = run_cli("verify", str(file))
    assert done.code == code
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_document_of_a_recorded_answer_passes_too(tmp_path: Any) -> None:
    """Also where the column's type lists the options: the question in the document names them."""
    table = pyarrow.table({"member": [True, False, None] * 20})
    with odp.open(table, ledger=tmp_path / "ledger", budget=odp.Budget(epsilon=3), dataset="members") as opened:
        first, again = (opened.ask("winner(member)", epsilon=1) for _ in range(2))
    assert again.recorded
    assert again.question == first.question
    assert odp.verify(first).holds
    assert odp.verify(json.loads(again.to_json())).holds
