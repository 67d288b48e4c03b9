"""Compiled loops: arrays in, arrays out. Nothing here validates, and nothing here imports from the layers above.

The same source runs as plain Python on small inputs and through numba on large ones, so that numba is loaded only when
it pays, and the compiled code can be compared with itself.
"""
