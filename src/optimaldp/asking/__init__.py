"""Asking: the one line along which a question goes: request, table, mechanism, referee, ledger, draw, release."""
