"""A message of more than 2^31 bytes arrives whole (in make test: a small one, by the same program)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest
from launching import BUILD, World

STRESS = bool(os.environ.get("COUPLET_STRESS"))
BYTES = 2_300_000_000 if STRESS else 23_000_000
WAYS = {
    "shm": {"COUPLET_LINKS": "self,shm"},
    "shm without process_vm_readv": {"COUPLET_LINKS": "self,shm", "COUPLET_CMA": "0"},
    "tcp": {"COUPLET_LINKS": "self,tcp"},
}


def free_bytes() -> int:
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.stress
@pytest.mark.parametrize("way", WAYS)
def test_a_big_message(make_world: Callable[..., World], way: str) -> None:
    if free_bytes() < 2 * BYTES + (1 << 28):
        pytest.skip(f"two buffers of {BYTES} bytes do not fit into the {free_bytes()} bytes that are free")
    world = make_world("big:2")
    program = str(BUILD / "tests" / "programs" / "big")
    started = [world.start([program, str(rank), str(BYTES)], **WAYS[way]) for rank in range(2)]
    for rank, process in enumerate(started):
        word, size, explained = world.finish(process, 240.0).check().output.split(" ", 2)
        assert (word, int(size)) == ("whole", BYTES)
        (peer,) = [each for each in json.loads(explained)["peers"] if f"rank {1 - rank} " in each["name"]]
        assert peer["link"] == way.split()[0], (rank, explained)
