"""Something to hand over: what was asked of a data set, what came out, and how far to trust it, in one file."""
