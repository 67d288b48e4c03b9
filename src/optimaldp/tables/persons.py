"""From rows to persons: a person with several rows is reduced to one value by a stated rule, in the engine.

``where`` chooses which of a person's rows speak for them. It never removes a person: whoever has no such row counts as "no" or
as everybody else. Were they left out, the number of persons would depend on the data, and a neighbour under substitution
would no longer be one.
"""

from __future__ import annotations

from typing import Any

from optimaldp.errors import QuestionError
from optimaldp.questions.tally import PredicateTally, Tally
from optimaldp.tables.cells import Cells

RULES = ("any", "all", "first", "most-frequent")


def rule_for(tally: Tally, reduce: str | None, reduce_order: str | None, unit: str | None) -> str | None:
    """The rule that reduces a person's rows, checked; None without a person column."""
    if unit is None:
        if reduce is not None or reduce_order is not None:
            raise QuestionError("reduce", reduce or reduce_order, "needs unit=", "name the column of persons")
        return None
    yes_no = isinstance(tally, PredicateTally)
    rule = reduce or ("any" if yes_no else "most-frequent")
    if rule not in RULES or (rule in ("any", "all") and not yes_no):
        known = RULES if yes_no else RULES[2:]
        raise QuestionError("reduce", rule, "is not a rule for this question", f"the rules are {', '.join(known)}")
    if (rule == "first") != (reduce_order is not None):
        remedy = "name the column that orders a person's rows, with reduce='first'"
        raise QuestionError("reduce_order", reduce_order, "goes with reduce='first' and only with it", remedy)
    return rule


def by_any_or_all(rows: Any, predicates: int, *, everyone: bool) -> Any:
    """One row per person: whether each predicate holds for any (or all) of the rows that speak."""
    holds = {}
    for place in range(predicates):
        own = rows[f"holds{place}"]
        some = (own & rows.speaks).any()
        holds[f"holds{place}"] = (own | ~rows.speaks).all() & some if everyone else some
    return rows.group_by("unit").aggregate(**holds, **_levels(rows))


def by_most_frequent(rows: Any, cells: Cells) -> Any:
    """One row per person: the cell that most of their rows are in; ties go to the cell that comes first.

    Rows of everybody else do not compete: a person is among them only when they have no other row.
    """
    import ibis

    last = cells.size - 1
    numbered = rows.mutate(cell=cells.number(rows))
    competes = numbered.speaks & (numbered.cell < last) if cells.has_others else numbered.speaks
    voting = numbered.mutate(cell=ibis.cases((competes, numbered.cell)))
    votes = voting.group_by("unit", "cell").aggregate(votes=voting.count(), **_levels(voting))
    # One number holds votes and order, so a plain maximum finds both, on every engine and without ties.
    score = ibis.cases((votes.cell.isnull(), 0), else_=votes.votes * cells.size + (last - votes.cell))
    scored = votes.mutate(score=score)
    people = scored.group_by("unit").aggregate(score=scored.score.max(), **_levels(scored))
    return people.mutate(cell=last - people.score % cells.size)


def by_first(rows: Any, cells: Cells) -> Any:
    """One row per person: the cell of their first row that speaks; ties in the order go to the cell that comes first.

    Rows without a value in the order column do not speak.
    """
    import ibis

    last = cells.size - 1
    placed = rows.mutate(cell=cells.number(rows), place=ibis.cases((rows.speaks, rows.place)))
    steps = placed.group_by("unit", "place").aggregate(cell=placed.cell.min(), **_levels(placed))
    # The filter matters: some engines put NULL first, and would let a row speak that does not.
    first = steps.cell.argmin(steps.place, where=steps.place.notnull())
    people = steps.group_by("unit").aggregate(cell=first, **_levels(steps))
    return people.mutate(cell=people.cell.fill_null(last))


def _levels(table: Any) -> dict[str, Any]:
    """The least and greatest level among a person's rows, to see whether they agree."""
    if "low" in table.columns:
        return {"low": table.low.min(), "high": table.high.max()}
    if "level" in table.columns:
        return {"low": table.level.min(), "high": table.level.max()}
    return {}
