"""bench/run coalesce: rounds of K clients that have the same two neighbours, 100 doubles each way.

A case is MPI/ranks/clients. By hand over MPI: separate rounds; all requests with one wait; one derived type for each
peer, rebuilt in each round; packed into one message for each peer; and packed into shared memory, with a flag for each
side and two halves, which is the floor of any method that copies in and out. Couplet: the four combinations of the
merges, by the method that it chooses, and again by persistent requests of MPI. (Without merged waits there is nothing
to merge messages with, so two of the four do the same.) The order is rotated. `us` is one round at the slowest rank;
`ratio` is the time of `a message and a wait for each client` to that of all merged, the median over the turns.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

from common.arena import MPI_ROOT_OK
from common.measure import significant
from common.suite import BUILD

LAUNCH = {
    "openmpi": ["mpirun.openmpi", "--bind-to", "none", "--oversubscribe", "-np"],
    "mpich": ["mpirun.mpich", "-np"],
}
# Under MPICH a waiting rank keeps its core, so that more ranks than cores say nothing.
RANKS = {"openmpi": (2, 4), "mpich": (2,)}
CLIENTS = (1, 2, 4, 8)
CASES = [f"{flavour}/{ranks}/clients={count}" for flavour in LAUNCH for ranks in RANKS[flavour] for count in CLIENTS]
LONGEST_S = 600
SEPARATE = "a wait for each client, a message for each client"
MERGED = "one wait, merged messages"
# What is compared with what it merges.
PAIRS = {
    "by hand": ("by hand: separate rounds", "by hand: packed"),
    "chosen": (SEPARATE, MERGED),
    "persistent": (f"{SEPARATE}, persistent", f"{MERGED}, persistent"),
    "merged persistent to packed by hand": (f"{MERGED}, persistent", "by hand: packed"),
    "merged to mapped by hand": (MERGED, "by hand: mapped"),
    "separate by hand to merged persistent": ("by hand: separate rounds", f"{MERGED}, persistent"),
}


def summary(case: str, samples: dict[str, list[float]]) -> dict[str, object]:
    """Returns best and median of each contender, and the medians of the paired ratios."""

    def ratio(one: str, other: str) -> float:
        pairs = zip(samples[one], samples[other], strict=True)
        return significant(statistics.median(first / second for first, second in pairs))

    return {
        "bench": "coalesce",
        "case": case,
        "unit": "us",
        "contenders": {
            name: {"best": significant(min(values)), "median": significant(statistics.median(values))}
            for name, values in samples.items()
        },
        "ratio": {name: ratio(*pair) for name, pair in PAIRS.items()},
        "samples": len(next(iter(samples.values()))),
    }


def measure(build: Path, case: str, turns: int, sample_ms: float) -> dict[str, object] | None:
    """Runs the program of one case beside a hub, or returns None if its MPI is not there."""
    flavour, ranks, clients = case.split("/")
    program = build / "bench" / "coalesce" / f"coalesce.{flavour}"
    if not program.exists() or shutil.which(LAUNCH[flavour][0]) is None:
        return None
    with tempfile.TemporaryDirectory(prefix="couplet-bench-", dir="/dev/shm") as directory:
        secret = str(Path(directory) / "secret")
        environment = {**os.environ, **MPI_ROOT_OK, "COUPLET_RUN_DIR": directory, "COUPLET_SECRET_FILE": secret}
        hub = subprocess.Popen(
            [
                str(build / "libexec" / "couplet" / "couplet-hub"),
                *("--programs", f"bench:{ranks}", "--listen", "127.0.0.1:0", "--secret-file", secret),
            ],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert hub.stdout is not None
            environment["COUPLET_HUB"] = hub.stdout.readline().strip().removeprefix("COUPLET_HUB=")
            count = clients.removeprefix("clients=")
            command = [*LAUNCH[flavour], ranks, str(program), count, str(turns), str(sample_ms)]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONGEST_S)
        finally:
            hub.terminate()
            hub.wait()
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or len(lines) != 1:
        raise SystemExit(f"bench: {' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return summary(case, json.loads(lines[0]))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="bench/run coalesce", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=Path, default=BUILD, help="build tree (default: build/release)")
    parser.add_argument("--case", action="append", choices=CASES, help="only this one; may be given several times")
    parser.add_argument("--rounds", type=int, default=11, help="samples of each contender (default: 11)")
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
