"""The universe is left, or the event loop is closed, while a coroutine of the loop waits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from launching import World

import couplet

WAIT = 100.0


async def wait_for_a_message(universe: couplet.Universe, begun: threading.Event) -> None:
    asyncio.get_running_loop().call_soon(begun.set)
    await universe.ready(universe.group.Arrival(0, 3))


def test_a_loop_in_another_thread_is_told_that_the_universe_is_left(join_here: Callable[..., World]) -> None:
    """The waits were once ended without waking the event loop, which then slept for ever."""
    join_here("solo:1")
    told: list[BaseException] = []
    begun = threading.Event()

    def run(universe: couplet.Universe) -> None:
        try:
            asyncio.run(wait_for_a_message(universe, begun))
        except couplet.Error as error:
            told.append(error)

    universe = couplet.join("solo", multiple_threads=True)
    thread = threading.Thread(target=run, args=(universe,), daemon=True)
    thread.start()
    assert begun.wait(WAIT)
    universe.leave()
    thread.join(WAIT)
    assert not thread.is_alive(), "the event loop waits for ever"
    assert [type(error) for error in told] == [couplet.StateError]


def test_a_coroutine_of_a_closed_loop_may_be_thrown_away(solo: couplet.Universe) -> None:
    first = asyncio.new_event_loop()
    coroutine = wait_for_a_message(solo, threading.Event())
    waiting = first.create_task(coroutine)
    first.run_until_complete(asyncio.sleep(0.05))
    first.close()
    asyncio.run(asyncio.wait_for(send_and_receive(solo), WAIT))
    coroutine.close()  # ValueError before
    assert not waiting.done()


async def send_and_receive(universe: couplet.Universe) -> None:
    universe.group.isend("word", 0, 4)
    assert await universe.group.recv_async(0, 4) == "word"
