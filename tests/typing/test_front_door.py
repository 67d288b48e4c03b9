"""What readers of types see at the front door is what is there, and the client that they check knows every kind."""

from __future__ import annotations

import ast
from pathlib import Path

import optimaldp
from optimaldp.questions.forms import forms

HERE = Path(__file__).parent
ALIASES = {"median": "median", "any": "any_", "all": "all_"}


def test_readers_of_types_see_every_public_name() -> None:
    module = ast.parse(Path(optimaldp.__file__).read_text("utf-8"))
    block = next(node for node in module.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    seen = {name.asname or name.name for node in block.body if isinstance(node, ast.ImportFrom) for name in node.names}
    renamed = {ast.unparse(node.targets[0]) for node in block.body if isinstance(node, ast.Assign)}
    hidden = {ast.unparse(node.value) for node in block.body if isinstance(node, ast.Assign)} - {
        "sum_"
    }  # it has both names
    assert (seen - hidden) | renamed == set(optimaldp._NAMES)


def test_the_typed_client_asks_for_every_kind_at_both_doors() -> None:
    functions = [
        node for node in ast.parse((HERE / "client.py").read_text("utf-8")).body if isinstance(node, ast.FunctionDef)
    ]
    for name in ("what_each_kind_answers", "what_an_open_table_answers"):
        body = next(ast.unparse(node) for node in functions if node.name == name)
        missing = {word for word in forms() if f"odp.{ALIASES.get(word, word)}(" not in body}
        assert not missing, (name, missing)
