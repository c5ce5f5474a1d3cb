"""Waits for any of several things: in a call (wait_any), or in an event loop of asyncio (ready).

A thing is ready if the call that takes it would not have to wait. Nothing is taken here.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Sequence
from typing import Any

from couplet import _couplet
from couplet._arguments import in_name_of, is_for_ever, items, seconds
from couplet._couplet import Message
from couplet.errors import ArgumentError, ArgumentTypeError, Error, StateError

# A handle, and what is waited for: the number of steps (of a series), or source and tag (of a message).
Entry = tuple["_couplet.Handle", int, int, int]

# Address of the handle, source and tag. Things with the same key are the same.
Key = tuple[int, int, int]

_turns = itertools.count()


class Thing:
    """Something that can be waited for: a reader, a number of steps, the arrival of a message, a request or a task."""

    def _entry(self) -> Entry:
        raise NotImplementedError

    def _settled(self) -> bool:
        """Says whether it is known to be ready already, so that the library need not be asked."""
        return False

    def _note(self, message: Message) -> bool:
        """Called when its handle is ready. Returns False if it must be waited for again."""
        return True


def wait_any(things: Sequence[Thing], timeout: float | None = None) -> Any:
    """Waits until one of several things is ready, and returns that object. It takes nothing away.

    What is ready and is not taken is returned again, and so is a series that has ended. If several things are ready,
    the calls return them one after the other.

    Parameters
    ----------
    things
        Readers (a read would give steps, an answer or an error; `Reader.steps` for more than one step), arrivals of
        messages (`Group.arrival`, `Group.Arrival`), requests and tasks, all of one universe.
    timeout
        Seconds; None: it waits for ever.

    Returns
    -------
    object
        The one that is ready, or None after the timeout.

    Raises
    ------
    ArgumentError
        Something is twice in the list, is of another universe, or is a series that this rank writes.
    StateError
        Something is closed.
    """
    end = limit(timeout, "wait_any")
    things = check(things, "wait_any")
    while True:
        settled = [thing for thing in things if thing._settled()]
        waiting = [thing for thing in things if thing not in settled]
        found = None
        if waiting:
            found = _couplet.wait_any([thing._entry() for thing in waiting], 0.0 if settled else left(end))
        if found is not None:
            thing = waiting[found[0]]
            if not thing._note(found[1]):
                continue
            settled.append(thing)
        return settled[next(_turns) % len(settled)] if settled else None


def arm_any(things: Sequence[Thing]) -> Any:
    """Returns one of the things that is ready, or arms `Universe.descriptor` and returns None. Never waits.

    For event loops other than asyncio's: call it again when the descriptor can be read.
    """
    things = check(things, "arm_any")
    while True:
        settled = [thing for thing in things if thing._settled()]
        if settled:
            return settled[next(_turns) % len(settled)]
        try:
            found = _couplet.arm_any([thing._entry() for thing in things])
        except Error as error:
            in_name_of("arm_any", error)
            raise
        if found is None:
            return None
        if things[found[0]]._note(found[1]):
            return things[found[0]]


async def ready(things: Sequence[Thing], timeout: float | None = None) -> Any:
    """Does the same as wait_any in a coroutine: other coroutines of the event loop go on meanwhile."""
    end = limit(timeout, "ready")
    things = check(things, "ready")
    for thing in things:
        if thing._settled():
            return thing
    key = _couplet.universe_of(things[0]._entry()[0])
    events = _events.setdefault(key, Events())
    return await events.wait(things, None if end is None else left(end))


def check(things: Any, verb: str) -> list[Thing]:
    """Returns the things. Raises ArgumentError if there is nothing to wait for, or something that is no thing."""
    given = items(things, "things", verb, "a list of things to wait for, such as [reader, request]")
    if not given:
        raise ArgumentError(f"{verb}: things is empty; give at least one thing to wait for")
    for place, thing in enumerate(given):
        if not isinstance(thing, Thing):
            raise ArgumentTypeError(
                f"{verb}: things: entry {place} of {len(given)} is of type {type(thing).__name__} "
                "and cannot be waited for; "
                "readers, arrivals of messages, requests and tasks can"
            )
    return given


def forget(key: int) -> None:
    """Ends the waits of all coroutines in a universe that is being left."""
    events = _events.pop(key, None)
    if events is not None:
        events.end()


def wake(handle: _couplet.Handle) -> None:
    """Lets the coroutines that wait in the universe of `handle` look again: something has become ready elsewhere."""
    events = _events.get(_couplet.universe_of(handle))
    if events is not None:
        events.look_from_anywhere()


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Returns the event loop that runs in this thread, if there is one."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class Waiter:
    """One coroutine that waits."""

    def __init__(self, future: asyncio.Future[Any], things: Sequence[Thing]) -> None:
        self.future = future
        self.things = things

    def finish(self, thing: Thing | None) -> None:
        if not self.future.done():
            self.future.set_result(thing)

    def fail(self, error: Error) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class Events:
    """All coroutines that wait for things of one universe. They share its descriptor, in one event loop."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._descriptor = -1
        self._waiters: list[Waiter] = []
        self._look_is_due = False

    async def wait(self, things: Sequence[Thing], timeout: float | None) -> Any:
        loop = asyncio.get_running_loop()
        self._attach(loop, things)
        waiter = Waiter(loop.create_future(), things)
        alarm = None if timeout is None else loop.call_later(timeout, waiter.finish, None)
        self._waiters.append(waiter)
        self._look_soon()
        try:
            return await waiter.future
        finally:
            if waiter in self._waiters:  # it is not if its event loop was closed, and another one waits now
                self._waiters.remove(waiter)
            if alarm is not None:
                alarm.cancel()
            if not self._waiters:
                self._detach()

    def end(self) -> None:
        """Ends the waits. The universe may be left by another thread than that of the event loop."""
        loop = self._loop
        if loop is None or loop.is_closed():
            return
        if loop.is_running() and running_loop() is not loop:
            loop.call_soon_threadsafe(self._end_here)
        else:
            self._end_here()

    def _end_here(self) -> None:
        for waiter in self._waiters:
            waiter.fail(StateError("ready: the universe is being left, and nothing further will come"))
        self._detach()

    def look_from_anywhere(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._look_soon)

    def _attach(self, loop: asyncio.AbstractEventLoop, things: Sequence[Thing]) -> None:
        if self._loop is loop:
            return
        if self._loop is not None and self._waiters and not self._loop.is_closed():
            raise StateError("ready: another event loop waits for things of this universe; use one loop for all")
        self._waiters.clear()
        self._look_is_due = False
        self._descriptor = _couplet.descriptor_of(things[0]._entry()[0])
        loop.add_reader(self._descriptor, self._look)
        self._loop = loop

    def _detach(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._descriptor)
        self._loop = None

    def _look_soon(self) -> None:
        """Looks after the coroutines that were woken have run, and have taken what was ready."""
        if self._loop is not None and not self._look_is_due:
            self._look_is_due = True
            self._loop.call_soon(self._look)

    def _look(self) -> None:
        """Wakes one coroutine for each thing that is ready, and arms the descriptor for the others."""
        self._look_is_due = False
        given: set[Key] = set()
        try:
            while self._give_one(given):
                pass
        except Error as error:
            self._find_mistaken(error)
            self._look_soon()
        if given:
            self._look_soon()

    def _give_one(self, given: set[Key]) -> bool:
        """Wakes one coroutine. Returns False if nothing further is ready; the descriptor is then armed."""
        asked: dict[Key, tuple[Waiter, Thing, Entry]] = {}
        for waiter in self._waiters:
            if waiter.future.done():
                continue
            for thing in waiter.things:
                if thing._settled():
                    waiter.finish(thing)
                    return True
                entry = thing._entry()
                key = (_couplet.address_of(entry[0]), entry[2], entry[3])
                known = asked.get(key)
                if key not in given and (known is None or entry[1] < known[2][1]):
                    asked[key] = (waiter, thing, entry)
        if not asked:
            return False
        found = _couplet.arm_any([entry for _, _, entry in asked.values()])
        if found is None:
            return False
        key = list(asked)[found[0]]
        waiter, thing, _ = asked[key]
        if thing._note(found[1]):
            given.add(key)
            waiter.finish(thing)
        return True

    def _find_mistaken(self, error: Error) -> None:
        """Gives the error to the coroutines that have caused it, for example those that wait for something that is
        closed. If it is not known which ones these are, all get it.
        """
        waiting = [waiter for waiter in self._waiters if not waiter.future.done()]
        for waiter in waiting:
            try:
                _couplet.arm_any([thing._entry() for thing in waiter.things])
            except Error as own:
                waiter.fail(own)
        if not any(waiter.future.done() for waiter in waiting):
            for waiter in waiting:
                waiter.fail(error)


_events: dict[int, Events] = {}


def limit(timeout: float | None, call: str) -> float | None:
    """Returns when a wait of `timeout` seconds ends. None means never, as for a negative or infinite timeout."""
    if timeout is None:
        return None
    wait_s = seconds(timeout, "timeout", call)
    return None if is_for_ever(wait_s) else time.monotonic() + wait_s


def left(end: float | None) -> float:
    return -1.0 if end is None else max(0.0, end - time.monotonic())
