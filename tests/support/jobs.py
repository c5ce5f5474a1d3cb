"""Words for starting jobs of an MPI: what stands before a program, and the environment."""

from __future__ import annotations

from pathlib import Path

from launching import World, mpi_environment

FLAVOURS = ("openmpi", "mpich")
# A launcher may lose what a rank says just before it ends all: it goes to a file.
APART = 'exec "$@" 2>>"$CLIENT_ERRORS"'


def prefix(errors: Path | None) -> list[str]:
    return ["sh", "-c", APART, "client"] if errors else []


def session(world: World) -> dict[str, str]:
    """A directory for the next launch alone: where two launchers of Open MPI make the same one at once, one fails."""
    return {"OMPI_MCA_orte_tmpdir_base": str(world.directory / f"session-{len(world.processes)}")}


def environment(world: World, flavour: str, errors: Path | None = None) -> dict[str, str]:
    """Open MPI leaves its files behind where it is killed: in the test's directory, not in /tmp and /dev/shm."""
    own = {"OMPI_MCA_btl_vader_backing_directory": str(world.directory)}
    return mpi_environment(flavour) | own | session(world) | ({"CLIENT_ERRORS": str(errors)} if errors else {})
