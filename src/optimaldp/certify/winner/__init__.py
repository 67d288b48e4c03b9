"""The referee of "who wins?": where the flip envelope is proven private, and the finite certificate behind it."""
