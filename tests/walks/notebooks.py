"""Run a notebook from its first cell to its last, as Jupyter would, and compare what it shows with what it has stored."""

from __future__ import annotations

import ast
import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple


class Shown(NamedTuple):
    """What a cell printed, and the value of its last line."""

    printed: str
    value: Any

    @property
    def outputs(self) -> list[dict[str, Any]]:
        """As a notebook stores them: texts alone, since pictures and tables would be bulk."""
        stored: list[dict[str, Any]] = []
        if self.printed:
            stored.append({"output_type": "stream", "name": "stdout", "text": self.printed.splitlines(keepends=True)})
        if self.value is not None:
            text = repr(self.value).splitlines(keepends=True)
            stored.append({"output_type": "execute_result", "metadata": {}, "data": {"text/plain": text}})
        return stored


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run_cell(source: str, names: dict[str, Any]) -> Shown:
    """Run the lines of a cell; the last one, if it is an expression, is shown."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return Shown(printed.getvalue(), value)


def run_notebook(path: Path) -> list[Shown]:
    """Every code cell in order; one that shows something else than it has stored is an AssertionError."""
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for number, cell in enumerate(code_cells(json.loads(path.read_text("utf-8"))), start=1):
        made = run_cell("".join(cell["source"]), names)
        stored = [{name: value for name, value in one.items() if name != "execution_count"} for one in cell["outputs"]]
        assert made.outputs == stored, f"cell {number} shows {made.outputs}"
        shown.append(made)
    return shown
