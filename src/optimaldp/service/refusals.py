"""What is said when something is refused: one shape, whole sentences, and nothing that depends on the data."""

from __future__ import annotations

from typing import Any

from optimaldp.errors import BudgetError, InputError, LedgerError, OptimalDPError, shorten

FAILED = "No answer was given. What was reserved stays spent."
"""Whatever went wrong after data could be read, and whatever took too long."""
UNAVAILABLE = "The data set cannot be read at the moment. Nothing was spent; tell the steward."
LEDGER_UNAVAILABLE = "The ledger did not answer. No answer was given; a spend under way may have been made."
BUSY = "Too many questions wait. Nothing was spent; ask again later."
_LESS = (
    "Ask for less (GET /v1/remaining says what is left), or repeat a question of GET /v1/history, which costs nothing. "
    "The steward can give you a larger share of the data set's budget, which itself never grows."
)
NO_KEY = (
    "A key is needed: send the header Authorization: Bearer KEY. The key is missing, wrong, expired or revoked. "
    "The steward makes a new one."
)
KEY_IN_URL = (
    "A key was sent in the URL, where logs and histories keep it. Have the steward revoke it, and send it in a header."
)


class Refused(Exception):  # noqa: N818 - read as a sentence: raise Refused(404, …)
    """An answer that is a refusal: its status and what it says."""

    def __init__(self, status: int, message: str, *, headers: dict[str, str] | None = None, **parts: Any) -> None:
        self.status, self.headers = status, headers or {}
        self.document = error_document(message, **parts)
        super().__init__(message)

    @property
    def sentence(self) -> str:
        return str(self.document["error"]["message"])


def error_document(
    message: str, *, field: str | None = None, value: object = None, rule: str | None = None, remedy: str | None = None
) -> dict[str, Any]:
    """The one shape of an error."""
    shown = None if value is None else shorten(value)
    return {"error": {"message": message, "field": field, "value": shown, "rule": rule, "remedy": remedy}}


def refusal_of(error: OptimalDPError) -> Refused:
    """An error that was raised before anything was read, as an answer."""
    if isinstance(error, InputError):
        return Refused(
            400, str(error), field=error.field, value=error.value, rule=error.rule, remedy=error.remedy or None
        )
    if isinstance(error, BudgetError):
        return Refused(409, f"{error} {_LESS}", field="epsilon", rule="is more than the budget covers", remedy=_LESS)
    if isinstance(error, LedgerError):
        return Refused(503, LEDGER_UNAVAILABLE)
    return Refused(500, FAILED)


_WHERE = {
    "data set": "GET /v1/datasets lists yours; the steward adds others.",
    "request": "GET /v1/requests lists those that you may see.",
    "address": "GET /v1/openapi.json lists all of them.",
    "asker": "GET /v1/askers lists yours.",
    "key": "GET /v1/keys lists yours.",
}


def unknown(what: str) -> Refused:
    """The same for a thing that does not exist and for one that is somebody else's."""
    return Refused(404, f"There is no such {what} for you. {_WHERE[what]}")
