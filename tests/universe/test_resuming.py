"""Connections break while both processes live and are made again: nothing is lost or comes twice, order is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from launching import WATCHDOG_S, World
from namespaces import ADDRESSES, Namespaces, make_namespaces
from quartet import PROGRAMS, Guest, Quartet, quartet
from resets import need_resets, reset_connections
from strangers import listening_ports

MakeWorld = Callable[..., World]
PROTECTIONS = [[], ["--authenticate"], ["--encrypt"]]
NAMES = ["plain", "authenticated", "encrypted"]
RESETS = 12


@pytest.fixture(autouse=True)
def resets() -> None:
    need_resets()


def ports_of(four: Quartet) -> set[int]:
    """Where the four and their relays listen; the hub is not among them."""
    pids = [*(each.process.pid for each in four.processes.values()), *four.world.relays()]
    return {port for pid in pids for port in listening_ports(pid)}


def reset_between_turns(four: Quartet, resets: int = RESETS) -> None:
    """Resets all connections in the middle of the work, again and again, until each of them was hit often."""
    ends = 0
    for _ in range(resets):
        ends += reset_connections(ports_of(four))
        four.go_on()
    assert ends >= resets, "there was a connection each time"


@pytest.mark.parametrize("protection", PROTECTIONS, ids=NAMES)
def test_messages_go_on_over_connections_that_are_reset(make_world: MakeWorld, protection: list[str]) -> None:
    world = make_world(PROGRAMS, *protection)
    with quartet(world, COUPLET_LINKS="self,tcp") as four:
        reset_between_turns(four)


@pytest.mark.parametrize("protection", PROTECTIONS, ids=NAMES)
def test_a_hold_over_a_relay_outlives_connections_that_are_reset(make_world: MakeWorld, protection: list[str]) -> None:
    world = make_world(PROGRAMS, *protection)
    with quartet(world, elsewhere="nowcast", COUPLET_LINKS="self,tcp") as four:
        assert world.relays(), "the series goes over a relay"
        reset_between_turns(four)


def pair(world: World, **extra: str) -> tuple[Guest, Guest]:
    """Guests that have talked to each other over a socket."""
    guests = [Guest(world, "guest", rank, 2, COUPLET_LINKS="self,tcp", **extra) for rank in range(2)]
    for guest in guests:
        guest.ready()
        guest.get("found = np.zeros(1, 'i8')")
    first, second = guests
    second.say("universe.group.Recv(found, 0, timeout=100)")
    first.get("universe.group.Send(np.array([-1]), 1, timeout=100)")
    assert second.hear().startswith("is Message(")
    return first, second


def ports_of_pair(first: Guest, second: Guest) -> set[int]:
    return listening_ports(first.process.pid) | listening_ports(second.process.pid)


def test_a_stream_of_messages_keeps_its_order_over_resets(make_world: MakeWorld) -> None:
    """Small ones and large ones; the sender waits for nobody, so that many are under way in each reset."""
    first, second = pair(make_world("guest:2"))
    count = 3000
    for guest in (first, second):
        guest.get("size = lambda n: [1, 3, 100, 5000, 300000, 7][n % 6 if n % 40 < 6 else 0]")
    second.get("data = np.zeros(300000, 'i8')")
    second.get("whole = lambda n: bool((data[:size(n)] == n).all())")
    first.say(f"[universe.group.Send(np.full(size(n), n), 1, tag=n % 3) for n in range({count})][-1]")
    second.say(f"[n for n in range({count}) if universe.group.Recv(data, 0, timeout=100).tag != n % 3 or not whole(n)]")
    ports = ports_of_pair(first, second)
    ends = 0
    for _ in range(40):
        ends += reset_connections(ports)
        time.sleep(0.01)  # so that the resets fall into different moments; nothing is waited for
    assert ends > 0
    assert first.hear() == "is None"
    assert second.hear() == "is []"
    first.leave(second)


@pytest.mark.parametrize("source", [0, 1])
def test_what_was_sent_before_leaving_survives_a_reset_just_then(make_world: MakeWorld, source: int) -> None:
    guests = pair(make_world("guest:2"))
    sender, receiver = guests[source], guests[1 - source]
    sender.get(f"[universe.group.Send(np.array([n]), {1 - source}, tag=n) for n in range(50)][-1]")
    assert reset_connections(ports_of_pair(*guests)) > 0, "what the receiver's system had is gone with it"
    receiver.say(
        f"[n for n in range(50) if universe.group.Recv(found, {source}, timeout=100).tag != n or found[0] != n]"
    )
    receiver.say(f"universe.group.Recv(found, {source}, timeout=100)")  # it must call, to say what it has
    sender.leave()
    assert receiver.hear() == "is []"
    answer = receiver.hear()
    assert answer.startswith("error COUPLET_ERROR_PEER_LOST") and "left" in answer, answer
    receiver.leave()


def test_a_reset_while_nobody_talks_is_noticed_by_the_next_message(make_world: MakeWorld) -> None:
    first, second = pair(make_world("guest:2"))
    for n in range(5):
        # The one that carried the last message may just be replaced, as when both sides have dialed.
        deadline = time.monotonic() + WATCHDOG_S
        while reset_connections(ports_of_pair(first, second)) == 0:
            assert time.monotonic() < deadline
        second.say("universe.group.Recv(found, 0, timeout=100)")
        first.get(f"universe.group.Send(np.array([{n}]), 1, timeout=100)")
        assert second.hear().startswith("is Message(")
        assert second.get("found.tolist()") == f"[{n}]"
    first.leave(second)


@pytest.fixture
def hosts() -> Iterator[Namespaces]:
    """The hub and the first guest are on the left, the second one on the right."""
    namespaces = make_namespaces()
    yield namespaces
    namespaces.close()


SIDES = ("left", "right")


def far_pair(world: World, hosts: Namespaces, *cables: int) -> tuple[Guest, Guest]:
    """Guests that talk to the hub over cable 0, and listen for each other at their ends of these cables."""
    guests = [
        Guest(
            world,
            "guest",
            rank,
            2,
            prefix=hosts.prefix(side),
            COUPLET_LINKS="self,tcp",
            COUPLET_INTERFACE=ADDRESSES[side][cables[rank]],
        )
        for rank, side in enumerate(SIDES)
    ]
    for guest in guests:
        guest.ready()
        guest.get("found = np.zeros(1, 'i8')")
    return guests[0], guests[1]


def leave(first: Guest, second: Guest, world: World) -> None:
    first.leave(second)
    world.processes[0].wait(WATCHDOG_S)


def test_a_cable_that_is_cut_for_longer_than_a_silence_and_healed(make_world: MakeWorld, hosts: Namespaces) -> None:
    """Both ends notice that the other one's system answers nothing; both have something to send meanwhile."""
    world = make_world("guest:2", address=ADDRESSES["left"][0], prefix=hosts.prefix("left"))
    guests = far_pair(world, hosts, 1, 1)
    count = 500
    for rank, guest in enumerate(guests):
        other = 1 - rank
        guest.say(
            f"[n for n in range({count}) if (universe.group.Send(np.array([n]), {other}, tag=n % 3), "
            f"universe.group.Recv(found, {other}, timeout=100).tag, found[0])[1:] != (n % 3, n)"
            f" or __import__('time').sleep(0.002)]"
        )
    hosts.run("left", "ip", "link", "set", "cable1", "down")
    time.sleep(6)
    hosts.run("left", "ip", "link", "set", "cable1", "up")
    for guest in guests:
        assert guest.hear() == "is []"
    leave(*guests, world)


