"""The rows of a person vote on each reading by itself, however the readings are crossed."""

from __future__ import annotations

import pyarrow as pa
import pytest

from optimaldp.tables import Options, People, Source, Tally, count_people, open_source


@pytest.fixture(scope="module")
def source() -> Source:
    """One person says a twice, beside different second words, and b once."""
    return open_source(pa.table({"id": [1, 1, 1], "v": ["a", "a", "b"], "w": ["x", "y", "z"]}))


def test_two_readings_are_voted_on_apart(source: Source) -> None:
    """Were the votes those of both words together, each pair would have one, and the first option would win."""
    first, second = Options("v", ("b", "a")), Options("w", ("z", "y", "x"))
    person = People(unit="id")
    assert count_people(source, Tally((first, second)), person).cells == {4: 1}  # a, and z by its place
    assert count_people(source, Tally((second, first)), person).cells == {1: 1}
    assert count_people(source, Tally((first,)), person).cells == {1: 1}
