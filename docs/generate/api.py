"""The reference of the Python interface, from the public names and their docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import optimaldp

_INTRODUCTION = """# Python interface

The names of `import optimaldp as odp`, then each part. Everything is typed; parameters are words, and after the first
two they are given by name. Names load on first use, so the import itself costs next to nothing.

```{toctree}
:hidden:

PAGES
```

| part | what is in it |
| --- | --- |
ROWS
"""

# Parts that are reached through the top-level functions and results rather than by a name of their own.
FURTHER = ("optimaldp.privacy", "optimaldp.designing", "optimaldp.mechanisms", "optimaldp.certify", "optimaldp.tables")


# The order in which somebody meets them: describe the table, preview, ask, read the answer, hand over; then design.
USED = (
    *("describe", "preview", "epsilon_for", "release", "open", "Budget", "Release", "Preview", "verify", "report"),
    *("count", "share", "mean", "sum", "ratio", "histogram", "crosstab", "winner", "top", "compare", "median"),
    *("quantile", "quantiles", "majority", "any_", "all_", "keys", "sanitise", "bins", "private_histogram", "connect"),
    *("level", "Epsilon", "all_of", "directed", "design", "Design", "Mechanism", "solve", "choose_boundary"),
)
MODULES = tuple(
    f"optimaldp.{name}"
    for name in ("questions", "ledger", "tables", "privacy", "errors", "histograms", "channels", "graphs", "designing")
)


@dataclass(frozen=True)
class Part:
    """One page: a module and its public members."""

    name: str
    words: str
    members: dict[str, Any]


def write_api(folder: Path) -> None:
    """An index and one page for each part."""
    folder.mkdir(parents=True, exist_ok=True)
    made = list(parts())
    for part in made:
        body = [f"# {part.name}", "", markdown(part.words), "", *(_entry(*member) for member in part.members.items())]
        (folder / f"{part.name}.md").write_text("\n".join(body))
    rows = "\n".join(f"| [{part.name}]({part.name}.md) | {markdown(part.words).splitlines()[0]} |" for part in made)
    pages = "\n".join(part.name for part in made)
    (folder / "index.md").write_text(_INTRODUCTION.replace("PAGES", pages).replace("ROWS", rows))


def parts() -> Iterator[Part]:
    """The top-level names, then every public module."""
    top = {name: getattr(optimaldp, name) for name, (_, attribute) in optimaldp._NAMES.items() if attribute is not None}
    used = dict(sorted(top.items(), key=lambda item: _place(USED, item[0])))
    yield Part(
        "optimaldp", "The names at the top, in the order of use: ask, questions, budgets, reports, designs.", used
    )
    named = [module for module, attribute in optimaldp._NAMES.values() if attribute is None]
    for name in sorted({*named, *FURTHER}, key=lambda name: (_place(MODULES, name), name)):
        module = import_module(name)
        yield Part(name, inspect.getdoc(module) or name, members(module))


def _place(order: tuple[str, ...], name: str) -> int:
    """Where a name stands in the order of use; one that is not listed comes last."""
    return order.index(name) if name in order else len(order)


def members(module: ModuleType) -> dict[str, Any]:
    """What a module lists, or what it defines without an underscore."""
    listed = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__ and callable(value)
    ]
    return {name: getattr(module, name) for name in listed if not isinstance(getattr(module, name), ModuleType)}


def _entry(name: str, value: Any) -> str:
    lines = [f"## {name}", "", "```python", _signature(name, value), "```", ""]
    own = value.__doc__ if isinstance(value, type) else inspect.getdoc(value) if callable(value) else None
    if own and not own.startswith(f"{name}("):  # a dataclass without words has its signature there
        lines += [markdown(inspect.cleandoc(own)), ""]
    if isinstance(value, type):
        lines += [*_methods(value)]
    return "\n".join(lines)


def _methods(owner: type) -> Iterator[str]:
    for name, member in vars(owner).items():
        plain = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        words = inspect.getdoc(plain) if inspect.isfunction(plain) else None
        if name.startswith("_") or not words or words == inspect.getdoc(getattr(object, name, None)):
            continue
        call = (
            "" if isinstance(member, property) else _arguments(plain, skip_first=not isinstance(member, staticmethod))
        )
        yield f"- `{name}{call}`: {markdown(words.split(chr(10) * 2)[0]).replace(chr(10), ' ')}"
    yield ""


def _signature(name: str, value: Any) -> str:
    if not callable(value):
        return f"{name} = {value!r}" if isinstance(value, (str, int, tuple, type(None))) else name
    try:
        call = _arguments(value)
    except (TypeError, ValueError):
        call = "(...)"
    if not isinstance(value, type):
        return f"{name}{call}"
    bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
    made = call.removesuffix(" -> None")
    return f"class {name}{made}" + (f"  # a kind of {bases}" if bases else "")


def _arguments(function: Any, *, skip_first: bool = False) -> str:
    signature = inspect.signature(function)
    given = list(signature.parameters.values())[1 if skip_first else 0 :]
    texts, starred = [], False
    for one in given:
        if one.kind is one.KEYWORD_ONLY and not starred:
            texts.append("*")
        starred = starred or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        texts.append(_argument(one))
    result = "" if signature.return_annotation is signature.empty else f" -> {_type(signature.return_annotation)}"
    line = f"({', '.join(texts)}){result}"
    return line if len(line) < 90 or skip_first else "(\n    " + ",\n    ".join(texts) + f",\n){result}"


def _argument(one: inspect.Parameter) -> str:
    stars = "*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else ""
    typed = "" if one.annotation is one.empty else f": {_type(one.annotation)}"
    if one.default is one.empty:
        return f"{stars}{one.name}{typed}"
    default = repr(one.default)
    shown = str(one.default) if default.startswith("<") else default
    return f"{one.name}{typed} = {shown if not shown.startswith('<') else '...'}"


def _type(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def markdown(docstring: str) -> str:
    """A docstring as Markdown: roles and double backticks become code, examples become fenced blocks."""
    text = re.sub(r":[a-z:]+:`~?(?:[\w.]+\.)?([\w]+)`", r"``\1``", docstring)
    text = re.sub(r"::$", ":", text, flags=re.MULTILINE)
    return "\n".join(_fenced(text.splitlines()))


def _fenced(lines: list[str]) -> Iterator[str]:
    inside = False
    for line in lines:
        if line.startswith(">>>") and not inside:
            yield "```python"
            inside = True
        if inside and not line.strip():
            yield "```"
            inside = False
        yield line if inside else line.replace("<", "&lt;") if "`" not in line else line
    if inside:
        yield "```"
