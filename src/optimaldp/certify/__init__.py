"""The referee: checks privacy and optimality from a mechanism and its certificate alone.

Nothing here imports the designers or their kernels; every bound is derived again from the raw (epsilon, delta) of the levels.
"""
