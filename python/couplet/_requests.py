"""Requests: what isend, irecv and their capitalised sisters return."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from couplet import _couplet
from couplet._couplet import Message
from couplet.errors import ArgumentError, DeadlineError, Error

# What follows when a part of a request is done: the next part, or None when that was the last.
NextPart = Callable[[Message], "_couplet.Request | None"]


class Request:
    """A call on its way. Its buffer belongs to the library until wait or test says it is done.

    A pending request that is dropped goes on by itself (nothing can be cancelled); its buffer is kept for that long.
    """

    def __init__(self, part: _couplet.Request, next_part: NextPart | None = None) -> None:
        self._part = part
        self._next_part = next_part
        self._message: Message | None = None
        self._error: Error | None = None
        self._arriving = False

    @property
    def pending(self) -> bool:
        """Whether it is still on its way."""
        return self._message is None and self._error is None

    @property
    def message(self) -> Message | None:
        """Source, tag and size, once it is done."""
        return self._message

    def wait(self, timeout: float | None = None) -> Any:
        """Wait until it is done: the message of a buffer, the object that irecv received, None for sends of objects.

        Raises DeadlineError after `timeout` seconds; the request is pending then, and may be waited for again.
        """
        limit = _limit(timeout)
        while self.pending:
            try:
                message = self._part.wait(_left(limit))
            except Error as error:
                self._fail(error)
                raise
            self._finish_part(message)
        return self._result()

    def _wait_or_withdraw(self, timeout: float | None) -> Any:
        """For a receive that nobody else has: a message that has not begun to arrive is left to the next receive."""
        try:
            return self.wait(timeout)
        except DeadlineError:
            if self.pending and (self._arriving or not self._part.withdraw()):
                return self.wait()
            raise
        except KeyboardInterrupt:
            if self.pending and not self._arriving:
                self._part.withdraw()
            raise

    def test(self) -> tuple[bool, Any]:
        """(True, what wait would return) when it is done, else (False, None); never blocks."""
        while self.pending:
            try:
                message = self._part.test()
            except Error as error:
                self._fail(error)
                raise
            if message is None:
                return False, None
            self._finish_part(message)
        return True, self._result()

    def _finish_part(self, message: Message) -> None:
        following = self._next_part(message) if self._next_part else None
        if following is None:
            self._message = message
        else:
            self._part = following
            self._arriving = True

    def _fail(self, error: Error) -> None:
        """Remember an error that has ended the request (a timeout has not)."""
        if not self._part.pending:
            self._error = error

    def _result(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._message


def _limit(timeout: float | None) -> float | None:
    """When a wait of `timeout` seconds ends; None, as for a negative or infinite timeout: never."""
    if timeout is None or timeout < 0 or timeout == math.inf:
        return None
    if math.isnan(timeout):
        raise ArgumentError("timeout must be a number of seconds, not NaN")
    return time.monotonic() + timeout


def _left(limit: float | None) -> float:
    return -1.0 if limit is None else max(0.0, limit - time.monotonic())


def waitall(requests: Sequence[Request], timeout: float | None = None) -> list[Any]:
    """Wait for all and return each one's result; raise the first error in their order, after all are done."""
    limit = _limit(timeout)
    results: list[Any] = []
    first: Error | None = None
    for request in requests:
        try:
            left = _left(limit)
            results.append(request.wait(None if left < 0 else left))
        except Error as error:
            first = first or error
    if first is not None:
        raise first
    return results


def waitany(requests: Sequence[Request], timeout: float | None = None) -> tuple[int, Any]:
    """Index and result of one request that has become done; (-1, None) where none is pending."""
    limit = _limit(timeout)
    while waiting := [(index, request) for index, request in enumerate(requests) if request.pending]:
        try:
            found, message = _couplet.waitany([request._part for _, request in waiting], _left(limit))
        except Error as error:
            for _, request in waiting:
                request._fail(error)
            raise
        index, request = waiting[found]
        request._finish_part(message)
        if not request.pending:
            return index, request.wait()
    return -1, None
