"""A client as an engineer writes one: it is not run, but checked by `make types`, so that the front door stays typed."""

from __future__ import annotations

from fractions import Fraction
from typing import assert_type

import optimaldp as odp
from optimaldp.asking.session import OpenTable
from optimaldp.questions.columns import BinAnswer

Rows = list[dict[str, str | float]]


def answers(path: str) -> list[str]:
    """Every way to ask, with the types that come back."""
    one: odp.Release = odp.release(path, odp.share("smokes = 'yes'", among="age >= 18") >= 0.3, epsilon=1, delta=1e-6)
    several: list[odp.Release] = odp.release(path, ["majority(a = 1)", "any(b = 2)"], epsilon="ln(2)")
    both = (odp.count("a = 1") >= 3) & odp.majority("b = 1") | odp.any_("c = 1")
    question: odp.questions.Question = odp.mean("score", range=[1, 5]) >= Fraction(7, 2)
    shown: odp.Preview = odp.preview(both, epsilon=Fraction(1, 2), n=100)
    with odp.open(path, ledger="survey.ledger", budget=odp.Budget(epsilon=3)) as table:
        asked: odp.Release = table.ask(odp.winner("vote", ["a", "b"]), epsilon=0.5)
        listed: list[odp.Release] = table.ask([question, odp.median("age", range=[0, 120], step=1)], epsilon=0.5)
    texts = [made.to_json() for made in (one, *several, asked, *listed)]
    return [*texts, *shown.sentences(), str(odp.questions.flips(question, [1, 2, 3, 4, 5]))]


def smokers_are_many(path: str) -> bool:
    """The line that readers of types used to refuse, and the same of a text."""
    release = odp.release(path, odp.share("smokes = 'yes'") >= 0.3, epsilon=1)
    if odp.release(path, "share(smokes = 'yes') >= 0.3", epsilon=1).answer != "yes":
        return odp.release(path, [odp.majority("a = 1")], epsilon=1)[0].answer == "yes"
    return release.answer == "yes"


def what_each_kind_answers(path: str) -> None:
    """The type of each kind's answer, as :func:`optimaldp.release` gives it. A test compares this list with the kinds."""
    # yes or no
    assert_type(odp.release(path, odp.count("a = 1") >= 3, epsilon=1).answer, str)
    assert_type(odp.release(path, odp.share("a = 1") < 0.3, epsilon=1).answer, str)
    assert_type(odp.release(path, odp.majority("a = 1"), epsilon=1).answer, str)
    assert_type(odp.release(path, odp.any_("a = 1") | odp.all_("b = 1"), epsilon=1).answer, str)
    assert_type(odp.release(path, odp.mean("x", range=[1, 5]) >= 3, epsilon=1).answer, str)
    assert_type(odp.release(path, odp.share("a", among="b") > odp.share("a", among="c") + 0.1, epsilon=1).answer, str)
    # one of several
    assert_type(odp.release(path, odp.compare("vote", "a", "b"), epsilon=1).answer, str)
    assert_type(odp.release(path, odp.winner("vote", ["a", "b"]), epsilon=1).answer, str)
    assert_type(odp.release(path, odp.top("vote", 2, ["a", "b"]), epsilon=1).answer, list[str])
    assert_type(odp.release(path, odp.keys("diagnosis"), epsilon=1, delta=1e-6).answer, list[str])
    assert_type(odp.release(path, odp.median("age", bins=[0, 1]), epsilon=1).answer, BinAnswer)
    assert_type(odp.release(path, odp.quantile("age", 0.9, bins=[0, 1]), epsilon=1).answer, BinAnswer)
    assert_type(odp.release(path, odp.quantiles("age", [0.5], bins=[0, 1]), epsilon=1).answer, dict[str, BinAnswer])
    # numbers
    assert_type(odp.release(path, odp.count("a = 1"), epsilon=1).answer, int)
    assert_type(odp.release(path, odp.count("a = 1") - odp.count("b = 1"), epsilon=1).answer, int)
    assert_type(odp.release(path, odp.share("a = 1"), epsilon=1).answer, float)
    assert_type(odp.release(path, odp.share("a", among="b") - odp.share("a", among="c"), epsilon=1).answer, float)
    assert_type(odp.release(path, odp.mean("x", range=[1, 5]), epsilon=1).answer, float)
    assert_type(odp.release(path, odp.sum("x", range=[1, 5]), epsilon=1).answer, float)
    assert_type(
        odp.release(path, odp.ratio("x", "y", ranges=[[0, 5], [0, 5]], grid=[0, 1, 1]), epsilon=1).answer, float
    )
    # tables
    assert_type(odp.release(path, odp.histogram("vote", ["a", "b"]), epsilon=1).answer, dict[str, int])
    assert_type(odp.release(path, odp.crosstab({"sex": ["m", "f"], "vote": ["a", "b"]}), epsilon=1).answer, Rows)
    # for each group, in a list, and of a text
    assert_type(odp.release(path, odp.count("a = 1"), epsilon=1, by="ward", groups="ab").answer, dict[str, int])
    assert_type(odp.release(path, odp.majority("a"), epsilon=1, by="ward", groups="ab").answer, dict[str, str])
    assert_type(odp.release(path, [odp.count("a = 1"), odp.count("b = 1")], epsilon=1)[1].answer, int)
    assert_type(odp.release(path, [odp.count("a = 1")], epsilon=1, by="ward")[0].answer, dict[str, int])
    assert_type(odp.release(path, "count(a = 1)", epsilon=1).answer, object)
    assert_type(odp.release(path, "count(a = 1)", epsilon=1, by="ward").answer, object)


