"""The optimisers: a problem in, the best private mechanism with its certificate out."""

from optimaldp.designing.result import Claim, Design, Proof, Route, Status
from optimaldp.designing.solving import design, solve

__all__ = ["Claim", "Design", "Proof", "Route", "Status", "design", "solve"]
