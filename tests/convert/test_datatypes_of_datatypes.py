"""A datatype that is made of a converted one is converted, too; the report says why a message stays MPI."""

from __future__ import annotations

C = (
    "#include <mpi.h>\nvoid f(MPI_Comm other, MPI_File file) {\n"
    "  double x[9]; MPI_Aint low, extent; MPI_Datatype a, b, c;\n"
)
MADE = "  MPI_Type_vector(2, 1, 3, MPI_DOUBLE, &a);\n  MPI_Type_contiguous(3, a, &b);\n"
SENT = "  MPI_Send(x, 1, a, 0, 1, MPI_COMM_WORLD);\n"


def test_a_datatype_that_is_in_no_message(convert_text) -> None:
    lines = "  MPI_Type_dup(b, &c);\n  MPI_Type_get_extent(c, &low, &extent);\n  MPI_Type_free(&b);\n"
    after, problems, _ = convert_text("p.c", C + MADE + lines + SENT + "}\n")
    assert problems == []
    assert "MPI_Aint low, extent; couplet_type a, b, c;" in after
    for call in ("contiguous(3, a, &b)", "dup(b, &c)", "get_extent(c, &low, &extent)", "free(&b)"):
        assert f"  couplet_ported_type_{call};\n" in after


def test_an_array_of_datatypes_that_two_structures_have(convert_text) -> None:
    lines = (
        "  MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE}; MPI_Aint places[2] = {0, 8}; int one[2] = {1, 1};\n"
        "  MPI_Type_create_struct(2, one, places, types, &a);\n  MPI_Type_create_struct(1, one, places, types, &b);\n"
    )
    after, problems, _ = convert_text("p.c", C + lines + SENT + "}\n")
    assert problems == []
    assert after.count("couplet_ported_type_create_struct(") == 2
    assert "couplet_type types[2] = {COUPLET_INT32, COUPLET_DOUBLE};" in after


def test_a_datatype_of_fortran_that_is_in_no_message(convert_text) -> None:
    after, problems, _ = convert_text(
        "p.f90",
        "subroutine s(x)\n  use mpi\n  implicit none\n  integer :: x(9), a, b, n, ierr\n"
        "  call MPI_Type_vector(2, 1, 3, MPI_INTEGER, a, ierr)\n  call MPI_Type_contiguous(3, a, b, ierr)\n"
        "  call MPI_Type_size(b, n, ierr)\n  call MPI_Send(x, 1, a, 0, 1, MPI_COMM_WORLD, ierr)\nend subroutine\n",
    )
    assert problems == []
    assert "call couplet_ported_type_contiguous(3, a, b, ierr)" in after
    assert "call couplet_ported_type_size(b, n, ierr)" in after


def test_the_reason_why_the_other_message_stays(convert_text) -> None:
    _, problems, _ = convert_text("p.c", C + MADE + SENT + "  MPI_Send(x, 1, a, 0, 1, other);\n}\n")
    reason = "'a' is also used by MPI_Send at 7, which is not converted (its communicator 'other' stays MPI): make a "
    assert [problem.partition(": ")[0] for problem in problems] == ["4", "5", "6"]
    assert all(problem.endswith(f": {reason}second datatype for it") for problem in problems), problems


def test_only_the_datatype_of_the_other_message_is_reported(convert_text) -> None:
    """A datatype that is made of a converted one, and is used on a communicator that stays MPI."""
    text = C + MADE + SENT + "  MPI_Send(x, 1, b, 0, 1, MPI_COMM_WORLD);\n}\n"
    _, problems, _ = convert_text("p.c", text.replace("b, 0, 1, MPI_COMM_WORLD", "b, 0, 1, other"))
    assert [problem.partition(":")[0] for problem in problems] == ["5"]
    assert "MPI_Type_contiguous: 'b' is also used by MPI_Send at " in problems[0]
    _, problems, _ = convert_text("p.c", text.replace("MPI_Send(x, 1, b, 0, 1, MPI_COMM_WORLD)",
                                                      "MPI_File_write(file, x, 1, b, MPI_STATUS_IGNORE)"))  # fmt: skip
    assert len(problems) == 1
    assert "MPI_Type_contiguous: 'b' is used by MPI_File_write at " in problems[0]
    assert problems[0].endswith(" 7: MPI-IO: keep it on a communicator that stays MPI; make a second datatype for it")


def test_a_request_says_why_it_stays(convert_text) -> None:
    lines = (
        "  MPI_Request r; MPI_Irecv(x, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &r);\n"
        "  MPI_Irecv(x, 1, MPI_DOUBLE, 0, 1, other, &r);\n"
    )
    _, problems, _ = convert_text("p.c", C + lines + "}\n")
    assert problems == [
        "4: MPI_Irecv: 'r' is also used by MPI_Irecv at 5, which is not converted (its communicator 'other' stays "
        "MPI): use a variable of its own"
    ]
