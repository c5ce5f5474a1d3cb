"""Leaving does not depend on what the other processes do meanwhile."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from launching import WATCHDOG_S, World, read_line
from namespaces import ADDRESSES, Namespaces, make_namespaces
from quartet import Guest

# Half of the time for which leaving waits for a process that takes nothing.
LEAVES_AT_ONCE_S = 2.5


def test_leaving_while_a_peer_computes(make_world: Callable[..., World]) -> None:
    """It uses tcp. The last bytes are for a peer that makes no call for longer than leaving waits for it."""
    world = make_world("guest:2")
    guests = [Guest(world, "guest", rank, 2, COUPLET_LINKS="self,tcp") for rank in range(2)]
    first, second = (guest.ready() for guest in guests)
    first.say("universe.group.Send(np.arange(4), 1)")
    second.get("found = np.zeros(4, 'i8')")
    second.get("universe.group.Recv(found, 0, timeout=100)")
    assert first.hear() == "is None"
    first.get("universe.group.Isend(np.arange(4), 1)")
    first.leave()
    second.get("universe.group.Recv(found, 0, timeout=100)")
    assert second.get("found.tolist()") == "[0, 1, 2, 3]"
    second.leave()


def test_a_receive_from_a_process_that_left_before_the_receiver_joined(make_world: Callable[..., World]) -> None:
    """Chaos, seed 110022: it was started again, and its receive waited for ever."""
    world = make_world("ocean:1,nowcast:1,other:1")
    ocean, nowcast, other = (Guest(world, name, 0, 1) for name in ("ocean", "nowcast", "other"))
    for guest in (ocean, nowcast, other):
        guest.ready()
    nowcast.process.kill()
    nowcast.process.wait()
    ocean.leave()
    again = Guest(world, "nowcast", 0, 1).ready()
    receive = "universe.group.Recv(np.zeros(1), universe.find_rank('ocean'), timeout=100)"
    again.refused(receive, "PEER_LOST", "program 'ocean' rank 0", "has left")
    again.leave(other)


def test_a_member_that_leaves_after_its_part_of_a_collective_call(make_world: Callable[..., World]) -> None:
    """Its answer to the first call of the group comes together with its leaving, to a member that computes."""
    world = make_world("guest:3")
    guests = [Guest(world, "guest", rank, 3, COUPLET_LINKS="self,tcp") for rank in range(3)]
    first, root, last = (guest.ready() for guest in guests)
    for guest in guests:
        guest.say("universe.group.barrier(timeout=100)")  # makes the connections
    for guest in guests:
        assert guest.hear() == "is None"
        guest.get("part = np.arange(3.0)")
        guest.get("trio = universe.create_group('trio', [0, 1, 2])")
    last.get("request = trio.ireduce(part, 'sum', 1)")
    last.refused("universe.group.Recv(np.zeros(1), 1, tag=7, timeout=1)", "TIMEOUT")
    root.say("trio.reduce(part, 'sum', 1, timeout=100).tolist()")
    first.get("trio.reduce(part, 'sum', 1, timeout=100)")
    first.leave()
    last.get("request.wait(timeout=100)")
    assert root.hear() == "is [0.0, 3.0, 6.0]"
    root.leave(last)


@pytest.mark.parametrize("others", [1, 2])
def test_a_first_collective_call_ends_when_all_other_members_leave(
    make_world: Callable[..., World], others: int
) -> None:
    """Fault: it waited for ever, since the end of its receive of notices was taken for a notice at each look."""
    size = 1 + others
    world = make_world(f"guest:{size}")
    guests = [Guest(world, "guest", rank, size) for rank in range(size)]
    for guest in guests:
        guest.ready()
    guests[0].say("universe.group.barrier(timeout=100)")
    time.sleep(0.5)  # it waits
    began = time.monotonic()
    guests[1].leave(*guests[2:])
    answer = guests[0].hear()
    assert answer.startswith("error COUPLET_ERROR_PEER_LOST ") and "has left" in answer, answer
    assert time.monotonic() - began < 50  # the call's own time is 100 s
    guests[0].leave()


def make_slow(hosts: Namespaces, rate: str = "8mbit") -> None:
    """The first cable carries that many bits a second in each direction. Skips aloud if that cannot be had."""
    for side in hosts.keepers:
        shape = f"tc qdisc add dev cable0 root tbf rate {rate} burst 16kb limit 200kb"
        try:
            hosts.run(side, *shape.split())
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"a cable cannot be made slow here (tc, sch_tbf): {getattr(error, 'stderr', error)}")


@pytest.fixture
def hosts() -> Iterator[Namespaces]:
    namespaces = make_namespaces()
    yield namespaces
    namespaces.close()


def connected_guests(world: World, *extra: dict[str, Any]) -> list[Guest]:
    """Two guests that have met over tcp. extra: for each of them what Guest takes besides."""
    guests = [
        Guest(world, "guest", rank, 2, COUPLET_LINKS="self,tcp", COUPLET_NODE=f"node{rank}", **more)
        for rank, more in enumerate(extra or ({}, {}))
    ]
    for guest in guests:
        guest.ready()
    for guest in guests:
        guest.say("universe.group.barrier(timeout=100)")
    for guest in guests:
        assert guest.hear() == "is None"
    return guests


@pytest.mark.long  # 12 s
def test_what_is_on_a_slow_network_when_its_sender_leaves(make_world: Callable[..., World], hosts: Namespaces) -> None:
    """The receiver makes no call meanwhile, so that most of it waits in the system of a process that has ended."""
    make_slow(hosts)
    world = make_world("guest:2", address=ADDRESSES["left"][0], prefix=hosts.prefix("left"))
    first, second = connected_guests(world, *({"prefix": hosts.prefix(side)} for side in ("left", "right")))
    first.get("many = [universe.group.Isend(np.full(65_000, number, 'u1'), 1) for number in range(12)]")
    first.leave()
    second.get("found = np.zeros(65_000, 'u1')")
    for number in range(12):
        second.get("universe.group.Recv(found, 0, timeout=100)")
        assert second.get(f"bool((found == {number}).all())") == "True"
    second.refused("universe.group.Recv(found, 0, timeout=100)", "PEER_LOST", "program 'guest' rank 0", "has left")
    second.leave()


def test_leaving_goes_on_as_long_as_the_network_takes_something(
    make_world: Callable[..., World], hosts: Namespaces
) -> None:
    """It needs 8 s, more than the peers have who take nothing. The hub is heard behind what was sent, so the receiver
    does not know of the leaving when it gives credit, which the system of a process that has ended answers by a reset.
    """
    make_slow(hosts, "800kbit")
    world = make_world("guest:2", address=ADDRESSES["left"][0], prefix=hosts.prefix("left"))
    first, second = connected_guests(world, *({"prefix": hosts.prefix(side)} for side in ("left", "right")))
    first.get("many = [universe.group.Isend(np.full(65_000, number, 'u1'), 1) for number in range(12)]")
    second.get("found = np.zeros(65_000, 'u1')")
    first.begin_to_leave()
    for number in range(12):
        second.get("universe.group.Recv(found, 0, timeout=100)")
        assert second.get(f"bool((found == {number}).all())") == "True"
    second.refused("universe.group.Recv(found, 0, timeout=100)", "PEER_LOST", "program 'guest' rank 0", "has left")
    second.leave(first)


@pytest.mark.parametrize("link", ["shm", "tcp"])
def test_leaving_waits_for_sends_that_are_not_complete_and_counts_those_that_stay(
    make_world: Callable[..., World], link: str
) -> None:
    """Fault: over tcp, leave answered ok, and what was only offered to the receiver was lost in silence."""
    world = make_world("guest:2")
    first, second = (Guest(world, "guest", rank, 2, COUPLET_LINKS=f"self,{link}") for rank in range(2))
    first.ready()
    second.ready()
    first.get("many = [universe.group.Isend(np.full(300_000, number, 'u1'), 1) for number in range(3)]")
    first.begin_to_leave()
    second.get("found = np.zeros(300_000, 'u1')")
    for number in range(2):
        second.get("universe.group.Recv(found, 0, timeout=100)")
        assert second.get(f"bool((found == {number}).all())") == "True"
    output, errors = first.process.communicate(timeout=WATCHDOG_S)
    assert "1 message was not received" in output + errors
    second.leave()


def test_leaving_names_the_process_that_has_not_come(make_world: Callable[..., World]) -> None:
    """Fault: the error named neither the process nor how many sends were not complete."""
    world = make_world("guest:1,late:1?")
    guest = Guest(world, "guest", 0, 1).ready()
    guest.get("many = [universe.group.Isend(np.zeros(9), 1) for number in range(3)]")
    guest.begin_to_leave()
    output, errors = guest.process.communicate(timeout=WATCHDOG_S)
    said = output + errors
    assert "what was sent to program 'late' rank 0" in said, said
    assert "(sends that are not complete: 3); for 5 s no peer has taken anything" in said, said


@pytest.mark.parametrize("link", ["shm", "tcp"])
def test_leaving_tells_of_a_send_that_has_failed_and_that_nobody_has_waited_for(
    make_world: Callable[..., World], link: str
) -> None:
    """Fault: leave answered ok. An error that a call has told before is not told again."""
    world = make_world("guest:3")
    first, second, third = (Guest(world, "guest", rank, 3, COUPLET_LINKS=f"self,{link}") for rank in range(3))
    for guest in (first, second, third):
        guest.ready()
    for guest in (first, second):
        guest.get("many = [universe.group.Isend(np.zeros(300_000, 'u1'), 2) for number in range(3)]")
    third.process.kill()
    third.process.wait(WATCHDOG_S)
    for number in range(3):
        first.refused(f"many[{number}].wait(timeout=100)", "PEER_LOST", "program 'guest' rank 2")
    second.refused("many[0].wait(timeout=100)", "PEER_LOST", "program 'guest' rank 2")
    first.leave()
    second.begin_to_leave()
    output, errors = second.process.communicate(timeout=WATCHDOG_S)
    assert "COUPLET_ERROR_PEER_LOST" in output + errors, output + errors
    assert "sends that have failed, and that no call has asked about: 2" in output + errors
    assert "program 'guest' rank 2" in output + errors


@pytest.mark.long  # 13 s
def test_leaving_goes_on_as_long_as_the_receiver_reads_the_memory_of_the_sender(
    make_world: Callable[..., World],
) -> None:
    """Fault: leave ended after 5 s beneath a receiver that took one message every 4 s, since no byte went to it."""
    world = make_world("guest:2")
    first, second = (Guest(world, "guest", rank, 2) for rank in range(2))
    first.ready()
    second.ready()
    first.get("many = [universe.group.Isend(np.full(200_000, number, 'u1'), 1) for number in range(3)]")
    second.get("found = np.zeros(200_000, 'u1')")
    first.begin_to_leave()
    for number in range(3):
        second.get("universe.group.Recv(found, 0, timeout=100)")
        assert second.get(f"bool((found == {number}).all())") == "True"
        time.sleep(4)
    second.leave(first)


def test_what_was_sent_arrives_if_the_first_call_of_the_receiver_is_a_send(make_world: Callable[..., World]) -> None:
    """Fault: the host of the process that had left answered the send by a reset, which destroyed unread messages."""
    world = make_world("guest:2")
    first, second = connected_guests(world)
    first.get("many = [universe.group.Isend(np.full(65_000, number, 'u1'), 1) for number in range(6)]")
    first.leave()
    second.get("found = [np.zeros(65_000, 'u1') for _ in range(6)]")
    second.get("awaited = [universe.group.Irecv(each, 0) for each in found]")
    second.ask("sent = universe.group.Isend(np.ones(30), 0, tag=5)")
    for number in range(6):
        second.get(f"awaited[{number}].wait(timeout=100)")
        assert second.get(f"bool((found[{number}] == {number}).all())") == "True"
    second.refused("sent.wait(timeout=100)", "PEER_LOST", "program 'guest' rank 0", "has left")
    second.leave()


LEAVER = """
import couplet, numpy as np
universe = couplet.join("leaver")
universe.group.Recv(np.zeros(1, "u1"), 1)
sent = [universe.group.Isend(np.full(2_000_000, 7, "u1"), 1, tag) for tag in range(3)]
print("sent", flush=True)
try:
    universe.leave()
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
LATE = """
import couplet, numpy as np
with couplet.join("late") as universe:
    universe.group.Send(np.zeros(1, "u1"), 0)
    input()
    try:
        universe.group.Recv(np.zeros(2_000_000, "u1"), 0, 0, timeout=100)
    except couplet.PeerLostError as error:
        print(error)
"""


