"""Two processes on two hosts whose cable is cut for a while: both are alive, and nothing is lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from launching import WATCHDOG_S, World
from namespaces import ADDRESSES, Namespaces, make_namespaces
from quartet import Guest

MakeWorld = Callable[..., World]
SIDES = ("left", "right")
LONGER_THAN_A_SILENCE_S = 4.5


@pytest.fixture
def hosts() -> Iterator[Namespaces]:
    """The hub and the first guest are on the left, the second one on the right."""
    namespaces = make_namespaces()
    yield namespaces
    namespaces.close()


def far_pair(world: World, hosts: Namespaces) -> tuple[Guest, Guest]:
    """Makes guests that reach the hub over cable 0, and each other over cable 1."""
    guests = [
        Guest(
            world,
            "guest",
            rank,
            2,
            prefix=hosts.prefix(side),
            COUPLET_LINKS="self,tcp",
            COUPLET_INTERFACE=ADDRESSES[side][1],
        )
        for rank, side in enumerate(SIDES)
    ]
    for guest in guests:
        guest.ready()
        guest.get("found = np.zeros(4, 'i8')")
    return guests[0], guests[1]


def cable(hosts: Namespaces, state: str) -> None:
    hosts.run("left", "ip", "link", "set", "cable1", state)


def leave(first: Guest, second: Guest, world: World, hosts: Namespaces) -> None:
    first.leave(second)
    world.processes[0].wait(WATCHDOG_S)


def test_a_cable_that_is_cut_at_first_contact(make_world: MakeWorld, hosts: Namespaces) -> None:
    world = make_world("guest:2", address=ADDRESSES["left"][0], prefix=hosts.prefix("left"))
    first, second = far_pair(world, hosts)
    cable(hosts, "down")
    second.say("universe.group.Recv(found, 0, timeout=100)")
    first.say("universe.group.Send(np.arange(4), 1, timeout=100)")
    time.sleep(LONGER_THAN_A_SILENCE_S)
    cable(hosts, "up")
    assert first.hear() == "is None"
    assert second.hear().startswith("is Message(")
    assert second.get("found.tolist()") == "[0, 1, 2, 3]"
    leave(first, second, world, hosts)


def test_a_cable_that_is_cut_for_good_is_told_by_name(make_world: MakeWorld, hosts: Namespaces) -> None:
    world = make_world("guest:2", address=ADDRESSES["left"][0], prefix=hosts.prefix("left"))
    world.environment["COUPLET_CONNECTION_PATIENCE_S"] = "2"
    first, second = far_pair(world, hosts)
    cable(hosts, "down")
    first.refused("universe.group.Send(np.arange(4), 1, timeout=100)", "PEER_LOST", "program 'guest' rank 1", "tcp:")
    cable(hosts, "up")
    leave(first, second, world, hosts)
