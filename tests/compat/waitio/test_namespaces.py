"""Parallel blocks in two network namespaces: what they exchange goes over the cable between these, or through files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from launching import World
from namespaces import ADDRESSES, Namespaces, make_namespaces
from waitio import file_variables, finish, nothing_left, start_block, variables

MakeWorld = Callable[..., World]
PORT = 7100  # as in every script: the namespaces are new, so it is free
SIDES = ("left", "right")
BYTES = 1_000_000
ROUNDS = 15  # in each of which pingpong sends so many bytes there and back


@pytest.fixture
def spaces() -> Iterator[Namespaces]:
    found = make_namespaces()
    yield found
    found.close()


def run_blocks(
    world: World, spaces: Namespaces, program: str, words: list[object], extra: dict[str, str], first: str = "openmpi"
) -> tuple[list[str], int]:
    """Runs PB 0 with one rank and PB 1 with two. Returns what they print, and the bytes that came over the cable."""
    flavours = (first, "mpich" if first == "openmpi" else "openmpi")
    before = sum(spaces.received(side, 0) for side in SIDES)
    started = []
    for block in (1, 0):
        own = variables(block, 2, PORT, WAITIO_MASTER_HOST=ADDRESSES["left"][0], COUPLET_NODE=SIDES[block]) | extra
        enter = spaces.prefix(SIDES[block])
        started.append(start_block(world, flavours[block], block + 1, program, words, before=enter, **own))
    lines = [line for ended in finish(world, started) for line in ended.check().output.splitlines()]
    return sorted(lines), sum(spaces.received(side, 0) for side in SIDES) - before


@pytest.mark.parametrize("program", ["convert", "talk", "second", "module"])
@pytest.mark.parametrize("kind", ["socket", "file", "hybrid"])
def test_clients(make_world: MakeWorld, spaces: Namespaces, kind: str, program: str) -> None:
    """In C, in fixed and free form, and with the module; each under both MPIs."""
    world = make_world("")
    extra = {} if kind == "socket" else file_variables(world) | {"WAITIO_COMM_TYPE": kind}
    if kind == "hybrid":
        extra["WAITIO_HYBRID_THRESHOULD"] = "64"  # so that both ways are used
    first = "openmpi" if program in ("convert", "module") else "mpich"
    lines, _ = run_blocks(world, spaces, program, [], extra, first)
    assert len(lines) == 3
    assert all(re.search(r"[: ,]0 wrong$", line) for line in lines), lines
    nothing_left(world)


@pytest.mark.parametrize("kind", ["socket", "hybrid", "verbs", "file"])
def test_which_way_the_bytes_go(make_world: MakeWorld, spaces: Namespaces, kind: str) -> None:
    world = make_world("")
    extra = (file_variables(world) if kind in ("file", "hybrid") else {}) | {"WAITIO_COMM_TYPE": kind}
    extra["COUPLET_UCX_TLS"] = "tcp"  # it would find memory that both share
    # The first messages of a hybrid connection go over the cable, until its second lane is there.
    rounds = 20 * ROUNDS if kind == "hybrid" else ROUNDS
    lines, bytes_on_cable = run_blocks(world, spaces, "pingpong", [BYTES] * (rounds // 3), extra)
    assert lines == ["PB 0 of 2 rank 0: right", "PB 1 of 2 rank 0: right", "PB 1 of 2 rank 1: right"]
    if kind == "file":
        assert bytes_on_cable < 0.1 * BYTES  # what the kernel itself says to its neighbours
    elif kind == "hybrid":
        assert bytes_on_cable < rounds * BYTES, "messages that are longer than the threshold go by files"
    else:
        assert bytes_on_cable > 2 * ROUNDS * BYTES
    nothing_left(world)


def test_no_way_between_them(make_world: MakeWorld, spaces: Namespaces) -> None:
    """With files, the namespaces need no cable."""
    world = make_world("")
    for cable in (0, 1):
        spaces.run("left", "ip", "link", "set", f"cable{cable}", "down")
    lines, bytes_on_cable = run_blocks(world, spaces, "pingpong", [BYTES], file_variables(world))
    assert len(lines) == 3 and bytes_on_cable == 0
    nothing_left(world)
