"""The helpers of this folder, and the command ``couplet`` in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from launching import BUILD
from needs import built, launcher
from typer.testing import CliRunner

from couplet.cli import app

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def couplet() -> Callable[..., Any]:
    """couplet("predict", "--model", ...) -> exit status, output and errors."""
    runner = CliRunner()
    return lambda *words: runner.invoke(app, [str(word) for word in words])


@pytest.fixture(scope="session")
def rehearsal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with measurement.json and report.html of two rehearsed nodes of four ranks, under Open MPI."""
    launcher("openmpi")
    built(BUILD / "libexec" / "couplet" / "couplet-probe-openmpi", "cpp", "openmpi")
    folder = tmp_path_factory.mktemp("rehearsal")
    words = ["probe", "--launcher", "openmpi", "--launcher-option=--oversubscribe", "-n", "8", "--nodes", "4,4"]
    words += ["--bytes", "16K", "--repetitions", "3", "--warm-up", "1", "--machine", "rehearsed"]
    words += ["-o", str(folder / "measurement.json"), "--report", str(folder / "report.html")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COUPLET_LIBEXEC", str(BUILD / "libexec" / "couplet"))
        result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.stderr
    return folder
