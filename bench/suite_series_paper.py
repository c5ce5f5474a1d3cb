"""bench/run series-paper: the evaluation of the paper on the time-series buffer, for every way of handing steps over.

There are 100 N steps of 900 x 900 int for N = 1..10, and the reader takes the box (150,150)-(750,750) of each. There
are two sizes of buffer: 4 GB, with which no process ever waits, and 8 slots, which fit into the cache (the writer
waits, and nothing is lost). All ways of one MPI and one size run in turn in one job. ADIOS2's SST runs in a pair of
processes of its own.

Prints one JSON object on each line. `case` is BUFFER/MPI/FIGURE. FIGURE is `added` (time in the writer's calls, ms per
step; `added-in-place` for steps filled in place), `read` (the reader's time in taking boxes, ms per step) or
`end_to_end` (ms per step). `best` and `median` are over N and rounds, and `by_n` has the medians for each N. `limit` is
the better of two rings of shared memory written by hand, one with memcpy and one with non-temporal stores. Draws the
times into series-paper.png.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from common.hub import running_hub
from suite_series import BOX_BYTES, LAUNCHERS, STEP_BYTES, available_bytes, figures, paired_ratio, rounded

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "bench" / "series_paper"
BUFFERS = {"4GB": (4 << 30) // STEP_BYTES, "8slots": 8}
# Memory regions of the size of the buffer: ours (mapped, window), the ring by hand, both kinds of windows; and the
# boxes read.
REGIONS = 5
LIMITS = ("ring_by_hand/memcpy", "ring_by_hand/streaming")
FIGURES = {
    "added": ("ours/put", "added"),
    "added-in-place": ("ours/claim", "added"),
    "read": ("ours/put", "read"),
    "end_to_end": ("ours/put", "end_to_end"),
    "read-window": ("ours/window", "read"),
}
CASES = [f"{buffer}/{mpi}/{figure}" for buffer in BUFFERS for mpi in LAUNCHERS for figure in FIGURES]
Run = dict[str, Any]


def say(text: str) -> None:
    print(f"series-paper: {text}", file=sys.stderr)


def run_job(build: Path, flavour: str, slots: int, rounds: int, sizes: list[int]) -> list[Run]:
    """Runs every way except SST, under one MPI."""
    program, launcher = build / "bench" / "series_paper" / f"paper.{flavour}", LAUNCHERS[flavour]
    if not program.exists() or shutil.which(launcher[0]) is None:
        say(f"{flavour} left out: {program} or {launcher[0]} is missing")
        return []
    window = {
        "COUPLET_MPI_WINDOW_BYTES": str(slots * (STEP_BYTES + 4096) + (1 << 20)),
        "COUPLET_SERIES_ETAWINDOW_WINDOW": "1",
    }
    with running_hub(build, "ocean:1,nowcast:1") as hub:
        done = subprocess.run(
            [*launcher, str(program), str(slots), str(rounds), *map(str, sizes)],
            env={**os.environ, **hub, **window},
            stdout=subprocess.PIPE,
            text=True,
            timeout=3600,
            check=True,
        )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def sst_python(build: Path) -> Path | None:
    """Returns the interpreter of the environment with adios2. If it cannot be installed, it says so and returns
    None.
    """
    place = build / "bench" / "series_paper" / "sst-environment"
    python = place / "bin" / "python"
    if not (place / "installed").exists():
        venv.create(place, with_pip=True, clear=True)
        command = [str(python), "-m", "pip", "install", "-q", "-r", str(HERE / "requirements-sst.txt")]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            say(f"SKIPPED ADIOS2 SST: {done.stderr.strip().splitlines()[-1]}")
            return None
        (place / "installed").touch()
    return python


def run_sst(python: Path, slots: int, rounds: int, sizes: list[int]) -> list[Run]:
    """Runs the same over SST."""
    runs: list[Run] = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="couplet-bench-") as place:
            command = [str(python), str(HERE / "sst.py")]
            rest = [f"{place}/contact", str(slots), *map(str, sizes)]
            writer = subprocess.Popen([*command, "write", *rest], stdout=subprocess.PIPE, text=True, cwd=place)
            try:
                reader = subprocess.run(
                    [*command, "read", *rest], stdout=subprocess.PIPE, text=True, cwd=place, timeout=1800, check=True
                )
                written = writer.communicate(timeout=120)[0]
            finally:
                writer.kill()
        for one, other in zip(written.splitlines(), reader.stdout.splitlines(), strict=True):
            run = {**json.loads(one), **json.loads(other), "way": "adios2_sst"}
            run["end_to_end"] = (run["end"] - run["start"]) * 1e3 / (run["n"] * 100)
            runs.append(run)
    return runs


def values(runs: list[Run], way: str, figure: str) -> list[float]:
    """Returns the values in the order of the runs, so that two ways can be paired."""
    return [run[figure] for run in runs if run["way"] == way]


def by_n(runs: list[Run], way: str, figure: str) -> dict[str, float]:
    """Returns the median for each N."""
    sizes = sorted({run["n"] for run in runs})
    return {
        str(n): statistics.median(run[figure] for run in runs if run["way"] == way and run["n"] == n) for n in sizes
    }


def describe(case: str, runs: list[Run], ours: str, figure: str) -> dict[str, Any]:
    """Returns the object that is printed."""
    own = values(runs, ours, figure)
    others = {way: values(runs, way, figure) for way in dict.fromkeys(run["way"] for run in runs)}
    others = {way: value for way, value in others.items() if not way.startswith("ours/")}
    limit = min(LIMITS, key=lambda way: statistics.median(others[way]))
    ratio = {way: paired_ratio(list(zip(own, value, strict=True))) for way, value in others.items()}
    return {
        "bench": "series-paper",
        "case": case,
        "unit": "ms",
        "ours": figures(own),
        "baselines": {way: figures(value) for way, value in others.items() if way != limit},
        "limit": figures(others[limit]),
        "limit_name": limit,
        "ratio": {"limit": ratio.pop(limit), **ratio},
        "by_n": {way: by_n(runs, way, figure) for way in (ours, *others)},
        "fill": figures(values(runs, ours, "fill")),
        "samples": len(own),
    }


def draw(path: Path, jobs: dict[str, list[Run]]) -> None:
    """Draws seconds end to end over N, as in the paper's figure 8, and the reader's ms per step with the copy limit."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, rows = pyplot.subplots(2, len(jobs), figsize=(5 * len(jobs), 9), squeeze=False)
    for column, (name, runs) in enumerate(jobs.items()):
        for way in dict.fromkeys(run["way"] for run in runs):
            style = "--" if way in LIMITS else "-o" if way.startswith("ours/") else "-"
            total = {int(n): value * int(n) / 10 for n, value in by_n(runs, way, "end_to_end").items()}
            rows[0][column].plot(list(total), list(total.values()), style, label=way, markersize=3)
            each = {int(n): value for n, value in by_n(runs, way, "read").items()}
            rows[1][column].plot(list(each), list(each.values()), style, label=way, markersize=3)
        limit = min(statistics.median(values(runs, way, "read")) for way in LIMITS)
        rows[1][column].axhline(limit, color="black", linewidth=0.8)
        rows[1][column].text(1, limit, "copy limit", va="bottom", fontsize=7)
        rows[0][column].set(title=name, xlabel="N (100 N steps)", ylabel="end to end, s", yscale="log")
        rows[1][column].set(xlabel="N (100 N steps)", ylabel="reader, ms per step", yscale="log")
    rows[0][0].legend(fontsize=6)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    say(f"drawn into {path}")


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench/run series-paper", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--mpi", action="append", choices=sorted(LAUNCHERS), help="only under this one (default: each)")
    parser.add_argument("--buffer", action="append", choices=list(BUFFERS), help="only this size (default: both)")
    parser.add_argument(
        "--case", choices=CASES, help="only this figure, with its buffer and MPI, without ADIOS2 and plot"
    )
    parser.add_argument("--n", type=int, action="append", help="only this N (default: 1 to 10)")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--no-sst", action="store_true", help="without ADIOS2")
    parser.add_argument("--plot", type=Path, help="default: BUILD/bench/series-paper.png")
    parser.add_argument("--runs", type=Path, help="write every run here")
    return parser.parse_args(argv)


