"""Privacy levels as JSON: ``{"epsilon": "ln(2)", "delta": "0.1"}``, a list of such, ``{"mu": 1}``, or one per direction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optimaldp.errors import LevelError
from optimaldp.privacy import ApproximateDP, Bound, Epsilon, GaussianDP, Level
from optimaldp.privacy.gaussian import read_gaussian
from optimaldp.privacy.numbers import fraction_text, read_probability

_WAY_OUT = 'write {"epsilon": "ln(2)", "delta": "0.1"}, a list of such, {"mu": 1}, or {"forward": …, "backward": …}'


def read_written_level(document: object, *, name: str) -> Level:
    """Read a level; errors name the field *name* and the value.

    >>> print(read_written_level({"epsilon": "ln(2)"}, name="privacy"), read_written_level({"mu": 1}, name="privacy"))
    (ln(2), 0)-DP 1-Gaussian DP
    """
    if isinstance(document, Mapping) and "mu" in document:
        return _read_gaussian(document, name)
    if isinstance(document, Mapping) and ("forward" in document or "backward" in document):
        _check_fields(document, name, required=("forward", "backward"))
        ahead, back = (_read_bounds(document[way], f"{name}.{way}") for way in ("forward", "backward"))
        return ApproximateDP(ahead, back)
    bounds = _read_bounds(document, name)
    return ApproximateDP(bounds, bounds)


def level_document(level: Level) -> Any:
    """Write a level such that :func:`read_written_level` gives it back exactly."""
    if isinstance(level, GaussianDP):
        return {"mu": fraction_text(level.mu)}
    if not isinstance(level, ApproximateDP):
        raise LevelError("level", str(level), "has no written form", "files hold (epsilon, delta) and Gaussian levels")
    if level.forward == level.backward:
        return _bounds_document(level.forward)
    return {"forward": _bounds_document(level.forward), "backward": _bounds_document(level.backward)}


def read_bound(document: object, *, name: str) -> Bound:
    """Read one promise ``{"epsilon": …, "delta": …}``; delta is 0 if it is left out, epsilon has no default."""
    if not isinstance(document, Mapping):
        raise LevelError(name, document, "is not a privacy level", _WAY_OUT)
    _check_fields(document, name, required=("epsilon",), optional=("delta",))
    return Bound(
        Epsilon.read(document["epsilon"], name=f"{name}.epsilon"),
        read_probability(document.get("delta", 0), name=f"{name}.delta", error=LevelError, tiny=False),
    )


def bound_document(bound: Bound) -> dict[str, Any]:
    """Write one promise exactly."""
    return {"epsilon": str(bound.epsilon), "delta": fraction_text(bound.delta)}


def _read_gaussian(document: Mapping[str, Any], name: str) -> GaussianDP:
    _check_fields(document, name, required=("mu",))
    return read_gaussian(document["mu"], name=f"{name}.mu")


def _read_bounds(document: object, name: str) -> tuple[Bound, ...]:
    if not isinstance(document, list):
        return (read_bound(document, name=name),)
    if not document:
        raise LevelError(name, document, "is empty", "name at least one level")
    return tuple(read_bound(item, name=f"{name}[{i}]") for i, item in enumerate(document))


def _bounds_document(bounds: tuple[Bound, ...]) -> Any:
    documents = [bound_document(bound) for bound in bounds]
    return documents[0] if len(documents) == 1 else documents


def _check_fields(
    document: Mapping[str, Any], name: str, *, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> None:
    if unknown := [field for field in document if field not in required + optional]:
        raise LevelError(name, unknown[0], "is an unknown field", _WAY_OUT)
    if missing := [field for field in required if field not in document]:
        raise LevelError(f"{name}.{missing[0]}", dict(document), "is missing it", "there is no default")
