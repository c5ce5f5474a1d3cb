"""The waiting of tests/languages in Python; see test_waiting.py. Usage: waiting_python.py source|waiter|loop"""

import asyncio
import contextlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import couplet

STEPS = 20
NUMBERS = 3
LAST = 4


def refused(call: Callable[[], Any], words: str, kind: type[couplet.Error] = couplet.ArgumentError) -> None:
    try:
        call()
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"not refused: {words}")


def be_source(universe: couplet.Universe) -> None:
    with contextlib.ExitStack() as stack:
        fast, slow = (
            stack.enter_context(universe.create_series(name, (4,), np.int32, slots=8, required_readers="waiter"))
            for name in ("fast", "slow")
        )
        refused(lambda: couplet.wait_any([fast], 0), "entry 0 of 1 is of type Writer and cannot be waited for")
        for step in range(1, STEPS + 1):
            values = np.full(4, step, np.int32)
            fast.put(values, step)
            if step % 4 == 0:
                slow.put(values, step)
            if step % 2 == 0:
                universe.group.Send(np.array([step]), 1, NUMBERS)
        universe.group.Send(np.array([99]), 1, LAST)


def make_mistakes(universe: couplet.Universe, fast: couplet.Reader) -> None:
    refused(lambda: couplet.wait_any([]), "at least one thing")
    refused(lambda: couplet.wait_any([fast], float("nan")), "NaN")
    refused(lambda: couplet.wait_any([fast, fast.steps(2)]), "entry 1 of 2 is the same as entry 0")
    refused(lambda: couplet.wait_any([universe.group.Arrival(7)]), "source 7 is outside group")
    with universe.open_series("fast") as closed:
        pass
    refused(lambda: couplet.wait_any([fast, closed]), "entry 1 of 2 is closed", couplet.StateError)
    assert couplet.wait_any([universe.group.Arrival(0, 77)], 0.01) is None


class Waiter:
    """Takes what comes, whoever says that it is ready."""

    def __init__(self, universe: couplet.Universe) -> None:
        self.universe = universe
        self.readers = [universe.open_series(name) for name in ("fast", "slow")]
        self.counts = dict.fromkeys(("fast", "slow"), 0)
        self.numbers = 0
        self.last = np.zeros(1, np.int64)
        make_mistakes(universe, self.readers[0])
        self.request = universe.group.Irecv(self.last, 0, LAST)
        self.arrival = universe.group.Arrival(couplet.ANY_SOURCE, NUMBERS)

    def things(self) -> list[couplet.Thing]:
        more: list[couplet.Thing] = [self.arrival] if self.numbers < STEPS // 2 else []
        return [*self.readers, *more, *([self.request] if self.request.pending else [])]

    def take(self, thing: Any) -> None:
        if thing is self.request:
            assert self.request.test()[0] and self.last[0] == 99
        elif thing is self.arrival:
            self.take_number()
        else:
            batch = thing.read(up_to=3, timeout=0)
            assert batch.status in ("ok", "end")
            self.counts[thing.name] += len(batch)
            if batch.ended:
                thing.close()
                self.readers.remove(thing)

    def take_number(self) -> None:
        message = self.arrival.message
        assert message is not None and (message.source, message.bytes) == (0, 8)
        number = np.zeros(1, np.int64)
        self.universe.group.Recv(number, message.source, message.tag)
        self.numbers += 1
        assert number[0] == 2 * self.numbers

    async def count(self, reader: couplet.Reader) -> None:
        async for batch in reader:
            self.counts[reader.name] += len(batch)

    async def receive(self) -> None:
        while self.numbers < STEPS // 2:
            assert await self.universe.ready(self.arrival) is self.arrival
            self.take_number()

    async def run(self) -> None:
        message, *_ = await asyncio.gather(self.request, self.receive(), *map(self.count, self.readers))
        assert self.last[0] == 99 and message.source == 0


def be_waiter(universe: couplet.Universe, loop: bool) -> None:
    waiter = Waiter(universe)
    if loop:
        asyncio.run(waiter.run())
    else:
        while things := waiter.things():
            waiter.take(couplet.wait_any(things, 60))
    counts = waiter.counts
    print(f"python: {counts['fast']} fast, {counts['slow']} slow, {waiter.numbers} numbers")


def main() -> None:
    role = sys.argv[1]
    with couplet.join("source" if role == "source" else "waiter") as universe:
        if role == "source":
            be_source(universe)
        else:
            be_waiter(universe, role == "loop")


main()
