"""Every command, one import each: importing a command's module registers it."""

from __future__ import annotations

from optimaldp.cli import (  # noqa: F401
    audit,
    channel,
    design,
    histogram,
    leakage,
    ledger,
    papers,
    preview,
    release,
    report,
    sanitise,
    studio,
    verify,
)
