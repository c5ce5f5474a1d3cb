"""What cannot be converted is named, with its line and what to do; and nothing is half done."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import couplet.convert.parsing as parsing
from couplet.convert import ConvertError, Options, convert

COUPLET = Path(sys.executable).parent / "couplet"

HEAD = "program p\n  use mpi\n  implicit none\n  integer :: ierr, rank, a(4), b(4), req, win, row, comm, t\n"


def body(*lines: str) -> str:
    return HEAD + "".join(f"  {line}\n" for line in lines) + "end program\n"


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("MPI_Win_create(a, 16, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)", "one-sided communication"),
        ("MPI_Cart_create(MPI_COMM_WORLD, 1, a, b, .true., comm, ierr)", "topologies"),
        ("MPI_Send_init(a, 4, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, req, ierr)", "persistent requests"),
        ("MPI_File_open(MPI_COMM_WORLD, 'f', 0, 0, t, ierr)", "MPI-IO"),
        ("MPI_Ssend(a, 4, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, ierr)", "synchronous sends"),
        ("MPI_Exscan(a, b, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)", "use scan"),
        ("MPI_Comm_split_type(MPI_COMM_WORLD, 0, 0, 0, comm, ierr)", "shared memory"),
        ("MPI_Send(a, 4, MPI_PACKED, 0, 1, MPI_COMM_WORLD, ierr)", "Couplet has no type MPI_PACKED"),
        ("MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INTEGER, a, 1, MPI_INTEGER, MPI_COMM_WORLD, ierr)", "MPI_IN_PLACE"),
    ],
)
def test_a_call_that_couplet_does_not_have(convert_text, call: str, reason: str) -> None:
    after, problems, _ = convert_text("p.f90", body(f"call {call}"))
    assert len(problems) == 1
    assert problems[0].startswith(f"5: {call.partition('(')[0]}: ")
    assert reason in problems[0]
    assert f"  ! couplet convert: {call.partition('(')[0]} is not converted: " in after
    assert f"call {call}" in after


def test_a_datatype_that_couplet_does_not_have(convert_text) -> None:
    _, problems, _ = convert_text(
        "p.f90",
        body(
            "call MPI_Type_create_darray(4, 1, 1, a, a, a, a, MPI_ORDER_C, MPI_INTEGER, row, ierr)",
            "call MPI_Send(a, 1, row, 0, 1, MPI_COMM_WORLD, ierr)",
        ),
    )
    assert len(problems) == 1
    assert problems[0].startswith("6: MPI_Send: 'row' is used by MPI_Type_create_darray at ")
    assert problems[0].endswith("5: Couplet has no such datatype: make it of vectors, blocks or a structure, or send "
                                "the elements")  # fmt: skip


def test_a_datatype_of_messages_that_stay(convert_text) -> None:
    """A datatype is converted only if a converted message takes it; one that serves both sides is reported."""
    lines = ["call MPI_Type_vector(4, 1, 5, MPI_INTEGER, row, ierr)", "call MPI_Send(a, 1, row, 0, 1, comm, ierr)"]
    after, problems, _ = convert_text("p.f90", body(*lines))
    assert problems == []
    assert "call MPI_Type_vector(4, 1, 5, MPI_INTEGER, row, ierr)" in after
    _, problems, _ = convert_text("p.f90", body(*lines, "call MPI_Send(a, 1, row, 0, 1, MPI_COMM_WORLD, ierr)"))
    assert [problem.partition(":")[0] for problem in problems] == ["5", "7"]
    assert all("'row' is also used by MPI_Send at " in problem for problem in problems)


@pytest.mark.parametrize("call", ["MPI_Bcast(a, 1, row, 0, MPI_COMM_WORLD, ierr)",
                                  "MPI_Sendrecv_replace(a, 1, row, 0, 1, 0, 1, MPI_COMM_WORLD, ierr)"])  # fmt: skip
def test_a_call_that_takes_elements_only(convert_text, call: str) -> None:
    _, problems, _ = convert_text("p.f90", body("call MPI_Type_contiguous(4, MPI_INTEGER, row, ierr)", "call " + call))
    assert problems == [f"6: {call.partition('(')[0]}: this call of Couplet takes no datatype that was made: send the "
                        "elements, packed into an array"]  # fmt: skip


def test_a_datatype_of_pairs(convert_text) -> None:
    _, problems, _ = convert_text(
        "p.f90",
        body(
            "call MPI_Type_contiguous(4, MPI_2INTEGER, row, ierr)",
            "call MPI_Send(a, 1, row, 0, 1, MPI_COMM_WORLD, ierr)",
        ),
    )
    assert problems == [
        "5: MPI_Type_contiguous: a datatype of Couplet has no pairs: make it of two elements"
    ]  # fmt: skip


def test_a_request_that_two_communicators_share(convert_text) -> None:
    _, problems, _ = convert_text(
        "p.f90",
        body(
            "call MPI_Irecv(a, 4, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, req, ierr)",
            "call MPI_Wait(req, MPI_STATUS_IGNORE, ierr)",
            "call MPI_Irecv(a, 4, MPI_INTEGER, 0, 1, comm, req, ierr)",
        ),
    )
    assert ["'req' is also used by MPI_Irecv" in problem for problem in problems] == [True, True]


def test_a_null_rank_for_both(convert_text) -> None:
    _, problems, _ = convert_text(
        "p.f90",
        body(
            "rank = MPI_PROC_NULL",
            "call MPI_Send(a, 4, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, ierr)",
            "call MPI_Send(a, 4, MPI_INTEGER, rank, 1, comm, ierr)",
        ),
    )
    assert problems == [
        "5: MPI_PROC_NULL: 'rank' is used with MPI_Send at 6, which is converted, and with MPI_Send at 7, which stays "
        "MPI (its communicator 'comm' does); use a variable for each"
    ]


def test_a_communicator_that_is_not_chosen_is_noted(convert_text) -> None:
    text = body("call MPI_Barrier(comm, ierr)", "call MPI_Barrier(MPI_COMM_WORLD, ierr)", "call MPI_Init(ierr)")
    after, problems, notes = convert_text("p.f90", text)
    assert not problems
    assert "call MPI_Barrier(comm, ierr)" in after
    assert notes == ["5: MPI_Barrier: it stays MPI, since 'comm' is none of the chosen communicators (--communicator)"]


def test_a_common_block(convert_text) -> None:
    text = body("common /shared/ req", "call MPI_Irecv(a, 4, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, req, ierr)")
    _, problems, _ = convert_text("p.f90", text)
    assert problems == ["5: req: a group, request or message cannot be in a common block; move it into a module"]


def test_a_variable_that_is_declared_elsewhere(convert_text) -> None:
    text = "subroutine s(a)\n  use elsewhere\n  integer :: a\n  call MPI_Wait(pending, status, ierr)\nend subroutine\n"
    text += text.replace("subroutine s(a)", "subroutine t(a)").replace(
        "MPI_Wait(pending, status, ierr)", "MPI_Isend(a, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, pending, ierr)"
    )
    _, problems, _ = convert_text("p.f90", text)
    assert problems == ["9: MPI_Isend: the declaration of 'pending' was not found; give the file that has it, too"]


def test_texts_and_comments_stay(convert_text) -> None:
    text = body("print *, 'call MPI_Barrier(MPI_COMM_WORLD, ierr)'  ! call MPI_Barrier(MPI_COMM_WORLD)")
    assert convert_text("p.f90", text) == (text, [], [])


def test_what_is_left_of_mpi(convert_text) -> None:
    text = body("call MPI_Get_processor_name(a, b, ierr)", "call MPI_Barrier(MPI_COMM_WORLD, ierr)")
    _, problems, _ = convert_text("p.f90", text, without_mpi=True)
    assert len(problems) == 1
    assert problems[0].startswith("5: MPI_Get_processor_name: it would be left of MPI: ")
    assert "gethostname" in problems[0]


def test_declarations_that_are_left_of_mpi(convert_text) -> None:
    text = HEAD + "  integer :: stats(MPI_STATUS_SIZE, 2), n\n  character(len=MPI_MAX_PROCESSOR_NAME) :: host\n"
    text += "  call MPI_Get_processor_name(host, n, ierr)\nend program\n"
    _, problems, _ = convert_text("p.f90", text, without_mpi=True)
    assert problems[:2] == [
        "5: MPI_STATUS_SIZE: 'stats' is used by no converted call: remove its declaration",
        "6: MPI_MAX_PROCESSOR_NAME: 'host' is used by MPI_Get_processor_name at 7, which is not converted: change its "
        "declaration with that call",
    ]
    assert len(problems) == 3
    text = "program p\n  use mpi_f08\n  type(MPI_Datatype) :: row\n  type(MPI_Info) :: one, two\nend program\n"
    _, problems, _ = convert_text("p.f90", text, without_mpi=True)
    assert problems == [
        "3: MPI_Datatype: 'row' is used by no converted call: remove its declaration",
        "4: MPI_Info: 'one' and 'two' are used by no converted call: remove their declaration",
    ]


def test_a_declaration_that_is_left_in_a_list(convert_text) -> None:
    """The other names of the list are converted, and taken out of it."""
    text = "      PROGRAM P\n      INCLUDE 'mpif.h'\n      INTEGER X, IERR, ST(MPI_STATUS_SIZE),\n"
    text += (
        "     &  STATS(MPI_STATUS_SIZE,2)\n      CALL MPI_RECV(X,1,MPI_INTEGER,0,1,MPI_COMM_WORLD,ST,IERR)\n      END\n"
    )
    _, problems, _ = convert_text("p.f", text, without_mpi=True)
    assert problems == ["4: MPI_STATUS_SIZE: 'STATS' is used by no converted call: remove its declaration"]
    text = "program p\n  use mpi_f08\n  type(MPI_Datatype) :: row, sub\n  integer :: x(4)\n"
    text += "  call MPI_Type_contiguous(2, MPI_INTEGER, row)\n"
    text += "  call MPI_Send(x, 1, row, 0, 1, MPI_COMM_WORLD)\nend program\n"
    _, problems, _ = convert_text("p.f90", text, without_mpi=True)
    assert problems == ["3: MPI_Datatype: 'sub' is used by no converted call: remove its declaration"]


def test_an_unused_datatype_of_c_is_converted_in_its_list(convert_text) -> None:
    text = "#include <mpi.h>\nvoid f(int *x) {\n  MPI_Datatype a, unused;\n  MPI_Type_contiguous(2, MPI_INT, &a);\n"
    text += "  MPI_Send(x, 1, a, 0, 1, MPI_COMM_WORLD);\n}\n"
    after, problems, _ = convert_text("p.c", text, without_mpi=True)
    assert problems == []
    assert "  couplet_type a, unused;\n" in after


def test_declarations_that_are_left_in_c(convert_text) -> None:
    text = (
        "#include <mpi.h>\nvoid f(void) {\n  MPI_File file;\n  MPI_Info info;\n  char host[MPI_MAX_PROCESSOR_NAME];\n"
        "  MPI_File_close(&file);\n}\n"
    )
    _, problems, _ = convert_text("p.c", text, without_mpi=True)
    assert problems[0].startswith("3: MPI_File: 'file' is used by MPI_File_close at ")
    assert problems[1:3] == [
        "4: MPI_Info: 'info' is used by no converted call: remove its declaration",
        "5: MPI_MAX_PROCESSOR_NAME: 'host' is used by no converted call: remove its declaration",
    ]
    assert len(problems) == 4


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        ("MPI_Get_processor_name(a, b, ierr)", "use gethostname, which Fortran can call"),
        ("MPI_Reduce_scatter_block(a, b, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)", "use MPI_Reduce_scatter"),
        ("MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, a, b, ierr)", "attributes"),
        ("MPI_Alltoallw(a, a, a, a, b, b, b, b, MPI_COMM_WORLD, ierr)", "messages"),
        ("MPI_Get(a, 4, MPI_INTEGER, 0, 0, 4, MPI_INTEGER, win, ierr)", "one-sided communication"),
        ("MPI_Something_new(a, MPI_COMM_WORLD, ierr)", "write it with messages and collective calls"),
        ("MPI_Allreduce(a, b, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD, ierr)", "such as MPI_2DOUBLE_PRECISION"),
        ("MPI_Send(a, 1, MPI_PACKED, 0, 1, MPI_COMM_WORLD, ierr)", "as an array of one type each"),
        ("MPI_Send(a, 1, MPI_REAL16, 0, 1, MPI_COMM_WORLD, ierr)", "such as MPI_DOUBLE_PRECISION, or MPI_BYTE"),
        ("MPI_Allreduce(a, b, 1, MPI_INTEGER, MPI_REPLACE, MPI_COMM_WORLD, ierr)", "use one of MPI_SUM"),
    ],
)
def test_the_report_says_what_to_do_by_hand(convert_text, call: str, advice: str) -> None:
    _, problems, _ = convert_text("p.f90", body(f"call {call}"), without_mpi=True)
    assert advice in problems[0], problems


def test_a_global_cannot_begin_with_the_group(convert_text) -> None:
    text = "#include <mpi.h>\nstatic MPI_Comm all = MPI_COMM_WORLD;\nvoid f(void) { MPI_Barrier(all); }\n"
    _, problems, _ = convert_text("p.c", text)
    assert problems == [
        "2: MPI_COMM_WORLD: the group is known once the process has joined; assign it in a function, after MPI_Init"
    ]


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COUPLET, "convert", *words], cwd=folder, capture_output=True, text=True, timeout=60)


def test_the_command(tmp_path: Path) -> None:
    source = tmp_path / "p.f90"
    text = body("call MPI_Init(ierr)", "call MPI_Barrier(MPI_COMM_WORLD, ierr)", "call MPI_Finalize(ierr)")
    source.write_text(text)
    shown = run(tmp_path, "p.f90")
    assert (shown.returncode, source.read_text()) == (0, text)
    assert "--- a/p.f90\n+++ b/p.f90\n" in shown.stdout
    assert "+  call couplet_ported_barrier(couplet_world, ierr)\n" in shown.stdout
    assert shown.stderr == "couplet: 1 call in 1 file converted, 0 problems\n"
    assert run(tmp_path, "p.f90", "--in-place", "--program", "ocean", "--group", "universe").returncode == 0
    assert '  call couplet_ported_join(program="ocean", whole_universe=.true.)\n' in source.read_text()
    again = run(tmp_path, "p.f90")
    assert (again.returncode, again.stdout) == (0, "")


def test_nothing_is_half_done(tmp_path: Path) -> None:
    source = tmp_path / "p.f90"
    text = body(
        "call MPI_Ssend(a, 4, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, ierr)", "call MPI_Barrier(MPI_COMM_WORLD, ierr)"
    )
    source.write_text(text)
    refused = run(tmp_path, "p.f90", "--in-place")
    assert (refused.returncode, source.read_text()) == (1, text)
    assert "nothing was written (--partial writes what could be converted)" in refused.stderr
    assert run(tmp_path, "p.f90", "--in-place", "--partial").returncode == 1
    assert "! couplet convert: MPI_Ssend is not converted: synchronous sends" in source.read_text()
    assert "call couplet_ported_barrier(couplet_world, ierr)" in source.read_text()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["absent.f90"], "absent.f90: No such file or directory"),
        (["p.txt"], "p.txt: .txt is not one of Fortran or C"),
        (["p.f90", "--group", "all"], '--group "all" is not known; it is program or universe'),
        (["p.f90", "--in-place", "-o", "x"], "--in-place and --output exclude each other"),
        (["p.f90", "d/p.f90", "-o", "x"], "two of the files have the same name"),
        (["p.f90", "-o", "."], "p.f90 is one of the sources; --in-place changes the sources"),
        (["p.f90", "./p.f90"], "p.f90 is given twice"),
        (["p.f90", "--program", 'a"b'], '--program "a"b" cannot be the name of a program: it has 1 to 63 letters'),
        (["p.f90", "--program", ""], '--program "" cannot be the name of a program'),
        (["p.f90", "--program", "x" * 64], "cannot be the name of a program"),
        (["binary.f90"], "binary.f90 is no text: it has a zero byte at offset 4"),
    ],
)
def test_mistakes(tmp_path: Path, words: list[str], text: str) -> None:
    (tmp_path / "p.f90").write_text(body("call MPI_Barrier(MPI_COMM_WORLD, ierr)"))
    (tmp_path / "p.txt").write_text("")
    (tmp_path / "binary.f90").write_bytes(b"MPI_\0\xff")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "p.f90").write_text("end\n")
    ended = run(tmp_path, *words)
    assert ended.returncode == 2
    assert text in ended.stderr


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "_parsers", {})
    monkeypatch.setitem(sys.modules, "tree_sitter_fortran", None)
    (tmp_path / "p.f90").write_text(HEAD)
    with pytest.raises(ConvertError, match=r"pip install '\.\[convert\]' in the source folder"):
        convert([tmp_path / "p.f90"], Options())


def test_bytes_that_are_not_touched_stay(tmp_path: Path) -> None:
    """Letters beyond ASCII, in either encoding, and lines that end with a carriage return."""
    text = body("! Grüße", "call MPI_Barrier(MPI_COMM_WORLD, ierr) ! é").replace("\n", "\r\n").encode()
    text += "! Grüße\r\n".encode("latin-1")
    (tmp_path / "p.f90").write_bytes(text)
    shown = subprocess.run([COUPLET, "convert", "p.f90"], cwd=tmp_path, capture_output=True, timeout=60)
    assert "ierr) ! é\n".encode() in shown.stdout
    assert run(tmp_path, "p.f90", "--in-place").returncode == 0
    expected = text.replace(b"MPI_Barrier(MPI_COMM_WORLD", b"couplet_ported_barrier(couplet_world")
    expected = expected.replace(b"  use mpi\r\n", b"  use mpi\r\n  use couplet_ported\r\n")
    assert (tmp_path / "p.f90").read_bytes() == expected


def test_what_is_made_of_the_communicator_by_a_call_that_stays(convert_text) -> None:
    """A type or an operation that such a call also gets does not spoil the calls that can be converted."""
    text = body(
        "t = MPI_INTEGER",
        "call MPI_Cart_create(MPI_COMM_WORLD, 1, a, b, .true., comm, ierr)",
        "call MPI_Bcast(a, 4, t, 0, comm, ierr)",
        "call MPI_Send_init(a, 4, t, 0, 1, MPI_COMM_WORLD, req, ierr)",
        "call MPI_Bcast(a, 4, t, 0, MPI_COMM_WORLD, ierr)",
    )
    _, problems, _ = convert_text("p.f90", text)
    assert [problem[:20] for problem in problems] == [
        "6: MPI_Cart_create: ",
        "7: MPI_Bcast: 'comm'",
        "8: MPI_Send_init: pe",
    ]
    assert "is made by MPI_Cart_create at " in problems[1]
    _, problems, _ = convert_text("p.f90", text, without_mpi=True)
    assert len([problem for problem in problems if problem.startswith("7: MPI_Bcast")]) == 1


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("typedef MPI_Request *requests;", "another name of a type of MPI"),
        ("#define CALL(name) CAT(MPI_, name)", "put together by a macro"),
        ("int (*send)() = MPI_Barrier;", "used as a value"),
    ],
)
def test_what_stands_for_mpi_in_c(convert_text, line: str, reason: str) -> None:
    text = f"#include <mpi.h>\n{line}\nvoid meet(void) {{\n  MPI_Barrier(MPI_COMM_WORLD);\n}}\n"
    _, problems, _ = convert_text("a.c", text)
    assert len(problems) == 1 and problems[0].startswith("2: ") and reason in problems[0], problems


def test_a_name_that_is_cut_is_a_problem(convert_text) -> None:
    """Plain Fortran reads such names; what they are is not seen here, and their partners may be converted."""
    _, problems, _ = convert_text("p.f90", body("call MPI_Send(a, 4, MPI_INTE&", "&GER, 0, 1, MPI_COMM_WORLD, ierr)"))
    assert problems and all("could not be parsed" in problem for problem in problems), problems


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["a.c", "--communicator", "typo"], "there is no such name"),
        (["a.c", "a.c"], "is given twice"),
        (["."], "is a folder"),
    ],
)
def test_mistakes_in_what_is_given(tmp_path: Path, words: list[str], text: str) -> None:
    (tmp_path / "a.c").write_text("#include <mpi.h>\n")
    done = subprocess.run([COUPLET, "convert", *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and text in done.stderr, done


@pytest.mark.parametrize(("without_mpi", "call"), [(True, "couplet_ported_init"), (False, "couplet_ported_join")])
def test_a_program_without_mpi_init_is_told_what_to_call(convert_text, without_mpi: bool, call: str) -> None:
    """Fault: without MPI, the note named the call for programs that keep MPI."""
    text = "#include <mpi.h>\nvoid f(void) { MPI_Barrier(MPI_COMM_WORLD); }\n"
    _, problems, notes = convert_text("p.c", text, without_mpi=without_mpi)
    assert problems == []
    assert notes == [f"1: MPI_Init: it is in none of the files; call {call} where the program begins"]
