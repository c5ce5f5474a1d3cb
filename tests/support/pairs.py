"""Starting one program under an MPI or none (tests/universe/programs/coupled.hpp)."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

import pytest
from jobs import launcher, session
from launching import BUILD, World

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
    """One launch under an MPI; without one a process for each rank. Skips aloud where the MPI is missing."""
    path = BUILD / "tests" / "programs" / (name if kind == "none" else f"{name}.{kind}")
    if not path.exists():
        pytest.skip(f"{path} is not built")
    if kind != "none":
        return [world.start([*prefix, launcher(kind), "-n", str(ranks), str(path), *words], **session(world), **extra)]
    of_rank = [{"COUPLET_RANK": str(rank), "COUPLET_SIZE": str(ranks)} for rank in range(ranks)]
    return [world.start([*prefix, str(path), *words], **extra, **each) for each in of_rank]
