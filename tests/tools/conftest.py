"""A small tree in a fresh directory, into which a test puts what a check must find."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(PROJECT / "tools" / "check"), str(PROJECT / "tools" / "generate")]

from tree import Tree  # noqa: E402


@pytest.fixture
def make_tree(tmp_path: Path) -> Callable[[dict[str, str]], Tree]:
    """Makes a checkout with the given files, and the project's own settings."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for name in (".clang-format", ".clang-tidy", "src/layers.toml", "pyproject.toml", "tools/requirements.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((PROJECT / name).read_text())

    def make(files: dict[str, str]) -> Tree:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return Tree(tmp_path)

    return make
