"""The spacecraft: a Fortran solver, a coupler, workers in C and Python; their results against the spacecraft's
record.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from needs import built

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "spacecraft"
BUILD = Path(os.environ.get("COUPLET_BUILD_DIR", ROOT / "build" / "release")) / "examples" / "spacecraft"


def run(command: list[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder in which the example has run."""
    built(BUILD / "magnetosphere", "fortran", "openmpi")
    folder = tmp_path_factory.mktemp("spacecraft")
    (folder / "output").mkdir()
    toml = (EXAMPLE / "coupled.toml").read_text()
    for old, new in (
        ("../../build/release/examples/spacecraft", str(BUILD)),
        ('"python", "turns.py"', f'"{sys.executable}", "{EXAMPLE}/turns.py"'),
    ):
        assert old in toml
        toml = toml.replace(old, new)
    (folder / "coupled.toml").write_text(toml)
    done = run([Path(sys.executable).parent / "couplet", "run", "coupled.toml"], folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 requests in 1500 steps" in done.stdout
    return folder


def summarise(folder: Path) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, EXAMPLE / "summarise.py", "output"], folder)


def test_findings_are_right(folder: Path) -> None:
    done = summarise(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("4 fronts and 4 pile-ups looked at over 40 steps each")
    assert (folder / "output" / "spacecraft.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("line", [0, 1], ids=["a normal", "a current"])
def test_a_wrong_finding_is_noticed(folder: Path, line: int) -> None:
    events = folder / "output" / "events.txt"
    right = events.read_text()
    lines = right.splitlines()
    words = lines[line].split()
    words[2] = f"{float(words[2]) * 0.999:.16e}"
    lines[line] = " ".join(words)
    try:
        events.write_text("\n".join(lines) + "\n")
        done = summarise(folder)
    finally:
        events.write_text(right)
    assert done.returncode == 1
    assert f"WRONG: step {words[0]}" in done.stdout
