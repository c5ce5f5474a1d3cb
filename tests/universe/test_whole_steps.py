"""Each delivered step is whole or marked, and every step is accounted for, while a writer with four slots goes on.

It runs under each MPI: through the window of one job, and through relays between separate jobs. Readers check every
element (tests/universe/programs/mpi/sky.cpp) and end their job if a step is mixed without a mark. There are some
thousand steps in make test, and 100,000 in make stress. tests/conformance does the same between threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from best_of import best_of
from jobs import FLAVOURS
from launching import WATCHDOG_S, World
from sky import counts, reads, start, writes

MakeWorld = Callable[..., World]
STEPS = 100_000 if os.environ.get("COUPLET_STRESS") else 3000
PAUSE_US = 600
WITHIN_S = WATCHDOG_S + STEPS / 100
# The writer begins when all have opened, and then waits only for holders.
SETTINGS = {"COUPLET_SERIES_SKY_SLOTS": "4", "COUPLET_SERIES_SKY_REQUIRED_READERS": "eye"}
IN_WINDOW = {"COUPLET_MPI_WINDOW_BYTES": str(4 << 20), "COUPLET_SERIES_SKY_WINDOW": "1", **SETTINGS}
WRITERS = (1, 1)
READERS = (1, 2)


def check_followers(found: list[dict[str, int]], torn: bool) -> None:
    """They got some steps, but not all (otherwise it tests nothing), and all of them the same."""
    assert len(found) == 2
    for each in found:
        assert each["published"] == STEPS and each["pending"] == 0, each
        assert each["delivered"] > 0 and each["lost"] > 0, each
        assert torn or each["mixed"] == each["marked"] == 0, each
    assert found[0]["delivered"] == found[1]["delivered"], found


def check_holders(found: list[dict[str, int]]) -> None:
    assert len(found) == 2
    for each in found:
        assert each["delivered"] == each["published"] == STEPS, each
        assert each["lost"] == each["mixed"] == each["marked"] == 0, each


# The ranks of a node map each other's window, or get steps by MPI.
both_ways = pytest.mark.parametrize("direct", ["1", "0"], ids=["mapped", "got"])


def windowed(world: World, flavour: str, direct: str, mode: str, torn: bool = False) -> list[dict[str, int]]:
    """Sky and eye are one job. Steps that are got by MPI need longer pauses: each of three gets waits for the
    writer.
    """
    parts = [
        writes(flavour, WRITERS, STEPS, pause_us=PAUSE_US if direct == "1" else 8 * PAUSE_US),
        reads(flavour, READERS, "window", mode, torn=torn),
    ]
    process = start(world, flavour, *parts, **IN_WINDOW, COUPLET_MPI_WINDOW_DIRECT=direct)
    return counts(world.finish(process, WITHIN_S).check().output)


@pytest.mark.stress
@pytest.mark.parametrize("torn", [False, True], ids=["withheld", "marked"])
@both_ways
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_followers_in_a_window(make_world: MakeWorld, flavour: str, direct: str, torn: bool) -> None:
    check_followers(windowed(make_world("sky:1,eye:2"), flavour, direct, "follow", torn), torn)


@pytest.mark.stress
@both_ways
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_holders_in_a_window(make_world: MakeWorld, flavour: str, direct: str) -> None:
    check_holders(windowed(make_world("sky:1,eye:2"), flavour, direct, "hold"))


def relayed(world: World, sky: str, eye: str, mode: str, extent: int, torn: bool = False) -> list[dict[str, int]]:
    """The eyes are on another node, in a job of their own, perhaps of another MPI."""
    writer = start(world, sky, writes(sky, WRITERS, STEPS, extent, PAUSE_US), **SETTINGS)
    wanted = reads(eye, READERS, "relay", mode, extent, torn=torn)
    reader = start(world, eye, wanted, **SETTINGS, COUPLET_NODE="elsewhere")
    output = world.finish(reader, WITHIN_S).check().output
    world.finish(writer, WITHIN_S).check()
    return counts(output)


@pytest.mark.stress
@pytest.mark.parametrize("torn", [False, True], ids=["withheld", "marked"])
@pytest.mark.parametrize("eye", FLAVOURS)
@pytest.mark.parametrize("sky", FLAVOURS)
def test_followers_through_a_relay(make_world: MakeWorld, sky: str, eye: str, torn: bool) -> None:
    """Steps have several pieces. A relay withholds torn ones, even if they are asked for."""
    found = best_of(
        lambda: relayed(make_world("sky:1,eye:2"), sky, eye, "follow", 331, torn),
        lambda found: all(each["delivered"] > 0 for each in found),  # the slots last for 2.4 ms, as a stall may
    )
    check_followers(found, torn=False)


@pytest.mark.stress
@pytest.mark.parametrize("eye", FLAVOURS)
@pytest.mark.parametrize("sky", FLAVOURS)
def test_holders_through_a_relay(make_world: MakeWorld, sky: str, eye: str) -> None:
    check_holders(relayed(make_world("sky:1,eye:2"), sky, eye, "hold", 61))
