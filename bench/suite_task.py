"""bench/run task: a request that a worker does, beside an MPI message of the same bytes within one job.

Three programs: a requester, the built-in coupler, a worker; the payload passes through the coupler. `latency`: submit,
next, complete, wait; `us` is half of it, as for a message half a round trip. `throughput`: many submits, then a wait
for all of them; `us` is the time of one request. There is no limit: nothing simpler does the same.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import tempfile
from pathlib import Path

from common.contender import Contender
from common.measure import Case, measure
from suite_message import ROOT, Arena

SIZES = {"8B": 8, "64KiB": 64 * 1024, "1MiB": 1024 * 1024}
CASES = [f"{kind}/{size}" for kind in ("latency", "throughput") for size in SIZES]


def ours(arena: Arena) -> Contender:
    """The three programs and their hub."""

    def start(contender: Contender) -> None:
        run_directory = Path(tempfile.mkdtemp(prefix="couplet-bench-", dir="/dev/shm"))
        contender.at_end.append(lambda: shutil.rmtree(run_directory, ignore_errors=True))
        secret = str(arena.directory / "secret")
        environment = {"COUPLET_RUN_DIR": str(run_directory), "COUPLET_SECRET_FILE": secret}
        command = [str(arena.hub), "--programs", "left:1,right:1,coupler:1", "--listen", "127.0.0.1:0"]
        environment["COUPLET_HUB"] = arena.start_hub(contender, [*command, "--secret-file", secret], environment)
        for program in ("left", "right", "coupler"):
            alone = {"COUPLET_RANK": "0", "COUPLET_SIZE": "1"}
            contender.start(
                [str(arena.programs / "task" / "task"), program, str(contender.stem)], **environment, **alone
            )

    contender = arena.get("couplet-task", start)
    if contender is None:
        raise SystemExit(f"bench: the programs did not start:\n{Path(arena.log.name).read_text()[-2000:]}")
    return contender


def make_case(arena: Arena, name: str) -> Case:
    kind, size_name = name.split("/")
    size = SIZES[size_name]
    baselines = {"openmpi": arena.openmpi("shm"), "mpich": arena.mpich("shm")}
    return Case(
        name=name,
        unit="us" if kind == "latency" or size == 8 else "GB/s",
        command="P" if kind == "latency" else "S",
        size=size,
        ours=ours(arena),
        baselines={key: one for key, one in baselines.items() if one is not None},
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="bench/run task", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--build", type=Path, default=ROOT / "build" / "release", help="build tree (default: build/release)"
    )
    parser.add_argument("--case", action="append", choices=CASES, help="only this one; may be given several times")
    parser.add_argument("--rounds", type=int, default=40, help="samples of each contender (default: 40)")
    parser.add_argument("--sample-ms", type=float, default=10, help="length of a sample (default: 10)")
    parser.add_argument("--output", type=Path, help="also append the lines to this file")
    options = parser.parse_args(arguments)
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="couplet-bench-")))
        arena = Arena(options.build.resolve(), directory)
        stack.callback(arena.stop)
        for name in options.case or CASES:
            result = {"bench": "task", **measure(make_case(arena, name), options.rounds, options.sample_ms / 1000)}
            line = json.dumps(result)
            print(line, flush=True)
            if options.output:
                with options.output.open("a") as stream:
                    stream.write(line + "\n")
    return 0
