"""Shared by all tests."""

from __future__ import annotations

from hypothesis import settings

# No test is timed: the first example of a test may load scipy or compile a kernel.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
