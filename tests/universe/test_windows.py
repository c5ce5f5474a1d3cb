"""A series in the window of one MPI job, under each MPI: holders lose nothing, followers account for what they lost,
and no mixed step goes without its mark."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from jobs import FLAVOURS, environment, launcher, prefix
from launching import BUILD, WATCHDOG_S, Ended, World

MakeWorld = Callable[..., World]
STEPS = int(os.environ.get("COUPLET_WINDOW_STEPS", "3000"))  # of the followers' test; 100,000 by hand


def run(
    world: World,
    flavour: str,
    writers: tuple[int, int],
    steps: int,
    readers: tuple[int, int],
    *how: str,
    pauses: str = "0",
    errors: Path | None = None,
    **settings: str,
) -> Ended:
    program = BUILD / "tests" / "programs" / f"windows.{flavour}"
    if not program.exists():
        pytest.skip(f"{program} is not built")
    client = [*prefix(errors), str(program)]
    sky = ["-n", str(writers[0] * writers[1]), *client, "write", *map(str, writers), str(steps), pauses]
    eye = ["-n", str(readers[0] * readers[1]), *client, "read", *map(str, readers), *how]
    settings = {"COUPLET_MPI_WINDOW_BYTES": str(4 << 20), "COUPLET_SERIES_SKY_WINDOW": "1", **settings}
    command = [launcher(flavour), *sky, ":", *eye]
    process = world.start(command, **environment(world, flavour, errors), **settings)
    return world.finish(process, WATCHDOG_S + STEPS / 100)


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
    world = make_world("sky:1,eye:2")
    found = counts(
        run(world, flavour, (1, 1), STEPS, (1, 2), "follow", "1", torn, pauses="1", COUPLET_SERIES_SKY_SLOTS="4")
    )
    assert [each["published"] for each in found] == [STEPS, STEPS]
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
def test_mistakes_are_named(make_world: MakeWorld, flavour: str, tmp_path: Path) -> None:
    world = make_world("sky:1,eye:1")
    errors = tmp_path / "errors"
    small = {"COUPLET_MPI_WINDOW_BYTES": "4096", "COUPLET_SERIES_SKY_SLOTS": "4"}
    ended = run(world, flavour, (1, 1), 5, (1, 1), "hold", "1", "0", errors=errors, **small)
    assert ended.status != 0
    world.kill()
    world.clean()  # the job was aborted
    assert "COUPLET_ERROR_NO_SPACE" in errors.read_text()
    assert "mpi_window_bytes" in errors.read_text()
