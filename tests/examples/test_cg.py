"""The conjugate gradients, with fewer cells than in make demo-cg."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from needs import built, launcher

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "cg"
BUILD = Path(os.environ.get("COUPLET_BUILD_DIR", ROOT / "build" / "release")) / "examples" / "cg"
# The methods that every installation with an MPI has.
ALWAYS = {"mapped", "two_sided", "isend", "persistent", "put_flag", "put_lock", "mapped+two_sided", "mapped+isend"}


def run(command: list[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200, check=False)


def start(folder: Path, flavour: str, ranks: int, *words: str) -> subprocess.CompletedProcess[str]:
    program = built(BUILD / f"poisson.{flavour}", "cpp", flavour)
    launcher(flavour)
    options = '["--oversubscribe", "--bind-to", "none"]' if flavour == "openmpi" else "[]"
    (folder / "coupled.toml").write_text(
        f'[[program]]\nname = "cg"\ncommand = {[program, *words]!r}\nlauncher = "{flavour}"\nranks = {ranks}\n'
        f"launcher_options = {options}\n"
        'environment = { OMPI_MCA_mpi_yield_when_idle = "1" }\n'
    )
    return run([Path(sys.executable).parent / "couplet", "run", "--plain", "coupled.toml"], folder)


def summarise(folder: Path) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, EXAMPLE / "summarise.py", "output"], folder)


@pytest.mark.parametrize(("flavour", "ranks"), [("openmpi", 3), ("mpich", 2)])
def test_all_methods_take_the_same_iterations(tmp_path: Path, flavour: str, ranks: int) -> None:
    done = start(tmp_path, flavour, ranks, "cells=7", "method=all", "repeats=1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "chosen by measurement: " in done.stdout
    head, *rows = (json.loads(line) for line in (tmp_path / "output" / "cg.jsonl").read_text().splitlines())
    assert head["ranks"] == ranks
    used = {row["method"] for row in rows if "seconds" in row}
    assert used >= ALWAYS, rows
    for row in rows:
        if row["method"] not in used:
            assert row["left_out"], row
    done = summarise(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "output" / "cg.png").read_bytes().startswith(b"\x89PNG")


def test_one_method_and_a_difference_that_is_noticed(tmp_path: Path) -> None:
    done = start(tmp_path, "openmpi", 2, "cells=9", "method=isend", "repeats=1")
    assert done.returncode == 0, done.stdout + done.stderr
    path = tmp_path / "output" / "cg.jsonl"
    head, row = path.read_text().splitlines()
    assert json.loads(row)["method"] == "isend"
    other = json.loads(row) | {"method": json.loads(head)["chosen"], "iterations": 1, "residual": 2e-10}
    path.write_text(f"{head}\n{row}\n{json.dumps(other)}\n")
    done = summarise(tmp_path)
    assert done.returncode == 1
    assert "1 iterations, and isend" in done.stdout
    assert "the residual is 2.000e-10" in done.stdout
    done = start(tmp_path, "openmpi", 2, "cells=9", "method=carrier_pigeon")
    assert done.returncode == 1
    assert "left out: " in done.stdout and "there is no method 'carrier_pigeon' here; there are " in done.stdout
