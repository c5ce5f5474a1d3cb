"""OpenMP regions of Fortran and C, and calls in them, also in procedures that a region calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from couplet.convert.regions import parallel_regions
from couplet.convert.source import Source

REASON = "it is called in an OpenMP region and has converted calls; one thread at a time may call Couplet"


@pytest.mark.parametrize(
    ("name", "text", "inside"),
    [
        ("a.f90", "program p\n!$omp parallel\nx = 1\n!$omp end parallel\ny = 2\nend program\n", "x = 1"),
        ("a.f90", "program p\n!$omp parallel do\ndo i = 1, 3\nx = 1\nend do\ny = 2\nend program\n", "x = 1"),
        ("a.f90", "program p\n!$OMP PARALLEL DEFAULT(SHARED)\n!$OMP DO\ndo i = 1, 3\nx = 1\nend do\n"
         "!$OMP END DO\n!$OMP END PARALLEL\ny = 2\nend program\n", "x = 1"),
        ("a.f", "      PROGRAM P\nC$OMP PARALLEL\n      X = 1\nC$OMP END PARALLEL\n      Y = 2\n      END\n", "X = 1"),
        ("a.c", "void f(void) {\n#pragma omp parallel\n  { x = 1; }\n  y = 2;\n}\n", "x = 1"),
        ("a.c", "void f(void) {\n#pragma omp parallel for\n  for (;;) x = 1;\n  y = 2;\n}\n", "x = 1"),
    ],
)  # fmt: skip
def test_where_a_region_is(name: str, text: str, inside: str) -> None:
    source = Source(Path(name), text)
    regions = parallel_regions(source)
    assert len(regions) == 1
    start, end = regions[0]
    assert inside in source.parsed[start:end]
    outside = "Y = 2" if "Y = 2" in text else "y = 2"
    assert outside not in source.parsed[start:end]


def test_a_procedure_that_a_region_calls(convert_text) -> None:
    text = (
        "program p\n  use mpi\n!$omp parallel\n  call outer()\n!$omp end parallel\n  call outer()\ncontains\n"
        "  subroutine outer()\n    call inner()\n  end subroutine\n"
        "  subroutine inner()\n    integer :: ierr\n    call MPI_Barrier(MPI_COMM_WORLD, ierr)\n  end subroutine\n"
        "end program\n"
    )
    _, problems, _ = convert_text("p.f90", text)
    assert problems == [f"4: outer: {REASON}"]
    _, problems, notes = convert_text("p.f90", text, openmp="convert")
    assert (problems, f"4: outer: {REASON}" in notes) == ([], True)
