"""Build the page that verifies releases in a browser: Python from npm, flint's wheel where it can be had, and our own sources.

    python -m tools.verify_page build/docs/verify

Nothing of others is kept in the repository: what is fetched goes to build/, and the page serves it from its own site.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "verify"
FETCHED = ROOT / "build" / "fetched"
PYODIDE = "pyodide@314.0.7"
# The Python of that version, as its wheels name it.
FLINT = ("python-flint==0.9.0", "pyemscripten_2026_0_wasm32", "3.14", "cp314")
_RUNTIME = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
# What no verification and no preview touches: pages, pictures, commands, other libraries' types.
_LEFT_OUT = ("cli", "studio", "papers", "plots", "interop", "sanitising", "reporting", "ledger")


def build(target: Path) -> None:
    """Write the whole page into *target*."""
    target.mkdir(parents=True, exist_ok=True)
    for name in ("index.html", "verify.css", "verify.js", "worker.js"):
        shutil.copy(PAGE / name, target / name)
    _unpack_runtime(pyodide_archive(), target / "pyodide")
    _pack_sources(target / "optimaldp.zip")
    flint = flint_wheel()
    if flint is not None:
        shutil.copy(flint, target / flint.name)
    files = {"sources": "optimaldp.zip", "flint": None if flint is None else flint.name}
    (target / "files.json").write_text(json.dumps(files), "utf-8")


def pyodide_archive() -> Path:
    """The archive of Pyodide as npm delivers it; fetched once."""
    folder = FETCHED / PYODIDE.replace("@", "-")
    if not (known := list(folder.glob("pyodide-*.tgz"))):
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "pack", "--silent", PYODIDE], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        known = list(folder.glob("pyodide-*.tgz"))
    return known[0]


def flint_wheel() -> Path | None:
    """The wheel of python-flint for that Python, or ``None``: then the page computes in plain Python and says so."""
    requirement, platform, python, abi = FLINT
    folder = FETCHED / f"{requirement.replace('==', '-')}-{platform}"
    if not (known := list(folder.glob("python_flint-*.whl"))):
        wanted = ["--platform", platform, "--python-version", python, "--implementation", "cp", "--abi", abi]
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", *wanted]
        subprocess.run([*command, "--dest", str(folder), requirement], check=False, stderr=subprocess.DEVNULL)
        known = list(folder.glob("python_flint-*.whl"))
    return known[0] if known else None


def _unpack_runtime(archive: Path, target: Path) -> None:
    target.mkdir(exist_ok=True)
    with tarfile.open(archive) as opened:
        for name in _RUNTIME:
            content = opened.extractfile(f"package/{name}")
            assert content is not None
            (target / name).write_bytes(content.read())


def _pack_sources(target: Path) -> None:
    """Our own modules, and what the page calls in them."""
    package = ROOT / "src" / "optimaldp"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(package.rglob("*")):
            inside = path.relative_to(package)
            if path.suffix in (".py", ".json") and inside.parts[0] not in _LEFT_OUT:
                packed.write(path, Path("optimaldp", inside))
        packed.write(PAGE / "examine.py", "examine.py")


def main() -> int:
    if shutil.which("npm") is None:
        print("The page for verifying was not built: npm, which brings Pyodide, is not installed.")
        return 0
    build(Path(sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
