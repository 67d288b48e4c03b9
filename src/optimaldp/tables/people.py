"""Who counts as a person, and who is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from optimaldp.errors import QuestionError
from optimaldp.tables.tally import Bins, Condition, Grid, Keys, Option, Options, Reading, Steps, Tally

Rule = Literal["any", "all", "most-frequent", "first", "mean", "max", "min"]

_YES_NO: tuple[Rule, ...] = ("any", "all", "most-frequent", "first")
_CHOICE: tuple[Rule, ...] = ("most-frequent", "first")
_NUMBER: tuple[Rule, ...] = ("first", "mean", "max", "min")
# The first rule is the default; a number has none, because each choice changes what "the mean" means.
_RULES: Mapping[type, tuple[Rule, ...]] = {
    Condition: _YES_NO,
    Options: _CHOICE,
    Bins: _CHOICE,
    Steps: _CHOICE,
    Keys: _CHOICE,
    Grid: _NUMBER,
}


@dataclass(frozen=True)
class People:
    """Who counts as a person and who is asked: part, then where, then one record for each person.

    *part* is a (column, value) pair: only its people are the table. *where* chooses which rows speak, never people: whoever has
    no such row is counted all the same, as "no", as everybody else or as without a value. *unit* names the column that
    identifies a person (rows without a value there are nobody's); without it each row is a person. *reduce* says how the rows of
    a person become one value; ``first`` follows the column *reduce_order*. *levels* names the column of privacy levels.
    """

    unit: str | None = None
    reduce: str | None = None
    reduce_order: str | None = None
    where: str | None = None
    part: tuple[str, Option] | None = None
    levels: str | None = None

    def rules(self, tally: Tally | Keys) -> tuple[Rule, ...]:
        """How each reading is reduced to one value for each person, checked; empty without a unit.

        *reduce* is for the first reading and those of its kind; the others follow their default. ``first`` takes a whole row.
        """
        if self.unit is None:
            for field, value in (("reduce", self.reduce), ("reduce_order", self.reduce_order)):
                if value is not None:
                    raise QuestionError(field, value, "needs unit=", "name the column that identifies a person")
            return ()
        readings: tuple[Reading | Keys, ...] = (tally,) if isinstance(tally, Keys) else tally.readings
        chosen = self.reduce or _default(readings[0])
        known = _RULES[type(readings[0])]
        if chosen not in known:
            way_out = f"the rules are {', '.join(known)}"
            raise QuestionError("reduce", self.reduce, "is not a rule for this question", way_out)
        if (chosen == "first") != (self.reduce_order is not None):
            remedy = "name the column that orders a person's rows, with reduce='first'"
            raise QuestionError("reduce_order", self.reduce_order, "goes with reduce='first' and only with it", remedy)
        if chosen == "first":
            return (chosen,) * len(readings)
        return tuple(chosen if _RULES[type(one)] is known else _default(one) for one in readings)


def _default(reading: Reading | Keys) -> Rule:
    if isinstance(reading, Grid):
        rule = f"does not say how several values of {reading.column} become one for each person"
        raise QuestionError("reduce", None, rule, f"choose one of {', '.join(_NUMBER)}")
    return _RULES[type(reading)][0]
