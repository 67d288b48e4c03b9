"""The package's own sources, read once for all tests that look at them."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "optimaldp"


@cache
def source_trees() -> dict[str, ast.Module]:
    """Each module of ``optimaldp`` by its path inside of the package."""
    gc.disable()  # nothing of a tree is rubbish, and to look for rubbish meanwhile takes thrice the time
    try:
        paths = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}
        return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in paths.items()}
    finally:
        gc.freeze()
        gc.enable()
