"""Which levels a release can promise, at the edge where one step further is refused."""

from __future__ import annotations

import pytest

from optimaldp.asking.request import read_release_level
from optimaldp.errors import LevelError


@pytest.mark.parametrize("epsilon", ["1000", "999.5", f"ln({7**513})", f"500+ln({7**256})"])
def test_an_epsilon_of_a_thousand_is_a_promise(epsilon: str) -> None:
    assert str(read_release_level(epsilon).epsilon) == epsilon


@pytest.mark.parametrize("epsilon", ["1000.5", "1001", f"ln({7**514})", f"500+ln({7**257})"])
def test_more_than_a_thousand_is_none(epsilon: str) -> None:
    with pytest.raises(LevelError, match=r"is too large to mean privacy; a release takes at most 1000\.$"):
        read_release_level(epsilon)
