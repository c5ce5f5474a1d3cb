"""A series in the window of one MPI job, under each MPI: decompositions, steps that a reader leaves out, mistakes.

test_whole_steps.py checks that no mixed step comes without its mark.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from jobs import FLAVOURS
from launching import World
from sky import Grid, counts, reads, start, writes

MakeWorld = Callable[..., World]
IN_WINDOW = {"COUPLET_MPI_WINDOW_BYTES": str(4 << 20), "COUPLET_SERIES_SKY_WINDOW": "1"}
HELD = {"COUPLET_SERIES_SKY_REQUIRED_READERS": "eye"}


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("direct", ["1", "0"], ids=["mapped", "got"])
@pytest.mark.parametrize(("writers", "readers"), [((1, 1), (1, 1)), ((3, 3), (2, 2)), ((2, 1), (1, 3))])
def test_holders_lose_nothing(make_world: MakeWorld, flavour: str, direct: str, writers: Grid, readers: Grid) -> None:
    world = make_world(f"sky:{writers[0] * writers[1]},eye:{readers[0] * readers[1]}")
    parts = [writes(flavour, writers, 300), reads(flavour, readers, "window", "hold")]
    settings = {**IN_WINDOW, **HELD, "COUPLET_SERIES_SKY_SLOTS": "4", "COUPLET_MPI_WINDOW_DIRECT": direct}
    ended = world.finish(start(world, flavour, *parts, **settings)).check()
    found = counts(ended.output)
    assert len(found) == readers[0] * readers[1]
    for each in found:
        assert each["delivered"] == each["published"] == 300
        assert each["lost"] == each["mixed"] == 0
    if direct == "1":  # the output of couplet_universe_explain
        assert f"the {writers[0] * writers[1] + len(found)} ranks of this node map each other's memory" in ended.errors
        assert '"calls": "none was measured"' in ended.errors
    else:
        assert "no rank maps another one's memory: not asked for (COUPLET_MPI_WINDOW_DIRECT)" in ended.errors
        assert re.search(r'"calls": "\d+ rows of \d+ bytes: one call for', ended.errors)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_every_third_step(make_world: MakeWorld, flavour: str) -> None:
    world = make_world("sky:2,eye:1")
    parts = [writes(flavour, (1, 2), 100), reads(flavour, (1, 1), "window", "hold", every=3)]
    process = start(world, flavour, *parts, **IN_WINDOW, **HELD, COUPLET_SERIES_SKY_SLOTS="7")
    (found,) = counts(world.finish(process).check().output)
    assert found["delivered"] == 34
    assert found["skipped"] == 66


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_mistakes_are_named(make_world: MakeWorld, flavour: str, tmp_path: Path) -> None:
    world = make_world("sky:1,eye:1")
    errors = tmp_path / "errors"
    parts = [writes(flavour, (1, 1), 5, errors=errors), reads(flavour, (1, 1), "window", "hold", errors=errors)]
    small = {**IN_WINDOW, "COUPLET_MPI_WINDOW_BYTES": "4096"}
    process = start(world, flavour, *parts, errors=errors, **small, COUPLET_SERIES_SKY_SLOTS="4")
    assert world.finish(process).status != 0
    world.kill()
    world.clean()  # the job was aborted
    assert "COUPLET_ERROR_NO_SPACE" in errors.read_text()
    assert "COUPLET_MPI_WINDOW_BYTES" in errors.read_text()


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_program_of_the_job_without_a_window_is_told(make_world: MakeWorld, flavour: str, tmp_path: Path) -> None:
    world = make_world("sky:1,eye:1")
    errors = tmp_path / "errors"
    reader = reads(flavour, (1, 1), "window", "hold")
    without = [*reader[:2], "env", "-u", "COUPLET_MPI_WINDOW_BYTES", *reader[2:]]
    parts = [writes(flavour, (1, 1), 5, errors=errors), without]
    process = start(world, flavour, *parts, errors=errors, **IN_WINDOW, COUPLET_JOIN_TIMEOUT="5")
    assert world.finish(process).status != 0
    world.kill()
    world.clean()  # the job was aborted
    assert "COUPLET_ERROR_TIMEOUT" in errors.read_text()
    assert "some ranks of the MPI job have not: all programs of the job must set it" in errors.read_text()
