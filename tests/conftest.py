"""Shared by all tests."""

from __future__ import annotations

import gc

import pytest
from hypothesis import settings

# No test is timed: the first example of a test may load scipy or compile a kernel.
settings.register_profile("untimed", deadline=None)
# The quick run tries fewer examples of each law than make test-all; every run draws others.
settings.register_profile("quick", deadline=None, max_examples=50)

gc.disable()  # until everything is collected: thousands of tests are made, and nothing of them is rubbish


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("quick" if "not slow" in config.option.markexpr else "untimed")


def pytest_collection_finish() -> None:
    gc.freeze()  # tests and modules stay: no later look for rubbish walks over them
    gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # extension modules count what is left at the end
