"""Which categories occur in a column, where no list of them is public?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from optimaldp.errors import QuestionError
from optimaldp.laws.law import Cells, Law, Setting, Table, law_of
from optimaldp.laws.options import KeysLaw
from optimaldp.laws.votes import Moves
from optimaldp.privacy import Neighbours
from optimaldp.questions.base import Question, Spec
from optimaldp.questions.forms import Call, Form
from optimaldp.questions.literals import check_column, write_column
from optimaldp.questions.mechanism import Answer, QuestionMechanism, all_different
from optimaldp.questions.sheets import Blank, Sheet
from optimaldp.questions.words import column_words
from optimaldp.sampling import BitSource
from optimaldp.tables import tally as tallies
from optimaldp.tables.tally import Reading


@dataclass(frozen=True, repr=False)
class Keys(Question[list[str]]):
    """Which values occur? A value that few people have is named rarely, one that nobody has never. Needs delta above 0."""

    column: str

    @property
    def readings(self) -> tuple[Reading, ...]:
        return ()

    @property
    def tally(self) -> tallies.KeyTally:
        return tallies.KeyTally(self.column)

    @property
    def answers(self) -> None:
        return None

    def fold(self, cells: Cells) -> Cells:
        return cells

    def read_counts(self, counts: Sequence[int]) -> Any:
        raise QuestionError("counts", "the list", f"is not what {self} counts", "its categories are not public")

    def truth(self, counts: Any) -> int:
        raise QuestionError("question", str(self), "has no single true answer")

    def flips(self, counts: Any, neighbours: Neighbours) -> Moves:
        raise QuestionError("question", str(self), "has no flips", "a category appears with its first person")

    def mechanism(self, setting: Setting) -> QuestionMechanism:
        if setting.personal:
            raise QuestionError("levels", str(self), "cannot honour personal levels", "ask without levels")
        level = setting.level
        return KeptKeys(self, setting, KeysLaw.at(level.epsilon, level.delta, setting.neighbours))

    def spec(self) -> Spec:
        return {"kind": "keys"}

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        return ("people without a value have no category and are protected",)

    def words(self) -> str:
        return f"Which values of {column_words(self.column)} occur?"

    def __str__(self) -> str:
        return f"keys({write_column(self.column)})"


@dataclass(frozen=True)
class KeptKeys(QuestionMechanism):
    """Each category that occurs is kept by itself, with the greatest probability that is private for its number of people."""

    chosen: KeysLaw

    name = "kept keys"
    listed = False
    proof = (
        "a category with t people is kept with probability F^t(0), each by itself; one person more raises that by one step, "
        "and a replaced person touches two categories at half of the level each"
    )

    @property
    def best(self) -> str | None:  # type: ignore[override]
        return "keys" if self.setting.neighbours is Neighbours.ADD_REMOVE else None

    def law(self, table: Table) -> Law:
        """Of one category, for a table with one: kept (0) or not (1)."""
        people = sum(table.cells.values())
        return law_of(lambda: self.chosen.kept(people), 1, 2)

    def draw(self, table: Table, source: BitSource) -> Answer:
        """The kept categories in the order of their text: the order of the table must not tell anything."""
        kept = self.chosen.draw(table.cells, source)
        return sorted(map(str, kept))

    def possible(self, answer: object) -> bool:
        return isinstance(answer, (list, tuple)) and all_different(answer, (str, int))

    def reliability(self) -> str:
        return (
            f"A category of {self.chosen.surely_kept()} or more people is always named; one that nobody has never is."
        )


def keys(column: str) -> Keys:
    """Which values occur in *column*? For columns whose values no public list names; needs a delta above 0.

    >>> str(keys("city"))
    'keys(city)'
    """
    return Keys(check_column(column))


def _read(call: Call) -> Keys:
    call.only(arguments=range(1, 2))
    if call.among is not None:
        raise QuestionError("among", call.among, "does not go with keys", "ask it of everybody")
    return keys(call.column())


FORMS = [Form("keys", "keys(diagnosis)", _read)]

SHEETS = [
    Sheet(
        "keys",
        "Which values occur in a column?",
        "keys({column})",
        (Blank("column", "column", "Column", sample="diagnosis"),),
        order=43,
        note="For a column whose values no public list names. It needs δ above 0.",
    )
]
