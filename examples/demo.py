"""Six small stories: private answers about three public-domain surveys, with what they promise: ``make demo``.

Nothing here is secret (the surveys are public), so the picture shows the truth beside the private answers. With your own
table the calls are the same, and the truth stays hidden.
"""

from __future__ import annotations

import csv
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

import optimaldp as odp
from optimaldp.plots.style import FAINT, INK, describe, legend, look, panels, readable_on, save, shades

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HERE = Path(__file__).parent
ELECTION, HEALTH, TRAVEL = (HERE / "data" / f"{name}.csv" for name in ("anes1996", "rand_health", "mode_choice"))
PICTURE = HERE.parent / "demo-output" / "demo.png"
AGES, MIDDLE = [18, 30, 40, 50, 60, 100], [18, *range(38, 53, 2), 100]
STRONG = "party in ('strong Democrat', 'strong Republican')"
MODES = ["air", "train", "bus", "car"]


@dataclass(frozen=True)
class Story:
    """One question about one table, and how its answer is drawn."""

    title: str
    source: Path
    question: odp.questions.Question | str
    epsilon: str
    draw: Callable[[Axes, odp.Release], None]
    options: dict[str, Any] = field(default_factory=dict)


def stories() -> list[Story]:
    return [
        Story("How many are 65 or older?", ELECTION, "count(age >= 65)", "0.5", draw_count),
        Story(
            "How often do people see a doctor in a year?",
            HEALTH,
            "mean(doctor_visits, range=[0, 20], step=1)",
            "1",
            draw_means,
            {"by": "health", "groups": ["excellent", "good", "fair", "poor"]},
        ),
        Story(
            "Who votes for whom, by age?",
            ELECTION,
            f"histogram(expected_vote: ['Clinton', 'Dole'], age: bins={AGES})",
            "1",
            draw_cross_table,
        ),
        Story("Are at least 30 % strong partisans?", ELECTION, odp.share(STRONG) >= 0.3, "0.5", draw_chance_of_yes),
        Story(
            "Which way of travelling wins?",
            TRAVEL,
            odp.winner("mode", MODES),
            "0.5",
            draw_winner,
            {"unit": "traveller", "where": "chosen = 'yes'", "reduce": "most-frequent"},
        ),
        Story("Which age is in the middle?", ELECTION, odp.median("age", bins=MIDDLE), "0.1", draw_median),
    ]


def column(source: Path, name: str, **only: str) -> list[str]:
    """The cells of a column: these surveys are public."""
    with source.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if all(row[key] == value for key, value in only.items())]
    return [row[name] for row in rows]


def draw_count(axes: Axes, release: odp.Release) -> None:
    old = sum(float(age) >= 65 for age in column(ELECTION, "age"))
    law = dict(odp.questions.number_probabilities(release.asked, [old, 944 - old, 0], epsilon=release.level.epsilon))
    near = range(min(old - 9, release.answer), max(old + 9, release.answer) + 1)
    chance_bars(axes, list(near), [float(law[answer]) for answer in near], near.index(release.answer), percent=False)
    axes.annotate(f"the truth: {old}", (old, float(law[old])), ha="center", va="bottom")
    axes.xaxis.get_major_locator().set_params(integer=True)
    describe(axes, x="people", y="chance to be announced")


def draw_means(axes: Axes, release: odp.Release) -> None:
    names = list(release.answer)
    cells = {name: [min(20.0, float(v)) for v in column(HEALTH, "doctor_visits", health=name)] for name in names}
    pair(axes, names, list(release.answer.values()), [sum(own) / len(own) for own in cells.values()])
    describe(axes, x="how they call their own health", y="visits in a year, on average")


def draw_cross_table(axes: Axes, release: odp.Release) -> None:
    votes, ages, shown = named_counts(release)
    axes.imshow(shown, cmap=shades(), aspect="auto", vmin=0)
    most = max(map(max, shown))
    for row, line in enumerate(shown):
        for place, count in enumerate(line):
            axes.annotate(str(count), (place, row), ha="center", va="center", color=readable_on(shades()(count / most)))
    axes.set_xticks(range(len(ages)), ages)
    axes.set_yticks(range(len(votes)), votes)
    axes.grid(False)
    describe(
        axes, x=f"age; every count is within {release.crosstab().reach} people, 95 % of the time", y="expected vote"
    )


