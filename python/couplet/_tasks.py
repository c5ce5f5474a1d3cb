"""Tasks: requests with parameters and a payload. Requesters submit them, couplers dispatch them, workers do them."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from functools import partial
from typing import Any

from numpy.typing import DTypeLike, NDArray

from couplet import _couplet
from couplet._arguments import MAX_INT32, instance, items, seconds, shown, told, whole_number, whole_numbers
from couplet._closing import Closing
from couplet._elements import type_of
from couplet._waiting import Entry, Thing, ready
from couplet.errors import ArgumentTypeError, DeadlineError, Error, Full, StateError, error_for

ANY_WORKER = -1
_WORKER = "the id of workers, which is a whole number from 0 on, or ANY_WORKER"
_OK = 0
_END = 3


class Task(Thing):
    """One task, as its requester sees it. If a pending one is dropped, the work still goes on.

    In a coroutine, `await task` does the same as wait.
    """

    def __init__(self, handle: _couplet.Task) -> None:
        self._handle = handle

    @property
    def pending(self) -> bool:
        """Says whether no call has said yet that the task is done."""
        return self._handle.pending

    def wait(self, timeout: float | None = None) -> None:
        """Waits until the task is done, and raises the error with which it ended. After DeadlineError it is still
        pending.
        """
        wait_s = seconds(timeout, "timeout", "wait")
        self._handle.wait(wait_s)

    def test(self) -> bool:
        """Says whether the task is done, and raises the error with which it ended. Never blocks."""
        return self._handle.test()

    def __await__(self) -> Generator[Any, None, None]:
        yield from ready([self]).__await__()
        self.wait()

    def _entry(self) -> Entry:
        return self._handle, 0, 0, 0

    def _settled(self) -> bool:
        return self._handle.ended


def waitany_task(tasks: Sequence[Task], timeout: float | None = None) -> tuple[int, Error | None]:
    """Waits until one task is done. Returns its index and the error with which it ended, or (-1, None) if none is
    pending.
    """
    wait_s = seconds(timeout, "timeout", "waitany_task")
    given = items(tasks, "tasks", "waitany_task", "a list of tasks, as submit returns them")
    for place, task in enumerate(given):
        instance(task, Task, f"tasks[{place}]", "waitany_task", "a task (waitany waits for requests)")
    index, status, text = _couplet.task_waitany([task._handle for task in given], wait_s)
    return index, error_for(status, text) if status < 0 else None


class _Part(Closing):
    """One process's part in tasks. Use it as a context manager, or call close."""

    def __init__(self, handle: _couplet.Tasks) -> None:
        self._handle = handle

    def close(self) -> None:
        """Closes this process's part. A requester's call raises an error if a coupler cannot be told of it, else the
        first error of a task that has no handle.
        """
        self._handle.close()


class Requester(_Part):
    """Submits tasks."""

    def __init__(self, handle: _couplet.Tasks, name: str, couplers: str) -> None:
        super().__init__(handle)
        self._name = name
        self._couplers = couplers

    def submit(
        self, worker: int, parameters: Sequence[int] = (), payload: Any = None, *, timeout: float | None = None
    ) -> Task:
        """Submits a task to the workers with the id `worker`, or to ANY_WORKER.

        Blocking: until a coupler has taken the task, at most `timeout` seconds (None: for ever). Then parameters and
        payload may be changed. With a timeout of 0 it does not wait for room in the queue, but at most 10 s for the
        coupler's answer.

        Raises
        ------
        Full
            The coupler's queue is full, and stayed full within the timeout.
        DeadlineError
            The coupler makes no call, or has not opened tasks of that name; the text names it.
        NotFoundError
            No workers have this id.
        PeerLostError
            The coupler has died or left.
        """
        worker = whole_number(worker, "worker", "submit", -MAX_INT32, MAX_INT32, _WORKER)
        numbers = whole_numbers(parameters, "parameters", "submit")
        task = self._handle.submit(worker, numbers, payload, seconds(timeout, "timeout", "submit"))
        if task is None:
            raise Full(
                f"submit: tasks '{self._name}': the coupler of program '{self._couplers}' has as many waiting tasks as "
                "its queue_limit allows; submit again later, or with a longer timeout"
            )
        return Task(task)


