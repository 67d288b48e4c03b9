"""What a design yields: a mechanism, with the certificate that the referee checks."""

from optimaldp.mechanisms.certificate import BoundTree, Certificate, Claimed, DualProof, EventConstraint, How, Settling
from optimaldp.mechanisms.mechanism import Mechanism
from optimaldp.mechanisms.rows import FloatRows, SharedRows, TwoSides

__all__ = [
    "BoundTree",
    "Certificate",
    "Claimed",
    "DualProof",
    "EventConstraint",
    "FloatRows",
    "How",
    "Mechanism",
    "Settling",
    "SharedRows",
    "TwoSides",
]
