"""The referee of channels: privacy and optimality from the matrix alone, without a line of the code that finds channels."""

from optimaldp.certify.channels.verdict import ChannelVerdict, verify_channel

__all__ = ["ChannelVerdict", "verify_channel"]
