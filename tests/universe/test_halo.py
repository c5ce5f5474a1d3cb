"""Halos among programs that were started separately, under Open MPI, MPICH or no MPI, in C++, Fortran and Python."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from launching import World
from pairs import start_program

MakeWorld = Callable[..., World]
METHODS = ["mapped", "two_sided"]


@pytest.mark.parametrize("what", ["rounds", "widths"])
@pytest.mark.parametrize(
    ("left", "right", "method"),
    [("openmpi", "none", "mapped"), ("mpich", "openmpi", "two_sided"), ("none", "mpich", "mapped")],
)
def test_a_grid_over_two_programs(make_world: MakeWorld, left: str, right: str, method: str, what: str) -> None:
    world = make_world("left:2,right:1")
    started = [
        *start_program(world, left, 2, ["left", what], "halos", COUPLET_EXCHANGE_METHOD=method),
        *start_program(world, right, 1, ["right", what], "halos", COUPLET_EXCHANGE_METHOD=method),
    ]
    said = [line for process in started for line in world.finish(process).check().output.splitlines()]
    assert said == [method] * 3


@pytest.mark.parametrize("method", ["persistent", "neighbor", "put_fence"])
@pytest.mark.parametrize(("kind", "ranks"), [("openmpi", 4), ("mpich", 2)])
def test_a_grid_over_mpi(make_world: MakeWorld, kind: str, ranks: int, method: str) -> None:
    world = make_world(f"left:{ranks}")
    started = start_program(world, kind, ranks, ["left", "widths"], "halos", COUPLET_EXCHANGE_METHOD=method)
    said = [line for process in started for line in world.finish(process).check().output.splitlines()]
    assert said == [method] * ranks


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_a_method_is_chosen(make_world: MakeWorld, ranks: int) -> None:
    world = make_world(f"left:{ranks}")
    started = start_program(world, "none", ranks, ["left", "rounds"], "halos")
    said = {line for process in started for line in world.finish(process).check().output.splitlines()}
    assert len(said) == 1
    assert said <= set(METHODS)


@pytest.mark.parametrize(("left", "right", "method"), [("openmpi", "none", "mapped"), ("mpich", "none", "two_sided")])
def test_a_grid_in_fortran(make_world: MakeWorld, left: str, right: str, method: str) -> None:
    world = make_world("left:2,right:2")
    started = [
        *start_program(world, left, 2, ["left"], "halos_in_fortran", COUPLET_EXCHANGE_METHOD=method),
        *start_program(world, right, 2, ["right"], "halos_in_fortran", COUPLET_EXCHANGE_METHOD=method),
    ]
    said = [line for process in started for line in world.finish(process).check().output.splitlines()]
    assert said == [method] * 4


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_views_of_numpy(make_world: MakeWorld, ranks: int) -> None:
    world = make_world(f"views:{ranks}")
    program = str(Path(__file__).parent / "programs" / "halo_views.py")
    started = [world.start([sys.executable, program, str(rank), str(ranks)]) for rank in range(ranks)]
    said = {world.finish(process).check().output for process in started}
    assert len(said) == 1
    assert said <= {f"{method}\n" for method in METHODS}


def test_an_array_that_is_too_small_is_an_error_at_all_ranks(make_world: MakeWorld) -> None:
    world = make_world("left:3")
    for rank, process in enumerate(start_program(world, "none", 3, ["left", "small"], "halos")):
        said = world.finish(process).check().output.splitlines()
        assert said[:-1] == (["add: COUPLET_ERROR_SHAPE"] if rank == 2 else [])
        assert said[-1].startswith("COUPLET_ERROR_SHAPE: ")
        assert "field 'pairs': the array has" in said[-1]


def test_another_width_is_an_error_that_names_both(make_world: MakeWorld) -> None:
    world = make_world("left:2")
    for process in start_program(world, "none", 2, ["left", "apart"], "halos"):
        said = world.finish(process).check().output
        assert said.startswith("COUPLET_ERROR_MISMATCH: ")
        assert "widths (2, 2) below" in said
        assert "widths (1, 2) below" in said


@pytest.mark.parametrize("method", METHODS)
def test_a_rank_that_is_killed_ends_the_waits_of_all_others(make_world: MakeWorld, method: str) -> None:
    world = make_world("left:4")
    started = start_program(world, "none", 4, ["left", "death"], "halos", COUPLET_EXCHANGE_METHOD=method)
    assert world.finish(started[3]).status < 0
    for process in started[:3]:
        said = world.finish(process).check().output
        assert said.startswith("COUPLET_ERROR_PEER_LOST: ")
        assert "rank 3" in said


def test_mistakes_are_errors_of_the_c_interface(make_world: MakeWorld) -> None:
    world = make_world("misuse:1")
    [process] = start_program(world, "none", 1, ["misuse"], "halo_misuse")
    assert world.finish(process).check().output == ""
