"""A fault put into code that is loaded already: the body of a function is exchanged, whoever holds the function.

Most faults are inside of a function. Then nothing has to be imported again, and a fault costs a fork and its tests. A fault at
the top of a module or of a class, or in a default value, acts when the module is imported: for these there is :class:`Spoiled`.
"""

from __future__ import annotations

import functools
import gc
import inspect
import sys
from collections import defaultdict
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

Place = tuple[str, int, str]
Pairs = list[tuple[CodeType, CodeType]]


class Functions:
    """The functions that a tree's modules have made, by the place of their code."""

    def __init__(self, tree: Path) -> None:
        self._by_place: dict[Place, list[FunctionType]] = defaultdict(list)
        self._caches = []
        for one in gc.get_objects():
            if isinstance(one, FunctionType) and one.__code__.co_filename.startswith(str(tree)):
                self._by_place[_place(one.__code__)].append(one)
            elif isinstance(one, functools._lru_cache_wrapper) and str(one.__module__).startswith("optimaldp"):
                self._caches.append(one)

    def forget_results(self) -> None:
        """Empty every cache of results: they were computed without the fault."""
        for one in self._caches:
            one.cache_clear()

    def exchange(self, path: Path, before: str, after: str) -> bool:
        """Give every function that differs its new body; ``False`` if that is not enough, and nothing was done."""
        pairs = changed_functions(*(compile(text, str(path), "exec", dont_inherit=True) for text in (before, after)))
        if not pairs or not all(self._by_place.get(_place(old)) for old, _ in pairs):
            return False
        try:
            for old, new in [inner for pair in pairs for inner in _with_inner(*pair)]:
                for function in self._by_place.get(_place(old), ()):
                    function.__code__ = new
        except ValueError:  # a closure over other names than before
            return False
        self.forget_results()
        return True


def changed_functions(before: CodeType, after: CodeType) -> Pairs | None:
    """The outermost functions that differ; ``None`` if something outside of functions does."""
    if not _alike(before, after):
        return None
    pairs: Pairs = []
    for old, new in _inner(before, after):
        if old.co_flags & inspect.CO_OPTIMIZED:
            pairs += [] if _deeply_alike(old, new) else [(old, new)]
        else:  # the body of a class
            deeper = changed_functions(old, new)
            if deeper is None:
                return None
            pairs += deeper
    return pairs


def _with_inner(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    yield old, new
    for pair in _inner(old, new):
        yield from _with_inner(*pair)


def _inner(old: CodeType, new: CodeType) -> list[tuple[CodeType, CodeType]]:
    codes = [[one for one in code.co_consts if isinstance(one, CodeType)] for code in (old, new)]
    return list(zip(*codes))


def _alike(old: CodeType, new: CodeType) -> bool:
    return _shape(old) == _shape(new)


def _deeply_alike(old: CodeType, new: CodeType) -> bool:
    return _alike(old, new) and all(_deeply_alike(*pair) for pair in _inner(old, new))


def _shape(code: CodeType) -> tuple[object, ...]:
    """All that is run, without where in the text it stands."""
    constants = [_shown(one) for one in code.co_consts]
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars, code.co_exceptiontable


def _shown(constant: object) -> str:
    return "code" if isinstance(constant, CodeType) else f"{type(constant).__name__} {constant!r}"


def _place(code: CodeType) -> Place:
    return code.co_filename, code.co_firstlineno, code.co_qualname


class Spoiled(MetaPathFinder):
    """Whoever imports the file at *path* gets *text* instead."""

    def __init__(self, tree: Path, path: Path, text: str) -> None:
        parts = path.relative_to(tree / "src").with_suffix("").parts
        self._name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        self._path, self._text = str(path), text

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        return spec_from_file_location(fullname, self._path, loader=_Loader(self._text, fullname, self._path))


class _Loader(SourceFileLoader):
    def __init__(self, text: str, name: str, path: str) -> None:
        super().__init__(name, path)
        self._text = text

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._text, self.path, "exec", dont_inherit=True)


def import_afresh(tree: Path) -> None:
    """Forget the modules of *tree* and of its tests, so that the next import reads them again."""
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(str(tree)) or name.partition(".")[0] == "optimaldp":
            del sys.modules[name]
