"""Every computation that the studio offers, by name: JSON text in, status and JSON text out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

from optimaldp.documents.json_text import json_text, read_json_text
from optimaldp.errors import InputError, LedgerError, MissingExtraError, OptimalDPError, ReleaseError
from optimaldp.studio.desk import Desk
from optimaldp.studio.settings import TABLE_CALLS

# One shape for every error that leaves the studio.


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


Call = Callable[[dict[str, Any]], dict[str, Any]]


class Calls:
    """The calls of one worker. Heavy parts load with the first call that needs them."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = dict(settings)
        self._desk: Any = None

    def run(self, name: str, text: str) -> tuple[int, str]:
        """Run one call. Nothing is ever raised: an error is a document too."""
        try:
            return 200, json_text(self._find(name)(_object(text)))
        except Exception as error:
            status, document = describe(error)
            return status, json_text(self._by_its_name(document))

    def close(self) -> None:
        """Let go of the ledger."""
        if self._desk is not None:
            self._desk.close()

    def _by_its_name(self, document: dict[str, Any]) -> dict[str, Any]:
        """A file that was given to the page is called as its owner calls it."""
        name, path, error = self._settings.get("name"), self._settings.get("data"), document["error"]
        if name is None or path is None:
            return document
        return {"error": error | {"message": error["message"].replace(path, name)}}

    def _find(self, name: str) -> Call:
        if name in TABLE_CALLS:
            return partial(getattr(import_module(f"optimaldp.studio.{TABLE_CALLS[name]}"), name), self._table())
        module = import_module(f"optimaldp.studio.{_PUBLIC[name]}")
        return getattr(module, name)  # type: ignore[no-any-return]

    def _table(self) -> Any:
        if self._desk is None:
            self._desk = Desk(**self._settings)
        return self._desk


_PUBLIC = {
    "sheets": "exploring",
    "preview": "exploring",
    "epsilon": "exploring",
    "universe": "exploring",
    "design": "research",
    "leakage": "research",
    "optimal": "research",
    "estimate": "exploring",
}
"""The calls that need no table, by the module that answers them."""


def _object(text: str) -> dict[str, Any]:
    document = read_json_text(text or "{}", source="body", field="request")
    if not isinstance(document, dict):
        raise InputError("request", document, "is not a JSON object")
    return document


def read_fields(body: Mapping[str, Any], required: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """The fields of a request, strictly: a misspelt one must not be silently left out."""
    if unknown := [name for name in body if name not in required + optional]:
        known = ", ".join(required + optional)
        raise InputError("request", unknown[0], "is an unknown field", f"the fields are {known}")
    if missing := [name for name in required if body.get(name) in (None, "")]:
        raise InputError(missing[0], body.get(missing[0]), "is missing", f"give {missing[0]}")
    return {name: body[name] for name in required + optional if body.get(name) is not None}
