"""Canonical values: a stored cell as text, whole number, double, truth value, days or microseconds; or no value.

Every conversion is a total function of one cell and of public things: no cast that can fail, no other row, no session setting. A
type without such a conversion is refused when a question names it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Literal

from optimaldp.tables.sql import Dialect, Value
from optimaldp.tables.tally import Option

Kind = Literal["text", "whole", "real", "truth", "date", "time", "other"]

LONGEST_CELL = 2**20
"""Bytes: a longer text is no value, so that no record decides whether a query fits into memory."""


@dataclass(frozen=True)
class Stored:
    """A column as an engine stores it: its name, the type in our words, and what its catalogue says beside."""

    name: str
    word: str
    """``string``, ``int64``, ``float32``, ``decimal``, ``date``, ``timestamp``, ``timestamptz``, …; else its own name."""
    required: bool = False
    options: tuple[Option, ...] | None = None
    wide: bool = False
    """For decimals: whether their digits are not limited to what a double can hold."""


_WHOLE = ("int64", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32)))
_KINDS: dict[str, Kind] = {
    "boolean": "truth",
    "string": "text",
    "uuid": "text",
    "date": "date",
    **dict.fromkeys(_WHOLE, "whole"),
    **dict.fromkeys(("uint64", "int128", "uint128", "float16", "float32", "float64", "decimal"), "real"),
    **dict.fromkeys(("timestamp", "timestamp_other", "timestamptz"), "time"),
}
_NAMES = {"timestamp_other": "timestamp", "timestamptz": "timestamp('UTC')"}
_FIRST_DAY, _LAST_DAY = -719162, 2932896
_DAY = 86_400_000_000
FIRST_MOMENT, LAST_MOMENT = _FIRST_DAY * _DAY, (_LAST_DAY + 1) * _DAY - 1

_BIG = 2**1024 - 2**970
"""From here on the nearest double is infinite."""
_SMALL = format(Context(prec=900).power(Decimal(2), -1075), "f")
"""Up to here the nearest double is 0."""


def _templates(dialect: Dialect) -> dict[str, str]:
    """How a stored type becomes canonical, by engine."""
    long, double = dialect.types["int64"], dialect.types["float64"]
    whole, real = f"CAST({{}} AS {long})", f"CAST({{}} AS {double})"
    if dialect.name == "pyspark":
        return {
            "real": real,
            "float": f"(CASE WHEN NOT ISNAN({{0}}) THEN CAST({{0}} AS {double}) END)",
            "whole": whole,
            "date": _between("CAST(UNIX_DATE({0}) AS BIGINT)", _FIRST_DAY, _LAST_DAY),
            "timestamptz": _between("UNIX_MICROS({0})", FIRST_MOMENT, LAST_MOMENT),
            "timestamp": _between(
                "TIMESTAMPDIFF(MICROSECOND, TIMESTAMP_NTZ '1970-01-01 00:00:00', {0})", FIRST_MOMENT, LAST_MOMENT
            ),
        }
    days = "CAST(({0} - DATE '1970-01-01') AS BIGINT)"
    date = f"(CASE WHEN {{0}} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN {days} END)"
    nan = f"NULLIF(CAST({{}} AS {double}), CAST('NaN' AS {double}))"
    if dialect.name == "duckdb":
        return {
            "real": real,
            "float": nan,
            "whole": whole,
            "date": date,
            "timestamp": _between("EPOCH_US({0})", FIRST_MOMENT, LAST_MOMENT),
            "timestamp_other": _between("EPOCH_US(TRY_CAST({0} AS TIMESTAMP))", FIRST_MOMENT, LAST_MOMENT),
            "timestamptz": _between("EPOCH_US({0})", FIRST_MOMENT, LAST_MOMENT),
        }
    moment = "CAST(EXTRACT(EPOCH FROM {{0}}) * 1000000 AS bigint)"
    bounds = "{{0}} BETWEEN {0} '0001-01-01 00:00:00{1}' AND {0} '9999-12-31 23:59:59.999999{1}'"
    timed = f"(CASE WHEN {bounds} THEN {moment} END)"
    return {
        "real": f"(CASE WHEN {{0}} <> CAST('NaN' AS numeric) THEN CAST({{0}} AS {double}) END)",
        "float": nan,
        "whole": whole,
        "date": date,
        "timestamp": timed.format("TIMESTAMP", ""),
        "timestamptz": timed.format("TIMESTAMPTZ", "+00"),
        "wide": _CLAMPED,
    }


_CLAMPED = (
    "(CASE WHEN {0} = CAST('NaN' AS numeric) THEN NULL "
    f"WHEN {{0}} >= {_BIG} THEN CAST('Infinity' AS double precision) "
    f"WHEN {{0}} <= -{_BIG} THEN CAST('-Infinity' AS double precision) "
    f"WHEN ABS({{0}}) <= {_SMALL} THEN CAST(0 AS double precision) "
    "ELSE CAST({0} AS double precision) END)"
)


def _between(value: str, low: int, high: int) -> str:
    return f"(CASE WHEN {value} BETWEEN {low} AND {high} THEN {value} END)"


def kind_of(stored: Stored) -> Kind:
    """The canonical kind of a stored column; ``other`` for a type without a total conversion."""
    return _KINDS.get(stored.word, "other")


def name_of(stored: Stored) -> str:
    """The name of a stored type as people read it."""
    return _NAMES.get(stored.word, stored.word)


def canonical(stored: Stored, raw: str, dialect: Dialect) -> Value | None:
    """The canonical value of a stored column, from the SQL of the raw one; None for a type that has none."""
    kind = kind_of(stored)
    if kind == "other":
        return None
    if kind == "truth":
        return Value(raw, "boolean", dialect)
    if kind == "text":
        short = f"(CASE WHEN {dialect.size.format(raw)} <= {LONGEST_CELL} THEN {{0}} END)"
        text = dialect.text.format(raw)
        bounded = stored.word == "uuid" or stored.options  # by its type
        return Value(text if bounded else short.format(text), "string", dialect, stored=text)
    templates = _templates(dialect)
    if kind == "real":
        word = "wide" if stored.wide else "float" if stored.word.startswith("float") else "real"
        return Value(templates.get(word, templates["real"]).format(raw), "float64", dialect)
    if kind == "whole":
        return Value(templates["whole"].format(raw), "int64", dialect, stored=raw)
    return Value(templates[stored.word].format(raw), "int64", dialect)


# Texts that are numbers, dates and times.
_EXPONENT = "([eE][+-]?[0-9]+)?"
NUMBER = f"[+-]?[0-9]+([.][0-9]+)?{_EXPONENT}"
_YEAR = "([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
_LEAP = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][48]|[13579][26]|[2468]0)00)"
_LONG, _SHORT = "(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])", "(0[469]|11)-(0[1-9]|[12][0-9]|30)"
_ISO_DATE = f"{_YEAR}-({_LONG}|{_SHORT}|02-(0[1-9]|1[0-9]|2[0-8]))|{_LEAP}-02-29"
_CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?"
_ISO_TIME = f"({_ISO_DATE})([ T]{_CLOCK})?"


def number_of(text: Value, marks: tuple[str, str] | None = None, *, whole: bool = False) -> Value:
    """The number that a text is; *marks* between thousands and before decimals where it is not written like 1234.5."""
    write = text.dialect
    if marks is not None:
        thousands, point = marks
        group, decimal = _one_of(thousands), _one_of(point)
        grouped = f"[0-9]{{1,3}}({group}[0-9]{{3}})+|" if thousands else ""
        fits = text.matches(f"[+-]?({grouped}[0-9]+)({decimal}[0-9]+)?{_EXPONENT}")
        plain = text.replaced(thousands, "") if thousands else text
        plain = plain if point == "." else plain.replaced(point, ".")
        text = write.cases((fits, plain))
    if write.name == "postgres":
        return _postgres_number(text, whole=whole)
    pattern, dtype = ("[+-]?[0-9]+", "int64") if whole else (NUMBER, "float64")
    read = write.pattern(f"TRY_CAST({{}} AS {write.types[dtype]})", dtype, text)
    return write.cases((text.matches(pattern), read))


def _postgres_number(text: Value, *, whole: bool) -> Value:
    """PostgreSQL has no cast that gives NULL: short texts are cast as they are, long ones by way of a clamped numeric."""
    write = text.dialect
    numeric = write.pattern("CAST({} AS numeric)", "wide", text)
    if whole:
        fits = write.pattern("({} BETWEEN -9223372036854775808 AND 9223372036854775807)", "boolean", numeric)
        return write.cases(
            (text.matches("[+-]?[0-9]{1,18}"), text.cast("int64")),
            (text.matches("[+-]?[0-9]{19,400}"), write.cases((fits, numeric.cast("int64")))),
        )
    clamped = write.pattern(_CLAMPED, "float64", numeric)
    return write.cases(
        (text.matches("[+-]?[0-9]{1,15}([.][0-9]{1,15})?"), text.cast("float64")),
        (text.matches("[+-]?[0-9]{1,400}([.][0-9]{1,400})?([eE][+-]?[0-9]{1,3})?"), clamped),
    )


def _one_of(mark: str) -> str:
    return f"[{mark}]" if mark.isascii() and mark not in "^\\]'" else re.escape(mark)


def day_of(text: Value, form: str | None = None) -> Value:
    """The day that a text is, as a number of days since 1970: like 2024-01-31, or in a form such as %d.%m.%Y."""
    write = text.dialect
    if form is not None:
        if write.name == "duckdb":
            read = _strptime(text, form)
            days = write.pattern("CAST((CAST({} AS DATE) - DATE '1970-01-01') AS BIGINT)", "int64", read)
            return write.cases((days.between(_FIRST_DAY, _LAST_DAY), days))
        text = _rearranged(text, form)
    dated = write.write("days", "int64", write.write("iso_date", "date", text))
    return write.cases((text.matches(_ISO_DATE), dated))


def moment_of(text: Value, form: str | None = None) -> Value:
    """The point in time that a text is, as microseconds since 1970."""
    write = text.dialect
    if form is not None and write.name == "duckdb":
        moments = write.pattern("EPOCH_US({})", "int64", _strptime(text, form))
        return write.cases((moments.between(FIRST_MOMENT, LAST_MOMENT), moments))
    text = text if form is None else _rearranged(text, form)
    patterns = {
        "duckdb": "EPOCH_US(TRY_CAST({} AS TIMESTAMP))",
        "postgres": "CAST(EXTRACT(EPOCH FROM CAST({} AS timestamp)) * 1000000 AS bigint)",
        "pyspark": "TIMESTAMPDIFF(MICROSECOND, TIMESTAMP_NTZ '1970-01-01 00:00:00', TRY_CAST({} AS TIMESTAMP_NTZ))",
    }
    return write.cases((text.matches(_ISO_TIME), write.pattern(patterns[write.name], "int64", text)))


def _strptime(text: Value, form: str) -> Value:
    written = form.replace("'", "''").replace("{", "{{").replace("}", "}}")
    return text.dialect.pattern(f"TRY_STRPTIME({{}}, '{written}')", "timestamp", text)


_DIGITS = {"Y": "[0-9]{4}", "m": "[0-9]{1,2}", "d": "[0-9]{1,2}", **dict.fromkeys("HMS", "[0-9]{2}"), "f": "[0-9]{1,6}"}


def portable_form(form: str) -> bool:
    """Whether a form of dates is made of digits alone, so that every engine can read it."""
    used = re.findall(r"%(.)", form)
    literal = re.sub(r"%.", "", form)
    return set(used) <= set(_DIGITS) and len(set(used)) == len(used) and not set(literal) & set("^]\\'\"%{}")


def _rearranged(text: Value, form: str) -> Value:
    """A text in a form of digits as one like 2024-01-31 12:00:00; one that is in another form stays as it is, unread."""
    write = text.dialect
    used = re.findall(r"%(.)", form)
    pattern = "".join(
        f"({_DIGITS[part[1]]})" if part.startswith("%") else f"[{part}]" for part in re.findall(r"%.|.", form)
    )
    whole = f"^{pattern}{write.end}"
    back = "$" if write.name == "pyspark" else "\\"
    place = {letter: f"{back}{number + 1}" for number, letter in enumerate(used)}
    clock = ":".join(place.get(letter, "00") for letter in "HMS") + (f".{place['f']}" if "f" in place else "")
    iso = f"{place['Y']}-0{place['m']}-0{place['d']}" + (f" {clock}" if set("HMSf") & set(used) else "")
    everywhere = "" if write.name == "pyspark" else ", 'g'"
    found = write.pattern(f"REGEXP_REPLACE({{}}, {{}}, {{}}{everywhere})", "string", text, whole, iso)
    bare = write.pattern(f"REGEXP_REPLACE({{}}, {{}}, {{}}{everywhere})", "string", found, "-0([0-9]{2})", f"-{back}1")
    fits = write.pattern(write.own["pattern"].replace("'{}'", "{}").replace("r{}", "{}"), "boolean", text, whole)
    return write.cases((fits, bare))
