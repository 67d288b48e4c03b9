"""What can be said about the looks without a browser: contrast, colours, sizes of files."""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from pathlib import Path

import pytest

import optimaldp.studio
from optimaldp.studio.pages import PAGES, asset

STATIC = Path(optimaldp.studio.__file__).parent / "static"
THEMES = dict(zip(("light", "dark"), re.findall(r":root[^{]*\{(.*?)\}", asset("studio.css"), re.S)))


def colours(theme: str) -> dict[str, tuple[float, float, float]]:
    found = re.findall(r"--(\w[\w-]*): #([0-9a-fA-F]{6})", THEMES[theme])
    return {name: tuple(int(code[i : i + 2], 16) / 255 for i in (0, 2, 4)) for name, code in found}  # type: ignore[misc]


def lightness(colour: tuple[float, float, float]) -> float:
    """The relative luminance of WCAG 2."""
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: tuple[float, float, float], second: tuple[float, float, float]) -> float:
    low, high = sorted((lightness(first), lightness(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_can_be_read(theme: str) -> None:
    own = colours(theme)
    for ink, ground in (("ink", "card"), ("ink", "page"), ("soft", "card"), ("soft", "page"), ("accent", "card")):
        assert contrast(own[ink], own[ground]) >= 4.5, (ink, ground)
    for ink, ground in (
        ("bad", "card"),
        ("bad", "bad-tint"),
        ("good", "good-tint"),
        ("accent-ink", "accent"),
        ("ink", "tint"),
    ):
        assert contrast(own[ink], own[ground]) >= 4.5, (ink, ground)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_curves_stand_out_and_differ(theme: str) -> None:
    own = colours(theme)
    for i in range(7):
        assert contrast(own[f"s{i}"], own["card"]) >= 2, i
    assert len({own[f"s{i}"] for i in range(8)}) == 8
    for first, second in combinations(("s0", "s1"), 2):  # ours and the nearest rival: also in grey print, or by dashes
        assert own[first] != own[second]


def test_the_ramp_rises_in_lightness() -> None:
    stops = re.search(r"STOPS = (\[.*?\]\]);", asset("charts.js"))
    assert stops is not None
    shades = [lightness(tuple(c / 255 for c in stop)) for stop in eval(stops[1])]  # type: ignore[arg-type]
    assert all(low < high for low, high in pairwise(shades))


def test_files_stay_small_and_whole() -> None:
    for path in STATIC.iterdir():
        lines = path.read_text("utf-8").splitlines()
        assert len(lines) <= 400, path.name
        assert not any("TODO" in line for line in lines)
    for page in PAGES:
        assert (STATIC / f"{page.name}.js").exists()


def test_every_field_has_a_label() -> None:
    for page in PAGES:
        text = asset(f"{page.name}.html")
        for name in re.findall(r"<(?:input|select|textarea)[^>]*\bid=\"([\w-]+)\"", text):
            assert f'for="{name}"' in text, f"{page.name}: {name}"
