"""A program that computes, without a call for longer than a vanished host would be waited for, loses nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from launching import World
from quartet import Guest

COMPUTES = "__import__('time').sleep({})"
STEPS = 12


@pytest.mark.parametrize(
    "protection", [[], ["--authenticate"], ["--encrypt"]], ids=["plain", "authenticated", "encrypted"]
)
def test_a_reader_on_another_node(make_world: Callable[..., World], protection: list[str]) -> None:
    """Steps fill the connection from the relay meanwhile."""
    world = make_world("ocean:1,nowcast:1", *protection)
    ocean = Guest(world, "ocean", 0, 1)
    nowcast = Guest(world, "nowcast", 0, 1, COUPLET_NODE="elsewhere")
    ocean.ready()
    nowcast.ready()
    ocean.get(f"series = universe.create_series('eta', (1 << 20,), 'f8', slots={STEPS})")
    nowcast.get(f"reader = universe.open_series('eta', mode='hold', buffer_bytes={STEPS} << 23)")
    ocean.get(f"[series.put(np.full(1 << 20, step + 0.5), step) for step in range({STEPS})]")
    nowcast.get(COMPUTES.format(5))
    for step in range(STEPS):
        whole = f"(batch.data.min(), batch.data.max(), batch.steps[0]) == ({step} + 0.5, {step} + 0.5, {step})"
        nowcast.get("batch = reader.read(1, 1)")
        assert nowcast.get(whole) == "True"
    nowcast.leave(ocean)


def two_over_sockets(make_world: Callable[..., World]) -> tuple[Guest, Guest]:
    world = make_world("ocean:1,nowcast:1")
    ocean, nowcast = (Guest(world, program, 0, 1, COUPLET_LINKS="self,tcp") for program in ("ocean", "nowcast"))
    return ocean.ready(), nowcast.ready()


@pytest.mark.parametrize("looks", [0, pytest.param(20, marks=pytest.mark.long)])
def test_a_receiver(make_world: Callable[..., World], looks: int) -> None:
    """It is dialed for the first time, or is in the middle of being dialed, over a socket."""
    ocean, nowcast = two_over_sockets(make_world)
    nowcast.get("data = np.zeros(1 << 22)")
    nowcast.get("request = universe.group.Irecv(data, universe.find_rank('ocean'), 1)")
    ocean.get("sent = universe.group.Isend(np.arange(1 << 22, dtype='f8'), universe.find_rank('nowcast'), 1)")
    ocean.say("sent.wait()")
    nowcast.get(f"[(request.test(), __import__('time').sleep(0.01)) for _ in range({looks})]")
    nowcast.get(COMPUTES.format(11))
    nowcast.get("request.wait()")
    assert nowcast.get("bool((data == np.arange(1 << 22)).all())") == "True"
    assert ocean.hear().startswith("is ")
    nowcast.leave(ocean)


def test_a_sender(make_world: Callable[..., World]) -> None:
    """It begins to dial over a socket, and computes before it has been answered."""
    ocean, nowcast = two_over_sockets(make_world)
    ocean.get("sent = universe.group.Isend(np.arange(1 << 22, dtype='f8'), universe.find_rank('nowcast'), 1)")
    nowcast.get("data = np.zeros(1 << 22)")
    nowcast.say("universe.group.Recv(data, universe.find_rank('ocean'), 1)")
    ocean.get(COMPUTES.format(7))
    ocean.get("sent.wait()")
    assert nowcast.hear().startswith("is ")
    assert nowcast.get("bool((data == np.arange(1 << 22)).all())") == "True"
    nowcast.leave(ocean)
