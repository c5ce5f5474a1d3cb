"""A host vanishes: nothing comes from it, not even an end of its connections. The others are told its name.

The two sides are different nodes, since a lock that is held would prove that its process lives.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from best_of import best_of
from enduring import Process, ask, error_of, goes_on
from launching import BUILD, WATCHDOG_S, World
from namespaces import ADDRESSES, make_namespaces
from quartet import Guest

PATIENCE_S = 1.0
# The promise: the silence is noticed after 3 s, the dial that is under way when the patience ends lasts 3 s, and 1 s.
WITHIN_S = 3.0 + PATIENCE_S + 3.0 + 1.0
PARTNER = {"ping": "pong", "pong": "ping"}
SIDE = {"ping": "left", "pong": "right"}


def test_a_host_that_vanishes_is_told_by_name(make_world: Callable[..., World], tmp_path: Path) -> None:
    """The cable is cut while messages go in both directions. The hub is on the left."""
    told_after_s = best_of(lambda: seconds_until_it_is_told(make_world, tmp_path), lambda seconds: seconds < WITHIN_S)
    assert told_after_s < WITHIN_S


def seconds_until_it_is_told(make_world: Callable[..., World], tmp_path: Path) -> float:
    namespaces = make_namespaces()
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"connection_patience_s": PATIENCE_S}))
    world = make_world(
        "ping:1,pong:1", "--config", str(config), address=ADDRESSES["left"][0], prefix=namespaces.prefix("left")
    )
    program = str(BUILD / "tests" / "programs" / "endure")
    processes = {
        name: Process(
            world.start(
                [*namespaces.prefix(side), program, name],
                standard_input=True,
                COUPLET_LINKS="self,tcp",
                COUPLET_NODE=side,
            )
        )
        for name, side in SIDE.items()
    }
    try:
        for each in processes.values():
            assert ask(each, time.monotonic() + WATCHDOG_S).startswith("count ")
        namespaces.run("left", "ip", "link", "set", "cable0", "down")
        cut = time.monotonic()
        for name, each in processes.items():
            answer = error_of(each, cut + WATCHDOG_S)
            assert answer.startswith("error COUPLET_ERROR_PEER_LOST"), answer
            assert f"program '{PARTNER[name]}' rank 0" in answer
        told_after_s = time.monotonic() - cut
        for each in processes.values():
            assert each.process.wait(WATCHDOG_S) == 0
        world.processes[0].wait(WATCHDOG_S)
    finally:
        world.kill()
        for each in processes.values():
            each.close()
        namespaces.close()
    return told_after_s


def events_of(file: Path) -> list[str]:
    lines = file.read_text().splitlines() if file.exists() else []
    return [json.loads(line)["event"] for line in lines]


def test_a_host_that_is_cut_off_for_a_while_is_not_lost(make_world: Callable[..., World], tmp_path: Path) -> None:
    """The cable is cut until the hub says that it cannot reach the member; then everything goes on."""
    namespaces = make_namespaces()
    events = tmp_path / "events"
    world = make_world(
        "ping:1,pong:1", "--events", str(events), address=ADDRESSES["left"][0], prefix=namespaces.prefix("left")
    )
    program = str(BUILD / "tests" / "programs" / "endure")
    processes = [
        Process(
            world.start([*namespaces.prefix(SIDE[name]), program, name], standard_input=True, COUPLET_NODE=SIDE[name])
        )
        for name in ("ping", "pong")
    ]
    try:
        for each in processes:
            assert ask(each, time.monotonic() + WATCHDOG_S).startswith("count ")
        namespaces.run("left", "ip", "link", "set", "cable0", "down")
        deadline = time.monotonic() + WATCHDOG_S
        while "unreachable" not in events_of(events):
            assert time.monotonic() < deadline, events_of(events)
            time.sleep(0.05)
        namespaces.run("left", "ip", "link", "set", "cable0", "up")
        for each in processes:
            assert goes_on(each, time.monotonic() + WATCHDOG_S) == ""
        deadline = time.monotonic() + WATCHDOG_S
        while "rejoined" not in events_of(events):
            assert time.monotonic() < deadline, events_of(events)
            time.sleep(0.05)
        assert "lost" not in events_of(events)
        for each in processes:
            each.say("stop")
            assert each.process.wait(WATCHDOG_S) == 0
        assert world.processes[0].wait(WATCHDOG_S) == 0
    finally:
        world.kill()
        for each in processes:
            each.close()
        namespaces.close()


@pytest.mark.parametrize("relay_dies", [False, pytest.param(True, marks=pytest.mark.long)], ids=["relay", "no-relay"])
def test_the_holds_of_a_host_that_vanishes_end_without_a_hub(
    make_world: Callable[..., World], relay_dies: bool
) -> None:
    """The relay, or else the writer, finds that its connection to the reader has failed for good. Nobody is declared
    lost: a connection that fails says nothing of its processes.
    """
    namespaces = make_namespaces()
    world = make_world("ocean:1,nowcast:1", address=ADDRESSES["left"][0], prefix=namespaces.prefix("left"))
    world.environment |= {"COUPLET_CONNECTION_PATIENCE_S": str(PATIENCE_S), "COUPLET_LINKS": "self,shm,tcp"}
    ocean, nowcast = (
        Guest(world, name, 0, 1, prefix=namespaces.prefix(side), COUPLET_NODE=side)
        for name, side in (("ocean", "left"), ("nowcast", "right"))
    )
    try:
        ocean.ready()
        nowcast.ready()
        ocean.get(
            "series = universe.create_series('eta', (4,), 'f8', slots=2, required_readers=['nowcast'], wait_timeout=60)"
        )
        ocean.say("[series.put(np.zeros(4), step) for step in range(3)]")
        nowcast.get("reader = universe.open_series('eta', mode='hold')")
        nowcast.get("reader.read(1, 1, timeout=100)")
        ocean.hear()
        world.kill_hub()
        for _ in range(2 if relay_dies else 0):  # the first of them may be a keeper
            for relay in world.relays():
                os.kill(relay, signal.SIGKILL)
        namespaces.run("left", "ip", "link", "set", "cable0", "down")
        for step in range(3, 9):
            ocean.get(f"series.put(np.zeros(4), {step})")
        ocean.ask("series.close()")  # the hub cannot be told
        ocean.leave()
    finally:
        world.kill()
        world.clean()
        namespaces.close()
