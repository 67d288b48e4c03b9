"""Each level group is charged what it lost, for every kind, in every order; and nobody passes a budget of their own.

From a CSV file through counting, the referee and the ledger to the answer: what the people of each level of each column have lost
is compared with a sum that is written out here.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import optimaldp as odp
from optimaldp.errors import BudgetError

ROWS = [
    ("yes", "a", "3", "0.1", "1"),
    ("no", "b", "7", "0.1", "0.5"),
    ("", "c", "", "1", "0.5"),
    ("yes", "b", "9", "1", "1"),
]
HEAD = "smokes,vote,age,trust,caution\n"
KINDS = {
    "count": ("count(smokes = 'yes') >= {}", True),
    "share": ("share(smokes = 'yes') >= 0.{}", True),
    "among": ("share(smokes = 'yes' among age > 4) >= 0.{}", True),
    "compare": ("compare(vote, 'a', 'b' among age < {})", True),
    "mean": ("mean(age, range=[0, 10], step=1) >= {}", True),
    "winner": ("winner(vote, ['a', 'b'] among age < {})", False),
    "winner of many": ("winner(vote, ['a', 'b', 'c', 'd', 'e', 'f'] among age < {})", False),
    "median": ("median(age, bins=[0, {}, 10])", True),
    "histogram": ("histogram(vote, ['a', 'b'] among age < {})", False),
    "prior": ("count(smokes = 'yes') >= {}", True),
}
"""The question with a number in it, and whether it has a use for delta where levels differ."""
STRICTEST = {"trust": Fraction(1, 10), "caution": Fraction(1, 2)}


def written(folder: Path) -> Path:
    file = folder / "survey.csv"
    file.write_text(HEAD + "".join(",".join(row) + "\n" for row in ROWS), "utf-8")
    return file


def options(kind: str, **more: Any) -> dict[str, Any]:
    return more | ({"aim": {"prior": 0.5}} if kind == "prior" else {})


@pytest.mark.long
@pytest.mark.parametrize("delta", ["0", "0.001"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_document_tells_whose_written_level_was_not_lost(kind: str, delta: str, tmp_path: Path) -> None:
    """People of level 0.1 have nothing left: verify honours the document that says so, and refuses one that hides it."""
    options_of = options(kind, epsilon=1, delta=delta, levels="trust")
    groups = {"trust": {"0.1": odp.Budget(epsilon="0.05"), "1": odp.Budget(epsilon=9, delta="0.1")}}
    with odp.open(
        written(tmp_path), ledger=tmp_path / "l", budget=odp.Budget(epsilon=9, delta="0.1"), groups=groups
    ) as table:
        document = json.loads(table.ask(KINDS[kind][0].format(5), **options_of).to_json())
    certificate = document["certificate"]
    assert (certificate["levels"], certificate["not_asked"]) == (["0.1", "1"], ["0.1"])
    assert [own for own, _ in document["mechanism"]["levels"]] == ["0", "1"]
    assert odp.verify(document).holds
    for said in ([], ["1"], ["0.1", "1"], None, "0.1"):
        assert not odp.verify(document | {"certificate": certificate | {"not_asked": said}}).holds


@pytest.mark.long
@pytest.mark.parametrize("delta", ["0", "0.001"])
@pytest.mark.parametrize("kind", KINDS)
def test_people_of_a_level_are_asked_until_their_own_budget_is_used_up(kind: str, delta: str, tmp_path: Path) -> None:
    """Nobody with level 0.1 loses more than 0.25 in all: twice they are asked, then their votes weigh nothing."""
    text, uses_delta = KINDS[kind]
    charged = Fraction(delta) if uses_delta else Fraction(0)
    groups = {"trust": {"0.1": odp.Budget("0.25", "0.01")}}
    with odp.open(
        written(tmp_path), ledger=tmp_path / "l.ledger", budget=odp.Budget(10, "0.1"), groups=groups
    ) as opened:
        asked = [
            opened.ask(text.format(number), **options(kind, epsilon=1, delta=delta, levels="trust"))
            for number in (2, 3, 4, 5)
        ]
        levels = [one.to_document()["mechanism"]["levels"] for one in asked]
        assert levels == [[["0.1", 2], ["1", 2]]] * 2 + [[["0", 2], ["1", 2]]] * 2
        strict, loose = (opened.remaining_of(group=("trust", own)).spent for own in ("0.1", "1"))
        assert (str(strict.epsilon), strict.delta) == ("0.2", 2 * charged)
        assert (str(loose.epsilon), loose.delta) == ("4", 4 * charged)
        assert (str(opened.remaining.spent.epsilon), opened.remaining.spent.delta) == ("4", 4 * charged)
        for one in asked:
            again = odp.verify(one)
            assert again.holds, again.failure
        with pytest.raises(
            BudgetError, match=r"trust = 0\.1"
        ):  # a question that does not know of levels would ask them
            opened.ask(text.format(6), epsilon="0.5", delta=delta)
        assert str(opened.remaining.spent.epsilon) == "4"
    with odp.open(tmp_path / "survey.csv", ledger=tmp_path / "l.ledger") as opened:  # and the ledger remembers
        assert str(opened.remaining_of(group=("trust", "0.1")).spent.epsilon) == "0.2"


@pytest.mark.long
@pytest.mark.parametrize("kind", ["share", "winner", "median", "histogram"])
def test_the_same_on_the_command_line(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from optimaldp.cli import main

    def run(*words: str) -> int:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("sys.argv", ["optimaldp", *words])
            with pytest.raises(SystemExit) as stop:
                main()
        return int(stop.value.code or 0)

    file, ledger = str(written(tmp_path)), str(tmp_path / "l.ledger")
    budget = ["--epsilon", "10", "--level-budget", "trust = 0.1: 0.15"]
    assert run("ledger", "create", ledger, "--dataset", "survey", *budget) == 0
    for number in (2, 3):
        asked = ["--question", KINDS[kind][0].format(number), "--epsilon", "1", "--levels", "trust"]
        assert run("release", "--data", file, *asked, "--ledger", ledger, "--json") == 0
    capsys.readouterr()
    with odp.open(file, ledger=ledger) as opened:
        assert str(opened.remaining_of(group=("trust", "0.1")).spent.epsilon) == "0.1"
        assert str(opened.remaining_of(group=("trust", "1")).spent.epsilon) == "2"


class Asking(RuleBasedStateMachine):
    """Questions of any kind in any order, with either column of levels or none; some people have a budget of their own."""

    LIMIT = (Fraction(1, 2), Fraction(1, 400))  # of the people with trust = 0.1

    @initialize()
    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        groups = {"trust": {"0.1": odp.Budget("0.5", "0.0025")}}
        self.table = odp.open(
            written(self.folder), ledger=self.folder / "l.ledger", budget=odp.Budget(1000, "0.5"), groups=groups
        )
        names = [("trust", "0.1"), ("trust", "1"), ("caution", "0.5"), ("caution", "1")]
        self.lost = {name: (Fraction(0), Fraction(0)) for name in names}
        self.everybody = (Fraction(0), Fraction(0))
        self.answered: set[tuple[Any, ...]] = set()

    def teardown(self) -> None:
        if hasattr(self, "table"):
            self.table.close()
            shutil.rmtree(self.folder)

    @rule(
        kind=st.sampled_from(sorted(KINDS)),
        number=st.integers(2, 8),
        epsilon=st.sampled_from(["0.05", "0.25", "1"]),
        delta=st.sampled_from(["0", "0.001"]),
        levels=st.sampled_from(["trust", "caution", None]),
    )
    def ask(self, kind: str, number: int, epsilon: str, delta: str, levels: str | None) -> None:
        if kind == "prior" and levels is None:
            return
        text, _ = KINDS[kind]
        asked = options(kind, epsilon=epsilon, delta=delta, levels=levels)
        name = (kind, number, epsilon, delta, levels)
        if name in self.answered:  # a recorded answer costs nothing
            assert self.table.ask(text.format(number), **asked).recorded
            return
        # Whoever might lose too much is not asked, before it is known whether delta is used.
        share = Fraction(epsilon) if levels != "trust" else min(STRICTEST["trust"], Fraction(epsilon))
        before = self.lost["trust", "0.1"]
        fits = before[0] + share <= self.LIMIT[0] and before[1] + Fraction(delta) <= self.LIMIT[1]
        cost = (Fraction(epsilon), Fraction(delta) if self._uses_delta(kind, levels, epsilon, fits) else Fraction(0))
        if not fits and levels != "trust":
            with pytest.raises(BudgetError):
                self.table.ask(text.format(number), **asked)
            return
        self.table.ask(text.format(number), **asked)
        self.answered.add(name)
        for column, own in self.lost:
            taken = cost
            if column == levels:
                taken = (min(Fraction(own), cost[0]), cost[1])
                if (column, own) == ("trust", "0.1") and not fits:
                    taken = (Fraction(0), Fraction(0))
            epsilon_before, delta_before = self.lost[column, own]
            self.lost[column, own] = (epsilon_before + taken[0], delta_before + taken[1])
        self.everybody = (self.everybody[0] + cost[0], self.everybody[1] + cost[1])

    @staticmethod
    def _uses_delta(kind: str, levels: str | None, epsilon: str, fits: bool) -> bool:
        """Winners have no use for delta where levels differ: somebody is below epsilon, or not asked at all."""
        differ = levels is not None and (STRICTEST[levels] < Fraction(epsilon) or (levels == "trust" and not fits))
        return KINDS[kind][1] or (kind.startswith("winner") and not differ)

    @invariant()
    def every_group_has_lost_the_sum(self) -> None:
        if not hasattr(self, "table"):
            return
        spent = self.table.remaining.spent
        assert (spent.epsilon.plain, spent.delta) == self.everybody
        known = {(str(group.column), group.level) for group in self.table.ledger.groups()}
        assert known <= set(self.lost)
        for column, own in known:
            remaining = self.table.remaining_of(group=(column, own))
            assert (remaining.spent.epsilon.plain, remaining.spent.delta) == self.lost[column, own]
        strict = self.lost["trust", "0.1"]
        assert strict[0] <= self.LIMIT[0]
        assert strict[1] <= self.LIMIT[1]


TestAsking = Asking.TestCase
TestAsking.settings = settings(
    max_examples=5,
    stateful_step_count=8,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.reuse, Phase.generate),  # a failure is short enough to read, and every question takes its time
)
