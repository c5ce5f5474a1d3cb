"""The helpers of this folder, and the command ``couplet`` in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from couplet.cli import app

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def couplet() -> Callable[..., Any]:
    """couplet("predict", "--model", ...) -> exit status, output and errors."""
    runner = CliRunner()
    return lambda *words: runner.invoke(app, [str(word) for word in words])
