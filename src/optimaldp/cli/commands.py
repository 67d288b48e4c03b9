"""Every command, one import each: importing a command's module registers it."""

from __future__ import annotations

from optimaldp.cli import histogram, ledger, release  # noqa: F401
