"""Universes of programs of several architectures, of which qemu-user runs the others (`make test-cross`)."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from launching import Ended, World
from machines import MACHINES, NATIVE, OTHERS, Machine

TIMEOUT_S = 900.0
BIG_ENDIAN = ("s390x",)

pytestmark = pytest.mark.timeout(2 * TIMEOUT_S)
PAIRS = [pair for pair in itertools.product(MACHINES, repeat=2) if pair != (NATIVE, NATIVE)]


def name_of(machine: object) -> str | None:
    return machine.name if isinstance(machine, Machine) else None


def run(world: World, programs: list[tuple[Machine, str, list[str]]], **extra: str) -> list[Ended]:
    """Starts each program on its machine, and waits for all."""
    started = [
        world.start(machine.command(program, *words), **machine.environment(world.directory), **extra)
        for machine, program, words in programs
    ]
    return [ended.check() for ended in [world.finish(process, TIMEOUT_S) for process in started]]


NAMES = ("left", "middle", "right")
THREE = ",".join(f"{name}:1" for name in NAMES)


def mixed(*machines: Machine) -> list[tuple[Machine, str, list[str]]]:
    """The three programs that exchange values of all types."""
    return [(machine, "mixed", [name]) for machine, name in zip(machines, NAMES, strict=True)]


def universes() -> list[tuple[Machine, ...]]:
    """Three programs each: one on each machine, and two on the same one, which then share memory."""
    others = tuple(Machine(name) for name in OTHERS)
    together = [(NATIVE, *others)] if len(others) == 2 else []
    return together + [(NATIVE, other, other) for other in others]


@pytest.mark.parametrize("machines", universes(), ids=lambda machines: "-".join(each.name for each in machines))
def test_values_of_all_types(make_world: Callable[..., World], machines: tuple[Machine, ...]) -> None:
    """Messages, collective calls, series and areas bring values of every element type from all ranks to all ranks."""
    told = run(make_world(THREE), mixed(*machines))
    orders = ["big" if machine.name in BIG_ENDIAN else "little" for machine in machines]
    assert [ended.output for ended in told] == [
        f"{name}: {order}-endian: all values are right\n" for name, order in zip(NAMES, orders, strict=True)
    ]


@pytest.mark.parametrize("hub", [Machine(name) for name in OTHERS], ids=name_of)
def test_a_hub_of_another_machine(make_world: Callable[..., World], hub: Machine) -> None:
    world = make_world("")
    world.start_hub(THREE, prefix=hub.emulator, libexec=hub.libexec)
    run(world, mixed(NATIVE, hub, NATIVE))


@pytest.mark.parametrize("protection", ["--authenticate", "--encrypt"])
@pytest.mark.parametrize("other", [Machine(name) for name in OTHERS], ids=name_of)
def test_protected_connections(make_world: Callable[..., World], other: Machine, protection: str) -> None:
    """The processors of the two machines do not have the same instructions for encryption."""
    run(make_world(THREE, protection), mixed(NATIVE, other, other))


@pytest.mark.parametrize("other", [Machine(name) for name in OTHERS], ids=name_of)
def test_files_of_a_shared_directory(make_world: Callable[..., World], other: Machine, tmp_path: Path) -> None:
    links = {"COUPLET_LINKS": "self,file", "COUPLET_FILE_DIRECTORY": str(tmp_path / "files")}
    run(make_world(THREE), mixed(NATIVE, other, NATIVE), **links)


@pytest.mark.parametrize("program", ["story", "fields"])
@pytest.mark.parametrize(("writer", "reader"), PAIRS, ids=name_of)
def test_writer_and_reader(make_world: Callable[..., World], writer: Machine, reader: Machine, program: str) -> None:
    """The programs of tests/languages: boxes, in place, held and followed, messages of any source and size."""
    run(
        make_world("writer:1,reader:1"),
        [(writer, f"{program}_c", ["writer"]), (reader, f"{program}_c", ["reader"])],
    )


@pytest.mark.parametrize(("left", "right"), PAIRS, ids=name_of)
def test_collective_calls(make_world: Callable[..., World], left: Machine, right: Machine) -> None:
    run(make_world("left:1,right:1"), [(left, "collectives_c", ["left"]), (right, "collectives_c", ["right"])])


def rotations() -> list[tuple[Machine, ...]]:
    """Each machine in each role."""
    return [tuple(MACHINES[(first + shift) % len(MACHINES)] for shift in range(3)) for first in range(len(MACHINES))]


@pytest.mark.parametrize(("requester", "coupler", "worker"), rotations(), ids=name_of)
def test_tasks(make_world: Callable[..., World], requester: Machine, coupler: Machine, worker: Machine) -> None:
    roles = {"requester": requester, "coupler": coupler, "worker": worker}
    run(
        make_world("requester:1,coupler:1,worker:1"),
        [(machine, "tasks_c", [role]) for role, machine in roles.items()],
    )


def check_links(told: list[Ended], reason: str) -> None:
    """Both use tcp, and the one that has dialed says why it does not use shared memory."""
    peers = [json.loads(ended.output)["peers"][0] for ended in told]
    assert [peer["link"] for peer in peers] == ["tcp", "tcp"], peers
    assert reason in str(peers), peers


UNLIKE = [Machine(name) for name in OTHERS if name in BIG_ENDIAN]


@pytest.mark.parametrize("other", UNLIKE, ids=name_of)
def test_shared_memory_is_not_used_between_byte_orders(make_world: Callable[..., World], other: Machine) -> None:
    """Both are on this host. Each one's node is another, so that the next link is taken, and explained."""
    told = run(make_world("one:1,two:1"), [(NATIVE, "talk", ["one"]), (other, "talk", ["two"])])
    check_links(told, "it is on another node, or has another byte order")


