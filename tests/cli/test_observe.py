"""What ``couplet run`` and ``couplet watch`` see of a universe that is just being removed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from launching import World
from quartet import Guest

from couplet.cli import observe

MakeWorld = Callable[..., World]


@pytest.mark.parametrize("look", [observe.Node.pages, observe.Node.series], ids=["pages", "series"])
def test_a_directory_that_is_removed_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look) -> None:
    """couplet run said "cannot start", and ended with 1, if the last process removed it at the wrong moment."""
    directory = tmp_path / "0123456789abcdef"
    directory.mkdir()
    scan = os.scandir

    def remove_and_scan(path: str | Path) -> object:
        if directory.exists():
            directory.rmdir()
        return scan(path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", remove_and_scan)
        assert not look(observe.Node(directory))
    assert not directory.exists()


def test_a_wait_that_ended_just_before_the_universe_counts(make_world: MakeWorld) -> None:
    """Fault: nobody looked between the end of a wait and that of the run, which said "waited 0.0 s in 1 wait"."""
    world = make_world("writer:1,reader:1")
    writer, reader = (Guest(world, name, 0, 1) for name in ("writer", "reader"))
    for each in (writer, reader):
        each.ready()
    assert world.hub is not None
    universe = observe.Universe(world.hub.pid, world.run_directory)
    writer.get("s = universe.create_series('eta', (2,), slots=2, required_readers='reader')")
    reader.get("b = universe.open_series('eta')")
    for step in range(2):
        writer.get(f"s.put(np.zeros(2), {step})")
    writer.say("s.put(np.zeros(2), 2)")
    time.sleep(0.5)
    universe.look()
    reader.get("len(b.read(at_least=2))")
    assert writer.hear().startswith("is")
    writer.leave(reader)
    (view,) = universe.waits()
    assert (view.wait_count, view.longest_for) == (1, "reader.0")
    assert view.longest_s >= 0.3
