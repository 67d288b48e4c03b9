"""The one place where an answer is drawn from a certified mechanism, with a second calculation of what was drawn."""

from __future__ import annotations

from typing import Any

from optimaldp.certify.findings import Certified
from optimaldp.certify.questions.second_calculation import confirms
from optimaldp.errors import NotCertifiedError, SecondCalculationError
from optimaldp.laws.setting import Table
from optimaldp.sampling import BitSource


def draw(certified: Certified[Any], table: Table, source: BitSource) -> Any:
    """Draw an answer. Only what the referee has passed is accepted; a law that is not confirmed a second time gives none."""
    if not isinstance(certified, Certified):
        raise NotCertifiedError("Only a certified mechanism can be drawn from. Nothing was sampled.")
    mechanism = certified.mechanism
    answer = mechanism.draw(table, source)
    # After the draw and whatever was drawn: that it is made tells nothing, and its failure is one fixed sentence.
    if not confirms(mechanism, table):
        raise SecondCalculationError
    return answer
