"""The faults: cosmic-ray's operators, thinned out to those that differ in kind."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

# cosmic-ray replaces every operator by each of the others: eleven faults for one plus sign, ten of which any test notices.
# Of each we keep the neighbour that is hardest to notice, and for comparisons the opposite as well.
_COMPARISONS = [
    "Eq_NotEq",
    "NotEq_Eq",
    "Lt_LtE",
    "Lt_GtE",
    "LtE_Lt",
    "LtE_Gt",
    "Gt_GtE",
    "Gt_LtE",
    "GtE_Gt",
    "GtE_Lt",
    "Is_IsNot",
    "IsNot_Is",
]
_ARITHMETIC = [
    "Add_Sub",
    "Sub_Add",
    "Mul_Div",
    "Div_Mul",
    "FloorDiv_Mul",
    "Mod_Mul",
    "Pow_Mul",
    "RShift_LShift",
    "LShift_RShift",
    "BitOr_BitAnd",
    "BitAnd_BitOr",
    "BitXor_BitAnd",
]
OPERATORS = (
    *(f"core/ReplaceComparisonOperator_{pair}" for pair in _COMPARISONS),
    *(f"core/ReplaceBinaryOperator_{pair}" for pair in _ARITHMETIC),
    "core/ReplaceUnaryOperator_Delete_USub",
    "core/ReplaceUnaryOperator_Delete_Not",
    "core/ReplaceAndWithOr",
    "core/ReplaceOrWithAnd",
    "core/ReplaceTrueWithFalse",
    "core/ReplaceFalseWithTrue",
    "core/ReplaceBreakWithContinue",
    "core/ReplaceContinueWithBreak",
    "core/AddNot",
    "core/NumberReplacer",
    "core/ZeroIterationForLoop",
    "core/ExceptionReplacer",
)
# Type hints are not run ("int | None"); an assert is there for readers and type checkers.
_NOT_RUN = re.compile(r"^\s*(assert |@|from |import |if TYPE_CHECKING|[A-Z]\w* = (Union|TypeVar|Literal|NDArray|npt))")


@dataclass(frozen=True)
class Mutant:
    """One fault, by its place. *function* is the name of the definition around it."""

    package: str
    path: str
    function: str
    operator: str
    occurrence: int
    first: int
    last: int
    digest: str
    """Of the whole file before the fault: a result is good for as long as the file stays as it is."""

    @property
    def key(self) -> str:
        return f"{self.path}:{self.digest}:{self.operator}:{self.occurrence}"


def mutants_of(package: str, root: Path, path: str) -> Iterator[Mutant]:
    """Every fault that the operators can make in one file."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.ast.ast_query import ASTQuery
    from cosmic_ray.plugins import get_operator

    source = (root / path).read_text(encoding="utf-8")
    digest = sha256(source.encode()).hexdigest()[:12]
    lines, hints, signs, shown = (
        source.splitlines(),
        hint_positions(source),
        sign_positions(source),
        shown_lines(source),
    )
    nodes = list(ast_nodes(get_ast(source)))
    for name in OPERATORS:
        operator = get_operator(name)()
        places = [(node, *place) for node in nodes for place in operator.mutation_positions(node)]
        for occurrence, (node, start, end) in enumerate(places):
            if start in hints or start[0] in shown or _NOT_RUN.match(lines[start[0] - 1]):
                continue
            if "BinaryOperator" in name and start not in signs:
                continue
            function = ASTQuery(node).get_definition_name() or "<module>"
            yield Mutant(package, path, function, name, occurrence, start[0], end[0], digest)


@dataclass(frozen=True)
class Change:
    """What a fault does to its file: the text, and the first line that differs before and after."""

    path: str
    text: str
    before: str
    after: str


def change(root: Path, mutant: Mutant) -> Change:
    """Make the fault, in memory."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    source = (root / mutant.path).read_text(encoding="utf-8")
    text = mutate_code(source, get_operator(mutant.operator)(), mutant.occurrence)
    if text is None:
        raise ValueError(f"{mutant.key} is no fault of this file")
    for before, after in zip(source.splitlines(), text.splitlines()):
        if before != after:
            return Change(mutant.path, text, before.strip(), after.strip())
    raise ValueError(f"{mutant.key} changes nothing")


def hint_positions(source: str) -> set[tuple[int, int]]:
    """Every position inside an annotation: they are never run under ``from __future__ import annotations``."""
    hints: set[tuple[int, int]] = set()
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        annotations: list[Any] = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        for hint in filter(None, annotations):
            hints |= _between(lines, (hint.lineno, hint.col_offset), (hint.end_lineno, hint.end_col_offset))
    return hints


def shown_lines(source: str) -> set[int]:
    """The lines of what a page only shows, and in which order: the blanks of a question's form."""
    return {
        line
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign)
        and any(isinstance(one, ast.Name) and one.id == "SHEETS" for one in node.targets)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def sign_positions(source: str) -> set[tuple[int, int]]:
    """Where the sign of a calculation can stand, between its two sides: the star of ``f(*values)`` is none."""
    signs: set[tuple[int, int]] = set()
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.BinOp):
            left, right = node.left, node.right
            if left.end_lineno is not None and left.end_col_offset is not None:
                signs |= _between(lines, (left.end_lineno, left.end_col_offset), (right.lineno, right.col_offset))
        elif isinstance(node, ast.AugAssign) and node.target.end_lineno and node.target.end_col_offset is not None:
            end = node.target.end_lineno, node.target.end_col_offset
            signs |= _between(lines, end, (node.value.lineno, node.value.col_offset))
    return signs


def _between(lines: list[str], first: tuple[int, int], last: tuple[int, int]) -> set[tuple[int, int]]:
    """The positions from *first* up to *last*; Python counts bytes in a line, cosmic-ray counts letters."""
    (start, begin), (stop, end) = (_in_letters(lines, *position) for position in (first, last))
    return {
        (line, column)
        for line in range(start, stop + 1)
        for column in range(begin if line == start else 0, end if line == stop else len(lines[line - 1]) + 1)
    }


def _in_letters(lines: list[str], line: int, column: int) -> tuple[int, int]:
    return line, len(lines[line - 1].encode()[:column].decode())
