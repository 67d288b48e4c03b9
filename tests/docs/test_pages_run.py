"""Every Python example of the README and of the documentation runs, from the root of the project, one namespace for each page."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from fenced import ROOT, blocks, run_page

DOCS = ROOT / "docs"
PAGES = sorted(
    page
    for page in [ROOT / "README.md", *DOCS.rglob("*.md")]
    # The walks are followed by tests/walks, each in a folder of its own; the curator's page by tests/faces, with a curator.
    if not {"generated", "walks"} & set(page.parts) and page.name != "curator.md" and list(blocks(page.read_text()))
)
_SPARK = DOCS / "howto" / "spark.md"


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.long
@pytest.mark.parametrize("page", [page for page in PAGES if page != _SPARK], ids=_name)
def test_examples_run(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert run_page(page.read_text(), str(page)) > 0


@pytest.mark.slow
def test_the_spark_page_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed (extra: spark)")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not on this machine")
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    assert run_page(_SPARK.read_text(), str(_SPARK)) == 1


def test_a_wrong_example_fails() -> None:
    with pytest.raises(AssertionError, match="expected"):
        run_page("```python\n>>> 1 + 1\n3\n```\n", "wrong.md")
    with pytest.raises(ZeroDivisionError):
        run_page("text\n\n```python\n1 / 0\n```\n", "wrong.md")


def test_blocks_share_their_names() -> None:
    assert (
        run_page(
            "```python\n>>> a = 2\n```\n\n```python\nassert a == 2\nb = 3\n```\n\n```python\n>>> a + b\n5\n```\n",
            "page.md",
        )
        == 3
    )
