"""The exact numbers to compare with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).parent / "vectors"


def vectors(name: str, *kinds: str) -> list[dict[str, Any]]:
    """The instances of one vector file, those of the named kinds only if any are named."""
    instances = json.loads((VECTORS / f"{name}.json").read_text())["instances"]
    return [x for x in instances if not kinds or x["kind"] in kinds]