def wanted_slots(buffers: Iterable[str]) -> dict[str, int]:
    """Returns the sizes for which all regions fit into memory at the same time."""
    chosen = {}
    for name in buffers:
        needed = BUFFERS[name] * (REGIONS * STEP_BYTES + BOX_BYTES)
        if needed > min(available_bytes(), 2 * shutil.disk_usage("/dev/shm").free):
            say(f"SKIPPED the buffer of {name}: {needed >> 30} GiB of memory are needed")
        else:
            chosen[name] = BUFFERS[name]
    return chosen


def main(argv: list[str]) -> int:
    """Parses the arguments, runs the cases and prints them."""
    arguments = parse(argv)
    figures_wanted = list(FIGURES)
    if arguments.case:
        buffer, mpi, figure = arguments.case.split("/")
        arguments.buffer, arguments.mpi, arguments.no_sst = [buffer], [mpi], True
        figures_wanted = [figure]
    build, sizes = arguments.build.resolve(), arguments.n or list(range(1, 11))
    python = None if arguments.no_sst else sst_python(build)
    jobs: dict[str, list[Run]] = {}
    for buffer, slots in wanted_slots(arguments.buffer or BUFFERS).items():
        sst = []
        if python is not None:
            say(f"{buffer}: SST")
            sst = run_sst(python, slots, arguments.rounds, sizes)
        for flavour in arguments.mpi or LAUNCHERS:
            say(f"{buffer}: {flavour}")
            if runs := run_job(build, flavour, slots, arguments.rounds, sizes):
                jobs[f"{buffer}/{flavour}"] = runs + sst
    for job, runs in jobs.items():
        for figure in figures_wanted:
            ours, key = FIGURES[figure]
            print(json.dumps(rounded(describe(f"{job}/{figure}", runs, ours, key))), flush=True)
    if arguments.runs:
        arguments.runs.write_text(json.dumps(jobs))
    if jobs and not arguments.case:
        draw(arguments.plot or build / "bench" / "series-paper.png", jobs)
    return 0 if jobs else 1
