"""Presses Ctrl-C just before a call that waits gets what it waits for. Usage: interrupted_results.py ROUNDS

The exception takes the place of the call's result. The next call has to give that.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import couplet

LONG = b"x" * 300_000  # it travels in parts


class OwnError(couplet.StateError):
    """What the handler of SIGUSR1 raises. A program may derive from the errors of Couplet."""


class Signals:
    """The signal that is sent next: SIGINT and SIGUSR1 in turn."""

    number = signal.SIGINT

    @classmethod
    def change(cls) -> None:
        cls.number = signal.SIGUSR1 if cls.number == signal.SIGINT else signal.SIGINT


def raise_own_error(*_: object) -> None:
    raise OwnError("the handler of a signal")


def press_and(give: Callable[[], object]) -> None:
    time.sleep(0.02)  # the call waits by then; it looks for signals ten times in a second
    os.kill(os.getpid(), Signals.number)
    give()


def interrupt(call: Callable[[], Any], give: Callable[[], object]) -> None:
    giver = threading.Thread(target=press_and, args=[give])
    giver.start()
    try:
        call()
        time.sleep(60)  # the signal comes now at the latest
        raise AssertionError("the signal was not raised")
    except (KeyboardInterrupt, OwnError):
        giver.join()


def interrupted(call: Callable[[], Any], give: Callable[[], object]) -> Any:
    """Returns what the call gives when it is made again after a signal."""
    interrupt(call, give)
    return call()


def receive(group: couplet.Group, value: object) -> None:
    sent: list[couplet.Request] = []
    got = interrupted(lambda: group.recv(0, 1, timeout=50), lambda: sent.append(group.isend(value, 0, 1)))
    assert got == value, f"recv has given {str(got)[:20]}"
    sent[0].wait(50)


WAITS: tuple[Callable[[couplet.Request], couplet.Message], ...] = (
    lambda request: request.wait(50),
    lambda request: couplet.waitany([request], 50)[1],
    lambda request: couplet.wait_any([request], 50).wait(),
    lambda request: couplet.waitall([request], 50)[0],
)


def wait_for_request(group: couplet.Group, wait: Callable[[couplet.Request], couplet.Message], number: float) -> None:
    into = np.zeros(3)
    request = group.Irecv(into, 0, 2)
    message = interrupted(lambda: wait(request), lambda: group.Send(np.full(3, number), 0, 2, 50))
    assert (message.source, message.tag, message.count) == (0, 2, 3), f"the message is {message}"
    assert into.tolist() == [number] * 3


def wait_for_several(group: couplet.Group) -> None:
    """Of two requests that have ended in interrupted calls, each has its own end."""
    whole, half = np.zeros(2), np.zeros(1)
    requests = [group.Irecv(half, 0, 3), group.Irecv(whole, 0, 4)]
    interrupt(lambda: requests[1].wait(50), lambda: group.Isend(np.ones(2), 0, 4))
    interrupt(lambda: requests[0].wait(50), lambda: group.Isend(np.ones(2), 0, 3))
    fails(lambda: couplet.waitany(requests, 50), "bytes")
    index, message = couplet.waitany(requests, 50)
    assert (index, message.count) == (1, 2), f"waitany has given {index} and {message}"


class LateHandler:
    """Stands for a part of a request, and for a handler that Python calls when the wait for it has just returned."""

    def __init__(self, part: Any) -> None:
        self._part = part
        self._raises = True

    def wait(self, timeout: float) -> Any:
        message = self._part.wait(timeout)
        if self._raises:
            self._raises = False
            raise_own_error()
        return message

    def __getattr__(self, name: str) -> Any:
        return getattr(self._part, name)


def wait_with_a_late_handler(group: couplet.Group) -> None:
    request = group.Irecv(np.zeros(3), 0, 6)
    request._part = LateHandler(request._part)  # type: ignore[assignment]
    group.Send(np.ones(3), 0, 6, 50)
    fails(lambda: request.wait(50), "the handler of a signal")
    assert request.wait(50).count == 3


class Slow:
    """An object whose making from a pickle takes longer than a signal."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __getstate__(self) -> object:
        return [self.number]

    def __setstate__(self, state: list[int]) -> None:
        (self.number,) = state
        time.sleep(0.2)


def raise_and_change(number: int, _: object) -> None:
    signal.signal(number, raise_own_error)
    raise OwnError("the handler of a signal")


def receive_slowly(group: couplet.Group, number: int) -> None:
    """The signal comes while the object is made from its pickle."""
    ways: list[Callable[[], Any]] = [lambda: group.recv(0, 7, timeout=50)]
    if Signals.number == signal.SIGUSR1:  # asyncio handles SIGINT itself
        ways.append(lambda: asyncio.run(group.recv_async(0, 7)))
    for receive_it in ways:
        signal.signal(signal.SIGUSR1, raise_and_change)
        sent = group.isend(Slow(number), 0, 7)
        got = interrupted(receive_it, lambda: None)
        assert got.number == number
        sent.wait(50)


