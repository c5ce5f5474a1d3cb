"""Messages and reads of more than 2^31 bytes arrive whole (in make test: small ones, by the same programs)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest
from jobs import FLAVOURS
from launching import BUILD, World
from sky import counts, reads, start, writes

STRESS = bool(os.environ.get("COUPLET_STRESS"))
BYTES = 2_300_000_000 if STRESS else 23_000_000
WAYS = {
    "shm": {"COUPLET_LINKS": "self,shm"},
    "shm without process_vm_readv": {"COUPLET_LINKS": "self,shm", "COUPLET_CMA": "0"},
    "tcp": {"COUPLET_LINKS": "self,tcp"},
}


def free_bytes() -> int:
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def need(copies: int, size: int) -> None:
    if free_bytes() < copies * size + (1 << 28):
        pytest.skip(f"{copies} times {size} bytes do not fit into the {free_bytes()} bytes that are free")


@pytest.mark.stress
@pytest.mark.parametrize("way", WAYS)
def test_a_big_message(make_world: Callable[..., World], way: str) -> None:
    need(2, BYTES)
    world = make_world("big:2")
    program = str(BUILD / "tests" / "programs" / "big")
    started = [world.start([program, str(rank), str(BYTES)], **WAYS[way]) for rank in range(2)]
    for rank, process in enumerate(started):
        word, size, explained = world.finish(process, 240.0).check().output.split(" ", 2)
        assert (word, int(size)) == ("whole", BYTES)
        (peer,) = [each for each in json.loads(explained)["peers"] if f"rank {1 - rank} " in each["name"]]
        assert peer["link"] == way.split()[0], (rank, explained)


# Extent of a step, steps, and how many in each read: a read beyond 2^31 bytes, and steps beyond 2^30, more than MPI is
# asked for.
SHAPES = (
    {"reads": (2000, 150, 150), "steps": (16400, 3, 1)} if STRESS else {"reads": (200, 150, 150), "steps": (1640, 3, 1)}
)
ROUTES: dict[str, dict[str, str]] = {
    "mapped": {},
    "relay": {"COUPLET_NODE": "elsewhere"},
    "window": {"COUPLET_SERIES_SKY_WINDOW": "1"},
    "window got": {"COUPLET_SERIES_SKY_WINDOW": "1", "COUPLET_MPI_WINDOW_DIRECT": "0"},
}


@pytest.mark.stress
@pytest.mark.parametrize("flavour", FLAVOURS if STRESS else FLAVOURS[:1])
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("shape", SHAPES)
def test_big_reads_of_a_series(make_world: Callable[..., World], shape: str, route: str, flavour: str) -> None:
    """The series is held, and every element of each step is checked."""
    extent, steps, at_once = SHAPES[shape]
    slots = max(2, at_once)
    size = slots * (extent * (extent + 22) * 4 + 8192)
    need(3, size)
    world = make_world("sky:1,eye:1")
    common = {"COUPLET_SERIES_SKY_SLOTS": str(slots), "COUPLET_SERIES_SKY_REQUIRED_READERS": "eye"}
    writer = writes(flavour, (1, 1), steps, extent)
    reader = reads(flavour, (1, 1), route.split()[0], "hold", extent, at_once=at_once)
    if route.startswith("window"):
        window = {"COUPLET_MPI_WINDOW_BYTES": str(size + (1 << 20))}
        ended = world.finish(start(world, flavour, writer, reader, **common, **window, **ROUTES[route]), 240.0)
    else:
        sky = start(world, flavour, writer, **common)
        ended = world.finish(start(world, flavour, reader, **common, **ROUTES[route]), 240.0)
        world.finish(sky, 240.0).check()
    (found,) = counts(ended.check().output)
    assert found["delivered"] == found["published"] == steps
    assert found["lost"] == found["mixed"] == 0
