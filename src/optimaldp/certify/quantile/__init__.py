"""The referee of quantiles. It shares no code with the laws: it is shown a law and derives everything again."""

from optimaldp.certify.quantile.examine import examine, examine_several
from optimaldp.certify.quantile.quartiles import examine_quartiles
from optimaldp.certify.quantile.reading import second_reading

__all__ = ["examine", "examine_quartiles", "examine_several", "second_reading"]
