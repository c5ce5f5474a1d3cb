"""Where tcp listens: by interface, subnet and port range, and over IPv6."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

import pytest
from launching import WATCHDOG_S, World
from namespaces import ADDRESSES, Namespaces, make_namespaces
from quartet import Guest
from strangers import listening_ports

MakeWorld = Callable[..., World]
SIDES = ("left", "right")
BYTES = 300_000


@pytest.fixture
def hosts() -> Iterator[Namespaces]:
    namespaces = make_namespaces()
    yield namespaces
    namespaces.close()


def exchange(first: Guest, second: Guest) -> None:
    for rank, (sender, receiver) in enumerate([(first, second), (second, first)]):
        receiver.get(f"found = np.zeros({BYTES}, 'u1')")
        receiver.say(f"universe.group.Recv(found, {rank}, timeout=100)")
        sender.get(f"universe.group.Send(np.full({BYTES}, 7, 'u1'), {1 - rank}, timeout=100)")
        assert receiver.hear().startswith("is ")
        assert receiver.get("int(found.sum())") == str(7 * BYTES)


def link(guest: Guest) -> str:
    (told,) = [one for one in eval(guest.get("universe.explain()['peers']")) if "guest" in one["name"]]
    return str(told["link"])


def ipv6_addresses(hosts: Namespaces) -> None:
    """Gives cable 1 addresses of IPv6, too."""
    for number, side in enumerate(SIDES, 1):
        hosts.run(side, "ip", "address", "add", f"fd77:2::{number}/64", "dev", "cable1", "nodad")


@pytest.mark.parametrize("interface", ["cable1", "10.77.2.0/24", "fd77:2::/64"])
def test_messages_go_over_the_chosen_network(make_world: MakeWorld, hosts: Namespaces, interface: str) -> None:
    """Both sides have two networks, and reach the hub over the first one."""
    ipv6_addresses(hosts)
    world = make_world("guest:2", address=ADDRESSES["left"][0], prefix=hosts.prefix("left"))
    extra = {"COUPLET_LINKS": "self,tcp", "COUPLET_INTERFACE": interface}
    guests = [Guest(world, "guest", rank, 2, prefix=hosts.prefix(side), **extra) for rank, side in enumerate(SIDES)]
    first, second = (guest.ready() for guest in guests)
    before = [hosts.received("right", cable) for cable in (0, 1)]
    exchange(first, second)
    first_cable, second_cable = (hosts.received("right", cable) - before[cable] for cable in (0, 1))
    assert first_cable < BYTES / 10 and second_cable > BYTES
    first.leave(second)
    world.processes[0].wait(WATCHDOG_S)


def test_a_universe_over_ipv6(make_world: MakeWorld) -> None:
    world = make_world("guest:2", address="[::1]")
    guests = [Guest(world, "guest", rank, 2, COUPLET_LINKS="self,tcp") for rank in (0, 1)]
    first, second = (guest.ready() for guest in guests)
    exchange(first, second)
    assert link(first) == link(second) == "tcp"
    first.leave(second)


def free_range(count: int) -> tuple[int, int]:
    """Returns the first and the last of so many ports in a row that are free now."""
    for first in range(41000, 48000, count):
        sockets = []
        try:
            for port in range(first, first + count):
                sockets.append(socket.create_server(("127.0.0.1", port)))  # noqa: PERF401
            return first, first + count - 1
        except OSError:
            continue
        finally:
            for one in sockets:
                one.close()
    raise AssertionError("no free ports")


def test_ports_come_from_a_range(make_world: MakeWorld) -> None:
    first_port, last_port = free_range(8)
    world = make_world("guest:2")
    extra = {"COUPLET_LINKS": "self,tcp", "COUPLET_PORTS": f"{first_port}-{last_port}"}
    guests = [Guest(world, "guest", rank, 2, **extra) for rank in (0, 1)]
    first, second = (guest.ready() for guest in guests)
    exchange(first, second)
    for guest in (first, second):
        (port,) = listening_ports(guest.process.pid)
        assert first_port <= port <= last_port
    first.leave(second)


def test_a_range_in_which_no_port_is_free_is_named(make_world: MakeWorld) -> None:
    world = make_world("guest:1")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = Guest(world, "guest", 0, 1, COUPLET_PORTS=f"{port}").hear()
    assert f"no port of COUPLET_PORTS={port}-{port} is free at 127.0.0.1:{port}" in answer, answer


@pytest.mark.parametrize(
    ("variable", "text", "words"),
    [
        ("COUPLET_PORTS", "40000-", "COUPLET_PORTS is '40000-'; it has to be a port or the first and the last one"),
        ("COUPLET_INTERFACE", "no-such-one", "COUPLET_INTERFACE: there is no network interface 'no-such-one'"),
        ("COUPLET_INTERFACE", "203.0.113.0/24", "COUPLET_INTERFACE: this host has no address in the subnet"),
        ("COUPLET_INTERFACE", "10.0.0.0/99", "COUPLET_INTERFACE: '10.0.0.0/99' is no subnet"),
    ],
)
def test_mistakes_are_named(make_world: MakeWorld, variable: str, text: str, words: str) -> None:
    answer = Guest(make_world("guest:1"), "guest", 0, 1, **{variable: text}).hear()
    assert words in answer, answer
