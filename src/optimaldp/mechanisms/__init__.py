"""What a design yields: a mechanism, with the certificate that the referee checks."""

from optimaldp.mechanisms.certificate import BoundTree, Certificate, DualProof, EventConstraint
from optimaldp.mechanisms.mechanism import Mechanism
from optimaldp.mechanisms.rows import FloatRows, SharedRows, TwoSides

__all__ = [
    "BoundTree",
    "Certificate",
    "DualProof",
    "EventConstraint",
    "FloatRows",
    "Mechanism",
    "SharedRows",
    "TwoSides",
]
