"""Peers whose pins exclude ours: each has an environment of its own under ``build/peers``, made once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

PLACE = Path("build/peers")
# Library and what is installed. torch first, since the index of some machines has it by this number alone.
_LIBRARIES: Mapping[str, tuple[str, ...]] = {
    "opendp": ("opendp[mbi]", "pandas"),  # its rows need pandas, which its extra does not bring
    "smartnoise": ("torch==2.13.0", "smartnoise-synth"),
    "dpmm": ("dpmm",),
    "tumult": ("tmlt.core",),
}
_PYTHONS = {"dpmm": "python3.11", "tumult": "python3.11"}
_INSTALLING = 600.0  # seconds

_TUMULT = """
import json, sys
from fractions import Fraction
from tmlt.core.measurements.noise_mechanisms import AddGeometricNoise
scale, draws = Fraction(sys.argv[1]), int(sys.argv[2])
noisy = AddGeometricNoise(scale)
print(json.dumps([int(noisy(600)) - 600 for _ in range(draws)]))
"""


def environment(library: str) -> Path | str:
    """The Python of a library's own environment; or why there is none."""
    folder = (PLACE / library).absolute()
    python, done = folder / "bin" / "python", folder / "installed"
    if done.exists():
        return python
    try:
        run([_PYTHONS.get(library, sys.executable), "-m", "venv", "--clear", str(folder)], seconds=_INSTALLING)
        for package in _LIBRARIES[library]:
            install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package]
            run(install, seconds=_INSTALLING)
    except (OSError, subprocess.SubprocessError) as error:
        return f"cannot be installed here: {reason(error)}"
    done.touch()
    return python


def tumult_noise(epsilon: float, draws: int) -> list[float] | str:
    """Draws of Tumult Core's geometric noise on a count; or why there are none."""
    python = environment("tumult")
    if isinstance(python, str):
        return python
    try:
        said = run([str(python), "-W", "ignore", "-c", _TUMULT, f"{round(100 / epsilon)}/100", str(draws)], seconds=120)
    except (OSError, subprocess.SubprocessError) as error:
        return f"does not run here: {reason(error)}"
    return [float(noise) for noise in json.loads(said)]


def run(command: list[str], *, seconds: float) -> str:
    """What a command prints. Nothing of ours is seen in there: no path to another version of a package, not our one thread."""
    ours = ("PYTHON", "OMP_", "OPENBLAS_", "MKL_")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=seconds, env=clean)
    return done.stdout


def reason(error: Exception) -> str:
    """Why a command failed, in one line."""
    if isinstance(error, subprocess.TimeoutExpired):
        return f"not finished after {error.timeout:g} seconds"
    said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
    return said[-1][:200] if said else type(error).__name__
