"""The page that a report is written on: one file, no script, no network, printable."""

from __future__ import annotations

import html

_STYLE = """
body { font: 16px/1.5 system-ui, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; color: #1b1f24; max-width: 50rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 2px solid #0072B2; }
h3 { font-size: 1rem; overflow-wrap: anywhere; margin: 1.6rem 0 .3rem; } .soft { color: #55606d; font-size: .9rem; }
.big { font-size: 1.7rem; font-weight: 700; margin: .2rem 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid #d5dae0;
  overflow-wrap: anywhere; }
td.number { text-align: right; font-variant-numeric: tabular-nums; } table.answers { width: auto; }
.asked th { white-space: nowrap; }
.picture { display: block; width: 100%; height: auto; margin: .6rem 0 0; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .1rem 1rem; margin: .2rem 0; padding: 0; font-size: .85rem; }
dl { display: grid; grid-template-columns: minmax(7rem, 10rem) minmax(0, 1fr); gap: .15rem 1rem; font-size: .9rem; }
dt { color: #55606d; } dd { margin: 0; overflow-wrap: anywhere; } code { overflow-wrap: anywhere; }
@media (max-width: 34rem) { dl { grid-template-columns: minmax(0, 1fr); } }
@media print { body { margin: 0; max-width: none; } section { break-inside: avoid; } h2.appendix { break-before: page; } }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def standing_alone(title: str, body: str) -> str:
    """A whole page from its title, which is escaped here, and its body, which is markup."""
    shown = html.escape(title)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{shown}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><style>{_STYLE}</style></head>'
        f"<body><h1>{shown}</h1>{body}</body></html>\n"
    )
