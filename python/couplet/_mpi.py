"""Finds the libcouplet_mpi_* that belongs to the MPI of mpi4py."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from couplet import _couplet
from couplet.errors import MpiError

if TYPE_CHECKING:
    from mpi4py import MPI


def library_for(version: str) -> Path:
    """Returns the libcouplet_mpi_* for an MPI with this version text (MPI.Get_library_version())."""
    core = Path(_couplet.library_path()).absolute()
    path = core.with_name(core.name.replace("libcouplet", f"libcouplet_mpi_{flavour_of(version)}", 1))
    if not path.exists():
        first = version.splitlines()[0]
        raise MpiError(f"join: mpi4py uses {first}, but this installation of couplet was built without it: no {path}")
    return path


def flavour_of(version: str) -> str:
    """Returns the binary interface of an MPI with this version text: openmpi or mpich."""
    if "Open MPI" in version:
        return "openmpi"
    if any(name in version for name in ("MPICH", "MVAPICH", "Intel(R) MPI", "Cray MPICH", "ParaStation")):
        return "mpich"
    raise MpiError(f"join: couplet does not know the binary interface of {version.splitlines()[0]}")


def join(request: _couplet.JoinRequest, comm: MPI.Intracomm | Any) -> _couplet.Universe:
    """Joins with the rank and size of an mpi4py communicator."""
    from mpi4py import MPI

    library = library_for(MPI.Get_library_version())
    alive = MPI.Is_initialized() and not MPI.Is_finalized()  # otherwise joining reports the error
    any_thread = alive and MPI.Query_thread() == MPI.THREAD_MULTIPLE
    return _couplet.join_mpi(request, str(library), MPI._addressof(comm), any_thread)
