"""Every command: importing this module registers all of them."""

from __future__ import annotations

from importlib import import_module

from optimaldp.cli import COMMANDS

for _name in COMMANDS:
    import_module(f"optimaldp.cli.{_name}")
