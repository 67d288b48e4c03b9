"""Run every script of the gallery; show each picture with its words and its code."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

SCRIPTS = sorted((Path(__file__).parents[2] / "examples" / "gallery").glob("*.py"))

# From the simplest picture to the strangest; scripts that are not named here follow by name.
ORDER = (
    "with_and_without_you",
    "coloured_cube",
    "line_phases",
    "one_person",
    "choosing_epsilon",
    "plurality_map",
    "many_rivals",
    "personal_levels",
)

_INTRODUCTION = """# Gallery

Short scripts that draw something worth looking at. Each runs by itself and writes its picture into a folder of your choice,
as an SVG and as a PNG for dense screens:

    python examples/gallery/coloured_cube.py pictures/

All pictures have one look: colours that colour-blind readers tell apart, doubled by marks, dashes and lightness, so that
they can be read in grey print.
"""


def write_gallery(folder: Path) -> None:
    """One page, ``gallery.md``, with the pictures in ``gallery/``."""
    pictures = folder / "gallery"
    pictures.mkdir(parents=True, exist_ok=True)
    sections = [_section(script, runpy.run_path(str(script))["draw"](pictures), folder) for script in in_order()]
    (folder / "gallery.md").write_text("\n".join([_INTRODUCTION, *sections]))


def in_order() -> list[Path]:
    return sorted(SCRIPTS, key=lambda script: ORDER.index(script.stem) if script.stem in ORDER else len(ORDER))


def _section(script: Path, picture: Path, folder: Path) -> str:
    title, words = words_of(script)
    code = script.read_text().split('"""', 2)[2].strip()
    return f"""## {title}

![{title}]({picture.relative_to(folder).as_posix()})

{words}

[The same as a PNG]({picture.with_suffix(".png").relative_to(folder).as_posix()}), with twice the points of a screen.

<details><summary>The code: examples/gallery/{script.name}</summary>

```python
{code}
```

</details>
"""


def words_of(script: Path) -> tuple[str, str]:
    """The title and the text of a script's docstring."""
    title, _, words = (ast.get_docstring(ast.parse(script.read_text())) or "").partition("\n\n")
    return title.rstrip("."), words
