"""Programs that are converted, compiled and run: they print what they print with MPI."""

from __future__ import annotations

import pytest

WITHOUT_MPI = [
    ("ring.f",),
    ("halo.f90",),
    ("dots.f90",),
    ("collectives.f90",),
    ("parts.f90", "split.f90"),
    ("ring.c",),
    ("macros.c",),
    ("gather.c",),
]


@pytest.mark.parametrize("sources", WITHOUT_MPI, ids=lambda sources: sources[-1])
def test_without_mpi(workshop, sources: tuple[str, ...]) -> None:
    assert len(workshop.same_results(sources, "--without-mpi")) >= 2


@pytest.mark.parametrize("sources", [("halo.f90",), ("ring.c",)], ids=lambda sources: sources[-1])
def test_mpi_stays_for_other_things(workshop, sources: tuple[str, ...]) -> None:
    workshop.same_results(sources, with_mpi=True)


def test_a_communicator_of_two(workshop) -> None:
    lines = workshop.same_results(["two_communicators.f90"], "--communicator", "between", with_mpi=True)
    assert len(lines) == 3
