"""Numbers in notebooks: pictures and tables carry the intervals, cautions are shown, a list of questions shows its progress."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("matplotlib", reason="the plots extra is not installed")
pytest.importorskip("pandas", reason="the interop extra is not installed")
import pyarrow

import optimaldp as odp
from optimaldp import progress
from optimaldp.errors import ReadingWarning

PEOPLE = pyarrow.table({"smokes": ["yes"] * 300 + ["no"] * 700, "ward": ["a", "b"] * 500, "cost": [7.0] * 1000})
BY_WARD = {"by": "ward", "groups": ["a", "b"]}


@pytest.mark.long
@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("count(smokes = 'yes')", {}),
        ("count(smokes = 'yes')", BY_WARD),
        ("mean(cost, range=[0, 100], interval=true)", BY_WARD),
        ("histogram(ward, ['a', 'b'])", {}),
        ("mean(cost, range=[0, 100])", BY_WARD),  # how many have a value is private: there is no interval
    ],
)
def test_whiskers_are_the_intervals_of_the_frame(question: str, options: dict[str, Any]) -> None:
    release = odp.release(PEOPLE, question, epsilon=1, **options)
    frame = release.to_frame()
    wanted = [] if frame["low"].isna().all() else [(low, high) for low, high in zip(frame["low"], frame["high"])]
    drawn = [
        tuple(bars.get_segments()[0][:, 0])
        for bars in (c[2][0] for c in release.plot().axes[0].containers if _is_whisker(c))
    ]
    assert drawn == [pytest.approx(ends) for ends in wanted]
    assert list(frame["value"]) == list(release.answers().values())
    shown = release._repr_html_()
    if question.startswith("histogram"):
        assert all(f"{low:g} to {high:g}" in shown for low, high in wanted)
    else:  # in words, as far as the digits go that the error leaves
        half = [float(width) for width in re.findall(r"\(± ([\d.]+)(?: people)?, 95 %\)", shown)][: len(wanted)]
        widest = [max(high - value, value - low) for (low, high), value in zip(wanted, frame["value"])]
        assert half == pytest.approx(widest, rel=0.1)


def test_a_previewed_number_is_pictured_by_its_noise() -> None:
    shown = odp.preview("sum(cost, range=[0, 100])", epsilon=1)
    ours, laplace, *_ = shown.plot().axes[0].lines
    assert ours.get_ydata() == pytest.approx([0.2, 0.1, 0.05, 0.01, 0.001])
    assert list(ours.get_xdata())[1:4] == [shown.to_document()["half_width"][sure] for sure in ("0.9", "0.95", "0.99")]
    assert laplace.get_label() == "discrete Laplace"
    assert [f"{width:.3g}" for width in list(laplace.get_xdata())[1:4]] == shown.rows()[1][2:]


def _is_whisker(container: Any) -> bool:
    return type(container).__name__ == "ErrorbarContainer"


def test_a_cross_table_is_its_own_picture_and_frame() -> None:
    release = odp.release(PEOPLE, "histogram(ward: ['a', 'b'], smokes: ['yes', 'no'])", epsilon=1)
    assert list(release.to_frame().columns) == ["ward", "smokes", "count", "interval", "note"]
    assert release.crosstab()._repr_html_() in release._repr_html_()
    assert release.plot().axes[0].images  # a heat map


def test_cautions_are_seen_in_a_notebook(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("patient,cost\n" + "p,7\n" * 30)
    with pytest.warns(ReadingWarning) as caught:
        release = odp.release(tmp_path / "people.csv", "count(cost >= 5)", epsilon=1)
    assert {str(one.message) for one in caught} <= set(release.warnings)
    assert any("patient" in caution for caution in release.warnings)
    for caution in release.warnings:
        assert f"<li>{caution}</li>" in release._repr_html_()


def test_a_list_of_questions_shows_its_progress_and_the_running_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(progress, "_in_notebook", lambda: True)
    monkeypatch.setattr(progress, "_display", lambda content, _: shown.append(content) or True)
    asked = [f"count(cost >= {bound})" for bound in range(3)]
    with odp.open(PEOPLE, budget=odp.Budget(epsilon=3), ledger=tmp_path / "people.ledger") as table:
        table.ask(asked, epsilon="0.5")
        assert [f'value="{done}" max="3"' in bar for done, bar in enumerate(shown[:-1])] == [True] * 3
        assert [bar.split("> ")[-1] for bar in shown[:-1]] == [
            f"{done} of 3 ε = {cost} of 3 left</div>" for done, cost in enumerate(("0.5", "1", "1.5"))
        ]
        assert shown[-1] == ""
        shown.clear()
        table.ask("count(cost >= 9)", epsilon="0.1")
        table.ask([asked[0], "count(cost >= 8)"], epsilon="0.1", answer_after=0.01)  # when it hides its time
        assert shown == []


def test_progress_is_silent_where_nobody_looks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert list(progress.track([1, 2], "counting", note=str)) == [1, 2]
    assert capsys.readouterr() == ("", "")
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert progress._in_notebook()
