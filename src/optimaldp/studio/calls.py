"""Every computation that the studio offers, by name: JSON text in, status and JSON text out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from optimaldp.documents.json_text import json_text, read_json_text
from optimaldp.errors import InputError
from optimaldp.studio.errors import describe
from optimaldp.studio.settings import TABLE_CALLS

Call = Callable[[dict[str, Any]], dict[str, Any]]


class Calls:
    """The calls of one worker. Heavy parts load with the first call that needs them."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = dict(settings)
        self._steward: Any = None

    def run(self, name: str, text: str) -> tuple[int, str]:
        """Run one call. Nothing is ever raised: an error is a document too."""
        try:
            return 200, json_text(self._find(name)(_object(text)))
        except Exception as error:
            status, document = describe(error)
            return status, json_text(document)

    def close(self) -> None:
        """Let go of the ledger."""
        if self._steward is not None:
            self._steward.close()

    def _find(self, name: str) -> Call:
        if name in TABLE_CALLS:
            return getattr(self._table(), name)  # type: ignore[no-any-return]
        if name in ("preview", "epsilon", "universe"):
            from optimaldp.studio import exploring

            return getattr(exploring, name)  # type: ignore[no-any-return]
        if name == "design":
            from optimaldp.studio.designing import design

            return design
        from optimaldp.studio import channelling

        return {"leakage": channelling.leakage, "optimal": channelling.optimal}[name]

    def _table(self) -> Any:
        if self._steward is None:
            from optimaldp.studio.releasing import Steward

            self._steward = Steward(**self._settings)
        return self._steward


def _object(text: str) -> dict[str, Any]:
    document = read_json_text(text or "{}", source="request")
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
