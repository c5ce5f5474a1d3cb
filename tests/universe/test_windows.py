"""A series in the window of one MPI job, under each MPI: holders lose nothing, followers account for what they lost,
and no mixed step goes without its mark."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable

import pytest
from launching import BUILD, Ended, World, mpi_environment

MakeWorld = Callable[..., World]
FLAVOURS = ("openmpi", "mpich")


def run(
    world: World,
    flavour: str,
    writers: tuple[int, int],
    steps: int,
    readers: tuple[int, int],
    *how: str,
    pauses: str = "0",
    **settings: str,
) -> Ended:
    launcher = shutil.which(f"mpiexec.{flavour}")
    program = BUILD / "tests" / "programs" / f"windows.{flavour}"
    if launcher is None or not program.exists():
        pytest.skip(f"mpiexec.{flavour} or {program} is not there")
    sky = ["-n", str(writers[0] * writers[1]), str(program), "write", *map(str, writers), str(steps), pauses]
    eye = ["-n", str(readers[0] * readers[1]), str(program), "read", *map(str, readers), *how]
    environment = {"COUPLET_MPI_WINDOW_BYTES": str(4 << 20), "COUPLET_SERIES_SKY_WINDOW": "1", **settings}
    process = world.start([launcher, *sky, ":", *eye], **mpi_environment(flavour), **environment)
    return world.finish(process, 900)


def counts(ended: Ended) -> list[dict[str, int]]:
    """What each reader rank has counted; the equation has to hold."""
    found = []
    for line in ended.check().output.splitlines():
        if line.startswith("eye "):
            values = {name: int(number) for name, number in re.findall(r"(\w+)=(\d+)", line)}
            accounted = values["delivered"] + values["lost"] + values["skipped"] + values["pending"]
            assert values["published"] - values["first"] == accounted, line
            found.append(values)
            print(line)
    return found


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize(("writers", "readers"), [((1, 1), (1, 1)), ((3, 3), (2, 2)), ((2, 1), (1, 3))])
def test_holders_lose_nothing(
    make_world: MakeWorld, flavour: str, writers: tuple[int, int], readers: tuple[int, int]
) -> None:
    world = make_world(f"sky:{writers[0] * writers[1]},eye:{readers[0] * readers[1]}")
    settings = {"COUPLET_SERIES_SKY_SLOTS": "4", "COUPLET_SERIES_SKY_REQUIRED_READERS": "eye"}
    found = counts(run(world, flavour, writers, 300, readers, "hold", "1", "0", **settings))
    assert len(found) == readers[0] * readers[1]
    for each in found:
        assert each["delivered"] == each["published"] == 300
        assert each["lost"] == each["mixed"] == 0


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("torn", ["0", "1"])
def test_followers_are_told_what_they_lost(make_world: MakeWorld, flavour: str, torn: str) -> None:
    steps = int(os.environ.get("COUPLET_WINDOW_STEPS", "3000"))
    world = make_world("sky:1,eye:2")
    found = counts(
        run(world, flavour, (1, 1), steps, (1, 2), "follow", "1", torn, pauses="1", COUPLET_SERIES_SKY_SLOTS="4")
    )
    assert [each["published"] for each in found] == [steps, steps]
    assert all(each["delivered"] > 0 for each in found)
    if torn == "0":
        assert all(each["mixed"] == each["marked"] == 0 for each in found)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_every_third_step(make_world: MakeWorld, flavour: str) -> None:
    world = make_world("sky:2,eye:1")
    settings = {"COUPLET_SERIES_SKY_SLOTS": "7", "COUPLET_SERIES_SKY_REQUIRED_READERS": "eye"}
    (found,) = counts(run(world, flavour, (1, 2), 100, (1, 1), "hold", "3", "0", **settings))
    assert found["delivered"] == 34
    assert found["skipped"] == 66


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_mistakes_are_named(make_world: MakeWorld, flavour: str) -> None:
    world = make_world("sky:1,eye:1")
    small = {"COUPLET_MPI_WINDOW_BYTES": "4096", "COUPLET_SERIES_SKY_SLOTS": "4"}
    ended = run(world, flavour, (1, 1), 5, (1, 1), "hold", "1", "0", **small)
    assert ended.status != 0
    assert "mpi_window_bytes" in ended.errors + ended.output
