"""Coalesced rounds among programs that were started separately, under Open MPI, MPICH or no MPI."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from launching import World
from pairs import KINDS, start_program

MakeWorld = Callable[..., World]


@pytest.mark.parametrize("right", KINDS)
@pytest.mark.parametrize("left", KINDS)
def test_the_same_bits_whatever_is_merged_and_whatever_carries_them(
    make_world: MakeWorld, left: str, right: str
) -> None:
    """The ranks check that the four combinations agree; here the launchers and methods are compared."""
    said = []
    for method in ("mapped", "two_sided"):
        world = make_world("left:2,right:1")
        started = [
            *start_program(world, left, 2, ["left", "rounds"], "coalescing", COUPLET_EXCHANGE_METHOD=method),
            *start_program(world, right, 1, ["right", "rounds"], "coalescing", COUPLET_EXCHANGE_METHOD=method),
        ]
        said.append(sorted(line for one in started for line in world.finish(one).check().output.splitlines()))
    assert len(said[0]) == 3
    assert said[0] == said[1]


@pytest.mark.parametrize(("kind", "ranks"), [("openmpi", 3), ("mpich", 2)])
def test_clients_share_messages_of_mpi(make_world: MakeWorld, kind: str, ranks: int) -> None:
    said = []
    for method in ("persistent", "two_sided"):
        world = make_world(f"left:{ranks}")
        started = start_program(world, kind, ranks, ["left"], "coalescing", COUPLET_EXCHANGE_METHOD=method)
        said.append(sorted(line for one in started for line in world.finish(one).check().output.splitlines()))
    assert len(said[0]) == ranks
    assert said[0] == said[1]


@pytest.mark.parametrize("method", ["mapped", "two_sided"])
def test_an_exception_in_a_client_ends_the_rounds_of_all_ranks(make_world: MakeWorld, method: str) -> None:
    world = make_world("left:4")
    started = start_program(world, "none", 4, ["left", "throw"], "coalescing", COUPLET_EXCHANGE_METHOD=method)
    ended = [world.finish(process).check().output for process in started]
    assert ended[3] == "thrown: no such site\n"
    for output in ended[:3]:
        assert output.startswith("COUPLET_ERROR_STATE: coalesce 'flow': client 'troubled' has failed in use of"), output
        assert "round 5, at rank 3" in output
        assert "no such site" in output


def test_a_rank_that_is_killed_is_named(make_world: MakeWorld) -> None:
    world = make_world("left:3")
    started = start_program(world, "none", 3, ["left", "death"], "coalescing")
    assert world.finish(started[2]).status < 0
    for process in started[:2]:
        output = world.finish(process).check().output
        assert output.startswith("COUPLET_ERROR_PEER_LOST: "), output
        assert "rank 2" in output


def test_callbacks_may_call_couplet_but_not_their_own_rounds(make_world: MakeWorld) -> None:
    world = make_world("left:1")
    started = start_program(world, "none", 1, ["left", "inside"], "coalescing")
    output = world.finish(started[0]).check().output
    assert output.split() == ["COUPLET_ERROR_STATE"] * 4 + ["COUPLET_OK"]


def test_clients_in_python(make_world: MakeWorld) -> None:
    world = make_world("clients:2")
    program = str(Path(__file__).parent / "programs" / "coalesce_clients.py")
    started = [world.start([sys.executable, program, str(rank)]) for rank in range(2)]
    outputs = [world.finish(process).check().output for process in started]
    assert outputs[1] == "rank 1: raised 'no such site' in use, round 30\n"
    assert outputs[0] == "rank 0: StateError: KeyError: 'no such site'\n"
