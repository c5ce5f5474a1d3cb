"""The words before a program in a job of an MPI, and the environment of the job."""

from __future__ import annotations

from pathlib import Path

from launching import World, mpi_environment

FLAVOURS = ("openmpi", "mpich")
# A launcher may lose what a rank prints just before it ends the job, so it is written to a file.
APART = 'exec "$@" 2>>"$CLIENT_ERRORS"'


def prefix(errors: Path | None) -> list[str]:
    return ["sh", "-c", APART, "client"] if errors else []


def session(world: World) -> dict[str, str]:
    """Returns a directory for the next launch: if two launchers of Open MPI make the same one at once, one of them
    fails.
    """
    return {"OMPI_MCA_orte_tmpdir_base": str(world.directory / f"session-{len(world.processes)}")}


def environment(world: World, flavour: str, errors: Path | None = None) -> dict[str, str]:
    """Open MPI leaves files behind if it is killed: they go to the test's directory, not to /tmp and /dev/shm."""
    own = {"OMPI_MCA_btl_vader_backing_directory": str(world.directory)}
    return mpi_environment(flavour) | own | session(world) | ({"CLIENT_ERRORS": str(errors)} if errors else {})