class Work:
    """A task that a worker or a coupler has taken."""

    def __init__(
        self,
        handle: _couplet.Tasks,
        id: int,
        source: int,
        worker: int,
        parameters: tuple[int, ...],
        payload: NDArray[Any] | None,
        is_bytes: bool,
    ) -> None:
        self._handle = handle
        self._bytes = payload if is_bytes else None  # an array does not tell bytes from integers of one byte
        self.id = id
        self.source = source
        self.worker = worker
        self.parameters = parameters
        self.payload = payload

    def complete(self, error: Exception | None = None) -> None:
        """Ends the task, normally or with an error that its requester gets. For workers: collective over the group.

        The requester gets an error of Couplet as it is, and any other exception as a StateError with its sentence. If
        `error` is no exception, the task ends nevertheless, and the requester gets the ArgumentError that this raises.
        """
        finish = partial(self._handle.complete, self.id)
        with told(finish):
            outcome = _outcome(error)
        finish(*outcome)

    def dispatch(self, worker: int | None = None, parameters: Sequence[int] | None = None, payload: Any = None) -> None:
        """Gives the task to workers, by default to those that the requester named. For couplers.

        Without parameters and payload the task keeps its own. NotFoundError: no workers have this id. PeerLostError:
        all workers with this id are lost, or have closed. The task then stays in hand.
        """
        if parameters is None and payload is None:
            parameters, payload = self.parameters, self.payload
        numbers = [] if parameters is None else whole_numbers(parameters, "parameters", "dispatch")
        if worker is None:
            worker = self.worker
        worker = whole_number(worker, "worker", "dispatch", -MAX_INT32, MAX_INT32, _WORKER)
        as_bytes = payload is not None and payload is self._bytes
        self._handle.dispatch(self.id, worker, numbers, payload, as_bytes)


def _outcome(error: Exception | None) -> tuple[int, str]:
    """The code and the sentence that a requester gets. None: the task is done."""
    if error is None:
        return 0, ""
    if not isinstance(error, Exception):
        raise ArgumentTypeError(
            f"complete: needs an exception, or None for a task that is done; error is {shown(error)}"
        )
    if isinstance(error, Error):
        return error.code if error.code < 0 else StateError.code, str(error)
    return StateError.code, f"{type(error).__name__}: {error}"


class _Taker(_Part):
    def _take(self, parameters: int, count: int, type_code: int, wait_s: float) -> Work | None:
        found = self._handle.next(parameters, count, type_code, wait_s)
        if found[0] == _END:
            return None
        if found[0] != _OK:
            raise DeadlineError(f"next: no task within {wait_s:g} s")
        return Work(self._handle, *found[1:])


class Worker(_Taker):
    """Does tasks, together with the ranks of its group. Iterate over it to get one task after the other, until the
    end. If requesters come again, another loop gets their tasks.
    """

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
        """Takes the next task, which is the same on every rank of the group. Returns None if all requesters have
        closed. If requesters come again, a later call gets their tasks; until then it returns None at once.

        Blocking: at most `timeout` seconds (None: for ever) of the group's first rank, for which the others wait.
        Collective over the group.

        Parameters
        ----------
        parameters, count, dtype
            The expected number of parameters, and the expected number and type of the payload's elements. None accepts
            anything.

        Raises
        ------
        DeadlineError
            There was no task within the timeout.
        PeerLostError
            A rank of the group was lost. Or no task is left, and a coupler was lost that may have had more; if it is
            started again, a later call gets its tasks.
        ArgumentError, ElementTypeError, ShapeError
            The task is not as expected. It was handed back to its requester with this error.
        """
        with told(self._handle.refuse_next):
            expected = (
                -1 if parameters is None else whole_number(parameters, "parameters", "next", -1),
                -1 if count is None else whole_number(count, "count", "next", -1),
                -1 if dtype is None else type_of(dtype, "dtype", "next"),
                seconds(timeout, "timeout", "next"),
            )
        return self._take(*expected)


class Coupler(_Taker):
    """Dispatches tasks: `run` does what the requests ask for, or `next` gives them to the program."""

    def __iter__(self) -> Iterator[Work]:
        while (work := self.next()) is not None:
            yield work

    def next(self, *, timeout: float | None = None) -> Work | None:
        """Takes the next request, to be dispatched or completed. Returns None if all requesters have closed and all is
        done.

        Blocking: at most `timeout` seconds (None: for ever). DeadlineError: there was no request within the timeout.
        PeerLostError: nothing is left to do, and the last requesters were lost before they had closed; if one of them
        is started again, a later call gets its requests.
        """
        return self._take(-1, -1, -1, seconds(timeout, "timeout", "next"))

    def run(self, timeout: float | None = None) -> bool:
        """Dispatches every request as it asks for. Returns True when all requesters have closed, False after the
        timeout. PeerLostError: everything is done, and the last requesters were lost before they had closed.
        StateError: only tasks are left that `next` has given, and that were neither dispatched nor completed.
        """
        return self._handle.run(seconds(timeout, "timeout", "run"))
