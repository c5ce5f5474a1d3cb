"""Requests: the objects that isend, irecv, Isend and Irecv return."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import Any

from couplet import _couplet
from couplet._arguments import in_name_of, instance, items
from couplet._couplet import Message
from couplet._waiting import Entry, Thing, left, limit, ready
from couplet.errors import DeadlineError, Error

# Called when a part of a request is complete. Returns the next part, or None if that was the last.
NextPart = Callable[[Message], "_couplet.Request | None"]


class Request(Thing):
    """A non-blocking call. Its buffer belongs to the library until wait or test says that the request is complete.

    A request cannot be cancelled. If a pending one is dropped, the call still goes on, and the buffer is kept until it
    is complete. In a coroutine, `await request` does the same as wait; if it is cancelled, the request is still
    pending.
    """

    def __init__(self, part: _couplet.Request, next_part: NextPart | None = None) -> None:
        self._part = part
        self._next_part = next_part
        self._message: Message | None = None
        self._error: Error | None = None
        self._arriving = False

    @property
    def pending(self) -> bool:
        """Says whether the request is not yet complete."""
        return self._message is None and self._error is None

    @property
    def message(self) -> Message | None:
        """Gives source, tag and size of the message, once the request is complete."""
        return self._message

    def wait(self, timeout: float | None = None) -> Any:
        """Waits until the request is complete.

        Returns
        -------
        object
            The Message of a call with a buffer, the object that irecv has received, or None for a sent object.

        Raises
        ------
        DeadlineError
            `timeout` seconds (None: for ever) have passed. The request is still pending, and may be waited for again.
        """
        self._finish(None if timeout is None else limit(timeout, "wait"))
        return self._result()

    def _finish(self, end: float | None) -> None:
        while self.pending:
            try:
                message = self._part.wait(left(end))
            except Error as error:
                if not is_of_signal(error):
                    self._fail(error)
                raise
            self._finish_part(message)

    def _wait_or_withdraw(self, timeout: float | None) -> Any:
        """Waits for a receive of which the caller has no request, and withdraws it after the timeout.

        A message that has not begun to arrive by then is left to the next receive. One that has begun is waited for.
        """
        try:
            try:
                self._finish(None if timeout is None else limit(timeout, "wait"))
            except DeadlineError as error:
                if is_of_signal(error) or not self.pending or self._withdraw():
                    raise
                self._finish(None)
        except BaseException as raised:
            is_too_late = isinstance(raised, DeadlineError) and not is_of_signal(raised)
            if not is_too_late and not self._part.failed:  # the handler of a signal has raised it
                self._interrupted(raised)
            raise
        try:
            return self._result()
        except BaseException as raised:
            if self._is_still_given_after(raised):
                self._interrupted(raised)
            raise

    def _is_still_given_after(self, raised: BaseException) -> bool:
        """Says whether the handler of a signal has ended _result, and not the result itself, which would fail again."""
        if isinstance(raised, KeyboardInterrupt):
            return True
        try:
            self._result()
        except BaseException:
            return False
        return True

    def _withdraw(self) -> bool:
        """Withdraws a receive that no message has met. Returns False if one has."""
        return not self._arriving and self._part.pending and self._part.withdraw()

    def _interrupted(self, raised: BaseException) -> None:
        """Called when a signal has ended the wait for a receive of which the caller has no request."""
        with suppress(Error):
            if self._withdraw():
                return
        raised.add_note("Recv: a message is in the buffer, or on its way into it, and will not be given again")

    def test(self) -> tuple[bool, Any]:
        """Returns (True, the result of wait) if the request is complete, else (False, None). Never blocks."""
        return (True, self._result()) if self._advance() else (False, None)

    def __await__(self) -> Generator[Any, None, Any]:
        yield from ready([self]).__await__()
        return self.wait()

    def _entry(self) -> Entry:
        return self._part, 0, 0, 0

    def _settled(self) -> bool:
        return not self.pending or (not self._part.pending and self._advance())

    def _note(self, message: Message) -> bool:
        return self._next_part is None or self._advance()

    def _advance(self) -> bool:
        """Completes the parts that are done. Returns True if the request is complete or has failed."""
        while self.pending:
            try:
                message = self._part.test()
            except Error as error:
                self._fail(error)
                if self._error is None:
                    raise
                return True
            if message is None:
                return False
            self._finish_part(message)
        return True

    def _finish_part(self, message: Message) -> None:
        following = self._next_part(message) if self._next_part else None
        if following is None:
            self._message = message
        else:
            self._part = following
            self._arriving = True

    def _fail(self, error: Error) -> None:
        """Remembers an error that has ended the request. A timeout and the handler of a signal have not ended it."""
        in_name_of("wait", error)
        if self._part.failed:
            self._error = error

    def _result(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._message


def is_of_signal(raised: BaseException) -> bool:
    """Says whether the handler of a signal has raised the exception while a call waited: the call has not failed."""
    return getattr(raised, "_of_couplet_signal", False)


def waitall(requests: Sequence[Request], timeout: float | None = None) -> list[Any]:
    """Waits until all requests are complete and returns their results. It then raises the first error in their
    order.
    """
    end = limit(timeout, "waitall")
    results: list[Any] = []
    first: Error | None = None
    for request in _checked(requests, "waitall"):
        try:
            rest = left(end)
            results.append(request.wait(None if rest < 0 else rest))
        except Error as error:
            if is_of_signal(error):
                raise
            first = first or in_name_of("waitall", error)
    if first is not None:
        raise first
    return results


def waitany(requests: Sequence[Request], timeout: float | None = None) -> tuple[int, Any]:
    """Waits until one request is complete, and returns its index and result, or (-1, None) if none is pending."""
    end = limit(timeout, "waitany")
    given = _checked(requests, "waitany")
    while waiting := [(index, request) for index, request in enumerate(given) if request.pending]:
        for index, request in waiting:  # those of which a signal took the result
            if not request._part.pending and request._advance():
                return index, request.wait()
        waiting = [(index, request) for index, request in waiting if request.pending]
        try:
            found, message = _couplet.waitany([request._part for _, request in waiting], left(end))
        except Error as error:
            if not is_of_signal(error):
                for _, request in waiting:
                    request._fail(error)
            raise
        if found < 0:
            continue  # another thread has completed the last one
        index, request = waiting[found]
        request._finish_part(message)
        if not request.pending:
            return index, request.wait()
    return -1, None


def _checked(requests: Any, call: str) -> list[Request]:
    """Returns the requests, after it has seen that they are some."""
    given = items(requests, "requests", call, "a list of requests, as Isend returns them")
    for place, request in enumerate(given):
        instance(request, Request, f"requests[{place}]", call, "a request (waitany_task waits for tasks)")
    return given
