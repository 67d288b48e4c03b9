"""One shape for every error that leaves the studio."""

from __future__ import annotations

from typing import Any

from optimaldp.errors import InputError, LedgerError, MissingExtraError, OptimalDPError, ReleaseError


def error_document(kind: str, message: str, *, field: str | None = None, remedy: str | None = None) -> dict[str, Any]:
    """``{"error": {"kind", "message", "field", "remedy"}}``, everywhere.

    >>> error_document("Timeout", "took longer than 30 s")["error"]["kind"]
    'Timeout'
    """
    return {"error": {"kind": kind, "message": message, "field": field, "remedy": remedy}}


def describe(error: Exception) -> tuple[int, dict[str, Any]]:
    """The status and document of an exception. Of an unforeseen one only the kind is told: its words might hold data."""
    kind = type(error).__name__
    if isinstance(error, InputError):
        return 400, error_document(kind, str(error), field=error.field, remedy=error.remedy or None)
    if isinstance(error, (LedgerError, MissingExtraError)):  # a refused spend is one of them
        return 409, error_document(kind, str(error))
    if isinstance(error, OptimalDPError) and not isinstance(error, ReleaseError):
        return 400, error_document(kind, str(error))
    if isinstance(error, ReleaseError):
        return 500, error_document(kind, str(error))
    return 500, error_document("InternalError", f"an unforeseen {kind} stopped the work; its words are withheld")
