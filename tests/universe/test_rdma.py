"""Exchanges by one-sided puts of UCX, among programs that were started separately, under Open MPI, MPICH or no MPI."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from launching import World
from needs import require_ucx
from pairs import start_program
from quartet import Guest

MakeWorld = Callable[..., World]


@pytest.fixture(autouse=True)
def ucx() -> None:
    require_ucx()


def lines_of_ring(world: World, left: str, right: str, **extra: str) -> list[str]:
    started = [
        *start_program(world, left, 2, ["left", "rounds"], "exchanging", **extra),
        *start_program(world, right, 1, ["right", "rounds"], "exchanging", **extra),
    ]
    return [line for process in started for line in world.finish(process).check().output.splitlines()]


@pytest.mark.parametrize("method", ["rdma_flag", "rdma_barrier"])
@pytest.mark.parametrize(
    ("left", "right", "transports"),
    [("openmpi", "mpich", "posix,cma"), ("mpich", "none", "tcp"), ("none", "openmpi", "posix,cma")],
)
def test_a_ring_of_two_programs(make_world: MakeWorld, left: str, right: str, transports: str, method: str) -> None:
    said = lines_of_ring(
        make_world("left:2,right:1"),
        left,
        right,
        COUPLET_LINKS="self,shm,ucx,tcp",
        COUPLET_UCX_TLS=transports,
        COUPLET_EXCHANGE_METHOD=method,
    )
    assert said == [method] * 3


@pytest.mark.parametrize("method", ["rdma_flag", "rdma_barrier"])
@pytest.mark.parametrize("kind", ["openmpi", "mpich"])
def test_a_ring_in_one_job(make_world: MakeWorld, kind: str, method: str) -> None:
    world = make_world("left:2")
    extra = {"COUPLET_LINKS": "self,shm,ucx,tcp", "COUPLET_UCX_TLS": "posix,cma", "COUPLET_EXCHANGE_METHOD": method}
    started = start_program(world, kind, 2, ["left", "rounds"], "exchanging", **extra)
    said = [line for process in started for line in world.finish(process).check().output.splitlines()]
    assert said == [method] * 2


def test_the_chooser_tries_them(make_world: MakeWorld) -> None:
    """Which method is the fastest is not said: whatever it is, the rounds are right."""
    said = lines_of_ring(
        make_world("left:2,right:1"), "none", "none", COUPLET_LINKS="self,shm,ucx,tcp", COUPLET_UCX_TLS="posix,cma"
    )
    assert len(said) == 3 and len(set(said)) == 1


def test_they_need_the_link(make_world: MakeWorld) -> None:
    world = make_world("left:2,right:1")
    started = [
        *start_program(world, "none", 2, ["left", "rounds"], "exchanging", COUPLET_EXCHANGE_METHOD="rdma_flag"),
        *start_program(world, "none", 1, ["right", "rounds"], "exchanging", COUPLET_EXCHANGE_METHOD="rdma_flag"),
    ]
    for process in started:
        ended = world.finish(process)
        assert ended.status != 0
        assert "rdma_flag" in ended.errors + ended.output and "links" in ended.errors + ended.output, ended


def test_a_killed_neighbor_is_reported(make_world: MakeWorld) -> None:
    """In the middle of a round. Not over UCX's own tcp: there, UCX 1.13 often ends the process that goes on."""
    world = make_world("guest:2")
    extra = {"COUPLET_LINKS": "self,ucx,tcp", "COUPLET_UCX_TLS": "posix,cma", "COUPLET_EXCHANGE_METHOD": "rdma_flag"}
    guests = [Guest(world, "guest", rank, 2, **extra) for rank in (0, 1)]
    for rank, guest in enumerate(guests):
        guest.ready()
        guest.get("ring = universe.group.create_exchange('ring')")
        guest.get("numbers = np.zeros(100)")
        guest.get(f"ring.send(numbers, {1 - rank}) and None")
        guest.get("found = np.zeros(100)")
        guest.get(f"ring.receive(found, {1 - rank}) and None")
        guest.say("ring.freeze()")
    for guest in guests:
        assert guest.hear().startswith("is ")
        guest.say("[(ring.start(), ring.wait()) for each in range(10_000_000)] and None")
    time.sleep(0.3)
    guests[1].process.kill()
    answer = guests[0].hear()
    assert answer.startswith("error COUPLET_ERROR_PEER_LOST ") and "rank 1" in answer, answer
    guests[0].get("ring.close()")
    guests[0].leave()
    world.kill()
    world.clean()
