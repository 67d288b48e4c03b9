"""The text form of a question: ``parse(str(question)) == question``."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any

from optimaldp.errors import QuestionError
from optimaldp.questions.base import Question
from optimaldp.questions.forms import form_of, forms, read_call
from optimaldp.questions.literals import end_of_group
from optimaldp.questions.numbers import Quantity, Shifted

_HEAD = re.compile(r"\s*([A-Za-z_]+)\s*\(")
_COMPARISON = re.compile(r"\s*(>=|<=|>|<)\s*")
_NUMBER = re.compile(r"[^\s<>=&|()]+")
_MINUS = re.compile(r"\s*-\s*")
_MARGIN = re.compile(r"\s*\+\s*([^\s<>=&|()]+)")
_JOIN = re.compile(r"\s*(and|or|&|\|)\s+", re.IGNORECASE)
# What people type first, and what it is called here.
_OTHER_WORDS = {
    **dict.fromkeys(("average", "avg"), "mean"),
    **dict.fromkeys(("fraction", "percentage", "percent", "proportion", "rate"), "share"),
    **dict.fromkeys(("percentile", "quartile", "decile"), "quantile"),
    **dict.fromkeys(("mode", "most", "argmax", "vote"), "winner"),
    **dict.fromkeys(("exists", "some"), "any"),
    "number": "count",
    "total": "sum",
    **dict.fromkeys(("counts", "frequencies", "distribution", "table"), "histogram"),
}
_LONGEST_TEXT = 4_000_000  # characters: 100,000 options fit, an attack does not


def parse(text: str) -> Question:
    """Read a question from its text.

    >>> parse("share(smokes = 'yes' among age >= 18) >= .30")
    Question("share(smokes = 'yes' among age >= 18) >= 0.3")
    """
    if not isinstance(text, str) or len(text) > _LONGEST_TEXT:
        raise QuestionError("question", text, "is not the text of a question")
    question, position = _one(text, 0)
    joined = [question]
    conjunctions = set()
    while match := _JOIN.match(text, position):
        conjunctions.add("and" if match[1].lower() in ("and", "&") else "or")
        following, position = _one(text, match.end())
        joined.append(following)
    if text[position:].strip():
        rule = f"goes on after its end with {text[position:].strip()[:40]!r}"
        raise QuestionError("question", text, rule, _way_out(text))
    if not conjunctions:
        return question
    if len(conjunctions) > 1:
        raise QuestionError("question", text, "mixes and with or", "join up to three thresholds by one of them")
    from optimaldp.questions.kinds.several import joined_by

    return joined_by(conjunctions.pop(), joined)


def kinds_of(question: Question) -> frozenset[str]:
    """The words that a question is made of, as they are written: what a rule about kinds of questions is compared with.

    >>> sorted(kinds_of(parse("count(a = 'x') >= 3 and share(b = 'y') >= 0.5")))
    ['count', 'share']
    """
    text, position, words = str(question), 0, set()
    while head := _HEAD.search(text, position):
        words.add(head[1].lower())
        position = end_of_group(text, head.end() - 1)
    return frozenset(words)


def _one(text: str, start: int) -> tuple[Question, int]:
    """One question that starts at *start*, and the position behind it."""
    made, position = _head(text, start)
    if not isinstance(made, Quantity):
        return made, position
    if minus := _MINUS.match(text, position):
        if not _HEAD.match(text, minus.end()):
            remedy = "write for example count(a) - count(b)"
            raise QuestionError("question", text, "subtracts something that is no question for a number", remedy)
        other, position = _head(text, minus.end())
        made = made - other
    comparison = _COMPARISON.match(text, position)
    if comparison is None:
        return made, position
    bound, position = _right_side(text, comparison.end())
    return made.compared(comparison[1], bound), position


def _right_side(text: str, start: int) -> tuple[Any, int]:
    """A number, or another quantity with a margin."""
    if _HEAD.match(text, start):
        other, position = _head(text, start)
        margin = _MARGIN.match(text, position)
        if not isinstance(other, Quantity):
            raise QuestionError("question", text, "compares with something that is no number", _way_out(text))
        return (other, position) if margin is None else (Shifted(other, margin[1]), margin.end())
    number = _NUMBER.match(text, start)
    if number is None:
        raise QuestionError("question", text, "does not compare its number with a bound", _way_out(text))
    return number[0], number.end()


def _head(text: str, start: int) -> tuple[Any, int]:
    head = _HEAD.match(text, start)
    form = form_of(head[1].lower()) if head else None
    if head is None or form is None:
        remedy = _known_instead(head[1].lower() if head else "")
        raise QuestionError("question", text, "does not begin with a known question", remedy)
    end = end_of_group(text, head.end() - 1)
    return form.read(read_call(text, form, text[head.end() : end - 1])), end


def _known_instead(word: str) -> str:
    close = [_OTHER_WORDS[word]] if word in _OTHER_WORDS else get_close_matches(word, forms(), n=1)
    if close:
        return f"did you mean {close[0]}? Write for example {forms()[close[0]].example}"
    return f"known are: {', '.join(forms())}"


def _way_out(text: str) -> str:
    head = _HEAD.match(text)
    form = forms().get(head[1].lower() if head else "") or forms()["share"]
    return f"write for example {form.example}"
