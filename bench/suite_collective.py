"""bench/run collective: allreduce of doubles over two separately started programs of one rank each, compared with the
MPIs' own allreduce over two ranks of one job.

Everything is measured side by side in one run, by many short samples in rounds. `us` is the time of one call, and
`GB/s` the bytes of one member's message by that time. `ratio` is ours to theirs, the median over the rounds: for us
below 1 is better, for GB/s above 1.
"""

from __future__ import annotations

from common.arena import MPI_ROOT_OK, Arena
from common.contender import Contender
from common.measure import Case
from common.suite import run_suite

SIZES = {"8B": 8, "4KiB": 4096, "64KiB": 64 * 1024, "8MiB": 8 * 1024 * 1024}
CASES = [f"allreduce/{size}" for size in SIZES]
LAUNCH = {
    "openmpi": ["mpirun.openmpi", "-np", "2", "--bind-to", "none", "--oversubscribe"],
    "mpich": ["mpirun.mpich", "-np", "2"],
}


def mpi(arena: Arena, flavour: str) -> Contender | None:
    program = arena.programs / "collective" / f"collective_mpi.{flavour}"

    def start(contender: Contender) -> None:
        contender.start([*LAUNCH[flavour], str(program), str(contender.stem)], **MPI_ROOT_OK)

    return arena.get(f"{flavour}-collective", start) if program.exists() else None


def make_case(arena: Arena, name: str) -> Case:
    size = SIZES[name.split("/")[1]]
    baselines = {flavour: mpi(arena, flavour) for flavour in LAUNCH}
    return Case(
        name=name,
        unit="us" if size < 1024 else "GB/s",
        command="P",
        size=size,
        ours=arena.programs_of("collective", ["left", "right"]),
        baselines={key: one for key, one in baselines.items() if one is not None},
        limit=None,
    )


def main(arguments: list[str]) -> int:
    return run_suite("collective", __doc__, CASES, make_case, arguments)
