from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from running import Caller, curator, inline


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Caller]:
    """A curator of two data sets, in this process."""
    with inline(curator(tmp_path), monkeypatch) as made:
        yield made
