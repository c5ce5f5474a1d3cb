"""Messages of Python objects: no object is taken for another one, and none is lost with the coroutine that received it.

The pickle of a large object travels by itself, after an envelope. Both are made by hand where a test needs the pickle
to come later than its envelope.
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import struct
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from launching import World

import couplet

LARGE = 100_000
ANY = -1
WAIT = 100.0

Groups = Callable[[couplet.Universe], couplet.Group]

GROUPS: dict[str, Groups] = {
    "universe": lambda universe: universe.group,
    "program": lambda universe: universe.program_group,
    "the same name again": lambda universe: universe.create_group("pair", [0]),
    "freed and made again": lambda universe: made_again(universe),
}


def made_again(universe: couplet.Universe) -> couplet.Group:
    universe.create_group("pair", [0]).free()
    return universe.create_group("pair", [0])


@pytest.mark.parametrize("kind", GROUPS)
def test_an_object_of_another_tag_is_never_delivered(solo: couplet.Universe, kind: str) -> None:
    """Each use of a property, or of create_group, once began to number the objects anew."""
    group = GROUPS[kind]
    sent = [group(solo).isend(letter * LARGE, 0, tag) for tag, letter in enumerate("ABC")]
    received = {tag: group(solo).recv(0, tag, timeout=WAIT) for tag in (2, 0, 1)}
    assert {tag: text[:1] for tag, text in received.items()} == {0: "A", 1: "B", 2: "C"}
    couplet.waitall(sent, WAIT)


def test_groups_of_one_name_and_other_ranks_do_not_mix(join_here: Callable[..., World]) -> None:
    join_here("solo:1,late:1?")
    with couplet.join("solo") as universe:
        alone, both = (universe.create_group("pair", ranks) for ranks in ([0], [0, 1]))
        for group, letter in ((alone, "A"), (both, "B")):
            group.isend(letter * LARGE, 0, 1)
        assert [group.recv(0, 1, timeout=WAIT)[:1] for group in (both, alone)] == ["B", "A"]


def test_a_property_gives_one_group(solo: couplet.Universe) -> None:
    assert solo.group is solo.group
    assert solo.program_group is solo.program_group
    assert solo.group is not solo.program_group


def test_objects_of_several_threads_are_not_mixed(join_here: Callable[..., World]) -> None:
    join_here("solo:1")
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with couplet.join("solo", multiple_threads=True) as universe:

            def send(tag: int) -> None:
                for _ in range(20):
                    universe.group.isend(tag, 0, tag)
                    universe.group.isend(str(tag) * LARGE, 0, tag)

            threads = [threading.Thread(target=send, args=(tag,), daemon=True) for tag in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(WAIT)
                assert not thread.is_alive()
            for tag in (3, 1, 0, 2):
                for _ in range(20):
                    assert universe.group.recv(0, tag, timeout=WAIT) == tag
                    assert universe.group.recv(0, tag, timeout=WAIT) == str(tag) * LARGE
    finally:
        sys.setswitchinterval(interval)


class SlowObject:
    """An object of which only the envelope has come."""

    def __init__(self, universe: couplet.Universe, text: str, tag: int, number: int = 77) -> None:
        self._pickled = np.frombuffer(pickle.dumps(text), np.uint8)
        self._payloads = universe.create_group("universe:payloads", [0])
        self._number = number
        envelope = struct.pack("<Qi", len(self._pickled), number)
        universe.create_group("universe:envelopes", [0]).Isend(np.frombuffer(envelope, np.uint8), 0, tag)
        assert couplet.wait_any([universe.group.arrival(0, tag)], WAIT) is not None

    def finish(self) -> None:
        self._payloads.Isend(self._pickled, 0, self._number)


async def cancel_receive(universe: couplet.Universe, source: int, tag: int) -> None:
    """Cancels a receive that has taken its envelope, and waits for the rest."""
    receiving = asyncio.create_task(universe.group.recv_async(source, tag))
    while couplet.wait_any([universe.group.arrival(0, 5)], 0) is not None:
        await asyncio.sleep(0)
    receiving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await receiving


async def next_by_recv_async(universe: couplet.Universe, source: int, tag: int) -> Any:
    return await asyncio.wait_for(universe.group.recv_async(source, tag), WAIT)


async def next_by_recv(universe: couplet.Universe, source: int, tag: int) -> Any:
    return universe.group.recv(source, tag, timeout=WAIT)


async def next_by_irecv(universe: couplet.Universe, source: int, tag: int) -> Any:
    return await asyncio.wait_for(universe.group.irecv(source, tag), WAIT)


async def next_by_wait_any(universe: couplet.Universe, source: int, tag: int) -> Any:
    arrival = universe.group.arrival(source, tag)
    assert couplet.wait_any([arrival], WAIT) is arrival
    assert arrival.message is not None and (arrival.message.source, arrival.message.tag) == (0, 5)
    return universe.group.recv(source, tag, timeout=WAIT)


async def next_by_ready(universe: couplet.Universe, source: int, tag: int) -> Any:
    arrival = universe.group.arrival(source, tag)
    assert await universe.ready(arrival, timeout=WAIT) is arrival
    return universe.group.recv(source, tag, timeout=WAIT)


NEXT = (next_by_recv_async, next_by_recv, next_by_irecv, next_by_wait_any, next_by_ready)


@pytest.mark.parametrize("then", NEXT)
@pytest.mark.parametrize(
    ("cancelled", "following"),
    [((0, 5), (0, 5)), ((ANY, ANY), (0, 5)), ((0, ANY), (ANY, 5)), ((0, 5), (ANY, ANY))],
)
def test_the_object_of_a_cancelled_receive_is_for_the_next(
    solo: couplet.Universe, cancelled: tuple[int, int], following: tuple[int, int], then: Callable[..., Any]
) -> None:
    async def play() -> None:
        slow = SlowObject(solo, "slow" * LARGE, 5)
        await cancel_receive(solo, *cancelled)
        slow.finish()
        assert await then(solo, *following) == "slow" * LARGE

    asyncio.run(play())


def test_the_object_of_a_cancelled_receive_is_not_for_another_tag(solo: couplet.Universe) -> None:
    async def play() -> None:
        slow = SlowObject(solo, "slow" * LARGE, 5)
        await cancel_receive(solo, ANY, ANY)
        solo.group.isend("other", 0, 6)
        assert await next_by_recv_async(solo, 0, 6) == "other"
        assert couplet.wait_any([solo.group.arrival(0, 6)], 0) is None
        slow.finish()
        assert await next_by_recv_async(solo, 0, ANY) == "slow" * LARGE

    asyncio.run(play())


def test_objects_of_cancelled_receives_keep_their_order(solo: couplet.Universe) -> None:
    async def play() -> None:
        slow = [SlowObject(solo, letter * LARGE, 5, number) for number, letter in enumerate("ABC")]
        receiving = [asyncio.create_task(solo.group.recv_async(0, 5)) for _ in slow]
        while couplet.wait_any([solo.group.arrival(0, 5)], 0) is not None:
            await asyncio.sleep(0)
        for task in reversed(receiving):  # the youngest is given back first
            task.cancel()
        await asyncio.gather(*receiving, return_exceptions=True)
        again = asyncio.create_task(solo.group.recv_async(0, 5))
        await asyncio.sleep(0)  # it has taken the oldest, and gives it back once more
        again.cancel()
        await asyncio.gather(again, return_exceptions=True)
        for one in slow:
            one.finish()
        assert [(await next_by_recv_async(solo, 0, 5))[:1] for _ in slow] == ["A", "B", "C"]

    asyncio.run(play())


def test_a_coroutine_that_waits_gets_the_object_of_a_cancelled_one(solo: couplet.Universe) -> None:
    async def play() -> None:
        slow = SlowObject(solo, "slow" * LARGE, 5)
        first = asyncio.create_task(solo.group.recv_async(0, 5))
        while couplet.wait_any([solo.group.arrival(0, 5)], 0) is not None:
            await asyncio.sleep(0)
        second = asyncio.create_task(solo.group.recv_async(0, ANY))
        await asyncio.sleep(0)  # it waits now
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await asyncio.sleep(0)
        slow.finish()
        assert await asyncio.wait_for(second, WAIT) == "slow" * LARGE

    asyncio.run(play())


def test_a_receive_that_is_cancelled_before_anything_comes_takes_nothing(solo: couplet.Universe) -> None:
    async def play() -> None:
        receiving = asyncio.create_task(solo.group.recv_async(0, 5))
        await asyncio.sleep(0)
        receiving.cancel()
        await asyncio.gather(receiving, return_exceptions=True)
        solo.group.isend("a" * LARGE, 0, 5)
        assert solo.group.recv(0, 5, timeout=WAIT) == "a" * LARGE

    asyncio.run(play())


def test_a_coroutine_that_is_thrown_away_gives_its_object_back(solo: couplet.Universe) -> None:
    """Its event loop has ended without running it to its end."""

    async def play() -> None:
        slow = SlowObject(solo, "slow" * LARGE, 5)
        receiving = solo.group.recv_async(0, 5)
        while couplet.wait_any([solo.group.arrival(0, 5)], 0) is not None:
            future: Any = receiving.send(None)  # runs until it waits; the last time, it has its envelope
            future._asyncio_future_blocking = False
            if not future.done():
                await asyncio.wait([future], timeout=0.01)
        receiving.close()
        slow.finish()
        assert await next_by_recv(solo, 0, 5) == "slow" * LARGE

    asyncio.run(play())


GUEST = """
import sys
import couplet
universe = couplet.join("guest")
universe.group.send(sys.argv[1] * 6000, 0, int(sys.argv[2]))
universe.group.send("sent", 0, 9)
sys.stdin.read()
"""


def test_an_object_of_a_former_life_is_never_taken_for_a_later_one(join_here: Callable[..., World]) -> None:
    """The pickles of both lives have arrived. Each life once numbered its objects from 0 on."""
    world = join_here("host:1,guest:1")
    script = [sys.executable, "-c", GUEST]
    guest = world.start([*script, "A", "1"], standard_input=True)
    with couplet.join("host") as universe:
        assert universe.group.recv(1, 9, timeout=WAIT) == "sent"
        guest.kill()
        guest.wait(WAIT)
        with pytest.raises(couplet.PeerLostError):
            universe.group.recv(1, 9, timeout=WAIT)
        guest = world.start([*script, "B", "2"], standard_input=True)
        received = None
        while received is None:  # the guest is lost until it has returned
            with contextlib.suppress(couplet.PeerLostError):
                received = universe.group.recv(1, 9, timeout=WAIT)
        assert [universe.group.recv(1, tag, timeout=WAIT)[:1] for tag in (2, 1)] == ["B", "A"]
        guest.communicate(timeout=WAIT)
        universe.leave()
    world.clean()
