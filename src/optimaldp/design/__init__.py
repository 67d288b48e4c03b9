"""The optimisers: a problem in, the best private mechanism with its certificate out."""

from optimaldp.design.design import Design, design, solve
from optimaldp.design.outcome import Route, Status

__all__ = ["Design", "Route", "Status", "design", "solve"]
