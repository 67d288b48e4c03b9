"""The referee of a number's own theorem, without the looks from outside that every release has."""

from __future__ import annotations

from typing import Any

from optimaldp.certify.core import referee
from optimaldp.certify.core.examined import Finding


def examine_number(mechanism: Any) -> Finding:
    try:
        found: Finding = referee._theorem(referee._REFEREES[mechanism.name])(mechanism)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return Finding(False, (), f"its law cannot be examined: {type(error).__name__}")
    return found
