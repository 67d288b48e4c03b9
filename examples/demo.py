"""Six private answers about three public-domain surveys, with what they promise: ``make demo``.

Nothing here is secret (the surveys are public); with your own table the calls are the same.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ibis
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

import optimaldp as odp
from optimaldp.asking.preview_result import Preview
from optimaldp.asking.result import Release
from optimaldp.plots.preview import draw_errors
from optimaldp.plots.style import describe, legend, panels, save

HERE = Path(__file__).parent
DATA = HERE / "data"
STRICT = "0.2"  # the level of those who asked for more
PICTURE = HERE.parent / "demo-output" / "demo.png"


@dataclass(frozen=True)
class Asked:
    """One question about one table, and the words that introduce it."""

    words: str
    source: Any
    question: odp.questions.Question
    persons: int  # public under substitution neighbours
    epsilon: str
    delta: str = "0"
    options: dict[str, str] = field(default_factory=dict)
    level_sizes: dict[str, int] | None = None  # how many people have which level of their own: public


def survey_with_levels() -> Any:
    """The election survey, in which every fifth respondent asked for a stricter level (0.2 in place of 1)."""
    table = ibis.read_csv(DATA / "anes1996.csv")
    return table.mutate(level=ibis.cases((table.respondent % 5 == 0, STRICT), else_="1")).to_pyarrow()


def questions() -> list[Asked]:
    election, health, travel = (DATA / f"{name}.csv" for name in ("anes1996", "rand_health", "mode_choice"))
    strong = "party in ('strong Democrat', 'strong Republican')"
    return [
        Asked(
            "Who did respondents expect to vote for?",
            election,
            odp.winner("expected_vote", ["Clinton", "Dole"]),
            944,
            "1",
        ),
        Asked(
            "Do more than 30 % call themselves strong partisans?", election, odp.share(strong) > 0.3, 944, "0.5", "1e-6"
        ),
        Asked(
            "Do more than 1 % report poor health?", health, odp.share("health = 'poor'") > 0.01, 20190, "0.1", "1e-9"
        ),
        Asked(
            "Which travel mode wins? (four rows for each traveller)",
            travel,
            odp.winner("mode", ["air", "train", "bus", "car"]),
            210,
            "1",
            options={"unit": "traveller", "where": "chosen = 'yes'", "reduce": "most-frequent"},
        ),
        Asked(
            "Which band holds the median age?",
            election,
            odp.median("age", bins=[18, 30, 40, 50, 60, 100]),
            944,
            "0.5",
            "1e-6",
        ),
        Asked(
            "Is the majority under 45? (a fifth asked for a stricter level)",
            survey_with_levels(),
            odp.majority("age < 45"),
            944,
            "1",
            options={"levels": "level"},
            level_sizes={STRICT: 188, "1": 756},
        ),
    ]


def report(asked: Asked, release: Release, preview: Preview) -> Panel:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    answer, protected, meaning, _ = release.sentences()
    rows = {
        "question": release.question,
        "answer": answer,
        "who": protected,
        "level": f"{release.level}: {meaning}",
        # With people's own levels the first note says which average this is: the thick curve of the picture.
        "reliable": "; ".join([*preview.sentences(), *(preview.notes[:1] if asked.level_sizes else ())]),
        "mechanism": release.statement["mechanism"],
    }
    for name, value in rows.items():
        table.add_row(name, Text(value, style="bold" if name == "answer" else ""))
    return Panel(table, title=Text(asked.words, style="bold"), title_align="left")


def draw(previews: list[tuple[str, Preview]]) -> Path:
    PICTURE.parent.mkdir(exist_ok=True)
    picture, axes = panels(len(previews), columns=2, width=12, height=12)
    for one, (words, preview) in zip(axes, previews):
        draw_errors(one, preview)
        describe(one, title=f"{words}\n{preview.level}", x="margin (people)", y="probability of a wrong answer")
        legend(one)
    return save(picture, PICTURE)


def main() -> None:
    start = time.perf_counter()
    console = Console(width=min(120, Console().width))
    previews = []
    for asked in questions():
        options: dict[str, Any] = {"epsilon": asked.epsilon, "delta": asked.delta} | asked.options
        release = odp.release(asked.source, asked.question, **options)
        preview = odp.preview(
            asked.question, epsilon=asked.epsilon, delta=asked.delta, n=asked.persons, level_sizes=asked.level_sizes
        )
        previews.append((asked.words, preview))
        console.print(report(asked, release, preview))
    path = draw(previews)
    console.print(
        f"Error by margin for each question: {path.relative_to(HERE.parent)} ({time.perf_counter() - start:.1f} s)"
    )


if __name__ == "__main__":
    main()
