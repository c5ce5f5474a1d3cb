"""Coalesced rounds in Fortran, alone and together with clients in C++, under Open MPI, MPICH or no MPI."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from launching import World
from pairs import start_program

MakeWorld = Callable[..., World]
PROGRAM = "coalescing_in_fortran"


def bits(line: str) -> list[str]:
    """Returns the numbers that the C++ clients print, as the Fortran ones print them."""
    return [struct.pack(">d", float.fromhex(number)).hex().upper() for number in line.split()]


@pytest.mark.parametrize(
    ("left", "right", "method"),
    [("openmpi", "mpich", "mapped"), ("mpich", "none", "two_sided"), ("none", "openmpi", "mapped")],
)
def test_clients_in_fortran_and_in_cpp_share_rounds(make_world: MakeWorld, left: str, right: str, method: str) -> None:
    """Two ranks in Fortran and one in C++ compute the same bits as three in C++."""
    said = []
    for name in ("coalescing", PROGRAM):
        world = make_world("left:2,right:1")
        started = [
            *start_program(world, left, 2, ["left", "rounds"], name, COUPLET_EXCHANGE_METHOD=method),
            *start_program(world, right, 1, ["right", "rounds"], "coalescing", COUPLET_EXCHANGE_METHOD=method),
        ]
        lines = [line for one in started for line in world.finish(one).check().output.splitlines()]
        said.append(sorted(bits(line) if "0x" in line else line.split() for line in lines))
    assert len(said[0]) == 3
    assert said[0] == said[1]


@pytest.mark.parametrize(("kind", "ranks"), [("openmpi", 3), ("mpich", 2), ("none", 1)])
def test_arrivals_phases_lists_and_amendments(make_world: MakeWorld, kind: str, ranks: int) -> None:
    world = make_world(f"left:{ranks}")
    started = start_program(world, kind, ranks, ["left", "arrivals"], PROGRAM)
    said = [line for one in started for line in world.finish(one).check().output.splitlines()]
    assert said == ["heard"] * ranks


def test_an_error_of_a_client_ends_the_rounds_of_all_ranks(make_world: MakeWorld) -> None:
    world = make_world("left:3")
    for process in start_program(world, "none", 3, ["left", "fail"], PROGRAM):
        said = world.finish(process).check().output
        assert said.startswith("COUPLET_ERROR_SHAPE: coalesce 'flow': client 'troubled' has failed in fill of phase 0")
        assert "round 5, at rank 2" in said
        assert "the mesh is torn" in said


def test_mistakes_are_errors(make_world: MakeWorld) -> None:
    world = make_world("left:1")
    [process] = start_program(world, "none", 1, ["left", "misuse"], PROGRAM)
    assert world.finish(process).check().output == "refused\n"
