"""bench/run exchange: the rounds of a halo exchange by each method over MPI, beside what an expert writes by hand.

A case is MPI/ranks/pattern. `ring` has one neighbour on each side and 100 doubles each way; `1d` has 2 to 32 neighbours
and 100 doubles; `3d` the first 6, 18 or 26 directions of a 3-D grid, and 10 to 100 doubles from a fixed seed. Edges may
lead to the same rank, or to the own one. The order of the contenders is rotated. `us` is one round at the slowest rank;
`ratio` is the time of each method to that of each line written by hand, the median over the turns. The shared window is
also the floor: two copies and a flag each way.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
from pathlib import Path

from common.arena import MPI_ROOT_OK
from common.measure import significant
from common.suite import BUILD

BY_HAND = "by hand: "
LAUNCH = {
    "openmpi": ["mpirun.openmpi", "--bind-to", "none", "--oversubscribe", "-np"],
    "mpich": ["mpirun.mpich", "-np"],
}
PATTERNS = [
    "ring",
    *(f"1d/neighbors={count}" for count in (2, 4, 8, 16, 32)),
    *(f"3d/neighbors={count}" for count in (6, 18, 26)),
]
# Under MPICH a waiting rank keeps its core, so that more ranks than cores say nothing about the method.
RANKS = {"openmpi": (2, 4, 8), "mpich": (2,)}
CASES = [f"{flavour}/{ranks}/{pattern}" for flavour in LAUNCH for ranks in RANKS[flavour] for pattern in PATTERNS]
LONGEST_S = 600


def summary(case: str, samples: dict[str, list[float]]) -> dict[str, object]:
    """Returns best and median of each contender, and the medians of the paired ratios."""
    by_hand = [name for name in samples if name.startswith(BY_HAND)]
    methods = [name for name in samples if name not in by_hand]

    def ratio(own: str, other: str) -> float:
        pairs = zip(samples[own], samples[other], strict=True)
        return significant(statistics.median(mine / theirs for mine, theirs in pairs))

    return {
        "bench": "exchange",
        "case": case,
        "unit": "us",
        "contenders": {
            name: {"best": significant(min(values)), "median": significant(statistics.median(values))}
            for name, values in samples.items()
        },
        "ratio": {own: {other.removeprefix(BY_HAND): ratio(own, other) for other in by_hand} for own in methods},
        "samples": len(next(iter(samples.values()))),
    }


def measure(build: Path, case: str, turns: int, sample_ms: float) -> dict[str, object] | None:
    """Runs the program of one case, or returns None if its MPI is not there."""
    flavour, ranks, pattern = case.split("/", 2)
    program = build / "bench" / "exchange" / f"exchange.{flavour}"
    if not program.exists() or shutil.which(LAUNCH[flavour][0]) is None:
        return None
    kind, _, neighbors = pattern.partition("/neighbors=")
    command = [*LAUNCH[flavour], ranks, str(program), kind, neighbors or "2", str(turns), str(sample_ms)]
    environment = {**os.environ, **MPI_ROOT_OK}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONGEST_S)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or len(lines) != 1:
        raise SystemExit(f"bench: {' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return summary(case, json.loads(lines[0]))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="bench/run exchange", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=Path, default=BUILD, help="build tree (default: build/release)")
    parser.add_argument("--case", action="append", choices=CASES, help="only this one; may be given several times")
    parser.add_argument("--rounds", type=int, default=21, help="samples of each contender (default: 21)")
    parser.add_argument("--sample-ms", type=float, default=3, help="length of a sample (default: 3)")
    parser.add_argument("--output", type=Path, help="also append the lines to this file")
    options = parser.parse_args(arguments)
    for case in options.case or CASES:
        result = measure(options.build.resolve(), case, options.rounds, options.sample_ms)
        if result is None:
            continue
        line = json.dumps(result)
        print(line, flush=True)
        if options.output:
            with options.output.open("a") as stream:
                stream.write(line + "\n")
    return 0
