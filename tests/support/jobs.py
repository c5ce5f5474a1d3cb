"""Words for starting jobs of an MPI: its launcher, what stands before a program, and the environment."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from launching import BUILD, World, mpi_environment

FLAVOURS = ("openmpi", "mpich")
# A launcher may lose what a rank says just before it ends all: it goes to a file.
APART = 'exec "$@" 2>>"$CLIENT_ERRORS"'


def launcher(flavour: str) -> str:
    found = shutil.which(f"mpiexec.{flavour}")
    if found is None:
        pytest.skip(f"mpiexec.{flavour} is not installed")
    return found


def program(name: str, flavour: str) -> str:
    """A program of tests/universe/programs/mpi; skips aloud where it is not built for that MPI."""
    path = BUILD / "tests" / "programs" / f"{name}.{flavour}"
    if not path.exists():
        pytest.skip(f"{path} is not built")
    return str(path)


def prefix(errors: Path | None) -> list[str]:
    return ["sh", "-c", APART, "client"] if errors else []


def session(world: World) -> dict[str, str]:
    """A directory for the next launch alone: where two launchers of Open MPI make the same one at once, one fails."""
    return {"OMPI_MCA_orte_tmpdir_base": str(world.directory / f"session-{len(world.processes)}")}


def environment(world: World, flavour: str, errors: Path | None = None) -> dict[str, str]:
    """Open MPI leaves its files behind where it is killed: in the test's directory, not in /tmp and /dev/shm."""
    own = {"OMPI_MCA_btl_vader_backing_directory": str(world.directory)}
    return mpi_environment(flavour) | own | session(world) | ({"CLIENT_ERRORS": str(errors)} if errors else {})
