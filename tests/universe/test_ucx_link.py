"""Messages through UCX, the link `ucx`."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from launching import World
from needs import require_ucx
from pairs import KINDS, links, run_pair
from quartet import Guest

MakeWorld = Callable[..., World]
MEMORY = "posix,cma"
NETWORK = "tcp"


@pytest.fixture(autouse=True)
def ucx() -> None:
    require_ucx()


def pair(world: World, first: str = "self,ucx", second: str = "self,ucx", **extra: str) -> tuple[Guest, Guest]:
    guests = [
        Guest(world, "guest", rank, 2, COUPLET_LINKS=order, **extra) for rank, order in enumerate((first, second))
    ]
    for guest in guests:
        guest.ready()
        guest.get("found = np.zeros(4, 'i8')")
    return guests[0], guests[1]


def exchange(first: Guest, second: Guest) -> None:
    """Each sends the other one a message."""
    for rank, (sender, receiver) in enumerate([(first, second), (second, first)]):
        receiver.say(f"universe.group.Recv(found, {rank}, timeout=20)")
        sender.get(f"universe.group.Send(np.arange(4), {1 - rank}, timeout=20)")
        answer = receiver.hear()
        assert answer.startswith("is "), answer
        assert receiver.get("found.tolist()") == "[0, 1, 2, 3]"
        receiver.get("found.fill(0)")


def peer(guest: Guest) -> dict[str, str]:
    """Returns what the guest explains about the other one."""
    (told,) = [each for each in eval(guest.get("universe.explain()['peers']")) if "guest" in each["name"]]
    return dict(told)


@pytest.mark.parametrize("transports", [MEMORY, NETWORK])
def test_two_processes_exchange_messages(make_world: MakeWorld, transports: str) -> None:
    first, second = pair(make_world("guest:2"), COUPLET_UCX_TLS=transports)
    exchange(first, second)
    for guest in (first, second):
        assert peer(guest)["link"] == "ucx"
    assert {peer(first)["why"], peer(second)["why"]} == {"ucx was dialed", "ucx was dialed by the peer"}
    first.leave(second)


@pytest.mark.parametrize("transports", [MEMORY, NETWORK])
def test_large_messages_arrive_unchanged(make_world: MakeWorld, transports: str) -> None:
    first, second = pair(make_world("guest:2"), COUPLET_UCX_TLS=transports)
    second.get("large = np.zeros(3_000_000, 'i8')")
    second.say("universe.group.Recv(large, 0, timeout=100)")
    first.get("universe.group.Send(np.arange(3_000_000), 1, timeout=100)")
    assert second.hear().startswith("is ")
    assert second.get("bool((large == np.arange(3_000_000)).all())") == "True"
    first.leave(second)


@pytest.mark.parametrize("transports", [MEMORY, NETWORK])
def test_many_messages_have_left_when_the_last_call_has_returned(make_world: MakeWorld, transports: str) -> None:
    """Their sender then only reads its input, and their receiver is slower than it."""
    first, second = pair(make_world("guest:2"), COUPLET_UCX_TLS=transports)
    second.get("sleep = __import__('time').sleep")
    second.say("sum((sleep(0.0003), universe.group.Recv(found, 0, timeout=60)) != () for each in range(1000))")
    first.get("[universe.group.Send(np.arange(4), 1, timeout=60) for each in range(1000)]")
    assert second.hear() == "is 1000"
    first.leave(second)


@pytest.mark.parametrize(("left", "right"), [("openmpi", "mpich"), ("mpich", "none"), ("none", "openmpi")])
def test_programs_under_different_mpis(make_world: MakeWorld, left: str, right: str) -> None:
    """Messages of all ranks, over ucx only."""
    assert {left, right} <= set(KINDS)
    world = make_world("left:2,right:1")
    run_pair(world, (left, 2), (right, 1), "messages", COUPLET_LINKS="self,ucx", COUPLET_UCX_TLS=MEMORY)
    assert links(world, "left") == {"ucx"}


def test_the_order_of_the_setting_decides(make_world: MakeWorld) -> None:
    first, second = pair(make_world("guest:2"), "self,ucx,tcp", "self,tcp,ucx")
    exchange(first, second)
    assert peer(first)["link"] == "ucx", peer(first)
    first.leave(second)


def test_who_does_not_use_ucx_is_reached_by_the_next_link(make_world: MakeWorld) -> None:
    first, second = pair(make_world("guest:2"), "self,ucx,tcp", "self,tcp")
    exchange(first, second)
    told = peer(first)
    assert told["link"] == "tcp"
    assert "ucx: " in told["not_taken"] and "does not name ucx" in told["not_taken"], told
    first.leave(second)


def test_without_a_common_way_the_next_link_is_taken(make_world: MakeWorld) -> None:
    """One side has only shared memory, the other one only the network."""
    world = make_world("guest:2")
    guests = [
        Guest(world, "guest", rank, 2, COUPLET_LINKS="self,ucx,tcp", COUPLET_UCX_TLS=transports)
        for rank, transports in enumerate((MEMORY, NETWORK))
    ]
    for guest in guests:
        guest.ready().get("found = np.zeros(4, 'i8')")
    exchange(guests[0], guests[1])
    told = peer(guests[0])
    assert told["link"] == "tcp"
    assert "UCX finds no way to the peer" in told["not_taken"], told
    guests[0].leave(guests[1])


def test_transports_that_do_not_exist_are_named(make_world: MakeWorld) -> None:
    world = make_world("guest:1")
    guest = Guest(world, "guest", 0, 1, COUPLET_LINKS="self,ucx", COUPLET_UCX_TLS="carrier-pigeon")
    answer = guest.hear()
    while not answer.startswith("error"):  # UCX itself says it, too
        answer = guest.hear()
    assert "COUPLET_ERROR_CONFIG" in answer and "setting 'ucx_tls' is 'carrier-pigeon'" in answer, answer


def test_who_does_not_name_ucx_does_not_load_it(make_world: MakeWorld) -> None:
    world = make_world("guest:2")
    first = Guest(world, "guest", 0, 2)
    second = Guest(world, "guest", 1, 2, COUPLET_LINKS="self,ucx,tcp")
    for guest in (first, second):  # each joins when both are there
        guest.ready()
    for guest, loads in ((first, False), (second, True)):
        maps = Path(f"/proc/{guest.process.pid}/maps").read_text()
        assert ("libucp.so" in maps) == loads
    first.leave(second)


@pytest.mark.parametrize("transports", [MEMORY, NETWORK])
def test_a_killed_peer_is_reported(make_world: MakeWorld, transports: str) -> None:
    world = make_world("guest:2")
    first, second = pair(world, COUPLET_UCX_TLS=transports)
    exchange(first, second)
    first.say("universe.group.Recv(found, 1, timeout=100)")
    time.sleep(0.2)  # it may wait by now, or not yet
    os.kill(second.process.pid, signal.SIGKILL)
    began = time.monotonic()
    answer = first.hear()
    assert answer.startswith("error COUPLET_ERROR_PEER_LOST ") and "rank 1" in answer, answer
    assert time.monotonic() - began < 60  # the watchdog; 5 s are promised, and measured by hand
    with pytest.raises(subprocess.TimeoutExpired):
        first.process.wait(0.1)
    world.kill()
    world.clean()


def test_a_waiting_process_sleeps(make_world: MakeWorld) -> None:
    """It takes next to no time of its processor while nothing comes, and is woken by what comes."""
    first, second = pair(make_world("guest:2"), COUPLET_UCX_TLS=MEMORY)
    exchange(first, second)
    ticks = os.sysconf("SC_CLK_TCK")

    def used() -> float:
        fields = Path(f"/proc/{first.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / ticks

    first.say("universe.group.Recv(found, 1, timeout=100)")
    time.sleep(0.5)
    before = used()
    time.sleep(2)
    assert used() - before < 1
    second.get("universe.group.Send(np.arange(4), 0, timeout=20)")
    assert first.hear().startswith("is ")
    first.leave(second)


def test_a_neighbour_that_stays_does_not_notice_the_lives_of_another_one(make_world: MakeWorld) -> None:
    """The first process takes new workers of UCX meanwhile, and is still woken by what comes to the old one."""
    extra = {"COUPLET_LINKS": "self,ucx", "COUPLET_UCX_TLS": MEMORY}
    world = make_world("guest:2,again:1")
    first, second = (Guest(world, "guest", rank, 2, **extra) for rank in (0, 1))
    lives = 14
    mappings = []
    for life in range(lives):
        again = Guest(world, "again", 0, 1, **extra)
        for guest in (first, second, again) if life == 0 else (again,):
            guest.ready()
            guest.get("found = np.zeros(4, 'i8')")
        first.say("universe.group.Recv(found, 2, timeout=20)")
        again.get("universe.group.Send(np.arange(4), 0, timeout=20)")
        answer = first.hear()
        assert answer.startswith("is "), answer
        exchange(first, second)
        mappings.append(Path(f"/proc/{first.process.pid}/maps").read_text().count("ucx_shm_posix"))
        if life < lives - 1:
            again.process.kill()
            again.process.wait()
            first.say("universe.group.Recv(found, 2, timeout=100)")
            assert first.hear().startswith("error COUPLET_ERROR_PEER_LOST ")
    assert max(mappings[lives // 2 :]) <= max(mappings[: lives // 2]) + 4, mappings
    first.leave(second, again)
