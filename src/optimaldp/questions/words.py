"""How questions are said aloud: conditions, bounds and lists in the words that each kind makes its sentence of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from optimaldp.errors import QuestionError
from optimaldp.privacy.numbers import fraction_text
from optimaldp.questions.literals import end_of_quoted, top_level_words

AT_LEAST = {">=": "at least", ">": "more than", "<=": "at most", "<": "less than"}
"""A comparison with a bound that is an amount."""
_IS = {
    ">=": "is at least",
    ">": "is above",
    "<=": "is at most",
    "<": "is below",
    "=": "is",
    "<>": "is not",
    "!=": "is not",
}
_MOST_LISTED = 6

_COLUMN = r'(?P<column>[^\W\d]\w*|"(?:[^"]|"")+")'
_VALUE = r"(?:(?:DATE|TIMESTAMP)\s*)?'(?:[^']|'')*'|[+-]?[\d.]+|true|false"
_COMPARED = re.compile(rf"{_COLUMN}\s*(?P<sign>>=|<=|<>|!=|=|>|<)\s*(?P<value>{_VALUE})", re.IGNORECASE)
_LISTED = re.compile(rf"{_COLUMN}\s+IN\s*\((?P<values>.*)\)", re.IGNORECASE | re.DOTALL)
_BETWEEN = re.compile(rf"{_COLUMN}\s+BETWEEN\s+(?P<low>{_VALUE})\s+AND\s+(?P<high>{_VALUE})", re.IGNORECASE)
_MISSING = re.compile(rf"{_COLUMN}\s+IS\s+(?P<known>NOT\s+)?NULL", re.IGNORECASE)
_NAME = re.compile(_COLUMN)

# Columns of yes and no whose name is a verb: everything else is said as a noun.
_VERBS = ("smokes", "drinks", "vapes", "works", "drives", "votes", "exercises")
_TRUTHS = {"yes": True, "true": True, "no": False, "false": False}


def people_who(condition: str, noun: str = "people") -> str:
    """People with a condition, as part of a sentence. What is not a plain comparison is quoted as it is written.

    >>> people_who("age >= 65 and smokes = 'yes'"), people_who("ward IN ('north', 'south')")
    ('people whose age is at least 65 and who smoke', 'people whose ward is north or south')
    >>> people_who("lower(name) LIKE 'a%'", "those")
    "those for whom lower(name) LIKE 'a%'"
    """
    for word in ("or", "and"):
        parts = top_level_words(condition, word)
        if len(parts) > 1:
            clauses = [_clause(part) for part in parts]
            if all(clauses):
                return f"{noun} {f' {word} '.join(clauses)}"
            break
    return f"{noun} {_clause(condition) or f'for whom {condition}'}"


def _clause(condition: str) -> str:
    """A plain condition as a relative clause; nothing where it is another one."""
    text = condition.strip()
    if match := _COMPARED.fullmatch(text):
        column, value = column_words(match["column"]), _value(match["value"])
        truth = _TRUTHS.get(value.lower()) if match["sign"] == "=" else None
        return _verb(match["column"], truth) or f"whose {column} {_IS[match['sign']]} {value}"
    if match := _BETWEEN.fullmatch(text):
        return f"whose {column_words(match['column'])} is between {_value(match['low'])} and {_value(match['high'])}"
    if match := _MISSING.fullmatch(text):
        return f"whose {column_words(match['column'])} is {'known' if match['known'] else 'missing'}"
    if match := _LISTED.fullmatch(text):
        try:
            values = top_level_words(match["values"], ",")
        except QuestionError:  # two lists, so that brackets close in the middle
            return ""
        if values and all(re.fullmatch(_VALUE, value, re.IGNORECASE) for value in values):
            return f"whose {column_words(match['column'])} is {listed([*map(_value, values)], 'or')}"
        return ""
    if _NAME.fullmatch(text) and text.lower() not in ("true", "false"):
        return _verb(text, True) or f"whose {column_words(text)} is true"
    return ""


def _verb(column: str, truth: bool | None) -> str:
    """What people do or have, where the column says so by its name."""
    name = column.lower()
    if truth is None:
        return ""
    refusal = "" if truth else "do not "
    if name in _VERBS:
        return f"who {refusal}{name[:-1]}"
    if name.startswith("has_") and name[4:]:
        return f"who {refusal}have {column_words(column[4:])}"
    return ""


def _value(text: str) -> str:
    bare = re.sub(r"^(?:DATE|TIMESTAMP)\s*(?=')", "", text.strip(), flags=re.IGNORECASE)
    if bare[:1] == "'" and end_of_quoted(bare, 0) == len(bare):
        return bare[1:-1].replace("''", "'") or "''"
    return bare.lower() if bare.lower() in _TRUTHS else bare


def column_words(column: str) -> str:
    """A column's name as it is said: without quotes and underscores."""
    bare = column[1:-1].replace('""', '"') if column[:1] == '"' else column
    return bare.replace("_", " ").strip() or bare


def percent(share: Fraction) -> str:
    """A share in percent, exactly.

    >>> percent(Fraction(3, 10)), percent(Fraction(1, 3))
    ('30 %', '1/3')
    """
    hundred = fraction_text(100 * share)
    return fraction_text(share) if "/" in hundred else f"{hundred} %"


def for_each(columns: Sequence[str], said: str) -> str:
    """A question in words, asked of every group of these columns.

    >>> for_each(["ward", "sex"], "How many people smoke?")
    'For each ward and sex: how many people smoke?'
    """
    return f"For each {listed([*map(column_words, columns)], 'and')}: {said[0].lower()}{said[1:]}"


def listed(values: Sequence[object], word: str) -> str:
    """Values in their own order, joined as a sentence joins them; of very many the first ones and how many more there are.

    >>> listed(["a", "b", "c"], "or"), listed(range(9), "and")
    ('a, b or c', '0, 1, 2, 3, 4, 5 and 3 more')
    """
    shown = [*map(str, values[:_MOST_LISTED])]
    if len(values) > len(shown):
        return f"{', '.join(shown)} {word} {len(values) - len(shown):,} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {word} {shown[-1]}"


def asked_of(among: str | None, sentence: str) -> str:
    """A question whose first letter is small, put to everybody or to some of the people."""
    if among is None:
        return sentence[0].upper() + sentence[1:]
    return f"Among {people_who(among)}, {sentence}"


def inside(sentence: str) -> str:
    """A whole question as a part of a longer one: its first letter small, without its mark."""
    return sentence[0].lower() + sentence[1:].removesuffix("?")
