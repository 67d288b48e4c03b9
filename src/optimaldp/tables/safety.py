"""Engine errors may quote cells (a CSV reader quotes the whole line): they are replaced by errors that do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from optimaldp.errors import MissingExtraError, OptimalDPError, TableError
from optimaldp.extras import EXTRAS

Answer = TypeVar("Answer")


def without_engine_message(described: str, doing: str, work: Callable[[], Answer], *, remedy: str = "") -> Answer:
    """Run *work* on data; an error of the engine becomes one that names only the source and the error's type.

    **Guarantee.** The new error has neither a cause nor a context: nothing that the engine said can be reached from it.
    """
    try:
        return work()
    except OptimalDPError:
        raise
    except ImportError as error:
        replacement: Exception = _missing(described, error)
    except Exception as error:
        replacement = _replacement(described, doing, type(error).__name__, remedy)
    # Outside of the except block: even with "from None" the engine's error would stay reachable as the context.
    raise replacement


def _replacement(described: str, doing: str, name: str, remedy: str) -> TableError:
    rule = f"could not be {doing}: the engine reported {name}; its words are withheld because they may quote cells"
    return TableError("data", described, rule, remedy)


def _missing(described: str, error: ImportError) -> Exception:
    package = (error.name or "").split(".")[0]
    extra = EXTRAS.get(package)
    if extra:
        return MissingExtraError(package, extra)
    rule = (
        f"needs the package {package}, which is not installed" if package else "needs a package that is not installed"
    )
    return TableError("data", described, rule, "install Ibis with the part for this engine")
