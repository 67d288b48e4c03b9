"""Run the fenced Python of a Markdown file: examples with prompts as doctests, others as scripts, all in one namespace."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """One fenced block and the line on which its code starts."""

    code: str
    line: int

    @property
    def has_prompts(self) -> bool:
        return self.code.lstrip().startswith(">>>")


def blocks(text: str) -> Iterator[Block]:
    """The fenced Python of a page, in order."""
    for found in _FENCE.finditer(text):
        yield Block(found[1], text.count("\n", 0, found.start(1)) + 1)


def run_page(text: str, name: str) -> int:
    """Run a page from top to bottom and count its blocks; an example that prints something else is an AssertionError."""
    names: dict[str, Any] = {"__name__": "__main__"}
    found = list(blocks(text))
    for block in found:
        if block.has_prompts:
            _run_examples(block, name, names)
        else:
            exec(compile("\n" * (block.line - 1) + block.code, name, "exec"), names)
    return len(found)


def _run_examples(block: Block, name: str, names: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(block.code, names, name, name, block.line - 1)
    said: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.REPORT_NDIFF)
    outcome = runner.run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    assert not outcome.failed, "".join(said)
