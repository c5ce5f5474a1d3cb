"""bench/run task: a request that a worker does, compared with an MPI message of the same bytes within one job.

There are three programs: a requester, the built-in coupler and a worker. The payload passes through the coupler.
`latency` is submit, next, complete and wait; `us` is half of it, as half a round trip is for a message. `throughput` is
many submits and then a wait for all of them; `us` is the time of one request. There is no limit, since nothing simpler
does the same.
"""

from __future__ import annotations

from common.arena import Arena
from common.measure import Case
from common.suite import run_suite

SIZES = {"8B": 8, "64KiB": 64 * 1024, "1MiB": 1024 * 1024}
CASES = [f"{kind}/{size}" for kind in ("latency", "throughput") for size in SIZES]


def make_case(arena: Arena, name: str) -> Case:
    kind, size_name = name.split("/")
    size = SIZES[size_name]
    baselines = {"openmpi": arena.openmpi("shm"), "mpich": arena.mpich("shm")}
    return Case(
        name=name,
        unit="us" if kind == "latency" or size == 8 else "GB/s",
        command="P" if kind == "latency" else "S",
        size=size,
        ours=arena.programs_of("task", ["left", "right", "coupler"]),
        baselines={key: one for key, one in baselines.items() if one is not None},
    )


def main(arguments: list[str]) -> int:
    return run_suite("task", __doc__, CASES, make_case, arguments)
