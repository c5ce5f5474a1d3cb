"""Coalesced rounds among programs that were started separately, under Open MPI, MPICH or no MPI."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from launching import World
from pairs import KINDS, start_program
from quartet import Guest

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


def test_the_stages_that_a_class_overrides_are_called(make_world: MakeWorld) -> None:
    """Also those of a class that the manager knows by a reference to its base, those of one whose base has entered it,
    and private ones.
    """
    world = make_world("left:1")
    started = start_program(world, "none", 1, ["left", "stages"], "coalescing")
    lines = [line.split() for line in world.finish(started[0]).check().output.splitlines()]
    filled = ["fill"]
    used = ["fill", "use"]
    assert lines == [filled, used, used, used, ["overlap", "end_round"], filled, ["use"]]


def test_clients_in_python(make_world: MakeWorld) -> None:
    world = make_world("clients:2")
    program = str(Path(__file__).parent / "programs" / "coalesce_clients.py")
    started = [world.start([sys.executable, program, str(rank)]) for rank in range(2)]
    outputs = [world.finish(process).check().output for process in started]
    assert outputs[1] == "rank 1: raised 'no such site' in use, round 30\n"
    assert outputs[0] == "rank 0: StateError: KeyError: 'no such site'\n"


# Fault: what the hub had said since was read only by calls that wait, and this freeze ended before it waited.
def test_a_rank_that_joined_while_another_was_dead_finds_it_when_it_is_back(make_world: MakeWorld) -> None:
    world = make_world("first:1,second:1,third:1")

    def start(name: str) -> Guest:
        guest = Guest(world, name, 0, 1)
        guest.say("make = lambda: universe.create_group('two', [0, 1]).create_step_manager('steps', timeout=20)")
        return guest

    first, second, third = (start(name) for name in ("first", "second", "third"))
    for guest in (first, second, third):
        guest.ready()
        assert guest.hear().startswith("is ")
    for guest in (first, second):
        guest.process.kill()
        guest.process.wait()
    second = start("second")
    second.ready()
    assert second.hear().startswith("is ")
    second.get("manager = make()")
    second.get("manager.add('client', couplet.Client())")
    second.refused("manager.freeze()", "PEER_LOST", "program 'first' rank 0")
    second.get("manager.close()")
    first = start("first")
    first.ready()
    assert first.hear().startswith("is ")
    for guest in (first, second):
        guest.get("manager = make()")
        guest.get("manager.add('client', couplet.Client())")
    for guest in (first, second):
        guest.say("manager.freeze()")
    assert [guest.hear() for guest in (first, second)] == ["is None", "is None"]
    for guest in (first, second):
        guest.say("manager.round()")
    assert [guest.hear() for guest in (first, second)] == ["is None", "is None"]
    first.leave(second, third)
