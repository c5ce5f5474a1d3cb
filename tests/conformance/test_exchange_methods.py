"""The methods of exchange over MPI: one suite for all that the library lists, under each MPI.

The suite itself is tests/conformance/exchange/mpi, a program that checks the contents of several hundred rounds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import pytest
from jobs import FLAVOURS, environment
from launching import BUILD, Ended, World
from needs import built, launcher

MakeWorld = Callable[..., World]
METHODS = {"isend", "persistent", "neighbor", "put_fence", "put_pscw", "put_lock", "put_flag"}
# Under MPICH a rank that waits keeps its core, so that more ranks than cores would take minutes.
JOBS = [("openmpi", 2), ("openmpi", 3), ("openmpi", 4), ("openmpi", 8), ("mpich", 2)]
PATTERNS = {2: 8, 3: 9}  # by ranks; 10 for more


def run(make_world: MakeWorld, flavour: str, ranks: int, aim: str) -> Ended:
    world = make_world("")
    program = built(BUILD / "tests" / "programs" / f"exchange_methods.{flavour}", "cpp", flavour)
    command = [launcher(flavour), "-n", str(ranks), program, aim]
    return world.finish(world.start(command, **environment(world, flavour))).check()


def methods(ended: Ended) -> Counter[str]:
    """Returns how many checks of each method have passed."""
    return Counter(re.findall(r"^ok (\w+): ", ended.output, re.MULTILINE))


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_the_library_lists_every_method(make_world: MakeWorld, flavour: str) -> None:
    assert methods(run(make_world, flavour, 1, "list")) == dict.fromkeys(METHODS, 1)


@pytest.mark.parametrize(("flavour", "ranks"), JOBS)
def test_contents(make_world: MakeWorld, flavour: str, ranks: int) -> None:
    ended = run(make_world, flavour, ranks, "contents")
    assert methods(ended) == dict.fromkeys(METHODS, PATTERNS.get(ranks, 10))
    rings = re.findall(r"^ok \w+: ring, (\d+) messages", ended.output, re.MULTILINE)
    assert rings == [str(300 * ranks * min(ranks - 1, 2))] * len(METHODS)
    assert all(int(count) > 0 for count in re.findall(r", (\d+) messages", ended.output))


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_ranks_of_different_jobs_are_refused(make_world: MakeWorld, flavour: str) -> None:
    assert methods(run(make_world, flavour, 2, "apart")) == dict.fromkeys(METHODS, 1)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_threads_that_mpi_does_not_allow_are_refused(make_world: MakeWorld, flavour: str) -> None:
    assert methods(run(make_world, flavour, 2, "threads")) == dict.fromkeys(METHODS, 2)


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("aim", ["unfinished", "left"])
def test_mpi_ends_before_methods_are_closed(make_world: MakeWorld, flavour: str, aim: str) -> None:
    ended = run(make_world, flavour, 2, aim)
    assert methods(ended) == dict.fromkeys(METHODS, 4)
    assert "WRONG" not in ended.errors