@pytest.mark.parametrize("other", UNLIKE, ids=name_of)
def test_forced_shared_memory_is_refused(make_world: Callable[..., World], other: Machine) -> None:
    world = make_world("one:1,two:1")
    started = [
        world.start(machine.command("talk", name), **machine.environment(world.directory), COUPLET_LINKS="self,shm")
        for machine, name in ((NATIVE, "one"), (other, "two"))
    ]
    told = [world.finish(process, TIMEOUT_S) for process in started]
    assert [ended.status for ended in told] == [1, 1]
    # The one that fails first is gone for the other one.
    assert any("shm: it is on another node, or has another byte order" in ended.errors for ended in told), told


@pytest.mark.parametrize("other", UNLIKE, ids=name_of)
def test_a_page_of_the_other_byte_order_is_refused(make_world: Callable[..., World], other: Machine) -> None:
    """A name of the node that leads both into one directory: the page itself says that it is of no use."""
    world = make_world("one:1,two:1")
    started = [
        world.start(machine.command("talk", name), **machine.environment(world.directory), **extra)
        for machine, name, extra in (
            (NATIVE, "one", {"COUPLET_NODE": "big-endian"}),
            (other, "two", {}),
        )
    ]
    told = [world.finish(process, TIMEOUT_S).check() for process in started]
    check_links(told, "the process of this page has the other byte order")


@pytest.mark.parametrize("other", UNLIKE, ids=name_of)
def test_slots_of_the_other_byte_order_are_refused(make_world: Callable[..., World], other: Machine) -> None:
    """The same name, and a series: its file says that its numbers have the other byte order."""
    world = make_world("writer:1,reader:1")
    here = {"COUPLET_NODE": "big-endian"}
    world.start(NATIVE.command("story_c", "writer"), **NATIVE.environment(world.directory), **here)
    reader = world.start(other.command("story_c", "reader"), **other.environment(world.directory))
    ended = world.finish(reader, TIMEOUT_S)
    assert ended.status == 1
    assert "the series file was made by a process with the other byte order" in ended.errors
