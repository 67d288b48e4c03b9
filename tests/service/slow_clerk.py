"""A clerk that counts for ever while the file of SLOW_FLAG is there; for some seconds, or with too much memory, if it says so."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from optimaldp.asking import releasing
from optimaldp.service import clerk

count, answer = releasing.count_checked, clerk.Clerk._answer
asked = False


def slowly(*arguments: Any) -> Any:
    flag = Path(os.environ["SLOW_FLAG"])
    if asked and flag.exists():
        said = flag.read_text()
        if said == "memory":
            _ = bytearray(8 * 2**30)  # more than it may have
        else:
            time.sleep(float(said or 3600))
    return count(*arguments)


def answered(*arguments: Any) -> Any:
    global asked
    asked = True  # from here on it is not warming up any more
    return answer(*arguments)


if __name__ == "__main__":
    releasing.count_checked = slowly  # type: ignore[attr-defined]
    clerk.Clerk._answer = answered  # type: ignore[method-assign]
    clerk.main()
