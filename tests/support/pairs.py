"""Starts one program under an MPI or none (tests/universe/programs/coupled.hpp)."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from jobs import session
from launching import BUILD, World
from needs import built, launcher

KINDS = ("openmpi", "mpich", "none")


def start_program(
    world: World,
    kind: str,
    ranks: int,
    words: Sequence[str],
    name: str = "coupled",
    prefix: Sequence[str] = (),
    **extra: str,
) -> list[subprocess.Popen[str]]:
    """Makes one launch under an MPI, or without one a process for each rank. Skips the test if the MPI is missing."""
    flavour = None if kind == "none" else kind
    path = built(BUILD / "tests" / "programs" / (f"{name}.{flavour}" if flavour else name), "cpp", flavour)
    if kind != "none":
        return [world.start([*prefix, launcher(kind), "-n", str(ranks), path, *words], **session(world), **extra)]
    of_rank = [{"COUPLET_RANK": str(rank), "COUPLET_SIZE": str(ranks)} for rank in range(ranks)]
    return [world.start([*prefix, path, *words], **extra, **each) for each in of_rank]