def what_an_open_table_answers(table: OpenTable) -> None:
    """The same from a table with a budget."""
    assert_type(table.ask(odp.count("a = 1") >= 3, epsilon=1).answer, str)
    assert_type(table.ask(odp.share("a = 1") < 0.3, epsilon=1).answer, str)
    assert_type(table.ask(odp.majority("a = 1"), epsilon=1).answer, str)
    assert_type(table.ask(odp.any_("a = 1") | odp.all_("b = 1"), epsilon=1).answer, str)
    assert_type(table.ask(odp.mean("x", range=[1, 5]) >= 3, epsilon=1).answer, str)
    assert_type(table.ask(odp.compare("vote", "a", "b"), epsilon=1).answer, str)
    assert_type(table.ask(odp.winner("vote", ["a", "b"]), epsilon=1).answer, str)
    assert_type(table.ask(odp.top("vote", 2, ["a", "b"]), epsilon=1).answer, list[str])
    assert_type(table.ask(odp.keys("diagnosis"), epsilon=1, delta=1e-6).answer, list[str])
    assert_type(table.ask(odp.median("age", bins=[0, 1]), epsilon=1).answer, BinAnswer)
    assert_type(table.ask(odp.quantile("age", 0.9, bins=[0, 1]), epsilon=1).answer, BinAnswer)
    assert_type(table.ask(odp.quantiles("age", [0.5], bins=[0, 1]), epsilon=1).answer, dict[str, BinAnswer])
    assert_type(table.ask(odp.count("a = 1"), epsilon=1).answer, int)
    assert_type(table.ask(odp.share("a = 1"), epsilon=1).answer, float)
    assert_type(table.ask(odp.mean("x", range=[1, 5]), epsilon=1).answer, float)
    assert_type(table.ask(odp.sum("x", range=[1, 5]), epsilon=1).answer, float)
    assert_type(table.ask(odp.ratio("x", "y", ranges=[[0, 5], [0, 5]], grid=[0, 1, 1]), epsilon=1).answer, float)
    assert_type(table.ask(odp.histogram("vote", ["a", "b"]), epsilon=1).answer, dict[str, int])
    assert_type(table.ask(odp.crosstab({"sex": ["m", "f"], "vote": ["a", "b"]}), epsilon=1).answer, Rows)
    assert_type(table.ask(odp.count("a = 1"), epsilon=1, by="ward").answer, dict[str, int])
    assert_type(table.ask([odp.majority("a = 1")], epsilon=1)[0].answer, str)
    assert_type(table.ask([odp.majority("a = 1")], epsilon=1, by="ward")[0].answer, dict[str, str])
    assert_type(table.ask("count(a = 1)", epsilon=1).answer, object)


def what_stands_beside_a_number(path: str) -> None:
    """One value of a number, and one for each group."""
    one = odp.release(path, odp.count("a = 1"), epsilon=1)
    each = odp.release(path, odp.count("a = 1"), epsilon=1, by="ward")
    assert_type(one.interval, tuple[float, float] | None)
    assert_type(each.interval, dict[str, tuple[float, float] | None])
    assert_type(one.exact, Fraction)
    assert_type(each.exact, dict[str, Fraction])
    assert_type(one.unbiased, float)


def mistakes(path: str) -> None:
    """What a reader of types must refuse: an ignore that is not needed is an error too, so each line has to fail."""
    odp.nonsense  # type: ignore[attr-defined]  # noqa: B018
    odp.release(path, "majority(a = 1)")  # type: ignore[call-overload]
    odp.release(path, "majority(a = 1)", epsilon=1, colour="red")  # type: ignore[call-overload]
    odp.preview("majority(a = 1)", epsilon=1, n="many")  # type: ignore[arg-type]
    odp.winner("vote", 3)  # type: ignore[arg-type]
    answer: int = odp.release(path, "majority(a = 1)", epsilon=1)  # type: ignore[assignment]
    number: int = odp.release(path, odp.winner("vote", ["a", "b"]), epsilon=1).answer  # type: ignore[assignment]
    odp.release(path, odp.count("a = 1"), epsilon=1).answer == "yes"  # type: ignore[comparison-overlap]  # noqa: B015
    del answer, number
