"""How many parameters of our functions tell a type checker nothing."""

from __future__ import annotations

import ast

from source_trees import source_trees


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    named = function.args
    rest = [one for one in (named.vararg, named.kwarg) if one is not None]
    every = [*named.posonlyargs, *named.args, *named.kwonlyargs, *rest]
    return [one for one in every if one.arg not in ("self", "cls")]


def test_fewer_than_one_parameter_in_twenty_is_any() -> None:
    parameters = [
        parameter
        for tree in source_trees().values()
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for parameter in _parameters(node)
    ]
    untyped = [one for one in parameters if one.annotation is None or ast.unparse(one.annotation) == "Any"]
    assert len(parameters) > 5_000
    assert len(untyped) / len(parameters) < 0.05
