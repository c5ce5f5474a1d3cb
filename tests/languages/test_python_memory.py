"""Memory that Python gives to the library stays where it is until the library does not need it any more."""

from __future__ import annotations

import array
import time
from collections.abc import Callable

import pytest

import couplet


def filled_array() -> array.array[int]:
    return array.array("B", bytes(64))


@pytest.mark.parametrize("make", [lambda: bytearray(64), filled_array], ids=["bytearray", "array"])
@pytest.mark.parametrize("viewed", [False, True], ids=["itself", "its memoryview"])
def test_memory_of_a_request_stays(
    solo: couplet.Universe, make: Callable[[], bytearray | array.array[int]], viewed: bool
) -> None:
    """Fault: SIGSEGV, since a request kept the object or the view, and not the memory."""
    memory = make()
    given = memoryview(memory) if viewed else memory
    request = solo.group.Irecv(given, 0)
    if isinstance(given, memoryview):
        given.release()
    with pytest.raises(BufferError):
        memory.append(1)
    solo.group.Send(bytes(range(64)), 0)
    request.wait()
    assert bytes(memory) == bytes(range(64))
    memory.append(1)


def test_memory_of_an_exchange_stays(solo: couplet.Universe) -> None:
    sent, received = bytearray(64), bytearray(64)
    with solo.group.create_exchange("kept") as exchange:
        exchange.send(sent, 0)
        exchange.receive(received, 0)
        for memory in (sent, received):
            with pytest.raises(BufferError):
                memory.append(1)


def test_a_dropped_request_costs_later_calls_nothing(solo: couplet.Universe) -> None:
    """Fault: each call looked at all requests that Python had dropped: 16,000 calls took 20 s."""
    memory = bytearray(8)

    def seconds() -> float:
        before = time.process_time()
        for _ in range(1000):
            solo.group.Irecv(memory, 0, 7)
        return time.process_time() - before

    times = [seconds() for _ in range(8)]
    assert times[-1] < 4 * times[0] + 0.1
