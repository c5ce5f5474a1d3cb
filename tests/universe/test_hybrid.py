"""Connections with several lanes: hybrid ones, and several streams over tcp."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from launching import World
from namespaces import ADDRESSES, Namespaces, make_namespaces
from quartet import Guest
from resets import need_resets, reset_connections
from strangers import listening_ports

MakeWorld = Callable[..., World]
SIDES = ("left", "right")
LONG = 2_000_000  # bytes, and more than the threshold
HYBRID = {"COUPLET_LINKS": "self,shm,tcp,file", "COUPLET_HYBRID": "tcp+file", "COUPLET_HYBRID_THRESHOLD": "100000"}


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Path]:
    """A directory in which nothing is left after the test."""
    directory = tmp_path / "shared"
    directory.mkdir(mode=0o700)
    yield directory
    assert not list(directory.iterdir()), "left behind"


@pytest.fixture
def hosts() -> Iterator[Namespaces]:
    namespaces = make_namespaces()
    yield namespaces
    namespaces.close()


def guest(world: World, rank: int, prefix: list[str] | None = None, **extra: str) -> Guest:
    return Guest(world, "guest", rank, 2, prefix=prefix or [], COUPLET_NODE=f"node{rank}", **extra)


def prepare(*guests: Guest) -> None:
    for each in guests:
        each.ready()
        each.get("found = np.zeros(4, 'i8')")
        each.get(f"long = np.arange({LONG}, dtype='u4').astype('u1')")
        each.get(f"taken = np.zeros({LONG}, 'u1')")


def pair(world: World, first: dict[str, str], second: dict[str, str] | None = None) -> tuple[Guest, Guest]:
    """Makes guests that count as on two nodes, so that they share no memory."""
    guests = (guest(world, 0, **first), guest(world, 1, **(first if second is None else second)))
    prepare(*guests)
    return guests


def exchange(first: Guest, second: Guest) -> None:
    """Each sends the other one a short message, a long one, and a short one."""
    for rank, (sender, receiver) in enumerate([(first, second), (second, first)]):
        receiver.say(
            f"[universe.group.Recv(found, {rank}, timeout=100), universe.group.Recv(taken, {rank}, timeout=100),"
            f" universe.group.Recv(found, {rank}, timeout=100)]"
        )
        sender.get(f"universe.group.Send(np.arange(4), {1 - rank}, timeout=100)")
        sender.get(f"universe.group.Send(long, {1 - rank}, timeout=100)")
        sender.get(f"universe.group.Send(np.arange(4) + 1, {1 - rank}, timeout=100)")
        answer = receiver.hear()
        assert answer.startswith("is "), answer
        assert receiver.get("bool((taken == long).all())") == "True"
        assert receiver.get("found.tolist()") == "[1, 2, 3, 4]"
        receiver.get("taken.fill(0)")


def peer(each: Guest) -> dict[str, Any]:
    """Returns what the guest explains about the other one."""
    (told,) = [one for one in eval(each.get("universe.explain()['peers']")) if "guest" in one["name"]]
    return dict(told)


def lanes(each: Guest) -> list[str]:
    return [lane["link"] for lane in peer(each).get("lanes", [])]


def until_lanes(first: Guest, second: Guest, wanted: list[str]) -> None:
    """Exchanges messages until both have these lanes. Each wait of a guest also works on what is missing."""
    for _ in range(400):
        exchange(first, second)
        if lanes(first) == lanes(second) == wanted:
            return
    raise AssertionError((peer(first), peer(second)))


def test_a_hybrid_connection_has_a_lane_over_each_link(make_world: MakeWorld, shared: Path) -> None:
    first, second = pair(make_world("guest:2"), HYBRID | {"COUPLET_FILE_DIRECTORY": str(shared)})
    until_lanes(first, second, ["tcp", "file"])
    told = peer(first)
    assert told["link"] == "tcp"
    assert [lane["carries"] for lane in told["lanes"]] == [
        "messages of up to 100000 bytes",
        "messages of more than 100000 bytes",
    ]
    first.leave(second)


def test_long_messages_go_by_files_and_short_ones_by_tcp(
    make_world: MakeWorld, hosts: Namespaces, shared: Path
) -> None:
    world = make_world("guest:2", address=ADDRESSES["left"][0], prefix=hosts.prefix("left"))
    extra = HYBRID | {"COUPLET_FILE_DIRECTORY": str(shared)}
    first, second = (guest(world, rank, hosts.prefix(side), **extra) for rank, side in enumerate(SIDES))
    prepare(first, second)
    until_lanes(first, second, ["tcp", "file"])

    def on_cable() -> int:
        return sum(hosts.received(side, 0) for side in SIDES)

    before = on_cable()
    exchange(first, second)
    assert on_cable() - before < LONG / 10, "the long messages went by tcp"
    first.get("short = long[:90_000]")
    before = on_cable()
    second.say("universe.group.Recv(taken[:90_000], 0, timeout=100)")
    first.get("universe.group.Send(short, 1, timeout=100)")
    assert second.hear().startswith("is ")
    assert on_cable() - before > 90_000, "the short message went by files"
    first.leave(second)


def test_a_hybrid_connection_goes_on_over_tcp_if_the_directory_vanishes(make_world: MakeWorld, shared: Path) -> None:
    first, second = pair(make_world("guest:2"), HYBRID | {"COUPLET_FILE_DIRECTORY": str(shared)})
    until_lanes(first, second, ["tcp", "file"])
    shutil.rmtree(shared)
    until_lanes(first, second, ["tcp"])
    for _ in range(100):
        exchange(first, second)
        if "vanished" in peer(first).get("lanes_missing", ""):
            break
    else:
        raise AssertionError(peer(first))
    first.leave(second)
    shared.mkdir(mode=0o700)


def test_a_hybrid_connection_goes_on_over_files_and_makes_tcp_again(make_world: MakeWorld, shared: Path) -> None:
    need_resets()
    world = make_world("guest:2")
    first, second = pair(world, HYBRID | {"COUPLET_FILE_DIRECTORY": str(shared)})
    until_lanes(first, second, ["tcp", "file"])
    ports = [port for each in (first, second) for port in listening_ports(each.process.pid)]
    for _ in range(3):
        assert reset_connections(ports) > 0
        exchange(first, second)
        until_lanes(first, second, ["tcp", "file"])
    first.leave(second)


@pytest.mark.parametrize("without", [0, 1])
def test_one_side_alone_wants_a_hybrid_connection(make_world: MakeWorld, shared: Path, without: int) -> None:
    extra = [HYBRID | {"COUPLET_FILE_DIRECTORY": str(shared)}] * 2
    extra[without] = {"COUPLET_LINKS": "self,tcp,file", "COUPLET_FILE_DIRECTORY": str(shared)}
    first, second = pair(make_world("guest:2"), *extra)
    deadline = time.monotonic() + 60
    told: dict[str, Any] = {}
    while "lanes_missing" not in told:
        assert time.monotonic() < deadline, told
        exchange(first, second)
        time.sleep(0.02)  # so that the dial for a further lane goes on meanwhile
        told = peer((second, first)[without])
    assert f"program 'guest' rank {without}" in told["lanes_missing"], told
    assert "its settings hybrid and tcp_streams" in told["lanes_missing"], told
    assert [lane["link"] for lane in told["lanes"]] == ["tcp"]
    assert "lanes" not in peer((first, second)[without])
    first.leave(second)


def test_processes_that_share_memory_have_one_lane(make_world: MakeWorld, shared: Path) -> None:
    world = make_world("guest:2")
    extra = HYBRID | {"COUPLET_FILE_DIRECTORY": str(shared)}
    first, second = (Guest(world, "guest", rank, 2, **extra) for rank in (0, 1))
    prepare(first, second)
    exchange(first, second)
    assert peer(first)["link"] == "shm" and "lanes" not in peer(first)
    first.leave(second)


def test_a_killed_peer_of_a_hybrid_connection_is_reported_by_name(make_world: MakeWorld, shared: Path) -> None:
    first, second = pair(make_world("guest:2"), HYBRID | {"COUPLET_FILE_DIRECTORY": str(shared)})
    until_lanes(first, second, ["tcp", "file"])
    second.process.kill()
    first.refused("universe.group.Recv(found, 1, timeout=100)", "PEER_LOST", "program 'guest' rank 1")
    first.leave()


def test_large_messages_go_over_several_streams(make_world: MakeWorld) -> None:
    first, second = pair(make_world("guest:2"), {"COUPLET_LINKS": "self,tcp", "COUPLET_TCP_STREAMS": "3"})
    until_lanes(first, second, ["tcp", "tcp", "tcp"])
    assert peer(first)["lanes"][0]["carries"] == "parts of messages of more than 65536 bytes"
    first.leave(second)


SOCKETS = "[one.readlink().name for one in __import__('pathlib').Path('/proc/self/fd').iterdir() if one.is_socket()]"


@pytest.mark.parametrize(("mine", "others"), [(4, 2), (2, 4), (4, 1), (1, 3)])
def test_sides_that_want_unlike_numbers_of_streams_settle(make_world: MakeWorld, mine: int, others: int) -> None:
    """Both keep as many as the side that wants fewer, and no further connection is made."""
    both = {"COUPLET_LINKS": "self,tcp"}
    guests = pair(
        make_world("guest:2"),
        both | {"COUPLET_TCP_STREAMS": str(mine)},
        both | {"COUPLET_TCP_STREAMS": str(others)},
    )
    more, fewer = guests if mine > others else (guests[1], guests[0])
    exchange(*guests)
    deadline = time.monotonic() + 60
    while "lanes_missing" not in peer(more):
        assert time.monotonic() < deadline, (peer(more), peer(fewer))
        exchange(*guests)
        time.sleep(0.02)
    reason = peer(more)["lanes_missing"]
    assert f"program 'guest' rank {guests.index(fewer)}" in reason and "tcp_streams" in reason, reason
    assert "lanes_missing" not in peer(fewer)
    count = min(mine, others)
    assert lanes(more) == ["tcp"] * count
    assert lanes(fewer) == (["tcp"] * count if count > 1 else [])
    sockets = [set(eval(each.get(SOCKETS))) for each in guests]
    for _ in range(20):
        exchange(*guests)
        time.sleep(0.02)
    made = [set(eval(each.get(SOCKETS))) - known for each, known in zip(guests, sockets, strict=True)]
    assert made == [set(), set()], (peer(more), peer(fewer))
    more.leave(fewer)


def test_streams_of_unlike_numbers_that_are_reset_are_made_again(make_world: MakeWorld) -> None:
    need_resets()
    both = {"COUPLET_LINKS": "self,tcp"}
    first, second = pair(
        make_world("guest:2"), both | {"COUPLET_TCP_STREAMS": "3"}, both | {"COUPLET_TCP_STREAMS": "2"}
    )
    until_lanes(first, second, ["tcp", "tcp"])
    ports = [port for each in (first, second) for port in listening_ports(each.process.pid)]
    for _ in range(3):
        assert reset_connections(ports) > 0
        exchange(first, second)
        until_lanes(first, second, ["tcp", "tcp"])
    first.leave(second)


WAITS = {
    "receives from another peer": "universe.group.Recv(np.zeros(1), 2, tag=9, timeout=60)",
    "receives from the same peer": "universe.group.Recv(np.zeros(1), 1, tag=9, timeout=60)",
    "polls": "[None for _ in iter(lambda r=universe.group.Irecv(np.zeros(1), 2, 9): r.test()[0], True)][:1]",
}


@pytest.mark.parametrize("elsewhere", list(WAITS))
def test_what_is_lost_with_a_stream_is_sent_again_while_its_sender_is_in_any_call(
    make_world: MakeWorld, elsewhere: str
) -> None:
    """The receiver is stopped while the streams are reset, so that what is on the way is lost."""
    need_resets()
    world = make_world("guest:3")
    extra = {"COUPLET_LINKS": "self,tcp", "COUPLET_TCP_STREAMS": "2"}
    guests = [Guest(world, "guest", rank, 3, COUPLET_NODE=f"node{rank}", **extra) for rank in range(3)]
    prepare(*guests)
    first, second, third = guests
    until_lanes(first, second, ["tcp", "tcp"])
    second.process.send_signal(signal.SIGSTOP)
    first.get("kept = [universe.group.Isend(np.full(60_000, n, 'u1'), 1) for n in range(12)]")
    first.say(WAITS[elsewhere])
    ports = [port for each in (first, second) for port in listening_ports(each.process.pid)]
    assert reset_connections(ports) > 0
    second.process.send_signal(signal.SIGCONT)
    for number in range(12):
        second.get("universe.group.Recv(taken[:60_000], 0, timeout=30)")
        assert second.get(f"bool((taken[:60_000] == {number}).all())") == "True"
    (second if "same" in elsewhere else third).get("universe.group.Send(np.ones(1), 0, tag=9, timeout=60)")
    assert first.hear().startswith("is "), elsewhere
    first.leave(second, third)


def test_streams_that_are_reset_are_made_again(make_world: MakeWorld) -> None:
    need_resets()
    first, second = pair(make_world("guest:2"), {"COUPLET_LINKS": "self,tcp", "COUPLET_TCP_STREAMS": "2"})
    until_lanes(first, second, ["tcp", "tcp"])
    ports = [port for each in (first, second) for port in listening_ports(each.process.pid)]
    for _ in range(3):
        assert reset_connections(ports) > 0
        exchange(first, second)
        until_lanes(first, second, ["tcp", "tcp"])
    first.leave(second)


MISTAKES = [
    ({"COUPLET_HYBRID": "tcp"}, "setting 'hybrid' is 'tcp'; it has to be two links"),
    ({"COUPLET_HYBRID": "tcp+shm"}, "setting 'hybrid' is 'tcp+shm'; it has to be two links that reach other nodes"),
    ({"COUPLET_HYBRID": "tcp+tcp"}, "setting 'hybrid' is 'tcp+tcp'; it has to be two links"),
    ({"COUPLET_HYBRID": "tcp+file+tcp"}, "setting 'hybrid' is 'tcp+file+tcp'; it has to be two links"),
    ({"COUPLET_HYBRID": "tcp+file"}, "the link 'file' needs the setting 'file_directory'"),
    (
        {"COUPLET_HYBRID": "tcp+file", "COUPLET_LINKS": "self,tcp"},
        "setting 'hybrid' is 'tcp+file', but the setting 'links' does not name 'file'",
    ),
    ({"COUPLET_HYBRID_THRESHOLD": "7"}, "the setting 'hybrid' is not set"),
    ({"COUPLET_TCP_STREAMS": "0"}, "setting 'tcp_streams' is '0'; it has to be a number from 1 to 16"),
    ({"COUPLET_TCP_STREAMS": "17"}, "setting 'tcp_streams' is '17'; it has to be a number from 1 to 16"),
    ({"COUPLET_TCP_STREAMS": "two"}, "setting 'tcp_streams' is 'two'; it has to be a number from 1 to 16"),
]


@pytest.mark.parametrize(("extra", "words"), MISTAKES)
def test_mistakes_are_named(make_world: MakeWorld, extra: dict[str, str], words: str) -> None:
    answer = Guest(make_world("guest:1"), "guest", 0, 1, **extra).hear()
    assert words in answer, answer


def test_a_threshold_that_is_no_number_is_named(make_world: MakeWorld, shared: Path) -> None:
    extra = HYBRID | {"COUPLET_FILE_DIRECTORY": str(shared), "COUPLET_HYBRID_THRESHOLD": "1 MiB"}
    answer = Guest(make_world("guest:1"), "guest", 0, 1, **extra).hear()
    assert "setting 'hybrid_threshold' is '1 MiB', which is not a number of bytes" in answer, answer
