"""The command line of each program under its own launcher."""

from __future__ import annotations

import os
import shutil
from functools import cache
from pathlib import Path

from couplet.cli.configuration import Program

# Names under which the launchers are installed, the unambiguous ones first.
_EXECUTABLES = {
    "openmpi": ("mpirun.openmpi", "mpiexec.openmpi"),
    "mpich": ("mpiexec.mpich", "mpirun.mpich", "mpiexec.hydra"),
    "slurm": ("srun",),
}
# Where Open MPI's launcher puts its session directory: on all nodes, or on some. It takes one of them.
_SESSION_DIRECTORIES = tuple(f"OMPI_MCA_orte_{where}tmpdir_base" for where in ("", "local_", "remote_"))


@cache
def launcher_executable(launcher: str) -> str | None:
    """Path of the launcher; ``""`` for none; None where it is not installed."""
    if launcher == "none":
        return ""
    for name in _EXECUTABLES[launcher]:
        if path := shutil.which(name):
            return path
    return None


def command_line(program: Program) -> list[str]:
    """What is executed for ``program``."""
    executable = launcher_executable(program.launcher)
    if executable is None:
        raise FileNotFoundError(f'launcher "{program.launcher}" of program "{program.name}" is not installed here')
    if executable == "":
        return list(program.command)
    count = ["-n", str(program.ranks)]
    return [executable, *count, *program.launcher_options, *program.command]


def environment(program: Program, universe: dict[str, str], rank: int | None) -> dict[str, str]:
    """The environment of ``program`` (of its rank ``rank`` where no launcher tells it)."""
    result = {**os.environ, **universe, "COUPLET_PROGRAM": program.name, **program.environment}
    if rank is not None:
        result["COUPLET_RANK"] = str(rank)
        result["COUPLET_SIZE"] = str(program.ranks)
    if program.launcher == "openmpi" and os.geteuid() == 0:
        result["OMPI_ALLOW_RUN_AS_ROOT"] = result["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    if program.launcher == "openmpi" and not any(name in result for name in _SESSION_DIRECTORIES):
        # Where two launchers that start at once make the same directory in /tmp, one of them fails.
        result[_SESSION_DIRECTORIES[0]] = str(Path(universe["COUPLET_SECRET_FILE"]).parent / program.name)
    return result


def starts(program: Program) -> list[int | None]:
    """One start for a launcher; one for each rank where there is none."""
    return list(range(program.ranks)) if program.launcher == "none" else [None]
