"""bench/run series: writing and reading steps, compared with plain copies and MPI windows.

Runs build/release/bench/series/series.<flavour> under each MPI and prints one JSON object a line.

`ours`, `limit` and each baseline have `best` and `median` over all samples. `ratio` is the median of the paired ratios
of ours to each of them; paired samples are taken one after the other in the same run. Progress goes to standard error.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from common.hub import running_hub
from common.left_out import LeftOutError
from common.slow_cable import SlowCable

ROOT = Path(__file__).resolve().parent.parent
SLOTS = 1500
MAPPED_CASES = ["put", "claim", *(f"read/k={count}" for count in (1, 8, 64, 256, 700, 1300, 1500)), "newest"]
RELAYED_CASES = ["relay/read", "relay/writer-slowdown"]
CABLE_CASE = "relay/read+10gbit"
REMAP_CASES = ["remap"]
FOLLOWER_CASES = [f"put+followers/{size}" for size in ("8B", "64KiB", "3MB")]
FOLLOWERS = 64
CASES = [*MAPPED_CASES, *RELAYED_CASES, CABLE_CASE, *REMAP_CASES, *FOLLOWER_CASES]
STEP_BYTES = 900 * 900 * 4
BOX_BYTES = 600 * 600 * 4
LAUNCHERS = {
    "openmpi": ["mpirun.openmpi", "--oversubscribe", "--allow-run-as-root", "-n", "2"],
    "mpich": ["mpirun.mpich", "-n", "2"],
}
# The limit of a case is the best of these; what is left over is a baseline.
LIMITS = (
    "limit_read_and_product",
    "copy_memcpy",
    "copy_streaming",
    "limit_cache_line",
    "limit_store_and_fence",
    "limit_tcp",
    "limit_no_reader",
)


def missing(build: Path, case: str) -> Path | None:
    """Returns the program of a case that a build does not have, as an older commit may not."""
    names = {"relay": "series_relayed", "remap": "series_remap", "put+followers": "series_followers"}
    name = names.get(case.partition("/")[0])
    if name is None or (program := build / "bench" / "series" / name).exists():
        return None
    return program


def available_bytes() -> int:
    """Returns the memory that is available without swapping."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def choose_slots() -> int:
    """Returns the paper's 1300 steps and more if there is enough memory, else fewer (and then fewer cases)."""
    shared = shutil.disk_usage("/dev/shm").free
    needed = 2 * STEP_BYTES + BOX_BYTES  # our ring, the window, the destinations
    slots = min(SLOTS, int(available_bytes() * 0.7) // needed, int(shared * 0.8) // (2 * STEP_BYTES))
    if slots < SLOTS:
        print(f"series: only {slots} slots fit into memory: cases with more steps are left out", file=sys.stderr)
    return slots


def run(build: Path, flavour: str, slots: int, cases: list[str]) -> list[dict[str, Any]]:
    """Runs the cases under one MPI: name, unit and samples by method."""
    program = build / "bench" / "series" / f"series.{flavour}"
    launcher = LAUNCHERS[flavour]
    if not program.exists() or shutil.which(launcher[0]) is None:
        print(f"series: {flavour} left out: {program} or {launcher[0]} is missing", file=sys.stderr)
        return []
    print(f"series: {flavour}, {slots} slots", file=sys.stderr)
    with running_hub(build, "ocean:1,nowcast:1") as hub:
        done = subprocess.run(
            [*launcher, str(program), str(slots), *cases],
            env={**os.environ, **hub},
            stdout=subprocess.PIPE,
            text=True,
            timeout=1800,
            check=True,
        )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def run_relayed(build: Path, cases: list[str], cable: SlowCable | None = None) -> list[dict[str, Any]]:
    """Runs the cases with a reader on another node: of this machine, over the loopback interface, or behind a cable."""
    program = str(build / "bench" / "series" / "series_relayed")
    print("series: relayed", file=sys.stderr)
    address = {"COUPLET_BENCH_ADDRESS": cable.address("left")} if cable else {}
    left, right = (cable.prefix("left"), cable.prefix("right")) if cable else ([], [])
    with running_hub(build, "ocean:1,near:1,far:1", cable=cable) as hub, contextlib.ExitStack() as stack:
        environment = {**os.environ, **hub, **address}
        for reader, side, node in (("near", left, {}), ("far", right, {"COUPLET_NODE": "far"})):
            process = subprocess.Popen([*side, program, reader], env={**environment, **node})
            stack.callback(process.wait)
            stack.callback(process.kill)
        writer = [*left, program, "ocean", *cases]
        done = subprocess.run(writer, env=environment, stdout=subprocess.PIPE, text=True, timeout=600, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def run_behind_a_cable(build: Path) -> list[dict[str, Any]]:
    """Reading through the relay if the network is slower than the processors, as networks are."""
    try:
        cable = SlowCable("10gbit", "4mb")
    except LeftOutError as reason:
        print(f"series: {CABLE_CASE} left out: {reason}", file=sys.stderr)
        return []
    with contextlib.closing(cable):
        results = run_relayed(build, ["relay/read"], cable)
    return [{**result, "case": CABLE_CASE} for result in results]


def run_remap(build: Path) -> list[dict[str, Any]]:
    """Remapping inside the read, beside the plain read and the product."""
    program = build / "bench" / "series" / "series_remap"
    print("series: remap", file=sys.stderr)
    with running_hub(build, "ocean:1,nowcast:1") as hub, contextlib.ExitStack() as stack:
        environment = {**os.environ, **hub}
        writer = subprocess.Popen([str(program), "ocean"], env=environment)
        stack.callback(writer.wait)
        stack.callback(writer.kill)
        done = subprocess.run(
            [str(program), "nowcast"], env=environment, stdout=subprocess.PIPE, text=True, timeout=600, check=True
        )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def run_followers(build: Path, cases: list[str]) -> list[dict[str, Any]]:
    """Runs the cases of a put while other processes follow the series and sleep."""
    program = build / "bench" / "series" / "series_followers"
    print(f"series: {FOLLOWERS} followers", file=sys.stderr)
    with running_hub(build, f"ocean:1,sleepers:{FOLLOWERS}") as hub, contextlib.ExitStack() as stack:
        environment = {**os.environ, **hub}
        for rank in range(FOLLOWERS):
            command = [str(program), "sleepers", str(rank), str(FOLLOWERS), *cases]
            process = subprocess.Popen(command, env=environment)
            stack.callback(process.wait)
            stack.callback(process.kill)
        command = [str(program), "ocean", "0", str(FOLLOWERS), *cases]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, timeout=600, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def figures(samples: list[float]) -> dict[str, float]:
    """Returns best and median."""
    return {"best": min(samples), "median": statistics.median(samples)}


def paired_ratio(pairs: list[tuple[float, float]]) -> float:
    """Returns the median of ours to theirs, pair by pair."""
    return statistics.median(ours / theirs for ours, theirs in pairs)


def merge(runs: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Returns one object for each case, over all MPIs."""
    cases: dict[str, dict[str, Any]] = {}
    for flavour, results in runs.items():
        for result in results:
            case = cases.setdefault(result["case"], {"unit": result["unit"], "ours": [], "others": {}, "pairs": {}})
            ours = result["samples"]["ours"]
            case["ours"] += ours
            for method, samples in result["samples"].items():
                if method == "ours":
                    continue
                name = f"{method}/{flavour}" if method.startswith("mpi_") else method
                case["others"].setdefault(name, []).extend(samples)
                case["pairs"].setdefault(name, []).extend(zip(ours, samples, strict=False))
    return [describe(name, case) for name, case in cases.items()]


def describe(name: str, case: dict[str, Any]) -> dict[str, Any]:
    """Returns the object that is printed."""
    others = {method: figures(samples) for method, samples in case["others"].items()}
    ratio = {method: paired_ratio(pairs) for method, pairs in case["pairs"].items()}
    limit = min((method for method in others if method in LIMITS), key=lambda method: others[method]["median"])
    return {
        "bench": "series",
        "case": name,
        "unit": case["unit"],
        "ours": figures(case["ours"]),
        "baselines": {method: value for method, value in others.items() if method != limit},
        "limit": others[limit],
        "limit_name": limit,
        "ratio": {"limit": ratio.pop(limit), **ratio},
        "samples": len(case["ours"]),
    }


def rounded(value: object) -> object:
    """Rounds to four digits, which is more than the machine can resolve."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return value


def main(argv: list[str]) -> int:
    """Parses the arguments, runs the cases and prints them."""
    parser = argparse.ArgumentParser(
        prog="bench/run series", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--slots", type=int, default=0)
    parser.add_argument("--case", action="append", choices=CASES, help="only this one; may be given several times")
    parser.add_argument("--mpi", action="append", choices=sorted(LAUNCHERS), help="only under this one (default: each)")
    parser.add_argument("--samples", type=Path, help="write all samples here")
    arguments = parser.parse_args(argv)
    slots = arguments.slots or choose_slots()
    chosen = arguments.case or CASES
    build = arguments.build.resolve()
    runs: dict[str, list[dict[str, Any]]] = {}
    if mapped := [case for case in chosen if case in MAPPED_CASES]:
        for flavour in arguments.mpi or LAUNCHERS:
            runs[flavour] = run(build, flavour, slots, mapped)
    if relayed := [case for case in chosen if case in RELAYED_CASES]:
        runs["relayed"] = run_relayed(build, relayed)
    if CABLE_CASE in chosen:
        runs["cable"] = run_behind_a_cable(build)
    if any(case in REMAP_CASES for case in chosen):
        runs["remap"] = run_remap(build)
    if followed := [case for case in chosen if case in FOLLOWER_CASES]:
        runs["followers"] = run_followers(build, followed)
    if arguments.samples:
        arguments.samples.write_text(json.dumps(runs))
    merged = merge(runs)
    for case in merged:
        print(json.dumps(rounded(case)), flush=True)
    return 0 if merged else 1
