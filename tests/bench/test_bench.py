"""bench/run still runs, and prints what its readers expect. The figures of such short runs have no meaning."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def bench(*words: str) -> dict[str, dict[str, Any]]:
    """Returns what it prints, by case."""
    command = [sys.executable, str(ROOT / "bench" / "run"), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return {line["case"]: line for line in map(json.loads, done.stdout.splitlines())}


def check(case: dict[str, Any], bench_name: str, unit: str) -> None:
    assert case["bench"] == bench_name and case["unit"] == unit and case["samples"] >= 1
    for figures in (case["ours"], case["limit"], *case["baselines"].values()):
        assert figures["best"] > 0 and figures["median"] > 0
    assert {"limit", *case["baselines"]} <= set(case["ratio"])


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_series(mpi: str) -> None:
    cases = bench("series", "--mpi", mpi, "--slots", "8", "--case", "claim", "--case", "newest")
    assert set(cases) == {"claim", "newest"}
    for case in cases.values():
        check(case, "series", "us")


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_series_paper(mpi: str, tmp_path: Path) -> None:
    """Every way of handing steps over delivers the right content of every step."""
    plot = tmp_path / "plot.png"
    cases = bench("series-paper", "--mpi", mpi, "--n", "1", "--buffer", "8slots", "--no-sst", "--plot", str(plot))
    wanted = ("added", "added-in-place", "read", "end_to_end", "read-window")
    assert set(cases) == {f"8slots/{mpi}/{figure}" for figure in wanted}
    for case in cases.values():
        check(case, "series-paper", "ms")
        assert any(way.startswith("get_ring/allocated") for way in case["baselines"])
    assert plot.stat().st_size > 10_000