class Breaks:
    """An object that cannot be made again from its pickle."""

    def __setstate__(self, _: object) -> None:
        raise ValueError("it breaks")

    def __getstate__(self) -> object:
        return [1]


def receive_what_breaks(group: couplet.Group) -> None:
    """Without a signal, an object that breaks is received once."""
    sent = [group.isend(value, 0, 5) for value in (Breaks(), "whole")]
    try:
        group.recv(0, 5, timeout=50)
    except ValueError:
        got = group.recv(0, 5, timeout=50)
        assert got == "whole"
    couplet.waitall(sent)


class Steps:
    """A series, its reader, and the number of the newest step."""

    def __init__(self, universe: couplet.Universe) -> None:
        self.writer = universe.create_series(
            "steps", fields={"a": (np.float64, (3,)), "b": (np.float32, (2, 2))}, slots=8
        )
        self.reader = universe.open_series("steps")
        self.newest = 0

    def put(self) -> None:
        self.newest += 1
        a, b = np.full(3, self.newest, np.float64), np.full((2, 2), self.newest, np.float32)
        self.writer.put({"a": a, "b": b}, self.newest, time=float(self.newest))

    def new_arrays(self) -> dict[str, Any]:
        return {"a": np.zeros((8, 3)), "b": np.zeros((8, 2, 2), np.float32)}

    def check(self, batch: couplet.Batch) -> None:
        assert batch.steps.tolist() == [self.newest], f"the steps are {batch.steps}, and {self.newest} is the newest"
        for name in ("a", "b"):
            assert np.all(batch.fields[name] == self.newest), f"field '{name}' is {batch.fields[name]}"

    def read(self) -> None:
        self.check(interrupted(lambda: self.reader.read(timeout=50), self.put))
        self.check(interrupted(lambda: self.reader.read(timeout=50, out=self.new_arrays()), self.put))
        self.check(interrupted(lambda: next(iter(self.reader.batches(timeout=50, reuse=True))), self.put))
        self.check(interrupted(lambda: couplet.wait_any([self.reader], 50).read(timeout=0), self.put))

    def read_into_used_arrays(self) -> None:
        """The program has used the arrays of the interrupted read for something else before it reads again."""
        arrays = self.new_arrays()
        interrupt(lambda: self.reader.read(timeout=50, out=arrays), self.put)
        for array in arrays.values():
            array[...] = -1
        self.check(self.reader.read(timeout=50, out=arrays))

    def read_wrongly(self) -> None:
        """A read that does not fit to the interrupted one says so, and takes nothing."""
        self.put()
        interrupt(lambda: self.reader.read(2, timeout=50), self.put)
        if self.reader.statistics.delivered < self.newest:
            return  # the signal has ended the wait before the step came
        fails(lambda: self.reader.read(1, 1), "2 steps; give room for all of them")
        fails(lambda: self.reader.read_at([1.0]), "call that first")
        assert self.reader.read(timeout=50).steps.tolist() == [self.newest - 1, self.newest]


def fails(call: Callable[[], object], text: str) -> None:
    try:
        call()
    except couplet.Error as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"there was no error that says '{text}'")


def claim(universe: couplet.Universe, number: int) -> None:
    """A step that was claimed when Ctrl-C came is given back, and can be claimed."""
    with universe.create_series("full", (3,), slots=2) as writer, universe.open_series("full") as reader:
        for step in range(2):
            writer.put(np.full(3, float(step)), step)

        def claim_next() -> str:
            with writer.claim(2) as arrays:
                arrays[...] = float(number)
            return "claimed"

        assert interrupted(claim_next, lambda: reader.read(1, 1)) == "claimed"
        assert reader.read(2, timeout=50).data[1].tolist() == [number] * 3


def main(rounds: str) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us with it ignored
    signal.signal(signal.SIGUSR1, raise_own_error)
    with couplet.join("solo", multiple_threads=True) as universe:
        steps = Steps(universe)
        for number in range(int(rounds)):
            receive(universe.group, number)
            receive(universe.group, LONG + bytes([number]))
            for wait in WAITS:
                wait_for_request(universe.group, wait, float(number))
            steps.read()
            wait_for_several(universe.group)
            receive_what_breaks(universe.group)
            wait_with_a_late_handler(universe.group)
            receive_slowly(universe.group, number)
            steps.read_into_used_arrays()
            steps.read_wrongly()
            Signals.change()
            claim(universe, number)
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
