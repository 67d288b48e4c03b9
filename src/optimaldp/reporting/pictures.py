"""Pictures as SVG text, without a drawing library: they stand inside a page, print well and need no network."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from optimaldp.asking.preview_result import Preview
from optimaldp.plots.style import PALETTE, look_of

_WIDTH, _HEIGHT = 640, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 14, 26, 46
_DASHES = ("", "8 4", "3 3", "10 3 2 3", "14 4", "2 5")
_MOST_SERIES = 5
_ALIKE = 0.01  # of a probability: less cannot be seen
_NEVER_WRONG = 0.005
_SAME = " = "


def reliability_curve(preview: Preview) -> str:
    """The probability of the right answer by margin: ours as a thick line, others dashed, named in a legend.

    Curves that nobody can tell apart are drawn once. Where the answer is right at every margin a sentence says so instead.
    """
    if max(preview.series[0][1]) < _NEVER_WRONG:
        return f"<p>Right in at least {100 * (1 - _NEVER_WRONG):g} % of cases, whatever the margin is.</p>"
    margins = preview.margins
    log = margins[-1] / margins[0] > 40
    low, high = (math.log(m) if log else float(m) for m in (margins[0], max(margins[-1], margins[0] + 1)))

    def across(margin: float) -> float:
        place = (math.log(margin) if log else margin) - low
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * place / (high - low)

    def up(right: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * right

    parts = [_grid(up), *_ticks(margins, across)]
    reliable = dict(preview.reliable).get("at most 5 %")
    if reliable is not None and margins[0] <= reliable <= margins[-1]:
        parts.append(_mark(across(reliable), "right in 95 %"))
    shown = _different(preview.series)[:_MOST_SERIES]
    for index, (name, errors) in enumerate(shown):
        points = " ".join(f"{across(m):.1f},{up(1 - e):.1f}" for m, e in zip(margins, errors))
        width = 4 if index == 0 else 1.8
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{look_of(name.split(" = ")[0], index).colour}" '
            f'stroke-width="{width}" stroke-dasharray="{_DASHES[index]}"/>'
        )
    label = f"probability of the right answer by margin for {preview.question}"
    parts.append(_text(8, 14, "probability of the right answer"))
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(_text(middle, _HEIGHT - 8, "margin: people who would have to answer differently", "middle"))
    legend = "".join(_legend(index, name) for index, (name, _) in enumerate(shown))
    return f'{_svg(_WIDTH, _HEIGHT, label, parts)}<ul class="legend">{legend}</ul>'


def _different(series: Sequence[tuple[str, tuple[float, ...]]]) -> list[tuple[str, tuple[float, ...]]]:
    """The curves that can be told apart, each with the names of all that look like it."""
    drawn: list[tuple[list[str], tuple[float, ...]]] = []
    for name, errors in series:
        alike = next((one for one in drawn if max(abs(a - b) for a, b in zip(one[1], errors)) < _ALIKE), None)
        if alike is None:
            drawn.append(([name], errors))
        else:
            alike[0].append(name)
    return [(_SAME.join(names), errors) for names, errors in drawn]


def answer_rows(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table of cells, one row for each, in their own order."""
    head = "".join(f"<th>{html.escape(str(name))}</th>" for name in rows[0])
    body = "".join(
        f"<tr>{''.join(f'<td>{html.escape(str(value))}</td>' for value in row.values())}</tr>" for row in rows
    )
    return f'<table class="answers"><tr>{head}</tr>{body}</table>'


_NUMBERS = (int, float, Decimal)  # documents are read with decimals


def answer_bars(answer: Mapping[str, Any], words: Mapping[str, str]) -> str:
    """Answers by group in *words* where there are some, or counts by option: with a bar beside each, as a table."""
    most = max((float(value) for value in answer.values() if isinstance(value, _NUMBERS)), default=0) or 1
    rows = []
    for name, value in answer.items():
        bar = _bar(float(value) / most) if isinstance(value, _NUMBERS) else ""
        kind = ' class="number"' if bar else ""
        inside = answer_bars(value, {}) if isinstance(value, Mapping) else html.escape(words.get(name) or str(value))
        rows.append(f"<tr><th>{html.escape(str(name))}</th><td{kind}>{inside}</td><td>{bar}</td></tr>")
    return f'<table class="answers">{"".join(rows)}</table>'


def budget_gauge(share: float, text: str) -> str:
    """How much of the budget is used."""
    parts = [
        f'<rect x="1" y="1" width="{_WIDTH - 2}" height="22" rx="5" fill="#fff" stroke="#888"/>',
        f'<rect x="1" y="1" width="{max(0.0, min(1.0, share)) * (_WIDTH - 2):.1f}" height="22" rx="5" fill="{PALETTE[0]}"/>',
    ]
    return _svg(_WIDTH, 24, text, parts)


def _grid(up: Callable[[float], float]) -> str:
    lines = []
    for right in (0.0, 0.25, 0.5, 0.75, 0.95, 1.0):
        y = up(right)
        lines.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ccc"/>')
        lines.append(_text(_LEFT - 6, y + 4, f"{100 * right:g} %", "end"))
    return "".join(lines)


def _ticks(margins: tuple[int, ...], across: Callable[[float], float]) -> list[str]:
    wanted = sorted({margins[round(i * (len(margins) - 1) / 6)] for i in range(7)})
    return [_text(across(margin), _HEIGHT - _BOTTOM + 16, f"{margin:,}", "middle") for margin in wanted]


def _mark(x: float, text: str) -> str:
    line = (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}" stroke="#555" stroke-dasharray="3 4"/>'
    )
    end = x > _WIDTH - 110
    return line + _text(x + (-6 if end else 6), _HEIGHT - _BOTTOM - 8, text, "end" if end else "start")


def _bar(share: float) -> str:
    width = max(0.0, min(1.0, share)) * 220
    return f'<svg width="220" height="12" aria-hidden="true"><rect width="{width:.1f}" height="12" fill="{PALETTE[0]}"/></svg>'


def _colour(names: str, index: int) -> str:
    """That of the first of the names which share a curve."""
    return look_of(names.split(_SAME)[0], index).colour


def _legend(index: int, name: str) -> str:
    line = f'<line x1="0" x2="34" y1="6" y2="6" stroke="{look_of(name.split(" = ")[0], index).colour}" '
    line += f'stroke-width="{4 if index == 0 else 1.8}" stroke-dasharray="{_DASHES[index]}"/>'
    return f'<li><svg width="34" height="12" aria-hidden="true">{line}</svg> {html.escape(name)}</li>'


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="12">{html.escape(text)}</text>'


def _svg(width: int, height: int, label: str, parts: list[str]) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{html.escape(label)}" class="picture">'
        f"{''.join(parts)}</svg>"
    )
