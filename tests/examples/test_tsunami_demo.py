"""The demonstration itself, shorter: three programs under Open MPI, MPICH and no MPI, started by ``couplet run``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import summarise

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "tsunami"
BUILD = Path(os.environ.get("COUPLET_BUILD_DIR", ROOT / "build" / "release")) / "examples" / "tsunami"
STEPS = 300


def replaced(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text, f"{old!r} is not there any more"
        text = text.replace(old, new)
    return text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Makes a copy of the run: few steps, and everything that it writes in one folder."""
    (tmp_path / "output").mkdir()
    toml = replaced(
        (EXAMPLE / "coupled.toml").read_text(),
        ("../../build/release/examples/tsunami", str(BUILD)),
        ('"python", "nowcast.py"', f'"{sys.executable}", "{EXAMPLE}/nowcast.py"'),
        ("../../.venv", str(ROOT / ".venv")),
        ("steps = 2880", f"steps = {STEPS}"),
    )
    (tmp_path / "coupled.toml").write_text(toml)
    (tmp_path / "ocean.nml").write_text(
        replaced((EXAMPLE / "ocean.nml").read_text(), ("steps = 2880", f"steps = {STEPS}"))
    )
    subprocess.run([sys.executable, EXAMPLE / "prepare.py", "output/sea.bin"], cwd=tmp_path, check=True, timeout=60)
    return tmp_path


def test_a_short_run_proves_itself(folder: Path) -> None:
    couplet = Path(sys.executable).parent / "couplet"
    command = [couplet, "run", "coupled.toml"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    output = folder / "output"
    # The only complaint is about the number of steps; how fast the three run beside other work is not judged here.
    assert summarise.main(output) == 1
    summary = summarise.summary_of(output)
    by_speed = re.compile("of the time|though it is slow")
    mistakes = [mistake for mistake in summarise.mistakes_in(summary) if not by_speed.search(mistake)]
    assert mistakes == [f"only {STEPS} steps were written"]
    nowcast, follower = summary["readers"]
    assert (nowcast["first"], nowcast["delivered"], nowcast["lost"]) == (0, STEPS, 0)
    assert follower["delivered"] > 0
    assert summary["bytes"] == STEPS * 900 * 900 * 4
    assert [program["ranks"] for program in summary["programs"]] == [2, 1, 1]
    versions = [program["mpi"] for program in summary["programs"]]
    assert [version.split(" v")[0].split(" V")[0] for version in versions] == ["Open MPI", "MPICH", "none"]
    record = np.load(output / "nowcast.npz")
    assert record["height"].max() > 1.0
    assert record["levels"].shape == (STEPS, 5)
    for picture in ("map.png", "gauges.png"):
        assert (output / picture).read_bytes().startswith(b"\x89PNG")