@pytest.mark.parametrize("blind", [0, 1])
def test_who_cannot_reach_its_peer_is_called_back(make_world: MakeWorld, hosts: Namespaces, blind: int) -> None:
    """One of them has no route to where the other listens; the other one reaches it."""
    world = make_world("guest:2", address=ADDRESSES["left"][0], prefix=hosts.prefix("left"))
    listens = ADDRESSES[SIDES[1 - blind]][1]
    hosts.run(SIDES[blind], "ip", "route", "add", "unreachable", f"{listens}/32")
    guests = far_pair(world, hosts, *((0, 1) if blind == 0 else (1, 0)))
    for turn in range(3):
        guests[1 - blind].say(f"universe.group.Recv(found, {blind}, timeout=100)")
        guests[blind].get(f"universe.group.Send(np.array([{turn}]), {1 - blind}, timeout=100)")
        assert guests[1 - blind].hear().startswith("is Message(")
        assert guests[1 - blind].get("found.tolist()") == f"[{turn}]"
        ports = ports_of_pair(*guests)
        assert reset_connections(ports, hosts.prefix("left")) + reset_connections(ports, hosts.prefix("right")) > 0
    leave(*guests, world)


def test_a_killed_peer_is_told_without_a_hub(make_world: MakeWorld, hosts: Namespaces) -> None:
    """Nobody listens at its port any more, which the other node finds by calling it; there is no lock to look at."""
    world = make_world("guest:2", address=ADDRESSES["left"][0], prefix=hosts.prefix("left"))
    world.environment["COUPLET_CONNECTION_PATIENCE_S"] = "3600"
    first = Guest(world, "guest", 0, 2, prefix=hosts.prefix("left"), COUPLET_NODE="left")
    second = Guest(world, "guest", 1, 2, prefix=hosts.prefix("right"), COUPLET_NODE="right")
    for guest in (first, second):
        guest.ready()
        guest.get("found = np.zeros(1, 'i8')")
    second.say("universe.group.Recv(found, 0, timeout=100)")
    first.get("universe.group.Send(np.array([4]), 1, timeout=100)")
    assert second.hear().startswith("is Message(")
    world.kill_hub()
    first.process.kill()
    second.refused("universe.group.Recv(found, 0, timeout=100)", "PEER_LOST", "program 'guest' rank 0")
    second.leave()
    world.kill()
    world.clean()
