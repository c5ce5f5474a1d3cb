"""Programs that are converted, compiled and run: they print what they print with MPI."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

COUPLET = Path(sys.executable).parent / "couplet"
PROGRAMS = Path(__file__).parent / "programs"

WITHOUT_MPI = [
    ("ring.f",),
    ("tabs.f",),
    ("halo.f90",),
    ("dots.f90",),
    ("collectives.f90",),
    ("parts.f90", "split.f90"),
    ("ring.c",),
    ("generic.f90",),
    ("macros.c",),
    ("gather.c",),
    ("layouts.c",),
    ("columns.f90",),
    ("lists.f90",),
    ("handles.c",),
    ("members.f90",),
    ("pairs.c",),
]
STAYS = ["halo.f90", "ring.c", "layouts.c", "columns.f90", "handles.c", "members.f90", "pairs.c"]


@pytest.mark.parametrize("sources", WITHOUT_MPI, ids=lambda sources: sources[-1])
def test_without_mpi(workshop, sources: tuple[str, ...]) -> None:
    assert len(workshop.same_results(sources, "--without-mpi")) >= 2


@pytest.mark.parametrize("source", STAYS)
def test_mpi_stays_for_other_things(workshop, source: str) -> None:
    workshop.same_results([source], with_mpi=True)


def test_a_communicator_of_two(workshop) -> None:
    lines = workshop.same_results(["two_communicators.f90"], "--communicator", "between", with_mpi=True)
    assert len(lines) == 3


def test_two_programs_in_place_of_one_world(workshop) -> None:
    """With --group universe, the ranks of all programs are one world: three ranks of MPI become two programs."""
    converted = workshop.convert(["halo.f90"], "--without-mpi", "--group", "universe")
    assert converted.returncode == 0, converted.stderr
    before = workshop.compile([PROGRAMS / "halo.f90"], "before", mpi=True, ported=False)
    after = workshop.compile([workshop.folder / "new" / "halo.f90"], "after", mpi=False, ported=True)
    assert workshop.run_programs(after, left=2, right=1) == workshop.run_mpi(before)


def test_threads_that_take_turns(workshop) -> None:
    """One call is in an OpenMP region: it is reported, and converted only with --openmp convert."""
    refused = workshop.convert(["team.f90"], "--without-mpi")
    assert refused.returncode == 1
    assert "team.f90:21: MPI_Barrier: it is inside an OpenMP region" in refused.stderr
    assert not (workshop.folder / "new").exists()
    workshop.same_results(["team.f90"], "--without-mpi", "--openmp", "convert")


HEAT = [f"../../../examples/heat-cube/solver/{name}.f90" for name in (
    "decomposition", "halo", "conjugate_gradients", "cube", "heat_cube",
)]  # fmt: skip


def test_the_heat_cube(workshop) -> None:
    """A solver of four files: the same numbers of iterations, and temperatures to 12 digits."""
    converted = workshop.convert(HEAT, "--without-mpi", "--program", "solver")
    assert converted.returncode == 0, converted.stderr
    assert "couplet: 16 calls in 5 files converted, 0 problems" in converted.stderr
    before = workshop.compile([PROGRAMS / name for name in HEAT], "before", mpi=True, ported=False)
    files = [workshop.folder / "new" / name.rpartition("/")[2] for name in HEAT]
    after = workshop.compile(files, "after", mpi=False, ported=True)
    for ranks in (1, 4):
        expected = workshop.run_mpi(before, "20", "4", ranks=ranks)
        compare_heat(expected, workshop.run_coupled(after, "20", "4", ranks=ranks))


def compare_heat(expected: list[str], found: list[str]) -> None:
    assert [line.split(", heat")[0] for line in found if "step" in line] == [
        line.split(", heat")[0] for line in expected if "step" in line
    ]
    assert [line for line in found if line.startswith("iterations")] == [
        line for line in expected if line.startswith("iterations")
    ]
    numbers = [[float(word) for line in lines for word in line.replace(",", "").split() if "." in word]
               for lines in (expected, found)]  # fmt: skip
    assert len(numbers[0]) == len(numbers[1]) >= 14
    assert numbers[1] == pytest.approx(numbers[0], rel=1e-12, abs=1e-12)


def test_an_error_ends_the_program(workshop) -> None:
    """As in MPI by default, also if the caller takes an error code."""
    source = workshop.folder / "wrong.f90"
    source.write_text(
        "program wrong\n  use mpi\n  integer :: ierr, x(3)\n  call MPI_Init(ierr)\n"
        "  call MPI_Send(x, 3, MPI_INTEGER, 99, 1, MPI_COMM_WORLD, ierr)\n  print *, 'after'\n"
        "  call MPI_Finalize(ierr)\nend program\n"
    )
    workshop.need([COUPLET, "convert", source, "--without-mpi", "-o", "new"])
    program = workshop.compile([workshop.folder / "new" / "wrong.f90"], "wrong", mpi=False, ported=True)
    with pytest.raises(AssertionError, match="99"):
        workshop.run_coupled(program, ranks=1)
    assert "after" not in (workshop.folder / "solver.log").read_text()


def test_two_object_files_share_the_world(workshop) -> None:
    """The file that joins is not the one that sends: couplet_world is one variable of the whole program."""
    (workshop.folder / "main.c").write_text(
        "#include <mpi.h>\nvoid other(MPI_Comm comm);\nint main(int argc, char **argv) {\n  MPI_Init(&argc, &argv);\n"
        "  other(MPI_COMM_WORLD);\n  MPI_Finalize();\n  return 0;\n}\n"
    )
    (workshop.folder / "other.c").write_text(
        "#include <mpi.h>\n#include <stdio.h>\nvoid other(MPI_Comm comm) {\n  int rank, x;\n"
        "  MPI_Comm_rank(comm, &rank);\n  x = rank == 0 ? 42 : 0;\n  MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD);\n"
        '  printf("x %d\\n", x);\n}\n'
    )
    workshop.need([COUPLET, "convert", "main.c", "other.c", "--without-mpi", "-o", "new"])
    files = [workshop.folder / "new" / name for name in ("main.c", "other.c")]
    assert workshop.run_coupled(workshop.compile(files, "shared", mpi=False, ported=True), ranks=2) == ["x 42", "x 42"]
