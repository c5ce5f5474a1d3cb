"""Constants outside of calls: which of them become Couplet's, and what is said if that cannot be decided."""

from __future__ import annotations

from pathlib import Path

import pytest

from couplet.convert import Options, convert

C = "#include <mpi.h>\nvoid f(MPI_Comm other, int n) {\n  int x = 0, rank, provided; MPI_Status st; MPI_Request r;\n"
SENDS = "  MPI_Send(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);\n"
KEPT = "  MPI_Recv(&x, 1, MPI_INT, n, 1, other, MPI_STATUS_IGNORE);\n"
RECEIVES = "  MPI_Recv(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &st);\n"
FORTRAN = (
    "subroutine s(other, n)\n  use mpi\n  implicit none\n  integer, intent(in) :: other, n\n"
    "  integer :: x, from, provided, sub, ierr, status(MPI_STATUS_SIZE), types(2), lengths(2)\n"
    "  integer(MPI_ADDRESS_KIND) :: places(2)\n"
)
FORTRAN_KEPT = "  call MPI_Recv(x, 1, MPI_INTEGER, n, 1, other, MPI_STATUS_IGNORE, ierr)\n"
FORTRAN_RECEIVES = "  call MPI_Recv(x, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, status, ierr)\n"
THREADS = "  MPI_Init_thread(0, 0, MPI_THREAD_FUNNELED, &provided);\n  if (provided < MPI_THREAD_FUNNELED) x = 1;\n"
FORTRAN_THREADS = (
    "  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierr)\n  if (provided < MPI_THREAD_FUNNELED) stop\n"
)


@pytest.mark.parametrize("kept", ["", KEPT])
def test_a_level_of_threads_is_in_no_message(convert_text, kept: str) -> None:
    after, problems, _ = convert_text("p.c", C + THREADS + SENDS + kept + "}\n")
    assert problems == []
    assert "if (provided < MPI_THREAD_FUNNELED) x = 1;" in after


@pytest.mark.parametrize("kept", ["", FORTRAN_KEPT])
def test_a_level_of_threads_is_in_no_message_of_fortran(convert_text, kept: str) -> None:
    text = FORTRAN + FORTRAN_THREADS + FORTRAN_RECEIVES + kept + "end subroutine\n"
    after, problems, _ = convert_text("p.f90", text)
    assert problems == []
    assert "if (provided < MPI_THREAD_FUNNELED) stop" in after


def test_a_level_of_threads_without_mpi(convert_text) -> None:
    after, problems, _ = convert_text("p.c", C + THREADS + SENDS + "}\n", without_mpi=True)
    assert problems == []
    assert "if (provided < COUPLET_THREAD_FUNNELED) x = 1;" in after


COMPARED = "  if (st.MPI_TAG == MPI_ANY_TAG || MPI_PROC_NULL == st.MPI_SOURCE) x = 1;\n"


def test_a_field_is_compared_with_what_its_status_has(convert_text) -> None:
    after, problems, _ = convert_text("p.c", C + RECEIVES + COMPARED + KEPT + "}\n")
    assert problems == []
    assert "if (st.tag == COUPLET_ANY_TAG || COUPLET_NULL_RANK == st.source) x = 1;" in after
    stays = KEPT.replace("MPI_STATUS_IGNORE", "&st")
    after, problems, _ = convert_text("p.c", C + SENDS + stays + COMPARED + "}\n")
    assert problems == []
    assert COMPARED in after


def test_a_field_in_fortran(convert_text) -> None:
    compared = "  if (status(MPI_SOURCE) == MPI_PROC_NULL .or. MPI_ANY_TAG .eq. status(MPI_TAG)) stop\n"
    text = FORTRAN + FORTRAN_RECEIVES + compared + FORTRAN_KEPT + "end subroutine\n"
    after, problems, _ = convert_text("p.f90", text)
    assert problems == []
    assert "if (status%source == couplet_null_rank .or. couplet_any_tag .eq. status%tag) stop" in after


def test_a_variable_that_is_given_a_field(convert_text) -> None:
    lines = "  rank = st.MPI_SOURCE;\n  if (rank == MPI_PROC_NULL) x = 1;\n"
    after, problems, _ = convert_text("p.c", C + RECEIVES + lines + KEPT + "}\n")
    assert problems == []
    assert "if (rank == COUPLET_NULL_RANK) x = 1;" in after
    lines = "  from = status(MPI_SOURCE)\n  if (from == MPI_PROC_NULL) stop\n"
    text = FORTRAN + FORTRAN_RECEIVES + lines + FORTRAN_KEPT + "end subroutine\n"
    after, problems, _ = convert_text("p.f90", text)
    assert problems == []
    assert "if (from == couplet_null_rank) stop" in after


UNKNOWN = "  if (rank == MPI_ANY_TAG) x = 1;\n"


def test_a_kept_call_without_ranks_is_no_reason_for_doubt(convert_text) -> None:
    """MPI_Test takes a request and a status: no rank, tag or datatype."""
    text = C + SENDS + UNKNOWN + "  MPI_Test(&r, &x, &st);\n}\n"
    after, problems, _ = convert_text("p.c", text)
    assert problems == []
    assert "if (rank == COUPLET_ANY_TAG) x = 1;" in after


