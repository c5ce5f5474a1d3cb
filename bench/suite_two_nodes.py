"""bench/run two-nodes: the evaluation of the paper between two nodes, which are network namespaces of this machine.

A writer fills 900 x 900 int in each step, on node1 of a Slurm cluster of two nodes. A reader on node2 takes the box
(150,150)-(750,750) of each step. The buffer has 8 slots; the writer waits for the reader, and nothing is lost. A lap is
100 steps. The ways are ours (put, or filled in place; through the relay), MPI_Send of the box (each MPI, over TCP), and
ADIOS2's SST. Those of one MPI run in turn in one job. SST runs in a pair of processes of its own.

Prints one JSON object on each line. `case` is MPI/FIGURE. FIGURE is `added` (time in the writer's calls, ms per step),
`read` (the reader's time in taking boxes) or `end_to_end`. `first` is the first lap of each way, in which connections
are made, and `later` has best and median of the others. `ratio` is the median of ours/put to each way, lap by lap,
without the first. Needs root, and the packages that make test-cluster needs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from suite_series import figures, paired_ratio, rounded
from suite_series_paper import HERE, ROOT, sst_python

sys.path.insert(0, str(ROOT / "tests" / "support"))

from cluster import OPENMPI, UCX, Cluster, UnavailableError

SLOTS = 8
MPI = {"openmpi": "pmix", "mpich": "pmi2"}
FIGURES = ("added", "read", "end_to_end")
LOGIN = "10.78.0.254"
SST_S = 300.0
LAPS_S = 300.0
FINALIZE_S = 20.0
Run = dict[str, Any]


def say(text: str) -> None:
    print(f"two-nodes: {text}", file=sys.stderr)


def lines_of(output: str) -> list[Run]:
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def run_job(cluster: Cluster, build: Path, flavour: str, laps: int) -> list[Run]:
    """Runs every way except SST, under one MPI, beside a hub on the host "login"."""
    program = build / "bench" / "series_paper" / f"paper.{flavour}"
    if not program.exists():
        say(f"SKIPPED {flavour}: {program} is not built")
        return []
    secret = cluster.folder / f"secret-{flavour}"
    hub = cluster.start(
        *(str(build / "libexec" / "couplet" / "couplet-hub"), "--programs", "ocean:1,nowcast:1"),
        *("--listen", f"{LOGIN}:0", "--secret-file", str(secret)),
    )
    try:
        assert hub.stdout is not None
        address = hub.stdout.readline().strip().removeprefix("COUPLET_HUB=")
        job = cluster.start(
            *("srun", "--nodes=2", "--ntasks=2", f"--mpi={MPI[flavour]}"),
            *(str(program), str(SLOTS), str(laps), "1"),
            **{"COUPLET_HUB": address, "COUPLET_SECRET_FILE": str(secret), **UCX},
            **(OPENMPI if flavour == "openmpi" else {}),
        )
        output = end_of(cluster, job, hub, flavour)
    finally:
        hub.kill()
        hub.communicate()
    return lines_of(output)


def end_of(cluster: Cluster, job: subprocess.Popen[str], hub: subprocess.Popen[str], flavour: str) -> str:
    """Waits for the end of a job and returns its output.

    The hub ends when both processes have left the universe, and then all laps are printed. MPICH over UCX may hang in
    MPI_Finalize on a busy machine; such a job is cancelled.
    """
    try:
        hub.wait(LAPS_S)
        output, _ = job.communicate(timeout=FINALIZE_S)
    except subprocess.TimeoutExpired:
        cluster.run("scancel", "--user=root")
        output, _ = job.communicate()
        if hub.poll() is None:
            raise AssertionError(f"{flavour}: the laps did not end within {LAPS_S:.0f} s:\n{output}") from None
        say(f"{flavour}: MPI_Finalize had not ended {FINALIZE_S:.0f} s after the last lap; the job was cancelled")
        return output
    assert job.returncode == 0, f"{flavour}: the job ended with {job.returncode}:\n{output}"
    return output


def run_sst(cluster: Cluster, python: Path, laps: int) -> list[Run]:
    """Runs the same over SST."""
    contact = cluster.folder / "contact"
    rest = [str(contact), str(SLOTS), *(["1"] * laps)]
    started = [
        cluster.start("srun", f"--nodelist={node}", "--ntasks=1", str(python), str(HERE / "sst.py"), role, *rest)
        for node, role in (("node1", "write"), ("node2", "read"))
    ]
    said = []
    for process in started:
        try:
            said.append(process.communicate(timeout=SST_S)[0])
        except subprocess.TimeoutExpired:
            say(f"SKIPPED ADIOS2 SST: it has not ended within {SST_S:.0f} s")
            for each in started:
                each.kill()
                each.communicate()
            return []
    if any(process.returncode for process in started):
        say(f"SKIPPED ADIOS2 SST: {' '.join(said).strip()[-500:]}")
        return []
    runs: list[Run] = []
    for one, other in zip(lines_of(said[0]), lines_of(said[1]), strict=True):
        run = {**one, **other, "way": "adios2_sst"}
        run["end_to_end"] = (run["end"] - run["start"]) * 1e3 / 100
        runs.append(run)
    return runs


def describe(case: str, runs: list[Run], figure: str) -> dict[str, Any]:
    """Returns the object that is printed."""
    laps: dict[str, list[float]] = {}
    for run in runs:
        laps.setdefault(run["way"], []).append(run[figure])
    ours = laps["ours/put"][1:]
    others = {way: values[1:] for way, values in laps.items() if way != "ours/put"}
    return {
        "bench": "two-nodes",
        "case": case,
        "unit": "ms",
        "first": {way: values[0] for way, values in laps.items()},
        "later": {way: figures(values[1:]) for way, values in laps.items()},
        "ratio": {way: paired_ratio(list(zip(ours, values, strict=True))) for way, values in others.items()},
        "fill": statistics.median(run["fill"] for run in runs),
        "samples": len(ours),
    }


def main(argv: list[str]) -> int:
    """Parses the arguments, runs the cases and prints them."""
    parser = argparse.ArgumentParser(
        prog="bench/run two-nodes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--mpi", action="append", choices=sorted(MPI), help="only under this one (default: each)")
    parser.add_argument("--laps", type=int, default=10, help="laps of 100 steps, at least 2 (default: 10)")
    parser.add_argument("--no-sst", action="store_true", help="without ADIOS2")
    arguments = parser.parse_args(argv)
    if arguments.laps < 2:
        parser.error(f"--laps has to be at least 2, not {arguments.laps}: the first is told apart from the others")
    build = arguments.build.resolve()
    python = None if arguments.no_sst else sst_python(build)
    try:
        cluster = Cluster(2)
    except UnavailableError as error:
        say(f"SKIPPED everything: {error}")
        return 1
    with cluster:
        sst = [] if python is None else run_sst(cluster, python, arguments.laps)
        jobs = {flavour: run_job(cluster, build, flavour, arguments.laps) for flavour in arguments.mpi or MPI}
    for flavour, runs in jobs.items():
        for figure in FIGURES if runs else ():
            print(json.dumps(rounded(describe(f"{flavour}/{figure}", runs + sst, figure))), flush=True)
    return 0 if any(jobs.values()) else 1