def draw_chance_of_yes(axes: Axes, release: odp.Release) -> None:
    people, strong = 944, sum(cell.startswith("strong") for cell in column(ELECTION, "party"))
    margins = odp.preview(release.asked, epsilon=release.level.epsilon, margins=list(range(1, 41)))
    bound = -(-people * 3 // 10)
    wrong = [margins.error(margin) for margin in range(1, 41)]
    counts = [bound - margin for margin in range(40, 0, -1)] + [bound + margin - 1 for margin in range(1, 41)]
    yes = [*reversed(wrong), *(1 - error for error in wrong)]
    axes.plot([100 * count / people for count in counts], yes, linewidth=2.4, color=look(0).colour)
    axes.axvline(30, color=INK, linewidth=0.8, linestyle=":")
    axes.annotate(f"this survey: {100 * strong / people:.1f} %,\nfar to the right", (33.9, 0.6), ha="right")
    describe(axes, x="true share of strong partisans (%)", y="chance of the answer yes")


def draw_winner(axes: Axes, release: odp.Release) -> None:
    chosen = Counter(column(TRAVEL, "mode", chosen="yes"))
    chances = odp.questions.winner_probabilities([chosen[mode] for mode in MODES], epsilon=release.level.epsilon)
    names = [f"{mode}\n{chosen[mode]} travellers" for mode in MODES]
    chance_bars(axes, names, [float(chance) for chance in chances], MODES.index(str(release.answer)))


def draw_median(axes: Axes, release: odp.Release) -> None:
    ages = [float(age) for age in column(ELECTION, "age")]
    counts = [sum(low <= age < high for age in ages) for low, high in pairwise(MIDDLE)]
    chances = odp.questions.quantile_probabilities(counts, epsilon=release.level.epsilon)
    names = [f"{low} to\n{high}" for low, high in pairwise(MIDDLE)]
    chance_bars(axes, names, [float(chance) for chance in chances], MIDDLE.index(int(release.low)))


def pair(axes: Axes, names: Sequence[str], answers: Sequence[float], truths: Sequence[float]) -> None:
    axes.bar(names, answers, width=0.6, **look(0).bar_style(), label="private answer")
    axes.scatter(names, truths, s=60, zorder=3, **look(1).point_style(), label="truth")


def chance_bars(
    axes: Axes, names: Sequence[Any], chances: Sequence[float], answered: int, *, percent: bool = True
) -> None:
    bars = axes.bar(names, chances, **(look(0).bar_style() | {"facecolor": FAINT}))
    bars[answered].set_facecolor(look(0).colour)
    bars[answered].set_label("your answer")
    for place, chance in enumerate(chances if percent else ()):
        axes.annotate(f"{100 * chance:.0f} %", (place, chance), ha="center", va="bottom")
    axes.set_ylim(0, 1.25 * max(chances))
    describe(axes, y="chance to be announced")


def report(story: Story, release: odp.Release) -> Panel:
    """What to know about one answer."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    answer, protected, meaning, reliable, _ = release.sentences()
    rows = {"asked": release.question, "answer": answer, "who": protected, "level": f"ε = {story.epsilon}. {meaning}"}
    for name, value in (rows | {"trust": reliable}).items():
        table.add_row(
            name, counts(release) if name == "answer" and release.crossed else Text(value, style=_style(name))
        )
    return Panel(table, title=Text(story.title, style="bold"), title_align="left")


def _style(name: str) -> str:
    return "bold" if name == "answer" else ""


def counts(release: odp.Release) -> Table:
    """A cross table for the terminal."""
    votes, ages, shown = named_counts(release)
    table = Table("", *map(escape, ages), box=None, padding=(0, 2, 0, 0))
    for vote, line in zip(votes, shown):
        table.add_row(vote, *map(str, line), style="bold")
    return table


def named_counts(release: odp.Release) -> tuple[list[str], list[str], list[list[int]]]:
    """The rows, the columns and the counts between them, without "(everyone else)"."""
    votes, ages = (list(labels)[:-1] for labels in release.crosstab().labels)
    known = {(cell["expected_vote"], cell["age"]): cell["count"] for cell in release.answer}
    return votes, ages, [[known[vote, age] for age in ages] for vote in votes]


def draw(told: Sequence[tuple[Story, odp.Release]], path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    picture, axes = panels(len(told), columns=2, width=12, height=12)
    for one, (story, release) in zip(axes, told):
        story.draw(one, release)
        one.set_title(f"{story.title}  ε = {story.epsilon}", loc="left")
        legend(one)
    return save(picture, path)


def main(path: Path = PICTURE) -> None:
    start = time.perf_counter()
    console = Console(width=min(120, Console().width))
    told = []
    for story in stories():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", odp.errors.ReadingWarning)  # these files are written as Python writes them
            release = odp.release(story.source, story.question, epsilon=story.epsilon, **story.options)
        told.append((story, release))
        console.print(report(story, release))
    seconds = time.perf_counter() - start
    console.print(f"The six answers beside the truth: {draw(told, path)} ({seconds:.1f} s)", soft_wrap=True)


if __name__ == "__main__":
    main()
