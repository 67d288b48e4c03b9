"""JSON text in which numbers are decimals: what is read is what the text says, and nothing passes through a float."""

from __future__ import annotations

import gc
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import Any

from optimaldp.errors import InputError
from optimaldp.privacy.numbers import fraction_text

_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # an escape that may be one half of a character


@contextmanager
def without_collection() -> Iterator[None]:
    """No search for reference cycles meanwhile: reading makes a million small lists and no cycle, and half its time was that."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def json_text(document: object, *, indent: int | None = None) -> str:
    """Write JSON; a ``Decimal`` becomes a number with all its digits, a ``Fraction`` an exact string.

    >>> json_text({"yes": Decimal("0.90000000000000000001"), "no": Fraction(1, 3)})
    '{"yes": 0.90000000000000000001, "no": "1/3"}'
    """
    return "".join(_parts(document, indent, "\n"))


def read_json_text(text: str, *, source: str = "text", field: str = "file") -> Any:
    """Read JSON; numbers with a point come as ``Decimal``, so that their decimal text is what counts.

    A name that occurs twice in one object is refused. Errors name the *source*, a path for instance, and
    the *field* that it was given for.
    """
    try:
        content = json.loads(
            text, parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=partial(_no_duplicates, field)
        )
        if _HALF.search(text):
            _refuse_halves(content, source, field)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InputError(field, source, f"is not JSON ({error.msg.removesuffix(' at')} at {where})") from None
    except RecursionError:
        raise InputError(field, source, "is nested too deeply") from None
    except InputError:
        raise
    except (ValueError, ArithmeticError):  # a whole number of more than some thousand digits, an endless exponent
        raise InputError(field, source, "holds a number with too many digits", "write a ratio or a decimal") from None
    return content


def _refuse_halves(content: object, source: str, field: str) -> None:
    """Half of a character (``\\ud800`` alone) can be read from JSON, but not be written anywhere."""
    try:
        json.dumps(content, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start]).strip("'")
        raise InputError(field, source, f"holds half of a character ({half})", "write the whole one") from None


def _parts(value: object, indent: int | None, newline: str) -> Iterator[str]:
    if indent is None and isinstance(value, dict) and (rows := _rows_text(value)) is not None:
        yield rows
        return
    plain = indent is None and isinstance(value, (dict, list, tuple)) and not _begins_with_decimal(value)
    quick = _plain_text(value) if plain else None
    if quick is not None:
        yield quick
    elif isinstance(value, Decimal):
        yield str(value)
    elif isinstance(value, Fraction):
        yield json.dumps(fraction_text(value))
    elif isinstance(value, Mapping) and value:
        heads = [json.dumps(str(name), ensure_ascii=False) + ": " for name in value]
        yield from _nested("{}", heads, list(value.values()), indent, newline)
    elif isinstance(value, (list, tuple)) and value:
        # A list of plain things stays on one line: edges and rows are read side by side.
        flat = indent is None or not any(isinstance(item, (list, tuple, Mapping)) for item in value)
        yield from _nested("[]", [""] * len(value), list(value), None if flat else indent, newline)
    else:
        yield json.dumps(value, ensure_ascii=False)


def _rows_text(value: dict[str, Any]) -> str | None:
    """A row of decimals, or a mechanism of such rows, of which there may be a million; ``None`` if it is neither."""
    if not value:
        return None
    if all(type(one) is Decimal for one in value.values()):
        return "{" + ", ".join([f"{_quoted(name)}: {one}" for name, one in value.items()]) + "}"
    if not all(type(row) is dict and row and type(next(iter(row.values()))) is Decimal for row in value.values()):
        return None
    if not all(type(one) is Decimal for row in value.values() for one in row.values()):
        return None
    head = {name: _quoted(name) + ": " for name in set().union(*value.values())}
    rows = (", ".join([head[name] + str(one) for name, one in row.items()]) for row in value.values())
    return "{" + ", ".join([f"{_quoted(name)}: {{{row}}}" for name, row in zip(value, rows)]) + "}"


_quoted = json.JSONEncoder(ensure_ascii=False).encode


def _begins_with_decimal(value: Any) -> bool:
    """Whether a number that the standard library does not know stands at the beginning of *value* or of one of its parts."""
    parts = value.values() if isinstance(value, dict) else value
    return any(type(_first_leaf(part)) in (Decimal, Fraction) for part in islice(parts, 40))


def _first_leaf(value: object) -> Any:
    while isinstance(value, (dict, list, tuple)) and value:
        value = next(iter(value.values() if isinstance(value, dict) else value))
    return value


def _plain_text(value: object) -> str | None:
    """What the standard library writes, many times faster, or ``None`` where there is a number that it does not know."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except TypeError:
        return None


def _nested(brackets: str, heads: list[str], values: list[Any], indent: int | None, newline: str) -> Iterator[str]:
    inner = newline if indent is None else newline + " " * indent
    yield brackets[0]
    for i, (head, value) in enumerate(zip(heads, values)):
        yield ("" if i == 0 else ", ") if indent is None else ("" if i == 0 else ",") + inner
        yield head
        yield from _parts(value, indent, inner)
    yield brackets[1] if indent is None else newline + brackets[1]


def _no_constant(name: str) -> Any:
    raise InputError("number", name, "is not a finite number", "write 'inf' as a string for an infinite epsilon")


def _no_duplicates(field: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise InputError(field, twice, "appears twice in one object", "names are unique")
    return content
