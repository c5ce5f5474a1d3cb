"""Names that mean different things in different places, and lines that the preprocessor chooses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from launching import PROJECT
from needs import compiler

from couplet.convert import Options, convert

COUPLET = Path(sys.executable).parent / "couplet"


def compiles_c(folder: Path, text: str, *macros: str) -> None:
    """Checks that the result is C for each macro, and without any."""
    (folder / "after.c").write_text(text)
    for macro in ("-DNONE", *macros):
        command = [compiler("c", "openmpi"), "-Wall", "-Werror", macro, f"-I{PROJECT / 'include'}"]
        done = subprocess.run(
            [*command, "-fsyntax-only", "after.c"], cwd=folder, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, f"{macro}: {done.stderr}"


def test_each_block_of_c_has_its_own_names(tmp_path: Path, convert_text) -> None:
    text = (
        "#include <mpi.h>\nvoid f(MPI_Comm other) {\n  int x = 0;\n"
        "  { MPI_Request r; MPI_Irecv(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &r); MPI_Wait(&r, MPI_STATUS_IGNORE); }\n"
        "  { MPI_Request r; MPI_Irecv(&x, 1, MPI_INT, 0, 1, other, &r); MPI_Wait(&r, MPI_STATUS_IGNORE); }\n"
        "  for (MPI_Comm c = other; x < 2; x++) MPI_Barrier(c);\n"
        "  MPI_Comm c = MPI_COMM_WORLD;\n  MPI_Barrier(c);\n}\n"
    )
    after, problems, _ = convert_text("a.c", text)
    assert not problems
    assert "void f(MPI_Comm other) {" in after
    assert "{ couplet_ported_request r; couplet_ported_irecv(" in after
    assert "{ MPI_Request r; MPI_Irecv(&x, 1, MPI_INT, 0, 1, other, &r); MPI_Wait(" in after
    assert "for (MPI_Comm c = other; x < 2; x++) MPI_Barrier(c);" in after
    assert "  couplet_ported_comm c = couplet_world;\n  couplet_ported_barrier(c);" in after
    compiles_c(tmp_path, after)


def test_an_inner_name_begins_at_its_declaration(tmp_path: Path, convert_text) -> None:
    text = (
        "#include <mpi.h>\nvoid f(MPI_Comm other) {\n  MPI_Comm c = MPI_COMM_WORLD;\n"
        "  {\n    MPI_Barrier(c);\n    MPI_Comm c = other;\n    MPI_Barrier(c);\n  }\n}\n"
    )
    after, problems, _ = convert_text("a.c", text)
    assert not problems
    assert "    couplet_ported_barrier(c);\n    MPI_Comm c = other;\n    MPI_Barrier(c);\n" in after
    compiles_c(tmp_path, after)


def test_a_static_variable_begins_too_early(convert_text) -> None:
    text = (
        "#include <mpi.h>\nvoid f(void) {\n  static int n;\n  static MPI_Comm c = MPI_COMM_WORLD;\n"
        "  MPI_Comm d = MPI_COMM_WORLD;\n  MPI_Barrier(c);\n  MPI_Barrier(d);\n  n++;\n}\n"
    )
    _, problems, _ = convert_text("a.c", text)
    assert len(problems) == 1, problems
    assert problems[0].startswith("4: MPI_COMM_WORLD: the group is known once the process has joined"), problems


BRANCHES_C = """#ifdef LOCAL
#include "mpi.h"
#else
#include <mpi.h>
#endif
#ifdef BIG
static MPI_Request reqs[8];
#else
static MPI_Request reqs[4];
#endif
void f(void) {
#ifdef BIG
  int n = 8;
  MPI_Comm c = MPI_COMM_WORLD;
#else
  int n = 4;
  MPI_Comm c = MPI_COMM_WORLD;
#endif
  int x[8];
  for (int i = 0; i < n; i++) MPI_Irecv(&x[i], 1, MPI_INT, 0, i, c, &reqs[i]);
  MPI_Waitall(n, reqs, MPI_STATUSES_IGNORE);
}
"""


@pytest.mark.parametrize("without_mpi", [False, True])
def test_all_branches_of_c_are_converted(tmp_path: Path, convert_text, without_mpi: bool) -> None:
    after, problems, _ = convert_text("a.c", BRANCHES_C, without_mpi=without_mpi)
    assert not problems
    assert ("MPI_" in after) is False
    assert after.count("#include <couplet/couplet_ported.h>") == 2
    compiles_c(tmp_path, after, "-DLOCAL", "-DBIG")


BRANCHES_FORTRAN = """program p
#ifdef F08
  use mpi_f08
#else
  use mpi
#endif
  implicit none
#ifdef BIG
  integer, parameter :: n = 8
  MPI_REQUEST_TYPE req(8)
#else
  integer, parameter :: n = 4
  MPI_REQUEST_TYPE req(4)
#endif
  integer :: ierr, i, a(8)
#ifdef _OPENMP
  call MPI_Init_thread(MPI_THREAD_FUNNELED, i, ierr)
#else
  call MPI_Init(ierr)
#endif
  do i = 1, n
    call MPI_Irecv(a(i), 1, MPI_INTEGER, 0, i, MPI_COMM_WORLD, req(i), ierr)
  end do
#ifdef WAIT
  call MPI_Waitall(n, req, MPI_STATUSES_IGNORE, ierr)
#else
  do i = 1, n
    call MPI_Wait(req(i), MPI_STATUS_IGNORE, ierr)
  end do
#endif
  call MPI_Finalize(ierr)
end program
""".replace("MPI_REQUEST_TYPE", "integer ::")


@pytest.mark.parametrize("without_mpi", [False, True])
def test_all_branches_of_fortran_are_converted(workshop, without_mpi: bool) -> None:
    """Whatever is defined, the result compiles."""
    path = workshop.folder / "p.F90"
    path.write_text(BRANCHES_FORTRAN)
    outcome = convert([path], Options(without_mpi=without_mpi))
    assert not outcome.problems
    after = outcome.files[0].after
    assert after.count("use couplet_ported\n") == 2
    assert after.count("type(couplet_request) :: req(") == 2
    assert "integer :: req" not in after
    (workshop.folder / "after.F90").write_text(after)
    for macros in ([], ["-DF08"], ["-DBIG", "-DWAIT"]):
        workshop.need([compiler("fortran", "openmpi"), "-c", *macros, *workshop.modules(), "after.F90"])


def test_a_global_that_several_files_declare(tmp_path: Path) -> None:
    (tmp_path / "a.h").write_text("#include <mpi.h>\nextern MPI_Comm ours;\n")
    (tmp_path / "a.c").write_text('#include "a.h"\nMPI_Comm ours;\nvoid f(void) { ours = MPI_COMM_WORLD; }\n')
    (tmp_path / "b.c").write_text('#include "a.h"\nextern MPI_Comm ours;\nvoid g(void) { MPI_Barrier(ours); }\n')
    outcome = convert([tmp_path / name for name in ("a.h", "a.c", "b.c")], Options())
    assert not outcome.problems
    assert all("MPI_Comm ours" not in each.after for each in outcome.files)
    assert all("couplet_ported_comm ours;" in each.after for each in outcome.files)
