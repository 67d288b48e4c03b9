"""``optimaldp histogram``: the least possible error of a private histogram, or one private histogram."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from optimaldp.cli import app
from optimaldp.cli.options import print_bars, read_json
from optimaldp.errors import HistogramError

if TYPE_CHECKING:
    from optimaldp.histograms import HistogramRelease


@app.command()
def histogram(
    epsilon: str = typer.Option(..., help="The privacy level: 0.5, 1/2 or 'ln(2)'. There is no default."),
    counts: str | None = typer.Option(
        None, help="A JSON list of counts (a file, or - for standard input): release it."
    ),
    bins: str | None = typer.Option(
        None, metavar="K", help="A number of bins: print the least possible error; with --counts, check it."
    ),
    persons: str | None = typer.Option(
        None, metavar="N", help="With --bins: also the expected error of every remap for N people, beside the least."
    ),
    neighbours: str = typer.Option(
        "substitution",
        help="'substitution' (one record replaced, the total is public) or 'add-remove' (it is private).",
    ),
    prior: str | None = typer.Option(
        None,
        help="Public belief: flat, uniform, a JSON list of probabilities, dirichlet:[1, 2, 3]; with add-remove poisson:[5, 2].",
    ),
    remap: str | None = typer.Option(
        None,
        help="automatic (default), bayes (default with a prior), projection, top-fill, empirical-bayes, threshold, ball, none.",
    ),
    plot: str | None = typer.Option(None, help="Also draw a picture into this file (.png, .svg, .pdf)."),
) -> None:
    """Make counts that you give private (--counts), or print the least error that is possible (--bins)."""
    size = None if bins is None else _read_whole("bins", bins)
    total = None if persons is None else _read_whole("persons", persons)
    if plot is not None:
        _check_picture(plot)
    if counts is not None:
        if total is not None:
            raise HistogramError("persons", total, "does not go with --counts", "their total is the number of persons")
        _release(epsilon, counts, size, neighbours, prior, remap, plot)
    elif size is not None:
        _refuse("--bins", neighbours=neighbours, prior=None if total else prior, remap=remap)
        _least_error(epsilon, size, total, prior, plot)
    else:
        raise HistogramError(
            "counts", "nothing", "was given", "pass --counts FILE to release, or --bins K for the error"
        )


def _read_whole(field: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise HistogramError(field, text, "is not a whole number", f"write --{field} 4") from None


def _check_picture(path: str) -> None:
    """Before anything is sampled: a draw that could not be shown would be wasted."""
    target = Path(path)
    if target.suffix.lower() not in (".png", ".svg", ".pdf") or not target.parent.is_dir():
        raise HistogramError("plot", path, "cannot be written", "name a .png, .svg or .pdf in a folder that exists")


def _refuse(option: str, *, neighbours: str, prior: str | None, remap: str | None) -> None:
    other = neighbours if neighbours != "substitution" else prior or remap
    if other is not None:
        rule = f"does not go with {option} alone"
        raise HistogramError("bins", other, rule, "the least error is that of replaced records and many persons")


def _release(
    epsilon: str, path: str, bins: int | None, neighbours: str, prior: str | None, remap: str | None, plot: str | None
) -> None:
    from optimaldp.histograms import private_histogram

    table = read_json(path)
    if not isinstance(table, list):
        raise HistogramError("counts", type(table).__name__, "is not a JSON list", "write [5, 0, 12, 3]")
    if bins is not None and bins != len(table):
        raise HistogramError(
            "bins", bins, f"does not match the list of {len(table)} counts", "leave out --bins, or correct it"
        )
    # The list that is printed adds up to the total of the list that was read, wherever that is public.
    release = private_histogram(
        table, epsilon=epsilon, neighbours=neighbours, prior=_read_prior(prior), remap=remap, keep_total=True
    )
    if plot is not None:
        _save(release.plot(), plot)
    typer.echo(json.dumps(list(release.counts)))
    _explain(release)


def _explain(release: HistogramRelease) -> None:
    """On a terminal, draw bars and say what was promised, on standard error: standard output holds the list alone."""
    if sys.stdout.isatty():
        print_bars(release.labels, release.counts, err=True)
        typer.echo(release.statement(), err=True)


def _least_error(epsilon: str, bins: int, persons: int | None, prior: str | None, plot: str | None) -> None:
    from optimaldp.histograms import compare_remaps, histogram_noise

    noise = histogram_noise(bins, epsilon=epsilon)
    document = _error_document(noise)
    if persons is None:
        if plot is not None:
            from optimaldp.plots.histograms import draw_error_curve

            _save(draw_error_curve(bins, epsilon=noise.epsilon), plot)
    else:
        belief = "uniform" if prior is None else _read_prior(prior)
        comparison = compare_remaps(bins, persons, epsilon=noise.epsilon, prior=belief)
        document["finite"] = comparison.to_document()
        if plot is not None:
            _save(comparison.plot(), plot)
    typer.echo(json.dumps(document))


def _error_document(noise: Any) -> dict[str, Any]:
    from optimaldp.histograms import exact_error, many_bins_error, optimal_error
    from optimaldp.privacy.neighbours import Neighbours

    document: dict[str, Any] = {
        "optimal_error": optimal_error(noise.bins, epsilon=noise.epsilon),
        "bins": noise.bins,
        "epsilon": str(noise.epsilon),
        "neighbours": Neighbours.SUBSTITUTION.value,
        "error_quantile_95": noise.error_quantile("0.95"),
        "bin_quantile_95": noise.bin_quantile("0.95"),
        "many_bins_limit": many_bins_error(noise.bins, epsilon=noise.epsilon),
    }
    if noise.epsilon.exact_ratio is not None and noise.bins <= 100:
        document["exact"] = str(exact_error(noise.bins, epsilon=noise.epsilon))
    return document


def _read_prior(text: str | None) -> Any:
    from optimaldp.histograms.prior_text import read_prior_text

    return None if text is None else read_prior_text(text)


def _save(figure: Any, path: str) -> None:
    from optimaldp.plots.style import save

    try:
        save(figure, path)
    except OSError:
        raise HistogramError(
            "plot", path, "cannot be written", "name a .png, .svg or .pdf in a folder that exists"
        ) from None
