"""Joining with a communicator, under each MPI, in each language that has its own way."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from launching import BUILD, TESTS, World, mpi_environment
from needs import built, launcher

PROGRAMS = TESTS / "languages" / "programs"


def under_mpi(flavour: str, ranks: int, command: list[str]) -> list[str]:
    return [launcher(flavour), "-n", str(ranks), *command]


def compiled(name: str, language: str, flavour: str) -> str:
    return built(BUILD / "tests" / "programs" / f"{name}_{language}.{flavour}", language, flavour)


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
@pytest.mark.parametrize("how", ["integer", "f08", "cpp", "python"])
def test_join_with_a_communicator(make_world: Callable[..., World], flavour: str, how: str) -> None:
    world = make_world("team:2")
    if how == "python":
        command = [sys.executable, str(PROGRAMS / "join_python.py")]
    else:
        command = [compiled("join", "cpp" if how == "cpp" else "fortran", flavour), how]
    process = world.start(under_mpi(flavour, 2, command), **mpi_environment(flavour))
    assert world.finish(process).check().output == f"joined: {how}\n"


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_an_error_without_ierr_aborts_the_job(make_world: Callable[..., World], flavour: str, tmp_path: Path) -> None:
    world = make_world("team:2")
    said = tmp_path / "errors"  # a launcher may lose what a rank prints just before it aborts
    program = ["sh", "-c", f'exec "{compiled("join", "fortran", flavour)}" abort 2>>"{said}"']
    ended = world.finish(world.start(under_mpi(flavour, 2, program)))
    assert ended.status != 0
    assert "went on" not in ended.output
    errors = said.read_text()
    assert "couplet: COUPLET_ERROR_TIMEOUT: " in errors
    assert "never" in errors


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
@pytest.mark.parametrize("language", ["c", "cpp", "fortran", "python"])
def test_joining_before_mpi_is_there(make_world: Callable[..., World], flavour: str, language: str) -> None:
    world = make_world("team:1")
    if language == "python":
        command = [sys.executable, str(PROGRAMS / "early_python.py")]
    else:
        command = [compiled("early", language, flavour)]
    ended = world.finish(world.start(command, **mpi_environment(flavour))).check()
    call = "join" if language == "python" else "couplet_join_mpi"
    assert ended.output.startswith(f"-14 {call}: MPI is not initialised")


def test_flavour_of_an_mpi() -> None:
    from couplet._mpi import flavour_of

    assert flavour_of("Open MPI v4.1.4, package: Debian") == "openmpi"
    assert flavour_of("MPICH Version:\t4.0.2\nMPICH Release date") == "mpich"
    assert flavour_of("Intel(R) MPI Library 2021.10") == "mpich"
    with pytest.raises(RuntimeError, match="Somebody's MPI"):
        flavour_of("Somebody's MPI 1.0")


def test_two_mpis_in_one_process_are_refused(make_world: Callable[..., World]) -> None:
    """mpi4py has one MPI, and another one is loaded beside it."""
    world = make_world("team:1")
    program = """
import ctypes
ctypes.CDLL("libmpich.so.12")
from mpi4py import MPI
import couplet
try:
    couplet.join("team", MPI.COMM_WORLD)
except couplet.MpiError as error:
    print("refused:", error)
"""
    command = under_mpi("openmpi", 1, [sys.executable, "-c", program])
    process = world.start(command, **mpi_environment("openmpi"))
    assert world.finish(process).check().output.startswith("refused: ")
