"""What the package says about itself is true, and said once."""

from __future__ import annotations

import re
import tomllib
from itertools import pairwise
from pathlib import Path

import optimaldp

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_every_file_names_the_same_version() -> None:
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited is not None
    assert cited[1] == PROJECT["version"] == optimaldp.__version__
    assert f"\n## {PROJECT['version']}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_supported_pythons_are_listed() -> None:
    listed = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert listed == ["3.11", "3.12", "3.13", "3.14"]
    assert PROJECT["requires-python"] == f">={listed[0]}"


def test_every_ceiling_has_a_reason() -> None:
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    start = lines.index("[project.optional-dependencies]")
    users = lines[: next(i for i, line in enumerate(lines) if i > start and line.startswith("docs = "))]
    unexplained = [
        line
        for above, line in pairwise(users)
        if re.search(r'"[\w\[\],-]+[^"]*<\d', line) and not above.lstrip().startswith("#")
    ]
    assert unexplained == []


def test_decision_records_have_numbers_of_their_own() -> None:
    numbers = [path.name[:4] for path in (ROOT / "docs" / "decisions").glob("*.md")]
    assert all(number.isdecimal() for number in numbers)
    assert len(set(numbers)) == len(numbers)


def test_decision_records_have_every_section() -> None:
    for path in (ROOT / "docs" / "decisions").glob("*.md"):
        sections = re.findall(r"^## (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert sections == ["Question", "Choices", "Decision", "Consequences"], path.name
