"""A program that is killed and started again meets the others again, and what it sends at once arrives."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from launching import BUILD, World, read_line

LIVES = int(os.environ.get("COUPLET_LIVES", "12"))
PLACES = {"shm": {}, "tcp": {"COUPLET_NODE": "elsewhere"}}


@pytest.mark.parametrize("link", PLACES)
@pytest.mark.parametrize("first", ["host", "guest"])
def test_messages_of_each_life(make_world: Callable[..., World], link: str, first: str) -> None:
    """The host waits for an answer while the guest is killed. `first` has the lower rank, and its dial is used."""
    world = make_world(f"{first}:1,{'guest' if first == 'host' else 'host'}:1")
    program = str(BUILD / "tests" / "programs" / "come_again")
    host = world.start([program, "host", str(LIVES)])
    for life in range(LIVES):
        guest = world.start([program, "guest", str(life), str(LIVES)], **PLACES[link])
        if life < LIVES - 1:
            for each in (host, guest):
                line = read_line(each, 20)
                assert line == f"life {life}\n", f"{each.args[1]}: {line}"
            guest.kill()
            guest.wait(20)
    for each in (host, guest):
        assert world.finish(each, 20).check().output == "done\n"
