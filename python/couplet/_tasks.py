"""Tasks: requests with parameters and a payload; requesters submit, couplers dispatch, workers do them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from numpy.typing import DTypeLike, NDArray

from couplet import _couplet
from couplet._closing import Closing
from couplet._elements import type_of
from couplet.errors import DeadlineError, Error, Full, error_for

ANY_WORKER = -1
_OK = 0
_END = 3


class Task:
    """One request, for its requester. A pending one that is dropped goes on by itself."""

    def __init__(self, handle: _couplet.Task) -> None:
        self._handle = handle

    @property
    def pending(self) -> bool:
        """Whether it is not known to be done."""
        return self._handle.pending

    def wait(self, timeout: float | None = None) -> None:
        """Wait until it is done; raise how it ended, where that is an error. DeadlineError leaves it pending."""
        self._handle.wait(_seconds(timeout))

    def test(self) -> bool:
        """Is it done? Raises how it ended, where that is an error; never blocks."""
        return self._handle.test()


def waitany_task(tasks: Sequence[Task], timeout: float | None = None) -> tuple[int, Error | None]:
    """Index of a task that is done and the error it ended with, if any; (-1, None) where none is pending."""
    index, status, text = _couplet.task_waitany([task._handle for task in tasks], _seconds(timeout))
    return index, error_for(status, text) if status < 0 else None


class _Part(Closing):
    """A process's part in tasks. Use as a context manager, or close it."""

    def __init__(self, handle: _couplet.Tasks) -> None:
        self._handle = handle

    def close(self) -> None:
        """Take no more part. A requester's raises the first error of a task that was posted."""
        self._handle.close()


class Requester(_Part):
    """Submits requests."""

    def submit(
        self, worker: int, parameters: Sequence[int] = (), payload: Any = None, *, timeout: float | None = None
    ) -> Task:
        """Submit a request to the workers with that id (or ANY_WORKER); returns when a coupler has taken it.

        Raises Full where the coupler's queue is, and stays so within the timeout; DeadlineError names a coupler that
        does not poll; NotFoundError: no workers have that id.
        """
        numbers = [int(number) for number in parameters]
        task = self._handle.submit(worker, numbers, payload, _seconds(timeout))
        if task is None:
            raise Full("submit: the coupler's queue is full")
        return Task(task)


class Work:
    """A task in the hands of a worker or coupler."""

    def __init__(
        self,
        handle: _couplet.Tasks,
        id: int,
        source: int,
        worker: int,
        parameters: tuple[int, ...],
        payload: NDArray[Any] | None,
    ) -> None:
        self._handle = handle
        self.id = id
        self.source = source
        self.worker = worker
        self.parameters = parameters
        self.payload = payload

    def complete(self, error: Error | None = None) -> None:
        """It is done, or ended with that error, which its requester gets. Workers: collective over the group."""
        self._handle.complete(self.id, error.code if error is not None else 0, str(error) if error is not None else "")

    def dispatch(self, worker: int | None = None, parameters: Sequence[int] | None = None, payload: Any = None) -> None:
        """Coupler: give it to workers (default: whom the requester named), with its own or with other content."""
        if parameters is None and payload is None:
            parameters, payload = self.parameters, self.payload
        numbers = [int(number) for number in parameters or ()]
        self._handle.dispatch(self.id, self.worker if worker is None else worker, numbers, payload)


class _Taker(_Part):
    def _take(self, parameters: int, count: int, type_code: int, timeout: float | None) -> Work | None:
        found = self._handle.next(parameters, count, type_code, _seconds(timeout))
        if found[0] == _END:
            return None
        if found[0] != _OK:
            raise DeadlineError(f"next: no task within {timeout} s")
        return Work(self._handle, *found[1:])


class Worker(_Taker):
    """Does tasks, together with the ranks of its group. Iterating gives one task after the other, until the end."""

    def __iter__(self) -> Iterator[Work]:
        while (work := self.next()) is not None:
            yield work

    def next(
        self,
        parameters: int | None = None,
        count: int | None = None,
        dtype: DTypeLike | None = None,
        *,
        timeout: float | None = None,
    ) -> Work | None:
        """The next task, the same on every rank of the group; None: all requesters have closed.

        parameters, count, dtype: what is expected (number of parameters, elements of the payload); a task that is not
        so goes back to its requester with the error that this call raises. DeadlineError: none in time.
        """
        return self._take(
            -1 if parameters is None else parameters,
            -1 if count is None else count,
            -1 if dtype is None else type_of(dtype),
            timeout,
        )


class Coupler(_Taker):
    """Dispatches requests: `run` does what they ask for, or `next` gives them to the program."""

    def __iter__(self) -> Iterator[Work]:
        while (work := self.next()) is not None:
            yield work

    def next(self, *, timeout: float | None = None) -> Work | None:
        """The next request, to be dispatched or completed; None: all requesters have closed, and all is done."""
        return self._take(-1, -1, -1, timeout)

    def run(self, timeout: float | None = None) -> bool:
        """Dispatch every request as it asks for, until all requesters have closed. False: the time is over."""
        return self._handle.run(_seconds(timeout))


def _seconds(timeout: float | None) -> float:
    return -1.0 if timeout is None else float(timeout)
