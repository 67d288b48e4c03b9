"""One private answer, with you and without you.

A survey of 944 people is asked how many are 65 or older, at ε = 0.5. The true number is 170 if your record says that you
are, and 169 if it says that you are not. The bars are the exact chance of every printed answer in both cases. Most
answers are within a few people of the truth, and no answer is more than 1.65 times as likely in one case as in the
other: whoever reads "about 168" cannot tell which of the two it was.
"""

from __future__ import annotations

import sys
from math import exp
from pathlib import Path

from optimaldp.plots.style import INK, figure, legend, look, save_for_screens
from optimaldp.questions import noise_law, number_probabilities

PEOPLE, OLD, EPSILON = 944, 170, 0.5
QUESTION = "count(age >= 65)"
SHOWN = range(OLD - 11, OLD + 11)


def draw(folder: Path) -> Path:
    picture, axes = figure(
        7.6,
        4.2,
        title="How many of 944 people are 65 or older?  ε = 0.5",
        x="the answer that is published (people)",
        y="chance of this answer",
        grid=False,
    )
    within = noise_law(QUESTION, epsilon=EPSILON).half_width(0.95)
    for index, (count, words) in enumerate(((OLD, "you are 65 or older"), (OLD - 1, "you are not"))):
        law = dict(number_probabilities(QUESTION, [count, PEOPLE - count, 0], epsilon=EPSILON))
        places = [answer + (index - 0.5) * 0.4 for answer in SHOWN]
        chances = [float(law[answer]) for answer in SHOWN]
        axes.bar(places, chances, width=0.4, **look(index).bar_style(), label=f"{words}: the truth is {count}")
    top = axes.get_ylim()[1]
    axes.annotate(
        "",
        (OLD - within, 1.02 * top),
        (OLD + within, 1.02 * top),
        arrowprops={"arrowstyle": "|-|", "color": INK, "mutation_scale": 4},
    )
    axes.annotate(
        f"accurate: 95 % of answers\nare within {within} of the truth", (OLD, 1.04 * top), ha="center", va="bottom"
    )
    axes.annotate(
        f"private: no answer is more than {exp(EPSILON):.2f} times\nas likely in one case as in the other",
        (OLD + 2.4, 0.72 * top),
        ha="left",
    )
    axes.set_ylim(0, 1.42 * top)
    axes.xaxis.get_major_locator().set_params(integer=True)
    legend(axes, loc="upper left")
    return save_for_screens(picture, folder / "with_and_without_you.svg")


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output/gallery")
    target.mkdir(parents=True, exist_ok=True)
    print(draw(target))
