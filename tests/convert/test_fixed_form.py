"""Fixed-form Fortran: what the parser sees, and edits in the original text."""

from __future__ import annotations

from couplet.convert.fixed_form import normalise


def test_free_form_that_means_the_same() -> None:
    text = "C comment\n      X = 1 +\n     &    2\n* other\n   10 CONTINUE ! end\n"
    assert normalise(text).text == "! comment\n      X = 1 +&\n     &    2\n! other\n   10 CONTINUE ! end\n"


def test_each_character_knows_its_place() -> None:
    text = "      CALL A(B,\nc between\n     1       C)\n"
    found = normalise(text)
    for word in ("CALL", "C)"):
        place = found.text.index(word)
        assert text[found.offsets[place] :].startswith(word)
    assert len(found.offsets) == len(found.text) + 1


def test_columns_beyond_72_are_a_comment() -> None:
    line = "      X = 1".ljust(72) + "SEQ00010"
    assert normalise(line + "\n").text == "      X = 1".ljust(72) + "!EQ00010\n"


def test_an_exclamation_mark_in_a_text_begins_no_comment() -> None:
    text = "      PRINT *, 'a ! b',\n     &  'it''s' ! c\n"
    assert normalise(text).text == "      PRINT *, 'a ! b',&\n     &  'it''s' ! c\n"


def test_a_word_that_is_cut_at_column_72_is_one_word() -> None:
    first = "      CALL MPI_BARRIER(" + " " * 40 + "MPI_COMM_"
    assert len(first) == 72
    text = f"{first}\n     &WORLD, IERR)\n"
    found = normalise(text)
    place = found.text.index("MPI_COMM_WORLD")
    assert found.text[place : place + 15] == "MPI_COMM_WORLD&"
    assert text[found.offsets[place + 13]] == "D"


def test_long_lines_are_broken(convert_text) -> None:
    text = (
        "      PROGRAM P\n      INCLUDE 'mpif.h'\n      INTEGER IERR\n      REAL*8 X, Y\n"
        "      CALL MPI_ALLREDUCE(X,Y,1,MPI_REAL8,MPI_SUM,MPI_COMM_WORLD,IERR)\n      END\n"
    )
    after, problems, _ = convert_text("p.f", text)
    assert not problems
    assert "      use couplet_ported\n      INCLUDE 'mpif.h'" in after
    assert (
        "      CALL couplet_ported_allreduce(X,Y,1,couplet_real64,\n     &  couplet_operation_sum,couplet_world,"
        in after
    )
    assert all(len(line) <= 72 for line in after.splitlines())


def test_a_tab_takes_the_place_of_the_first_columns(convert_text) -> None:
    text = "      program p\n      include 'mpif.h'\n\tcall MPI_Barrier(MPI_COMM_WORLD,\n\t1 ierr)\n      end\n"
    after, problems, _ = convert_text("p.f", text)
    assert not problems
    assert "\tcall couplet_ported_barrier(couplet_world,\n\t1 ierr)\n" in after


def test_columns_beyond_72_behind_a_tab() -> None:
    """The tab fills the columns 1 to 6, and the digit of a continuation line is in column 6."""
    assert normalise("\tX = 1".ljust(67) + "SEQ\n").text == "\tX = 1".ljust(67) + "!EQ\n"
    continued = "\t12".ljust(68)
    assert normalise(f"\tX = 1 +\n{continued}SEQ\n").text == f"\tX = 1 +&\n &{continued[2:]}!EQ\n"


def test_long_lines_with_tabs_are_broken(convert_text) -> None:
    call = "call MPI_Bcast(x, 1, MPI_REAL8, 0, MPI_COMM_WORLD, ierr)".ljust(66) + "SEQ00010"
    text = f"\tprogram p\n\tinclude 'mpif.h'\n\tinteger ierr\n\treal*8 x\n\t{call}\n\tend\n"
    after, problems, _ = convert_text("p.f", text)
    assert not problems
    assert "\tcall couplet_ported_bcast(x, 1, couplet_real64, 0, couplet_world,\n     &  ierr)\n" in after
    assert "SEQ" not in after


def test_sequence_numbers_do_not_move_into_the_code(convert_text) -> None:
    call = "      CALL MPI_BARRIER(MPI_COMM_WORLD, IERR)".ljust(72) + "SEQ00010"
    text = f"      PROGRAM P\n      INCLUDE 'mpif.h'\n      INTEGER IERR\n{call}\n      END\n"
    after, problems, _ = convert_text("p.f", text)
    assert not problems
    assert "      CALL couplet_ported_barrier(couplet_world, IERR)" in after
    assert "SEQ" not in after
