"""Linear programs: HiGHS finds a vertex in floating point, rationals confirm it, and its multipliers are the proof."""