@pytest.mark.parametrize("far", [False, True], ids=["near", "far"])
def test_control_c_ends_the_wait_for_receivers_and_the_process_has_left(
    make_world: Callable[..., World], far: bool
) -> None:
    """It counted as lost, since it ended in the middle of leaving."""
    world = make_world("leaver:1,late:1")
    late = world.start(
        [sys.executable, "-c", LATE], standard_input=True, **({"COUPLET_NODE": "elsewhere"} if far else {})
    )
    leaver = world.start([sys.executable, "-c", LEAVER])
    assert read_line(leaver) == "sent\n"
    time.sleep(0.5)  # it has to wait in leave
    leaver.send_signal(signal.SIGINT)
    assert read_line(leaver) == "interrupted\n"
    world.finish(leaver).check()
    assert late.stdin is not None
    late.stdin.write("go\n")
    late.stdin.flush()
    assert "has left" in world.finish(late).check().output


def test_a_reader_leaves_at_once_in_the_middle_of_a_step_over_a_network(
    make_world: Callable[..., World], hosts: Namespaces
) -> None:
    """Chaos seed 30100009: it dialed the relay, which had ended the connection, again for 5 s."""
    for side in ("left", "right"):
        for sizes in ("tcp_rmem", "tcp_wmem"):
            hosts.run(side, "sh", "-c", f"echo 4096 8192 16384 >/proc/sys/net/ipv4/{sizes}")
    world = make_world("ocean:1,nowcast:1", address=ADDRESSES["left"][0], prefix=hosts.prefix("left"))
    ocean, nowcast = (
        Guest(world, name, 0, 1, prefix=hosts.prefix(side), COUPLET_NODE=side)
        for name, side in (("ocean", "left"), ("nowcast", "right"))
    )
    ocean.ready()
    nowcast.ready()
    ocean.get("series = universe.create_series('eta', (4000000,), 'f8', slots=2)")
    nowcast.get("reader = universe.open_series('eta')")
    ocean.get("series.put(np.zeros(4000000), 0)")
    for _ in range(20):  # each takes what a socket holds
        nowcast.ask("reader.read(1, 1, timeout=0)")
    began = time.monotonic()
    nowcast.leave()
    assert time.monotonic() - began < LEAVES_AT_ONCE_S
    ocean.get("series.close()")
    ocean.leave()
    world.processes[0].wait(WATCHDOG_S)
