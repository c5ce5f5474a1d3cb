"""Exchanges among programs that were started separately, under Open MPI, MPICH or no MPI, by the core's methods."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from launching import World
from pairs import KINDS, start_program

MakeWorld = Callable[..., World]


@pytest.mark.parametrize("method", ["mapped", "two_sided"])
@pytest.mark.parametrize("right", KINDS)
@pytest.mark.parametrize("left", KINDS)
def test_a_ring_of_two_programs(make_world: MakeWorld, left: str, right: str, method: str) -> None:
    world = make_world("left:2,right:1")
    started = [
        *start_program(world, left, 2, ["left", "rounds"], "exchanging", COUPLET_EXCHANGE_METHOD=method),
        *start_program(world, right, 1, ["right", "rounds"], "exchanging", COUPLET_EXCHANGE_METHOD=method),
    ]
    said = [line for process in started for line in world.finish(process).check().output.splitlines()]
    assert said == [method] * 3


@pytest.mark.parametrize(
    ("left", "right", "method"),
    [
        ("openmpi", "none", "mapped"),
        ("mpich", "openmpi", "two_sided"),
        ("none", "none", "two_sided"),
        ("mpich", "none", "mapped"),
    ],
)
def test_a_ring_of_two_programs_in_fortran(make_world: MakeWorld, left: str, right: str, method: str) -> None:
    world = make_world("left:2,right:1")
    started = [
        *start_program(world, left, 2, ["left"], "exchanging_in_fortran", COUPLET_EXCHANGE_METHOD=method),
        *start_program(world, right, 1, ["right"], "exchanging_in_fortran", COUPLET_EXCHANGE_METHOD=method),
    ]
    said = [line for process in started for line in world.finish(process).check().output.splitlines()]
    assert said == [method] * 3


@pytest.mark.parametrize(("kind", "ranks"), [("openmpi", 3), ("mpich", 2)])
def test_a_ring_over_mpi_in_fortran(make_world: MakeWorld, kind: str, ranks: int) -> None:
    """Sections with gaps go through MPI's methods, too."""
    world = make_world(f"left:{ranks}")
    started = start_program(world, kind, ranks, ["left"], "exchanging_in_fortran", COUPLET_EXCHANGE_METHOD="persistent")
    said = [line for process in started for line in world.finish(process).check().output.splitlines()]
    assert said == ["persistent"] * ranks


MPI_METHODS = ["put_flag", "persistent", "isend", "neighbor", "put_lock", "put_fence", "put_pscw"]


@pytest.mark.parametrize("method", MPI_METHODS)
@pytest.mark.parametrize(("kind", "ranks"), [("openmpi", 3), ("mpich", 2)])
def test_a_ring_over_mpi(make_world: MakeWorld, kind: str, ranks: int, method: str) -> None:
    world = make_world(f"left:{ranks}")
    started = start_program(world, kind, ranks, ["left", "rounds"], "exchanging", COUPLET_EXCHANGE_METHOD=method)
    said = [line for process in started for line in world.finish(process).check().output.splitlines()]
    assert said == [method] * ranks


@pytest.mark.parametrize("kind", ["openmpi", "mpich"])
def test_what_waits_inside_of_mpi_is_not_chosen(make_world: MakeWorld, kind: str) -> None:
    world = make_world("left:2")
    started = start_program(world, kind, 2, ["left", "rounds"], "exchanging")
    said = {line for process in started for line in world.finish(process).check().output.splitlines()}
    assert len(said) == 1
    assert not said & {"put_fence", "put_pscw"}


@pytest.mark.parametrize("kind", ["mpich"])
def test_hundreds_of_freezes_give_back_what_their_trials_took(make_world: MakeWorld, kind: str) -> None:
    """The methods that were left out kept their communicators, until MPICH had given away all 2,048."""
    world = make_world("left:2")
    started = start_program(world, kind, 2, ["left", "freezes"], "exchanging")
    said = [line for process in started for line in world.finish(process).check().output.splitlines()]
    assert said == ["frozen"] * 2


def test_a_method_of_mpi_needs_one_job(make_world: MakeWorld) -> None:
    world = make_world("left:1,right:1")
    started = [
        *start_program(world, "openmpi", 1, ["left", "rounds"], "exchanging", COUPLET_EXCHANGE_METHOD="isend"),
        *start_program(world, "openmpi", 1, ["right", "rounds"], "exchanging", COUPLET_EXCHANGE_METHOD="isend"),
    ]
    for process in started:
        ended = world.finish(process)
        assert ended.status != 0
        assert "no method can be used (isend: " in ended.errors


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_method_is_chosen(make_world: MakeWorld, ranks: int) -> None:
    world = make_world(f"left:{ranks}")
    started = start_program(world, "none", ranks, ["left", "rounds"], "exchanging")
    said = {line for process in started for line in world.finish(process).check().output.splitlines()}
    assert len(said) == 1
    assert said <= {"mapped", "two_sided"}


def test_memory_and_messages_together(make_world: MakeWorld) -> None:
    """Two nodes: the ring crosses between them twice, and has neighbours on one node, too."""
    world = make_world("left:2,right:2")
    method = "mapped+two_sided"
    started = [
        process
        for name in ("left", "right")
        for process in start_program(
            world, "none", 2, [name, "rounds"], "exchanging", COUPLET_EXCHANGE_METHOD=method, COUPLET_NODE=name
        )
    ]
    said = [line for process in started for line in world.finish(process).check().output.splitlines()]
    assert said == [method] * 4


@pytest.mark.parametrize("method", ["mapped", "two_sided"])
def test_a_member_that_is_killed_ends_the_waits_of_all_others(make_world: MakeWorld, method: str) -> None:
    world = make_world("left:4")
    started = start_program(world, "none", 4, ["left", "death"], "exchanging", COUPLET_EXCHANGE_METHOD=method)
    assert world.finish(started[3]).status < 0
    for process in started[:3]:
        ended = world.finish(process).check()
        assert ended.output.startswith("COUPLET_ERROR_PEER_LOST: "), ended
        assert "exchange 'ring'" in ended.output
        assert "rank 3" in ended.output


def test_views_of_numpy_are_exchanged_without_a_copy(make_world: MakeWorld) -> None:
    world = make_world("views:2")
    program = str(Path(__file__).parent / "programs" / "exchange_views.py")
    started = [world.start([sys.executable, program, str(rank)]) for rank in range(2)]
    for rank, process in enumerate(started):
        assert world.finish(process).check().output == f"rank {rank}: start: the exchange is closed\n"
