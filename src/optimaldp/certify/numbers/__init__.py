"""The referee of numbers: one file for each theorem. It shares no arithmetic with what it examines."""

from __future__ import annotations

from optimaldp.certify.numbers.crossing import check_family
from optimaldp.certify.numbers.direct_sums import confirm_crossing, confirm_ladder
from optimaldp.certify.numbers.parts import RefusedError
from optimaldp.certify.numbers.sums import check_noise_law, confirm_noise

__all__ = [
    "RefusedError",
    "check_family",
    "check_noise_law",
    "confirm_crossing",
    "confirm_ladder",
    "confirm_noise",
]
