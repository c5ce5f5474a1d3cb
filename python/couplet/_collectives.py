"""Collective calls of a group: what all its members do together, with NumPy arrays.

Each call returns the array of the result; a call with an i in front returns a request, whose wait() does. Every member
makes the same calls in the same order. A call that fails at one member, or is refused there, fails at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from couplet import _couplet
from couplet._arguments import (
    MAX_INT32,
    counted,
    in_name_of,
    rank_number,
    refuse,
    seconds,
    shown,
    utf8,
    whole_numbers,
    word,
)
from couplet._arguments import count as count_of
from couplet._arguments import text as text_of
from couplet._buffers import given as array_given
from couplet._elements import contiguous
from couplet._requests import Request
from couplet.errors import ArgumentError, ElementTypeError, Error, ShapeError, StateError

_OPERATIONS = {
    "sum": 0,
    "product": 1,
    "max": 2,
    "min": 3,
    "logical_and": 4,
    "logical_or": 5,
    "logical_xor": 6,
    "bitwise_and": 7,
    "bitwise_or": 8,
    "bitwise_xor": 9,
    "maxloc": 10,
    "minloc": 11,
}
Method = Literal["automatic", "linear", "binomial", "doubling", "ring", "pairwise", "reduce_linear", "systems"]
_METHODS: dict[str, int] = {name: number for number, name in enumerate(get_args(Method))}


@dataclass(frozen=True)
class Operation:
    """An operation of user code, made by Universe.create_operation."""

    name: str
    number: int


@dataclass(frozen=True)
class _Given:
    """What a call is made with."""

    array: NDArray[Any] | None = None
    out: NDArray[Any] | None = None
    op: str | Operation = "sum"
    root: int = 0
    count: int = 0
    counts: list[int] | None = None
    result_counts: list[int] | None = None


class CollectiveRequest(Request):
    """A collective call that was started without waiting. Its result is an array, or None at members that get none."""

    def __init__(self, part: _couplet.Request, array: NDArray[Any] | None) -> None:
        super().__init__(part)
        self._array = array

    def _result(self) -> NDArray[Any] | None:
        super()._result()
        return self._array


class Collectives:
    """The collective calls of a group.

    Every call takes `timeout`, seconds after which this member revokes the call for all (None: never), and `method`, an
    algorithm (default: the library chooses; see collective_method). An operation is one of "sum", "product", "max",
    "min", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "maxloc" and "minloc"
    (of pairs of value and index, one after the other), or an Operation.

    Raises
    ------
    MismatchError
        The members have given different counts, types, roots, operations, methods or calls.
    PeerLostError
        A member has died or left. The group has to be created again.
    DeadlineError
        A member has given up after its timeout.
    StateError
        This process is no member of the group.
    """

    _handle: _couplet.Group

    def barrier(self, timeout: float | None = None, method: Method = "automatic") -> None:
        """Waits until every member has called it."""
        self._run("barrier", self._for_barrier, timeout, method)

    def broadcast(
        self, array: NDArray[Any], root: int = 0, timeout: float | None = None, method: Method = "automatic"
    ) -> NDArray[Any]:
        """Copies the array of the member `root` into those of the others, which have the same shape and dtype."""
        return self._array("broadcast", lambda: self._for_broadcast(array, root), timeout, method)

    def reduce(
        self,
        array: ArrayLike,
        op: str | Operation = "sum",
        root: int = 0,
        timeout: float | None = None,
        method: Method = "automatic",
    ) -> NDArray[Any] | None:
        """Combines the arrays of the members, element by element, at the member `root`. Others get None."""
        return self._run("reduce", lambda: self._for_reduce(array, op, root), timeout, method)

    def allreduce(
        self,
        array: ArrayLike,
        op: str | Operation = "sum",
        out: NDArray[Any] | None = None,
        timeout: float | None = None,
        method: Method = "automatic",
    ) -> NDArray[Any]:
        """Combines the arrays of the members, element by element, at all of them. `out` may be `array`."""
        return self._array("allreduce", lambda: self._for_allreduce(array, op, out), timeout, method)

    def gather(
        self, array: ArrayLike, root: int = 0, timeout: float | None = None, method: Method = "automatic"
    ) -> NDArray[Any] | None:
        """Stacks the arrays of the members, of the same shape, at the member `root`. Others get None."""
        return self._run("gather", lambda: self._for_gather(array, root), timeout, method)

    def gatherv(
        self,
        array: ArrayLike,
        counts: Sequence[int] | None = None,
        root: int = 0,
        timeout: float | None = None,
        method: Method = "automatic",
    ) -> NDArray[Any] | None:
        """Concatenates arrays of different lengths at the member `root`, which gives the counts of all elements."""
        return self._run("gatherv", lambda: self._for_gatherv(array, counts, root), timeout, method)

    def allgather(self, array: ArrayLike, timeout: float | None = None, method: Method = "automatic") -> NDArray[Any]:
        """Stacks the arrays of the members, of the same shape, at all of them."""
        return self._array("allgather", lambda: self._for_allgather(array), timeout, method)

    def allgatherv(
        self, array: ArrayLike, counts: Sequence[int], timeout: float | None = None, method: Method = "automatic"
    ) -> NDArray[Any]:
        """Concatenates arrays of different lengths at all members; each gives the same counts of elements."""
        return self._array("allgatherv", lambda: self._for_allgatherv(array, counts), timeout, method)

    def scatter(
        self,
        array: ArrayLike | None,
        out: NDArray[Any],
        root: int = 0,
        timeout: float | None = None,
        method: Method = "automatic",
    ) -> NDArray[Any]:
        """Copies the block r of the array of the member `root` into `out` of the member r. Others give None."""
        return self._array("scatter", lambda: self._for_scatter(array, out, root), timeout, method)

    def scatterv(
        self,
        array: ArrayLike | None,
        counts: Sequence[int] | None,
        out: NDArray[Any],
        root: int = 0,
        timeout: float | None = None,
        method: Method = "automatic",
    ) -> NDArray[Any]:
        """Does the same with blocks of different lengths; the member `root` gives their counts of elements."""
        return self._array("scatterv", lambda: self._for_scatterv(array, counts, out, root), timeout, method)

    def alltoall(self, array: ArrayLike, timeout: float | None = None, method: Method = "automatic") -> NDArray[Any]:
        """Sends the block r of the array to the member r, and returns the blocks that have come. The first dimension
        is cut into one block for each member.
        """
        return self._array("alltoall", lambda: self._for_alltoall(array), timeout, method)

    def alltoallv(
        self,
        array: ArrayLike,
        counts: Sequence[int],
        result_counts: Sequence[int],
        timeout: float | None = None,
        method: Method = "automatic",
    ) -> NDArray[Any]:
        """Does the same with blocks of different lengths, in elements."""
        return self._array("alltoallv", lambda: self._for_alltoallv(array, counts, result_counts), timeout, method)

    def reduce_scatter(
        self,
        array: ArrayLike,
        counts: Sequence[int],
        op: str | Operation = "sum",
        timeout: float | None = None,
        method: Method = "automatic",
    ) -> NDArray[Any]:
        """Combines the arrays of the members, and returns the own block of the result. counts: elements of each."""
        return self._array("reduce_scatter", lambda: self._for_reduce_scatter(array, counts, op), timeout, method)

    def scan(
        self,
        array: ArrayLike,
        op: str | Operation = "sum",
        timeout: float | None = None,
        method: Method = "automatic",
    ) -> NDArray[Any]:
        """Combines the arrays of the members 0 to this one."""
        return self._array("scan", lambda: self._for_scan(array, op), timeout, method)

    def refuse_collective(self, call: str, text: str) -> None:
        """Refuses the next call of the group, such as "allreduce": it fails at all other members, with this text.

        For a member that cannot make the call which the others make, because its data are missing, for instance.
        """
        call = text_of(call, "call", "refuse_collective", "the name of a call, such as 'allreduce'")
        if not isinstance(text, str):
            refuse(text, "text", "refuse_collective", "a text (str)")
        # It may have the surrogates of a file name that is no UTF-8.
        _couplet.refuse_collective(self._handle, call, StateError.code, utf8(text))

    def collective_method(self, call: str, nbytes: int) -> str:
        """Returns the method that the call of that name would use for messages of `nbytes` bytes."""
        call = text_of(call, "call", "collective_method", "the name of a call, such as 'allreduce'")
        return _couplet.collective_method(self._handle, call, count_of(nbytes, "nbytes", "collective_method"))

    # The same without waiting.

    def ibarrier(self, timeout: float | None = None, method: Method = "automatic") -> CollectiveRequest:
        """Starts barrier."""
        return self._start("barrier", self._for_barrier, timeout, method)

    def ibroadcast(
        self, array: NDArray[Any], root: int = 0, timeout: float | None = None, method: Method = "automatic"
    ) -> CollectiveRequest:
        """Starts broadcast."""
        return self._start("broadcast", lambda: self._for_broadcast(array, root), timeout, method)

    def ireduce(
        self,
        array: ArrayLike,
        op: str | Operation = "sum",
        root: int = 0,
        timeout: float | None = None,
        method: Method = "automatic",
    ) -> CollectiveRequest:
        """Starts reduce."""
        return self._start("reduce", lambda: self._for_reduce(array, op, root), timeout, method)

    def iallreduce(
        self,
        array: ArrayLike,
        op: str | Operation = "sum",
        out: NDArray[Any] | None = None,
        timeout: float | None = None,
        method: Method = "automatic",
    ) -> CollectiveRequest:
        """Starts allreduce."""
        return self._start("allreduce", lambda: self._for_allreduce(array, op, out), timeout, method)

    def igather(
        self, array: ArrayLike, root: int = 0, timeout: float | None = None, method: Method = "automatic"
    ) -> CollectiveRequest:
        """Starts gather."""
        return self._start("gather", lambda: self._for_gather(array, root), timeout, method)

    def igatherv(
        self,
        array: ArrayLike,
        counts: Sequence[int] | None = None,
        root: int = 0,
        timeout: float | None = None,
        method: Method = "automatic",
    ) -> CollectiveRequest:
        """Starts gatherv."""
        return self._start("gatherv", lambda: self._for_gatherv(array, counts, root), timeout, method)

    def iallgather(
        self, array: ArrayLike, timeout: float | None = None, method: Method = "automatic"
    ) -> CollectiveRequest:
        """Starts allgather."""
        return self._start("allgather", lambda: self._for_allgather(array), timeout, method)

    def iallgatherv(
        self, array: ArrayLike, counts: Sequence[int], timeout: float | None = None, method: Method = "automatic"
    ) -> CollectiveRequest:
        """Starts allgatherv."""
        return self._start("allgatherv", lambda: self._for_allgatherv(array, counts), timeout, method)

    def iscatter(
        self,
        array: ArrayLike | None,
        out: NDArray[Any],
        root: int = 0,
        timeout: float | None = None,
        method: Method = "automatic",
    ) -> CollectiveRequest:
        """Starts scatter."""
        return self._start("scatter", lambda: self._for_scatter(array, out, root), timeout, method)

    def iscatterv(
        self,
        array: ArrayLike | None,
        counts: Sequence[int] | None,
        out: NDArray[Any],
        root: int = 0,
        timeout: float | None = None,
        method: Method = "automatic",
    ) -> CollectiveRequest:
        """Starts scatterv."""
        return self._start("scatterv", lambda: self._for_scatterv(array, counts, out, root), timeout, method)

    def ialltoall(
        self, array: ArrayLike, timeout: float | None = None, method: Method = "automatic"
    ) -> CollectiveRequest:
        """Starts alltoall."""
        return self._start("alltoall", lambda: self._for_alltoall(array), timeout, method)

    def ialltoallv(
        self,
        array: ArrayLike,
        counts: Sequence[int],
        result_counts: Sequence[int],
        timeout: float | None = None,
        method: Method = "automatic",
    ) -> CollectiveRequest:
        """Starts alltoallv."""
        return self._start("alltoallv", lambda: self._for_alltoallv(array, counts, result_counts), timeout, method)

    def ireduce_scatter(
        self,
        array: ArrayLike,
        counts: Sequence[int],
        op: str | Operation = "sum",
        timeout: float | None = None,
        method: Method = "automatic",
    ) -> CollectiveRequest:
        """Starts reduce_scatter."""
        return self._start("reduce_scatter", lambda: self._for_reduce_scatter(array, counts, op), timeout, method)

    def iscan(
        self,
        array: ArrayLike,
        op: str | Operation = "sum",
        timeout: float | None = None,
        method: Method = "automatic",
    ) -> CollectiveRequest:
        """Starts scan."""
        return self._start("scan", lambda: self._for_scan(array, op), timeout, method)

    def _members(self) -> int:
        return self._handle.size()

    def _is(self, root: int, call: str) -> bool:
        if type(root) is not int:
            root = rank_number(root, "root", call)
        return self._handle.rank() == root

    def _counts(self, counts: Sequence[int] | None, call: str, name: str) -> list[int]:
        made = [] if counts is None else whole_numbers(counts, name, call)
        if len(made) != self._members() or any(count < 0 for count in made):
            needed = counted(self._members(), "count from 0 on is", "counts from 0 on are")
            raise ArgumentError(f"{call}: {name} is {shown(counts)}; {needed} needed")
        return made

    def _own_count(self, counts: list[int], size: int, call: str) -> None:
        rank = self._handle.rank()
        if rank >= 0:
            _expect(size, counts[rank], call, "array")

    def _for_barrier(self) -> _Given:
        return _Given()

    def _for_broadcast(self, array: NDArray[Any], root: int) -> _Given:
        return _Given(None, array_given(array, "broadcast"), root=root)

    def _for_reduce(self, array: ArrayLike, op: str | Operation, root: int) -> _Given:
        given = contiguous(array, "array", "reduce")
        out = np.empty_like(given) if self._is(root, "reduce") else None
        return _Given(given, out, op=op, root=root)

    def _for_allreduce(self, array: ArrayLike, op: str | Operation, out: NDArray[Any] | None) -> _Given:
        given = contiguous(array, "array", "allreduce")
        made = np.empty_like(given) if out is None else _fitting(out, given, "allreduce")
        return _Given(given, made, op=op)

    def _for_gather(self, array: ArrayLike, root: int) -> _Given:
        given = contiguous(array, "array", "gather")
        out = np.empty((self._members(), *given.shape), given.dtype) if self._is(root, "gather") else None
        return _Given(given, out, root=root)

    def _for_gatherv(self, array: ArrayLike, counts: Sequence[int] | None, root: int) -> _Given:
        given = contiguous(array, "array", "gatherv")
        every = self._counts(counts, "gatherv", "counts") if self._is(root, "gatherv") else None
        out = None if every is None else np.empty(sum(every), given.dtype)
        return _Given(given, out, root=root, counts=every)

    def _for_allgather(self, array: ArrayLike) -> _Given:
        given = contiguous(array, "array", "allgather")
        out = np.empty((self._members(), *given.shape), given.dtype)
        return _Given(given, out)

    def _for_allgatherv(self, array: ArrayLike, counts: Sequence[int]) -> _Given:
        given = contiguous(array, "array", "allgatherv")
        every = self._counts(counts, "allgatherv", "counts")
        self._own_count(every, given.size, "allgatherv")
        out = np.empty(sum(every), given.dtype)
        return _Given(given, out, counts=every)

    def _for_scatter(self, array: ArrayLike | None, out: NDArray[Any], root: int) -> _Given:
        given = None
        out = _filled(out, "out", "scatter")
        if self._is(root, "scatter"):
            given = _of_type(array, out, "scatter")
            _expect(given.size, out.size * self._members(), "scatter", "array")
        return _Given(given, out, root=root)

    def _for_scatterv(
        self, array: ArrayLike | None, counts: Sequence[int] | None, out: NDArray[Any], root: int
    ) -> _Given:
        given = None
        every = None
        out = _filled(out, "out", "scatterv")
        if self._is(root, "scatterv"):
            every = self._counts(counts, "scatterv", "counts")
            given = _of_type(array, out, "scatterv")
            _expect(given.size, sum(every), "scatterv", "array")
        return _Given(given, out, root=root, counts=every)

    def _for_alltoall(self, array: ArrayLike) -> _Given:
        given = contiguous(array, "array", "alltoall")
        members = max(self._members(), 1)
        if given.ndim == 0 or given.shape[0] % members != 0:
            raise ShapeError(
                f"alltoall: the first dimension of the array must be a multiple of {members}, the number of members; "
                f"its shape is {given.shape}"
            )
        out = np.empty_like(given)
        return _Given(given, out, count=given.size // members)

    def _for_alltoallv(self, array: ArrayLike, counts: Sequence[int], result_counts: Sequence[int]) -> _Given:
        given = contiguous(array, "array", "alltoallv")
        every = self._counts(counts, "alltoallv", "counts")
        _expect(given.size, sum(every), "alltoallv", "array")
        results = self._counts(result_counts, "alltoallv", "result_counts")
        out = np.empty(sum(results), given.dtype)
        return _Given(given, out, counts=every, result_counts=results)

    def _for_reduce_scatter(self, array: ArrayLike, counts: Sequence[int], op: str | Operation) -> _Given:
        given = contiguous(array, "array", "reduce_scatter")
        every = self._counts(counts, "reduce_scatter", "counts")
        _expect(given.size, sum(every), "reduce_scatter", "array")
        rank = self._handle.rank()
        out = np.empty(every[rank] if rank >= 0 else 0, given.dtype)
        return _Given(given, out, op=op, counts=every)

    def _for_scan(self, array: ArrayLike, op: str | Operation) -> _Given:
        given = contiguous(array, "array", "scan")
        out = np.empty_like(given)
        return _Given(given, out, op=op)

    def _start(
        self, call: str, prepare: Callable[[], _Given], timeout: float | None, method: Method
    ) -> CollectiveRequest:
        """Starts a call. prepare gives its arrays: if it fails, the call is refused, since the others make it."""
        attempt = None
        try:
            attempt = _Attempt(self._handle, call)
            return attempt.start(prepare(), timeout, method)
        except BaseException as error:
            (attempt or _Attempt(self._handle, call)).give_up(error)
            if isinstance(error, Error):
                in_name_of(f"i{call}", error, call)
            raise

    def _array(self, call: str, prepare: Callable[[], _Given], timeout: float | None, method: Method) -> NDArray[Any]:
        """Makes a call that has a result at all members."""
        result: Any = self._run(call, prepare, timeout, method)
        array: NDArray[Any] = result
        return array

    def _run(
        self, call: str, prepare: Callable[[], _Given], timeout: float | None, method: Method
    ) -> NDArray[Any] | None:
        """Makes a call and waits for its end. If Ctrl-C ends the wait, the call is revoked for all."""
        attempt = None
        try:
            attempt = _Attempt(self._handle, call)
            result: NDArray[Any] | None = attempt.start(prepare(), timeout, method).wait()
            return result
        except BaseException as error:
            if isinstance(error, Error):
                in_name_of(call, error)
            (attempt or _Attempt(self._handle, call)).give_up(error)
            raise


class _Attempt:
    """One call of a group, which is counted once, whatever happens."""

    def __init__(self, group: _couplet.Group, call: str) -> None:
        self._call = call
        self._part = _couplet.CollectiveCall(group, call)

    def give_up(self, error: BaseException) -> None:
        """Refuses the call if it has not begun, and revokes it if it is under way."""
        code = error.code if isinstance(error, Error) else ArgumentError.code
        with suppress(Error):
            self._part.give_up(code, utf8(str(error) or type(error).__name__))

    def start(self, given: _Given, timeout: float | None, method: Method) -> CollectiveRequest:
        number = word(method, "method", self._call, _METHODS)
        root = given.root
        if type(root) is not int or abs(root) > MAX_INT32:
            root = rank_number(root, "root", self._call)
        part = self._part.start(
            given.array,
            given.out,
            _number_of(given.op, self._call),
            root,
            given.count,
            given.counts,
            given.result_counts,
            -1.0 if timeout is None else seconds(timeout, "timeout", self._call),
            number,
        )
        return CollectiveRequest(part, given.out)


def _number_of(op: str | Operation, call: str) -> int:
    if isinstance(op, Operation):
        return op.number
    return word(op, "op", call, _OPERATIONS, f"{', '.join(map(repr, _OPERATIONS))}, or an Operation")


def _expect(given: int, wanted: int, call: str, name: str) -> None:
    if given != wanted:
        needed = counted(wanted, "is", "are")
        raise ShapeError(f"{call}: {name} has {counted(given, 'element')}, and {needed} needed")


def _filled(array: Any, name: str, call: str) -> NDArray[Any]:
    """Returns an array that a call fills. The extension looks more closely."""
    if not isinstance(array, np.ndarray):
        refuse(array, name, call, "a NumPy array")
    return array


def _of_type(array: ArrayLike | None, out: NDArray[Any], call: str) -> NDArray[Any]:
    given = contiguous(array, "array", call)
    if not np.can_cast(given.dtype, out.dtype, "same_kind"):
        raise ElementTypeError(f"{call}: array is {given.dtype}, and out {out.dtype}")
    return np.ascontiguousarray(given, out.dtype)


def _fitting(out: NDArray[Any], given: NDArray[Any], call: str) -> NDArray[Any]:
    out = _filled(out, "out", call)
    if out.shape != given.shape or out.dtype != given.dtype:
        raise ShapeError(
            f"{call}: out is {out.dtype} of the shape {out.shape}, and array {given.dtype} of the shape {given.shape}"
        )
    return out
