"""Constants that stand for a communicator, and statuses that are copied, in Fortran: the result compiles and runs."""

from __future__ import annotations

import pytest

PROGRAM = """module constants
  use mpi
  implicit none
  private
  public :: real_type
  integer, parameter, public :: ours = MPI_COMM_WORLD, three = 3
  integer, parameter, public :: world = MPI_COMM_WORLD
  integer, parameter :: real_type = MPI_DOUBLE_PRECISION
end module
program copies
  use mpi
  use constants
  implicit none
  integer :: ierr, rank, ranks, left, right
  integer :: status(MPI_STATUS_SIZE), saved(MPI_STATUS_SIZE), all(MPI_STATUS_SIZE, 3)
  real(kind(1d0)) :: x
  call MPI_Init(ierr)
  call MPI_Comm_rank(ours, rank, ierr)
  call MPI_Comm_size(world, ranks, ierr)
  right = mod(rank + 1, ranks)
  left = mod(rank + ranks - 1, ranks)
  x = rank
  call MPI_Sendrecv_replace(x, 1, real_type, right, 7, left, 7, ours, status, ierr)
  saved(:) = status(:)
  all(:, 2) = status
  all(1:MPI_STATUS_SIZE, 3) = saved(:)
  call show(all(1, 3))
  print "(a, i2, a, 3i3, f4.1)", "rank", rank, ":", saved(MPI_SOURCE), all(MPI_SOURCE, 2), all(MPI_TAG, 3), x
  call MPI_Finalize(ierr)
contains
  subroutine show(one)
    integer, intent(in) :: one(MPI_STATUS_SIZE)
    integer, parameter :: mine = MPI_COMM_WORLD
    call MPI_Barrier(mine, ierr)
    print "(a, i2, a, i3)", "rank", rank, " shows", one(MPI_SOURCE)
  end subroutine
end program
"""
FIXED = """      PROGRAM FIXED
      INCLUDE 'mpif.h'
      INTEGER COMM, IERR, NOREQ
      PARAMETER (COMM = MPI_COMM_WORLD)
      INTEGER A(4), RANK
      CALL MPI_INIT(IERR)
      CALL MPI_COMM_RANK(COMM, RANK, IERR)
      A(1) = RANK + 5
      CALL MPI_BCAST(A, 1, MPI_INTEGER, 0, COMM, IERR)
      PRINT *, 'A', A(1)
      CALL MPI_FINALIZE(IERR)
      END
"""


@pytest.mark.parametrize(("name", "text"), [("copies.f90", PROGRAM), ("fixed.f", FIXED)])
@pytest.mark.parametrize("options", [(), ("--without-mpi",)], ids=["with MPI", "without MPI"])
def test_they_run(workshop, name: str, text: str, options: tuple[str, ...]) -> None:
    (workshop.folder / name).write_text(text)
    assert len(workshop.same_results([workshop.folder / name], *options, with_mpi=not options)) >= 3


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("status = 0", "5: status = 0: a message of Couplet is no array of numbers; it begins without a source"),
        ("status(:) = 0", "5: status(:) = 0: a message of Couplet is no array of numbers"),
        ("ierr = status(1)", "5: status(1): a message of Couplet has no elements; it has %source and %tag"),
        ("ierr = status(rank)", "5: status(rank): a message of Couplet has no elements"),
        ("status(MPI_ERROR) = ierr", "5: status(MPI_ERROR): errors of the ported calls end the run"),
    ],
)
def test_elements_of_a_status(convert_text, line: str, problem: str) -> None:
    text = (
        "program p\n  use mpi\n  implicit none\n  integer :: ierr, rank, a(4), status(MPI_STATUS_SIZE)\n"
        f"  {line}\n  call MPI_Recv(a, 4, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, status, ierr)\nend program\n"
    )
    _, problems, _ = convert_text("p.f90", text)
    assert len(problems) == 1 and problems[0].startswith(problem), problems
