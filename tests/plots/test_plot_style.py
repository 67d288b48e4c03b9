"""The look of all plots: no global state, distinct marks, repeatable files."""

from __future__ import annotations

import itertools
import sys

import matplotlib
import pytest

from optimaldp.errors import InputError
from optimaldp.plots import style


def test_a_figure_leaves_no_trace_in_the_settings_or_in_pyplot():
    before = dict(matplotlib.rcParams)
    picture, axes = style.figure(title="title", x="x", y="y")
    axes.plot([0, 1], [0, 1], label="line", **style.look(0).line_style())
    style.legend(axes)
    picture.canvas.draw()
    assert dict(matplotlib.rcParams) == before
    if "matplotlib.pyplot" in sys.modules:
        assert sys.modules["matplotlib.pyplot"].get_fignums() == []


def test_looks_are_told_apart_without_colour():
    looks = [style.look(i) for i in range(16)]
    assert len({one.marker for one in looks[:8]}) == 8
    assert len({one.hatch for one in looks[:8]}) == 8
    assert len({(one.colour, one.marker) for one in looks}) == 16


def test_neighbouring_colours_differ_in_grey():
    from matplotlib.colors import to_rgb

    grey = [sum(w * c for w, c in zip((0.299, 0.587, 0.114), to_rgb(colour))) for colour in style.PALETTE]
    assert min(abs(a - b) for a, b in itertools.pairwise(grey)) > 0.08


@pytest.mark.long
@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_saving_twice_gives_the_same_bytes(tmp_path, ending):
    def write(name: str) -> bytes:
        picture, axes = style.figure(title="one")
        axes.bar([0, 1], [0.2, 0.8], **style.look(1).bar_style())
        axes.scatter([0, 1], [0.2, 0.8], **style.look(2).point_style())
        return style.save(picture, tmp_path / f"{name}.{ending}").read_bytes()

    assert write("a") == write("b")


def test_an_unknown_ending_is_refused(tmp_path):
    picture, _ = style.figure()
    with pytest.raises(InputError, match=r"\.png, \.svg or \.pdf"):
        style.save(picture, tmp_path / "plot.docx")


def test_panels_come_in_reading_order():
    _, axes = style.panels(5, columns=2)
    assert len(axes) == 5
    assert [one.get_subplotspec().num1 for one in axes] == list(range(5))


def test_text_is_readable_on_its_ground():
    assert style.readable_on("#000000") == "#FFFFFF"
    assert style.readable_on("#F0E442") == "#000000"


def test_a_mechanism_has_one_colour_in_every_picture():
    import optimaldp as odp
    from optimaldp.plots.preview import draw_preview
    from optimaldp.reporting.pictures import _different, reliability_curve

    levels = {"level_sizes": {"0.1": 20, "1": 300}}
    asked = [("majority(a = 'b')", {}), ("winner(a, ['x', 'y', 'z'])", {}), ("median(a, bins=[0, 1, 2])", {})]
    colours = {}
    for question, more in [*asked, ("majority(a = 'b')", levels), ("winner(a, ['x', 'y', 'z'])", levels)]:
        preview = odp.preview(question, epsilon=1, n=1000, **more)
        lines = {line.get_label(): line for line in draw_preview(preview).axes[0].lines}
        page = reliability_curve(preview)
        for name, _ in preview.series:
            family = name.partition(",")[0]
            family = "optimaldp" if family in ("typical", "either aim") else family  # what a release would use is ours
            colours.setdefault(family, set()).add(lines[name].get_color())
        drawn = [names.split(" = ")[0] for names, _ in _different(preview.series)[:5]]  # curves that coincide, once
        assert all(lines[name].get_color() in page for name in drawn) or page.startswith("<p>Right in")
    assert all(len(own) == 1 for own in colours.values()), colours
    assert len(set.union(*colours.values())) == len(colours) == 8
