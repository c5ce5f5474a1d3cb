"""Things that a machine may lack: tests that need them are skipped, but fail if only the build has left them out."""

from __future__ import annotations

import ctypes
import shutil
from pathlib import Path

import pytest

COMPILERS = {"c": "cc", "cpp": "c++", "fortran": "gfortran"}
WRAPPERS = {"c": "mpicc", "cpp": "mpicxx", "fortran": "mpifort"}


def installed(name: str) -> str:
    """Returns the path of a program of the system."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def compiler(language: str, flavour: str | None = None) -> str:
    """Returns the compiler, or that of this MPI if one is given."""
    return installed(COMPILERS[language] if flavour is None else f"{WRAPPERS[language]}.{flavour}")


def launcher(flavour: str) -> str:
    """Returns the launcher of this MPI."""
    return installed(f"mpiexec.{flavour}")


def built(path: Path, language: str, flavour: str | None = None) -> str:
    """Returns a program of the build tree, which is there if its compiler is."""
    compiler(language, flavour)
    assert path.exists(), f"{path} is not built"
    return str(path)


def require_ucx() -> None:
    """Skips the test if UCX cannot be loaded, or the build has left it out because its headers are not there."""
    try:
        ctypes.CDLL("libucp.so.0")
    except OSError as why:
        pytest.skip(f"UCX is not installed: {why}")
    if not any(Path(prefix, "ucp/api/ucp.h").exists() for prefix in ("/usr/include", "/usr/local/include")):
        pytest.skip("the headers of UCX are not installed (package libucx-dev)")
