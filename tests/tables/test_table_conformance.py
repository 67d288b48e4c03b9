"""One suite for every engine: the same counts as plain Python, on rows that make engines disagree or fail."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from conformance_cases import CASES, EVERYDAY, PEOPLE, ROWS, TABLES, TREACHEROUS, VOTES, Case, Row, two_predicates

from optimaldp.tables import Condition, KeyTally, Options, People, Source, Tally, count_people


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_counts_are_those_of_plain_python(engine: Source, case: Case) -> None:
    assert count_people(engine, case.tally, People(**case.settings)).counts == case.expected(ROWS)


def _first_keys() -> Counter[str]:
    """The word of each person's first row by *seen*; of several first rows the least word, and none where none has a word."""
    placed = [row for row in ROWS if row["person"] is not None and row["seen"] is not None]
    first = {row["person"]: min(one["seen"] for one in placed if one["person"] == row["person"]) for row in placed}
    own: dict[int, list[str]] = {}
    for row in placed:
        if row["seen"] == first[row["person"]]:
            own.setdefault(row["person"], []).extend([] if row["order"] is None else [row["order"]])
    return Counter(min(words) for words in own.values() if words)


def test_keys_of_first_rows_are_those_of_plain_python(engine: Source) -> None:
    counted = count_people(engine, KeyTally("order"), People(unit="person", reduce="first", reduce_order="seen"))
    assert counted.keys == _first_keys()


def test_two_predicates_are_counted_together(engine: Source) -> None:
    assert count_people(engine, Tally((Condition("order = 'yes'"), Condition("ok")))).counts == two_predicates(ROWS)


WORDS = ("yes ", "no", "yes", "Ünïcode", "")


def _in_several_groups(most: int, among: Callable[[Row], bool]) -> Counter[int]:
    """People by word and by whether all is ok in their rows with that word: words with most of their rows, then in order."""
    own: dict[int, list[Row]] = {}
    for row in ROWS:
        if row["person"] is not None:
            own.setdefault(row["person"], []).append(row)
    cells: Counter[int] = Counter()
    for rows in own.values():
        speaking = [row for row in rows if among(row)]
        votes = Counter(WORDS.index(row["order"]) for row in speaking if row["order"] in WORDS)
        chosen = sorted(votes, key=lambda place: (-votes[place], place))[:most]
        for place in chosen or [len(WORDS)]:
            inside = [row for row in speaking if place == len(WORDS) or row["order"] == WORDS[place]]
            cells[2 * place + (not (inside and all(row["ok"] for row in inside)))] += 1
    return cells


@pytest.mark.parametrize("most", [1, 2, 9])
@pytest.mark.parametrize("where", [None, "paid >= 0"])
def test_people_in_several_groups_are_those_of_plain_python(engine: Source, most: int, where: str | None) -> None:
    several = People(unit="person", reduce="all", where=where, groups_per_person=most)
    counted = count_people(engine, Tally((Options("order", WORDS), Condition("ok"))), several)
    paid = [row["paid"] is not None and row["paid"] >= 0 for row in ROWS]
    assert counted.cells == _in_several_groups(most, lambda row: where is None or paid[ROWS.index(row)])


PERIODS: dict[str, Callable[[datetime.date], Any]] = {
    "year": lambda day: day.year,
    "month": lambda day: (day.year, day.month),
    "week": lambda day: day - datetime.timedelta(days=day.weekday()),
    "day": lambda day: day,
}


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize("column", ["born", "seen"])
def test_people_limited_in_time_are_those_of_plain_python(engine: Source, period: str, column: str) -> None:
    """A date that cannot be read is a month of its own; rows without a person are nobody's."""
    own: dict[Any, list[Any]] = {}
    for row in ROWS:
        when = row[column].date() if isinstance(row[column], datetime.datetime) else row[column]
        if row["person"] is not None:
            own.setdefault((row["person"], when and PERIODS[period](when)), []).append(row["ok"])
    limited = People(unit="person", within=(f"{period}({column})",))
    expected = Counter(not any(said) for said in own.values())
    assert count_people(engine, Tally((Condition("ok"),)), limited).counts == (expected[False], expected[True])


@pytest.mark.parametrize("case", [EVERYDAY[0], PEOPLE[0], PEOPLE[5], PEOPLE[7], TABLES[0]], ids=lambda case: case.name)
@pytest.mark.parametrize("column", ["tier", "level"])
def test_counts_by_level_are_those_of_plain_python(engine: Source, case: Case, column: str) -> None:
    counted = count_people(engine, case.tally, People(levels=column, **case.settings))
    expected = case.expected_by_level(ROWS, column)
    texts = {0.5: "0.5", 1.0: "1"} if column == "level" else {}
    assert counted.by_level is not None
    dense = {level: counted.dense(cells) for level, cells in counted.by_level}
    assert dense == {texts.get(level, level): counts for level, counts in expected.items()}
    assert counted.counts == case.expected(ROWS)


def test_the_cases_can_tell_engines_apart() -> None:
    """Most cases have both answers among the rows: a count that is always zero would not pass."""
    split = [case for case in EVERYDAY + TREACHEROUS if 0 < case.expected(ROWS)[0] < len(ROWS)]
    assert len(split) >= len(EVERYDAY + TREACHEROUS) - 3
    assert PEOPLE[0].expected(ROWS) != PEOPLE[3].expected(ROWS)
    assert sum(PEOPLE[0].expected(ROWS)) == len({row[VOTES["unit"]] for row in ROWS} - {None})
