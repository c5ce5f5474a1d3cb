"""What a communicator or a request goes through changes its type, in all files."""

from __future__ import annotations

from pathlib import Path

from couplet.convert import Options, Outcome, convert


def together(folder: Path, **files: str) -> tuple[dict[str, str], Outcome]:
    """Converts files that belong together: name_suffix="text"."""
    paths = []
    for name, text in files.items():
        paths.append(folder / ".".join(name.rsplit("_", 1)))
        paths[-1].write_text(text)
    outcome = convert(paths, Options())
    return {each.path.name: each.after for each in outcome.files}, outcome


def test_an_included_declaration(tmp_path: Path) -> None:
    files, outcome = together(
        tmp_path,
        work_f90="subroutine work\n  include 'shared.inc'\n  call MPI_Barrier(ours, ierr)\nend subroutine\n"
        "subroutine set\n  use mpi\n  include 'shared.inc'\n  ours = MPI_COMM_WORLD\nend subroutine\n",
        shared_inc="  integer :: ours, ierr\n",
    )
    assert not outcome.problems
    assert "  call couplet_ported_barrier(ours, ierr)\n" in files["work.f90"]
    assert files["shared.inc"] == "  integer :: ierr\n  type(couplet_group) :: ours\n"


def test_a_prototype_in_a_header(tmp_path: Path) -> None:
    files, outcome = together(
        tmp_path,
        halo_h="#include <mpi.h>\nint halo(double *x, MPI_Comm);\n",
        halo_c='#include "halo.h"\nint halo(double *x, MPI_Comm comm) {\n'
        "  return MPI_Bcast(x, 1, MPI_DOUBLE, 0, comm);\n}\n",
        main_c='#include "halo.h"\nint main(void) {\n  double x;\n  return halo(&x, MPI_COMM_WORLD);\n}\n',
    )
    assert not outcome.problems
    assert "int halo(double *x, couplet_ported_comm);" in files["halo.h"]
    assert "int halo(double *x, couplet_ported_comm comm) {" in files["halo.c"]
    assert "couplet_ported_bcast(x, 1, COUPLET_DOUBLE, 0, comm);" in files["halo.c"]
    assert "return halo(&x, couplet_world);" in files["main.c"]


def test_a_procedure_that_nobody_has_given(tmp_path: Path) -> None:
    _, outcome = together(
        tmp_path,
        main_f90="program p\n  use mpi\n  integer :: ours, ierr\n  ours = MPI_COMM_WORLD\n"
        "  call MPI_Barrier(ours, ierr)\n  call library_start(ours)\nend program\n",
    )
    assert [each.what for each in outcome.problems] == ["library_start"]
    assert "it is in none of the files, and gets 'ours'" in outcome.problems[0].reason


def test_two_communicators_are_told_apart_by_scope(tmp_path: Path) -> None:
    files, outcome = together(
        tmp_path,
        two_f90="subroutine a(comm)\n  use mpi\n  integer :: comm, ierr\n  call MPI_Barrier(comm, ierr)\n"
        "end subroutine\nsubroutine b(comm)\n  use mpi\n  integer :: comm, ierr\n  call MPI_Barrier(comm, ierr)\n"
        "end subroutine\nprogram p\n  use mpi\n  call a(MPI_COMM_WORLD)\n  call b(MPI_COMM_SELF)\nend program\n",
    )
    assert not outcome.problems
    assert files["two.f90"].count("call couplet_ported_barrier(comm, ierr)") == 1
    assert files["two.f90"].count("call MPI_Barrier(comm, ierr)") == 1


def test_several_statements_on_a_line(tmp_path: Path) -> None:
    files, _ = together(
        tmp_path,
        main_f90="program p\n  use mpi\n  integer :: ierr, n\n"
        "  call MPI_Init(ierr); call MPI_Comm_rank(MPI_COMM_WORLD, n, ierr)\n  print *, n; call MPI_Finalize(ierr)\n"
        "end program\n",
        main_c="#include <mpi.h>\n"
        "int main(void) { MPI_Init(0, 0); MPI_Barrier(MPI_COMM_WORLD); return MPI_Finalize(); }\n",
    )
    assert "call MPI_Init(ierr); call couplet_ported_join(); call couplet_ported_comm_rank(" in files["main.f90"]
    assert "  print *, n; call couplet_ported_leave(); call MPI_Finalize(ierr)\n" in files["main.f90"]
    assert "MPI_Init(0, 0); couplet_ported_join(NULL, 0, 0); couplet_ported_barrier(couplet_world); " in files["main.c"]
    assert "couplet_ported_leave(); return MPI_Finalize(); }" in files["main.c"]


def test_a_label_before_the_end(tmp_path: Path) -> None:
    _, outcome = together(
        tmp_path,
        main_f="      PROGRAM P\n      INCLUDE 'mpif.h'\n      INTEGER IERR\n      CALL MPI_INIT(IERR)\n"
        "      CALL MPI_BARRIER(MPI_COMM_WORLD, IERR)\n  99  CALL MPI_FINALIZE(IERR)\n      END\n",
    )
    assert [str(each).rpartition("main.f:")[2] for each in outcome.problems] == [
        "6: MPI_FINALIZE: it has a label: put call couplet_ported_leave() behind the label"
    ]


def test_the_source_of_a_message_is_a_number(tmp_path: Path) -> None:
    """A field of a status that is assigned or passed does not make a status of what it is given to."""
    files, outcome = together(
        tmp_path,
        main_f90="program p\n  use mpi\n  integer :: from, ierr, x, status(MPI_STATUS_SIZE)\n"
        "  call MPI_Recv(x, 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, status, ierr)\n"
        "  from = status(MPI_SOURCE)\n  call answer(status(MPI_SOURCE))\ncontains\n"
        "  subroutine answer(to)\n    integer, intent(in) :: to\n"
        "    call MPI_Send(x, 1, MPI_INTEGER, to, 1, MPI_COMM_WORLD, ierr)\n  end subroutine\nend program\n",
        main_c="#include <mpi.h>\nvoid f(void) {\n  MPI_Status s;\n  int from, x;\n"
        "  MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &s);\n  from = s.MPI_SOURCE;\n}\n",
    )
    assert not outcome.problems
    assert "  integer :: from, ierr, x\n  type(couplet_message) :: status\n" in files["main.f90"]
    assert "  from = status%source\n  call answer(status%source)\n" in files["main.f90"]
    assert "    integer, intent(in) :: to\n" in files["main.f90"]
    assert "  couplet_message s;\n  int from, x;\n" in files["main.c"]
    assert "  from = s.source;\n" in files["main.c"]
