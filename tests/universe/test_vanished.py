"""A host vanishes: nothing comes from it, not even an end of its connections. The others are told its name."""

from __future__ import annotations

import time
from collections.abc import Callable

from enduring import Process, ask, error_of
from launching import BUILD, World
from namespaces import ADDRESSES, make_namespaces

WITHIN_S = 5.0  # the promise
PARTNER = {"ping": "pong", "pong": "ping"}
SIDE = {"ping": "left", "pong": "right"}


def test_a_host_that_vanishes_is_told_by_name(make_world: Callable[..., World]) -> None:
    """The cable is cut while messages go in both directions. The hub is on the left."""
    namespaces = make_namespaces()
    world = make_world("ping:1,pong:1", address=ADDRESSES["left"][0], prefix=namespaces.prefix("left"))
    program = str(BUILD / "tests" / "programs" / "endure")
    processes = {
        name: Process(
            world.start([*namespaces.prefix(side), program, name], standard_input=True, COUPLET_LINKS="self,tcp")
        )
        for name, side in SIDE.items()
    }
    try:
        for each in processes.values():
            assert ask(each, time.monotonic() + 20).startswith("count ")
        namespaces.run("left", "ip", "link", "set", "cable0", "down")
        cut = time.monotonic()
        for name, each in processes.items():
            answer = error_of(each, cut + WITHIN_S)
            assert answer.startswith("error COUPLET_ERROR_PEER_LOST"), answer
            assert f"program '{PARTNER[name]}' rank 0" in answer
        for each in processes.values():
            assert each.process.wait(20) == 0
        world.processes[0].wait(20)
    finally:
        world.kill()
        for each in processes.values():
            each.close()
        namespaces.close()
