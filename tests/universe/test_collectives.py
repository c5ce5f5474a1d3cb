"""Collective calls against NumPy: random groups, sizes, types, operations, roots and methods, over 1 to 3 programs; and
members that die at a random moment.

Each round has a seed of its own, which a failure shows. COUPLET_COLLECTIVES_SEED=<it> repeats one.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from launching import World, read_line

MakeWorld = Callable[..., World]
SEED = int(os.environ.get("COUPLET_COLLECTIVES_SEED", str(random.SystemRandom().randrange(10**6))))
PROGRAM = [sys.executable, str(Path(__file__).parent / "programs" / "collective_rounds.py")]
WITHIN_S = 5.0  # the promise


def start(world: World, sizes: list[int], *words: object) -> list[subprocess.Popen[str]]:
    return [
        world.start([*PROGRAM, f"p{program}", str(rank), str(size), *(str(word) for word in words)])
        for program, size in enumerate(sizes)
        for rank in range(size)
    ]


@pytest.mark.parametrize("sizes", [[3], [1, 2], [2, 1, 2]], ids=lambda sizes: "+".join(map(str, sizes)))
def test_random_calls_give_what_numpy_gives(make_world: MakeWorld, sizes: list[int]) -> None:
    world = make_world(",".join(f"p{program}:{size}" for program, size in enumerate(sizes)))
    started = start(world, sizes, "rounds", SEED, 60)
    ended = [world.finish(process).check() for process in started]
    digests = {one.output for one in ended}
    assert len(digests) == 1 and next(iter(digests)).startswith("60 rounds, digest "), (SEED, digests)


def test_the_same_calls_give_the_same_bits(make_world: MakeWorld) -> None:
    outputs = []
    for _ in range(2):
        world = make_world("p0:2,p1:2")
        ended = [world.finish(process).check() for process in start(world, [2, 2], "rounds", 11, 25)]
        outputs.append(ended[0].output)
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize("victim", [0, 2, 3])
def test_a_member_that_is_killed_ends_the_call_at_all_others(make_world: MakeWorld, victim: int) -> None:
    world = make_world("p0:2,p1:2")
    processes = start(world, [2, 2], "death", SEED, victim)
    for process in processes:
        assert read_line(process) == "begun\n"
    time.sleep(random.Random(SEED + victim).uniform(0.05, 0.6))
    killed = time.monotonic()
    processes[victim].kill()
    for rank, process in enumerate(processes):
        if rank == victim:
            continue
        line = read_line(process)
        assert line.startswith("lost ") and "rank" in line, line
        assert time.monotonic() - killed < WITHIN_S, line
    for rank, process in enumerate(processes):
        if rank != victim:
            assert read_line(process) == "again 3\n"
            world.finish(process).check()
    world.finish(processes[victim])
    assert world.hub is not None
    world.hub.terminate()
    world.finish(world.hub)
    world.clean()
