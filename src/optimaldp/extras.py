"""Optional parts: which extra brings which package, and the one way to import from it."""

from __future__ import annotations

import warnings
from functools import cache
from importlib import import_module
from types import TracebackType
from typing import Any

from optimaldp.errors import MissingExtraError

# The package that is imported -> the extra of pyproject.toml that installs it. A test compares the two.
EXTRAS = {
    "scipy": "solvers",
    "numba": "compiled",
    "matplotlib": "plots",
    "starlette": "studio",
    "uvicorn": "studio",
    "httpx": "service",
    "mcp": "service",
    "ibis": "ibis",
    "pyspark": "spark",
    "sqlalchemy": "postgres",
    "psycopg": "postgres",
    "prometheus_client": "service",
    "authlib": "oidc",
    "dp_accounting": "accounting",
    "mbi": "sanitise",
    "opendp": "opendp",
    "pandas": "interop",
    "polars": "interop",
    "networkx": "interop",
}


class requiring:  # noqa: N801 - read as a clause: with requiring("scipy")
    """Import from an optional package; where it is not installed the error names the extra that brings it.

    >>> with requiring("scipy"):
    ...     from scipy.optimize import linprog
    """

    def __init__(self, package: str) -> None:
        self.package = package
        self.extra = EXTRAS[package]

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Anything else that fails to import is a broken installation, and its own message says more than ours.
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == self.package:
            raise MissingExtraError(self.package, self.extra) from None


@cache
def numba_if_installed() -> Any | None:
    """The compiler, or ``None``: every loop has one source, which then runs as plain Python. Says so once."""
    try:
        return import_module("numba")  # by name: its functions carry no types
    except ModuleNotFoundError:
        remedy = f"pip install 'optimaldp[{EXTRAS['numba']}]' compiles it"
        warnings.warn(
            f"numba is not installed, so a long loop runs as plain Python, some hundred times slower: {remedy}.",
            stacklevel=3,
        )
        return None


@cache
def numpy_if_installed() -> Any | None:
    """Arrays, or ``None`` where there are none, as in a reader's browser: what a referee tries on few cells runs without."""
    try:
        return import_module("numpy")
    except ModuleNotFoundError:
        return None
