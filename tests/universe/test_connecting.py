"""Two processes find a connection with any settings, whatever the other one does meanwhile, and keep it."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from launching import World
from quartet import Guest
from strangers import listening_ports, open_connections

MakeWorld = Callable[..., World]
FEW_S = 100.0  # longer than any stall of the machine, and shorter than the watchdog


def pair(world: World, first_links: str = "self,shm,tcp", second_links: str = "self,shm,tcp") -> tuple[Guest, Guest]:
    """Makes guests of rank 0 and 1 that have joined."""
    guests = [
        Guest(world, "guest", rank, 2, COUPLET_LINKS=links) for rank, links in enumerate((first_links, second_links))
    ]
    for guest in guests:
        guest.ready()
        guest.get("found = np.zeros(4, 'i8')")
    return guests[0], guests[1]


def receives(guest: Guest, source: int) -> None:
    """The guest receives what `source` has sent with send()."""
    guest.get(f"universe.group.Recv(found, {source}, timeout={FEW_S})")
    assert guest.get("found.tolist()") == "[0, 1, 2, 3]"
    guest.get("found.fill(0)")


def send(guest: Guest, target: int) -> None:
    guest.get(f"universe.group.Send(np.arange(4), {target}, timeout={FEW_S})")


def links(guest: Guest) -> set[str]:
    return {peer["link"] for peer in eval(guest.get("universe.explain()['peers']"))}


def computes(seconds: float) -> None:
    """Time passes in which a process makes no call, for longer than a former limit."""
    time.sleep(seconds)


# Messages that were sent before leaving.


@pytest.mark.parametrize("source", [0, 1])
def test_what_was_sent_before_leaving_is_delivered_to_a_receiver_that_computed(
    make_world: MakeWorld, source: int
) -> None:
    """It is the first contact over shared memory. The receiver makes no call while the sender sends and leaves."""
    guests = pair(make_world("guest:2"))
    sender, receiver = guests[source], guests[1 - source]
    send(sender, 1 - source)
    sender.leave()
    receives(receiver, source)
    receiver.leave()


def test_what_was_sent_before_leaving_is_delivered_to_a_receive_from_anybody(make_world: MakeWorld) -> None:
    sender, receiver = pair(make_world("guest:2"))
    send(sender, 1)
    sender.leave()
    receiver.get(f"universe.group.Recv(found, timeout={FEW_S})")
    assert receiver.get("found.tolist()") == "[0, 1, 2, 3]"
    receiver.leave()


def test_after_what_was_sent_before_leaving_a_receive_fails_by_name(make_world: MakeWorld) -> None:
    sender, receiver = pair(make_world("guest:2"))
    send(sender, 1)
    sender.leave()
    receives(receiver, 0)
    receiver.refused(f"universe.group.Recv(found, 0, timeout={FEW_S})", "PEER_LOST", "program 'guest' rank 0", "left")
    receiver.leave()


def test_a_message_that_nobody_receives_leaves_nothing_behind(make_world: MakeWorld) -> None:
    """The fixture fails if a file stays."""
    sender, receiver = pair(make_world("guest:2"))
    send(sender, 1)
    sender.leave()
    receiver.leave()


# Settings that differ.


@pytest.mark.parametrize("source", [0, 1])
@pytest.mark.parametrize("without", [0, 1])
def test_shared_memory_is_off_on_one_side(make_world: MakeWorld, source: int, without: int) -> None:
    settings = ["self,shm,tcp", "self,shm,tcp"]
    settings[without] = "self,tcp"
    guests = pair(make_world("guest:2"), *settings)
    guests[1 - source].say(f"universe.group.Recv(found, {source}, timeout={FEW_S})")
    send(guests[source], 1 - source)
    assert guests[1 - source].hear().startswith("is Message(")
    assert guests[1 - source].get("found.tolist()") == "[0, 1, 2, 3]"
    assert links(guests[0]) == links(guests[1]) == {"tcp"}
    guests[0].leave(guests[1])


def test_both_send_first_and_shared_memory_is_off_on_one_side(make_world: MakeWorld) -> None:
    guests = pair(make_world("guest:2"), "self,shm,tcp", "self,tcp")
    for rank, guest in enumerate(guests):
        guest.say(
            f"[universe.group.Isend(np.arange(4), {1 - rank}), universe.group.Recv(found, {1 - rank}, timeout={FEW_S})]"
        )
    for guest in guests:
        assert guest.hear().startswith("is [")
        assert guest.get("found.tolist()") == "[0, 1, 2, 3]"
    guests[0].leave(guests[1])


def test_no_common_link_is_an_error_that_says_why(make_world: MakeWorld) -> None:
    """The page of the second one tells the first one, which tells the second one while that waits."""
    first, second = pair(make_world("guest:2"), "self,shm", "self,tcp")
    first.refused(
        "universe.group.Send(np.arange(4), 1)", "UNSUPPORTED", "program 'guest' rank 1", "shm: ", "switched off"
    )
    second.say(f"universe.group.Send(np.arange(4), 0, timeout={FEW_S})")
    while not second.has_answered():  # the first one tells it in calls
        first.refused("universe.group.Recv(found, timeout=0.5)", "TIMEOUT")
    answer = second.hear()
    assert answer.startswith("error COUPLET_ERROR_"), answer
    assert "program 'guest' rank 0" in answer and "tcp is switched off in program 'guest' rank 0" in answer, answer
    first.leave(second)


def test_the_soft_limit_of_descriptors_is_raised(make_world: MakeWorld) -> None:
    guest = Guest(make_world("guest:1"), "guest", 0, 1, prefix=["prlimit", "--nofile=64:256"]).ready()
    assert resource.prlimit(guest.process.pid, resource.RLIMIT_NOFILE) == (256, 256)
    guest.leave()


def test_no_descriptor_is_left_to_answer_with(make_world: MakeWorld) -> None:
    """The answering side has none at present, and answers when it has one."""
    first, second = pair(make_world("guest:2"))
    pid = second.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    used = {int(path.name) for path in Path(f"/proc/{pid}/fd").iterdir()}
    lowest = next(number for number in range(len(used) + 1) if number not in used)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (lowest, before[1]))
    send(first, 1)
    second.refused("universe.group.Recv(found, 0, timeout=0.5)", "TIMEOUT", "program 'guest' rank 0")
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
    receives(second, 0)
    first.leave(second)


# A busy member, and foreign processes at its port.


def test_first_contact_with_a_member_that_computes_and_whose_queue_of_callers_is_full(make_world: MakeWorld) -> None:
    first, second = pair(make_world("guest:2"), "self,tcp", "self,tcp")
    (port,) = listening_ports(second.process.pid)
    queue = 128  # the former size of the queue
    with open_connections(port, queue + 1):
        first.get("request = universe.group.Isend(np.arange(4), 1)")
        first.say(f"universe.group.Recv(found, 1, timeout={FEW_S})")
        computes(5)
    second.get(f"universe.group.Recv(found, 0, timeout={FEW_S})")
    send(second, 0)
    assert first.hear().startswith("is Message(")
    assert second.get("found.tolist()") == "[0, 1, 2, 3]"
    first.leave(second)


def test_idle_connections_of_strangers_do_not_keep_a_member_deaf(make_world: MakeWorld) -> None:
    first, second = pair(make_world("guest:2"), "self,tcp", "self,tcp")
    (port,) = listening_ports(second.process.pid)
    with open_connections(port, 120), open_connections(port, 120), open_connections(port, 20):
        second.say(f"universe.group.Recv(found, 0, timeout={FEW_S})")
        send(first, 1)
        assert second.hear().startswith("is Message(")
        assert second.get("found.tolist()") == "[0, 1, 2, 3]"
    first.leave(second)
