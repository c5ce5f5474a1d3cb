"""bench/run task: a request that a worker does, compared with an MPI message of the same bytes within one job.

There are three programs: a requester, the built-in coupler and a worker. The payload passes through the coupler.
`latency` is submit, next, complete and wait; `us` is half of it, as half a round trip is for a message. `throughput` is
many submits and then a wait for all of them; `us` is the time of one request. There is no limit, since nothing simpler
does the same.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from common.arena import Arena
from common.contender import Contender
from common.measure import Case
from common.suite import run_suite

SIZES = {"8B": 8, "64KiB": 64 * 1024, "1MiB": 1024 * 1024}
CASES = [f"{kind}/{size}" for kind in ("latency", "throughput") for size in SIZES]


def ours(arena: Arena) -> Contender:
    """Starts the three programs and their hub."""

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
    return run_suite("task", __doc__, CASES, make_case, arguments)
