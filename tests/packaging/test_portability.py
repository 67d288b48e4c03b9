"""Nothing in the package needs Unix, or a system whose texts are UTF-8 by default."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from source_trees import source_trees

UNIX_MODULES = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "posix"}
UNIX_NAMES = {
    "os": {"fork", "forkpty", "setsid", "killpg", "getpgid", "getuid", "geteuid", "getgid", "chown", "lchown", "fchmod", "fchown"}
    | {"mkfifo", "mknod", "uname", "nice", "wait", "waitid", "sched_getaffinity", "getloadavg", "statvfs", "O_DIRECTORY"}
    | {"O_NOFOLLOW", "O_CLOEXEC", "O_SYNC", "O_DSYNC", "openpty", "pread", "pwrite", "posix_fallocate"},
    "signal": {"SIGKILL", "SIGALRM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGPIPE", "SIGCHLD", "alarm", "setitimer", "pause"},
    "socket": {"AF_UNIX", "SO_REUSEPORT", "fromfd"},
    "asyncio": {"open_unix_connection", "start_unix_server"},
}  # fmt: skip


def unix_only(tree: ast.AST) -> Iterator[str]:
    """Imports and names that do not exist on Windows; ``getattr(os, "name", default)`` is the way to use one where it exists."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in UNIX_MODULES)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            module = node.module or ""
            if module in UNIX_MODULES:
                yield module
            yield from (f"{module}.{a.name}" for a in node.names if a.name in UNIX_NAMES.get(module, ()))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.attr in UNIX_NAMES.get(node.value.id, ()):
                yield f"{node.value.id}.{node.attr}"
            if node.attr == "add_signal_handler":
                yield "add_signal_handler"


def unencoded(tree: ast.AST) -> Iterator[str]:
    """Texts that are read or written in whatever encoding the system prefers."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or any(keyword.arg == "encoding" for keyword in node.keywords):
            continue
        positions = {"read_text": 0, "write_text": 1}
        if isinstance(node.func, ast.Attribute) and len(node.args) == positions.get(node.func.attr, -1):
            yield f"line {node.lineno}: {node.func.attr} without an encoding"
        if isinstance(node.func, ast.Name) and node.func.id == "open":
            modes = [
                a.value
                for a in [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "mode")]
                if isinstance(a, ast.Constant)
            ]
            if len(node.args) < 4 and not any("b" in str(mode) for mode in modes):
                yield f"line {node.lineno}: open without an encoding"


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("import fcntl", 1),
        ("from os import fork", 1),
        ("import os\nos.killpg(1, signal.SIGKILL)", 2),
        ("getattr(os, 'O_DIRECTORY', 0)", 0),
        ("os.getpid()", 0),
    ],
)
def test_the_search_sees_unix(source: str, count: int) -> None:
    assert len(list(unix_only(ast.parse(source)))) == count


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("path.read_text()", 1),
        ("path.write_text(text)", 1),
        ("open(path)", 1),
        ("open(path, 'w')", 1),
        (
            "open(path, 'rb'), open(path, encoding='utf-8'), path.read_text('utf-8'), path.write_text(text, encoding='utf-8')",
            0,
        ),
    ],
)
def test_the_search_sees_encodings(source: str, count: int) -> None:
    assert len(list(unencoded(ast.parse(source)))) == count


def _all(search: object) -> dict[str, list[str]]:
    assert callable(search)
    return {name: hits for name, tree in source_trees().items() if (hits := list(search(tree)))}


def test_nothing_is_for_unix_alone() -> None:
    assert _all(unix_only) == {}


def test_every_text_names_its_encoding() -> None:
    assert _all(unencoded) == {}
