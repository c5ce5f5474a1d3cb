"""Leaving does not depend on what the other processes do meanwhile."""

from __future__ import annotations

from collections.abc import Callable

from launching import World
from quartet import Guest


def test_leaving_while_a_peer_computes(make_world: Callable[..., World]) -> None:
    """It uses tcp. The last bytes are for a peer that makes no call for longer than leaving waits for it."""
    world = make_world("guest:2")
    guests = [Guest(world, "guest", rank, 2, COUPLET_LINKS="self,tcp") for rank in range(2)]
    first, second = (guest.ready() for guest in guests)
    first.say("universe.group.Send(np.arange(4), 1)")
    second.get("found = np.zeros(4, 'i8')")
    second.get("universe.group.Recv(found, 0, timeout=30)")
    assert first.hear() == "is None"
    first.get("universe.group.Isend(np.arange(4), 1)")
    first.leave()
    second.get("universe.group.Recv(found, 0, timeout=30)")
    assert second.get("found.tolist()") == "[0, 1, 2, 3]"
    second.leave()
