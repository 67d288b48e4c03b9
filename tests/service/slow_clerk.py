"""A clerk that counts for ever for whoever asks while the file of SLOW_FLAG is there."""

from __future__ import annotations

import os
import time
from typing import Any

from optimaldp.asking import releasing
from optimaldp.service import clerk

count, answer = releasing.count_checked, clerk.Clerk._answer
asked = False


def slowly(*arguments: Any) -> Any:
    if asked and os.path.exists(os.environ["SLOW_FLAG"]):
        time.sleep(3600)
    return count(*arguments)


def answered(*arguments: Any) -> Any:
    global asked
    asked = True  # from here on it is not warming up any more
    return answer(*arguments)


if __name__ == "__main__":
    releasing.count_checked = slowly  # type: ignore[attr-defined]
    clerk.Clerk._answer = answered  # type: ignore[method-assign]
    clerk.main()