def test_what_cannot_be_decided_names_the_call_that_stays(convert_text) -> None:
    _, problems, _ = convert_text("p.c", C + SENDS + UNKNOWN + KEPT + "}\n")
    assert problems == [
        "5: MPI_ANY_TAG: it cannot be decided whether this is MPI's or Couplet's, since MPI_Recv at 6 stays MPI (its "
        "communicator 'other' does); assign it to a variable that is used with one of them only"
    ]


def test_a_status_of_both_is_named_with_both_calls(convert_text) -> None:
    """Fault: the place at which the variable is copied was said to be converted, and to stay MPI."""
    copied = "  rank = st.MPI_SOURCE;\n  if (rank == MPI_PROC_NULL) x = 1;\n"
    _, problems, _ = convert_text("p.c", C + RECEIVES + copied + KEPT.replace("MPI_STATUS_IGNORE", "&st") + "}\n")
    assert (
        "6: MPI_PROC_NULL: 'st', from which 'rank' is copied, is filled by MPI_Recv at 4, which is to be converted, "
        "and by MPI_Recv at 7, which stays MPI (its communicator 'other' does); use a status for each"
    ) in problems


def test_a_call_with_a_problem_of_its_own_is_not_called_converted(convert_text) -> None:
    """Fault: the report said of one call that it is converted, and that it is not."""
    lines = "  MPI_Send(&x, 1, MPI_LONG_DOUBLE, rank, 1, MPI_COMM_WORLD);\n"
    kept = "  MPI_Send(&x, 1, MPI_INT, rank, 1, other);\n  if (rank == MPI_PROC_NULL) x = 1;\n"
    _, problems, _ = convert_text("p.c", C + lines + kept + "}\n")
    assert any("'rank' is used with MPI_Send at 4, which is to be converted, and with" in each for each in problems)


def test_a_datatype_that_a_call_of_mpi_alone_takes(convert_text) -> None:
    """MPI_File_write is none of the calls that Couplet has, so that the variable it takes stays MPI's."""
    lines = "  MPI_Datatype t = MPI_INT; MPI_File file;\n  MPI_File_write(file, &x, 1, t, MPI_STATUS_IGNORE);\n"
    after, problems, _ = convert_text("p.c", C + SENDS + lines + "}\n")
    assert problems == []
    assert "MPI_Datatype t = MPI_INT;" in after


def test_elements_of_an_array_of_datatypes(convert_text) -> None:
    """What is put into an array of datatypes becomes what the array becomes."""
    make = "  MPI_Type_vector(2, 1, 3, MPI_INT, &sub);\n"
    made = "  MPI_Type_create_struct(2, lengths, places, types, &all);\n"
    head = "  MPI_Datatype sub, all; MPI_Aint places[2] = {0, 64}; int lengths[2] = {1, 1};\n"
    sent = "  MPI_Send(&x, 1, all, 0, 1, MPI_COMM_WORLD);\n"
    literal = made.replace("types,", "(MPI_Datatype[2]){sub, MPI_DOUBLE},")
    for lines in ("  MPI_Datatype types[2] = {sub, MPI_DOUBLE};\n" + made, literal):
        after, problems, _ = convert_text("p.c", C + head + make + lines + sent + "}\n")
        assert problems == []
        assert "couplet_type sub, all;" in after
        assert "couplet_ported_type_vector(2, 1, 3, COUPLET_INT32, &sub);" in after
        assert "{sub, COUPLET_DOUBLE}" in after


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ("(/", "/)")])
def test_elements_of_an_array_of_datatypes_in_fortran(convert_text, opening: str, closing: str) -> None:
    elements = f"{opening}sub, MPI_INTEGER{closing}"
    make = "  call MPI_Type_vector(2, 1, 3, MPI_INTEGER, sub, ierr)\n"
    made = "  call MPI_Type_create_struct(2, lengths, places, types, x, ierr)\n"
    sent = "  call MPI_Send(lengths, 1, x, 0, 1, MPI_COMM_WORLD, ierr)\n"
    for lines in (f"  types = {elements}\n{made}", made.replace("types,", elements + ",")):
        after, problems, _ = convert_text("p.f90", FORTRAN + make + lines + sent + "end subroutine\n")
        assert problems == []
        assert "call couplet_ported_type_vector(2, 1, 3, couplet_int32, sub, ierr)" in after
        assert f"{opening}sub, couplet_int32{closing}" in after


def test_a_file_without_calls_follows_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(C + SENDS + "}\n")
    (tmp_path / "b.c").write_text("#include <mpi.h>\nint is_any(int tag) { return tag == MPI_ANY_TAG; }\n")
    outcome = convert([tmp_path / "a.c", tmp_path / "b.c"], Options())
    assert not outcome.problems
    assert "return tag == COUPLET_ANY_TAG;" in outcome.files[1].after
    (tmp_path / "a.c").write_text(C + SENDS + KEPT + "}\n")
    outcome = convert([tmp_path / "a.c", tmp_path / "b.c"], Options())
    assert [each.what for each in outcome.problems] == ["MPI_ANY_TAG"]
    assert f"since MPI_Recv at {tmp_path / 'a.c'}:5 stays MPI" in outcome.problems[0].reason
