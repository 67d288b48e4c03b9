"""The text form of a question: ``parse(str(question)) == question``."""

from __future__ import annotations

import re
from collections.abc import Callable

from optimaldp.errors import QuestionError
from optimaldp.questions.base import Question
from optimaldp.questions.choices import compare, histogram, winner
from optimaldp.questions.literals import end_of_group, read_column, read_list, read_option, split_arguments
from optimaldp.questions.quantiles import median, quantile
from optimaldp.questions.thresholds import Threshold, all_, any_, majority, threshold

_HEAD = re.compile(r"\s*([A-Za-z_]+)\s*\(")
_COMPARISON = re.compile(r"\s*(>=|<=|>|<)\s*([^\s<>=]\S*)\s*")
_AND = re.compile(r"\s*(?:and|&)\s+", re.IGNORECASE)
_LONGEST = 1_000_000  # characters: 10,000 options fit, an attack does not

_EXAMPLES = {
    "count": "count(age >= 65) >= 100",
    "share": "share(smokes = 'yes') >= 0.3",
    "majority": "majority(smokes = 'yes')",
    "any": "any(age > 110)",
    "all": "all(age >= 18)",
    "compare": "compare(vote, 'a', 'b')",
    "winner": "winner(vote, ['a', 'b', 'c'])",
    "median": "median(age, bins=[18, 30, 45, 100])",
    "quantile": "quantile(age, 0.9, bins=[18, 30, 45, 100])",
    "histogram": "histogram(vote, ['a', 'b', 'c'])",
}


def parse(text: str) -> Question:
    """Read a question from its text.

    >>> parse("share(smokes = 'yes') >= .30")
    Question("share(smokes = 'yes') >= 0.3")
    """
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise QuestionError("question", text, "is not the text of a question")
    question, position = _one(text, 0)
    joined = _AND.match(text, position)
    if joined and isinstance(question, Threshold):
        second, position = _one(text, joined.end())
        if not isinstance(second, Threshold):
            raise QuestionError(
                "question", text, "joins something that is no threshold", "only two thresholds can be joined"
            )
        question = question & second
    if text[position:].strip():
        raise QuestionError(
            "question", text, f"goes on after its end with {text[position:].strip()[:40]!r}", _way_out(text)
        )
    return question


def _one(text: str, start: int) -> tuple[Question, int]:
    """One question that starts at *start*, and the position behind it."""
    head = _HEAD.match(text, start)
    if head is None or head[1].lower() not in _EXAMPLES:
        raise QuestionError(
            "question", text, "does not begin with a known question", f"known are: {', '.join(_EXAMPLES)}"
        )
    word = head[1].lower()
    end = end_of_group(text, head.end() - 1)
    inside = text[head.end() : end - 1]
    if word in ("count", "share"):
        return _compared(text, word, inside, end)
    if word in _CONDITIONS:
        return _CONDITIONS[word](inside), end
    return _OF_COLUMNS[word](text, split_arguments(inside)), end


def _compared(text: str, word: str, inside: str, end: int) -> tuple[Question, int]:
    comparison = _COMPARISON.match(text, end)
    if comparison is None:
        raise QuestionError("question", text, f"does not compare its {word} with a number", _way_out(text))
    return threshold(word, inside, comparison[1], comparison[2]), comparison.end()


def _compare(text: str, parts: list[str]) -> Question:
    if len(parts) != 3:
        raise QuestionError("question", text, "needs a column and two options", _way_out(text))
    return compare(read_column(parts[0]), read_option(parts[1]), read_option(parts[2]))


def _winner(text: str, parts: list[str]) -> Question:
    return winner(*_column_and_options(text, parts))


def _histogram(text: str, parts: list[str]) -> Question:
    return histogram(*_column_and_options(text, parts))


def _column_and_options(text: str, parts: list[str]) -> tuple[str, list[str | int | bool] | None]:
    if len(parts) not in (1, 2):
        raise QuestionError("question", text, "needs a column and a list of options", _way_out(text))
    options = [read_option(part) for part in read_list(parts[1])] if len(parts) == 2 else None
    return read_column(parts[0]), options


def _median(text: str, parts: list[str]) -> Question:
    if len(parts) != 2:
        raise QuestionError("question", text, "needs a column and bins", _way_out(text))
    return median(read_column(parts[0]), bins=_bins(text, parts[1]))


def _quantile(text: str, parts: list[str]) -> Question:
    if len(parts) != 3:
        raise QuestionError("question", text, "needs a column, a share and bins", _way_out(text))
    return quantile(read_column(parts[0]), parts[1], bins=_bins(text, parts[2]))


def _bins(text: str, part: str) -> list[str]:
    named = re.fullmatch(r"(?:bins\s*=\s*)?(\[.*\])", part, re.DOTALL)
    if named is None:
        raise QuestionError("question", text, "has no bins=[...]", _way_out(text))
    return read_list(named[1])


def _way_out(text: str) -> str:
    head = _HEAD.match(text)
    return "write for example " + _EXAMPLES.get(head[1].lower() if head else "", _EXAMPLES["share"])


_CONDITIONS: dict[str, Callable[[str], Question]] = {"majority": majority, "any": any_, "all": all_}
_OF_COLUMNS: dict[str, Callable[[str, list[str]], Question]] = {
    "compare": _compare,
    "winner": _winner,
    "histogram": _histogram,
    "median": _median,
    "quantile": _quantile,
}
