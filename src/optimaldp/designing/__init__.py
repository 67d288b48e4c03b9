"""The optimisers: a problem in, the best private mechanism with its certificate out."""

from optimaldp.designing.outcome import Route, Status
from optimaldp.designing.solving import Design, design, solve

__all__ = ["Design", "Route", "Status", "design", "solve"]
