"""Composes the command line of each program under its own launcher."""

from __future__ import annotations

import os
import shutil
from functools import cache
from pathlib import Path

from couplet.cli.configuration import Program
from couplet.cli.slurm import size_words

# The names under which the launchers are installed. Unambiguous names come first.
_EXECUTABLES = {
    "openmpi": ("mpirun.openmpi", "mpiexec.openmpi"),
    "mpich": ("mpiexec.mpich", "mpirun.mpich", "mpiexec.hydra"),
    "slurm": ("srun",),
}
# The variables for the session directory of Open MPI's launcher: on all nodes, here, and on other nodes. It accepts
# one.
_SESSION_DIRECTORIES = tuple(f"OMPI_MCA_orte_{where}tmpdir_base" for where in ("", "local_", "remote_"))


@cache
def launcher_executable(launcher: str) -> str | None:
    """Returns the path of the launcher: ``""`` for no launcher, None if it is not installed."""
    if launcher == "none":
        return ""
    for name in _EXECUTABLES[launcher]:
        if path := shutil.which(name):
            return path
    return None


def command_line(program: Program) -> list[str]:
    """Returns the command that is executed for ``program``."""
    executable = launcher_executable(program.launcher)
    if executable is None:
        raise FileNotFoundError(f'launcher "{program.launcher}" of program "{program.name}" is not installed here')
    if executable == "":
        return list(program.command)
    if program.launcher == "slurm":
        count = [*size_words(program), "--export=ALL", "--kill-on-bad-exit=1"]
    else:
        count = ["-n", str(program.ranks)]
    return [executable, *count, *program.launcher_options, *program.command]


def start_of(launcher: str, command: list[str]) -> tuple[str | None, list[str]]:
    """Returns the executable (None: by the first word) and the words by which ``command`` is started.

    Open MPI takes a whole path in the first word for ``--prefix``, and then puts its own folder first in PATH, so that
    another ``python3`` than the user's would run.
    """
    if launcher != "openmpi":
        return None, command
    return command[0], [Path(command[0]).name, *command[1:]]


def environment(program: Program, universe: dict[str, str], rank: int | None) -> dict[str, str]:
    """Returns the environment of ``program``. ``rank`` is given if no launcher tells the process its rank."""
    threads = {} if program.threads is None else {"OMP_NUM_THREADS": str(program.threads)}
    result = {**os.environ, **threads, **universe, "COUPLET_PROGRAM": program.name, **program.environment}
    if rank is not None:
        result["COUPLET_RANK"] = str(rank)
        result["COUPLET_SIZE"] = str(program.ranks)
    if program.launcher == "openmpi" and os.geteuid() == 0:
        result["OMPI_ALLOW_RUN_AS_ROOT"] = result["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    if program.launcher == "openmpi" and not any(name in result for name in _SESSION_DIRECTORIES):
        # If two launchers create the same directory in /tmp at the same time, one of them fails.
        result[_SESSION_DIRECTORIES[0]] = str(Path(universe["COUPLET_SECRET_FILE"]).parent / program.name)
    return result


def starts(program: Program) -> list[int | None]:
    """Returns one start for a launcher, or one for each rank if there is none."""
    return list(range(program.ranks)) if program.launcher == "none" else [None]
