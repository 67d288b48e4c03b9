"""What is wrong with a picture for readers who see no colours, or do not know the subject."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from matplotlib.colors import is_color_like, to_hex
from matplotlib.figure import Figure

from optimaldp.plots import style

_ALLOWED = {to_hex(colour) for colour in (*style.PALETTE, style.INK, style.FAINT, "white", "black")}
_ALLOWED_SHADES = {"cividis"}


def complaints(picture: Figure) -> list[str]:
    """What a reader who sees no colours, or does not know the subject, would miss."""
    found = []
    for axes in picture.axes:
        found += [f"colour {colour}" for colour in _colours(axes) if colour not in _ALLOWED]
        found += [f"shades {shown}" for shown in _shades(axes) if shown not in _ALLOWED_SHADES]
        if axes.axison and not axes.get_label().startswith("<colorbar"):
            found += [] if axes.get_xlabel() or _names_ticks(axes) else ["no label on the x axis"]
            found += [] if axes.get_ylabel() else ["no label on the y axis"]
            found += [] if any(axes.get_title(loc=side) for side in ("left", "center")) else ["no title"]
        elif axes.axison:
            found += [] if axes.get_ylabel() or axes.get_xlabel() else ["no label on the colour bar"]
        found += _alike_without_colour(axes)
    return found


def _names_ticks(axes: Any) -> bool:
    return any(tick.get_text().strip("−-.0123456789") for tick in axes.get_xticklabels())


def _colours(axes: Any) -> list[str]:
    if axes.get_label().startswith("<colorbar"):
        return []
    plain = [line.get_color() for line in axes.lines] + [patch.get_facecolor() for patch in axes.patches]
    for collection in axes.collections:
        if collection.get_array() is None:
            plain += [row for row in np.atleast_2d(collection.get_facecolor()) if _is_flat(axes, collection)]
    return [to_hex(colour) for colour in plain if is_color_like(colour) or len(colour) in (3, 4)]


def _is_flat(axes: Any, collection: Any) -> bool:
    """Many different colours in one collection are shades of a quantity; those are checked by their order of lightness."""
    colours = np.atleast_2d(collection.get_facecolor())
    if len(np.unique(colours, axis=0)) <= 1:
        return True
    known = style.shades()(np.linspace(0, 1, 1025))[:, :3]
    assert all(np.abs(known - colour[:3]).sum(axis=1).min() < 0.02 for colour in colours), (
        "shades of another colour map"
    )
    return False


def _shades(axes: Any) -> list[str]:
    mapped = [*axes.images, *(one for one in axes.collections if one.get_array() is not None)]
    return [] if axes.get_label().startswith("<colorbar") else [one.get_cmap().name for one in mapped]


def _alike_without_colour(axes: Any) -> list[str]:
    lines = [line for line in axes.lines if not line.get_label().startswith("_")]
    marks = {line.get_label(): (line.get_linestyle(), line.get_marker(), str(line._dash_pattern)) for line in lines}
    pairs = itertools.combinations(marks, 2)
    return [f"{a} and {b} look alike in grey" for a, b in pairs if marks[a] == marks[b]]
