"""Writing and reading a series: NumPy arrays in and out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from couplet import _couplet
from couplet._closing import Closing
from couplet._elements import dtype_of
from couplet.errors import ElementTypeError, Full, ShapeError

Answer = Literal["ok", "not yet", "end", "restarted"]
_ANSWERS: dict[int, Answer] = {0: "ok", 1: "not yet", 3: "end", 4: "restarted"}


@dataclass(frozen=True)
class Statistics:
    """The accounting of one rank. Of a reader: published - first == delivered + lost + skipped + pending."""

    published: int
    first: int
    delivered: int
    lost: int
    lost_torn: int
    skipped: int
    pending: int
    delivered_torn: int
    calls: int
    largest_batch: int
    bytes: int
    copy_ns: int
    held_ns: int
    library_ns: int

    @property
    def balanced(self) -> bool:
        """Whether the equation holds."""
        return self.published - self.first == self.delivered + self.lost + self.skipped + self.pending


@dataclass(frozen=True)
class SeriesInfo:
    """What is known about a series, and the box of this rank."""

    name: str
    program: str
    route: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    box: tuple[tuple[int, int], ...]
    step_bytes: int
    slots: int
    writers: int

    @property
    def box_shape(self) -> tuple[int, ...]:
        """Extents of this rank's box."""
        return tuple(stop - start for start, stop in self.box)


@dataclass(frozen=True)
class Retained:
    """Ordinals first to end - 1 are still there; newest_step is the newest."""

    first: int
    end: int
    newest_step: int


@dataclass(frozen=True)
class Batch:
    """The steps of one read, oldest first: data[i] is the box of step steps[i]. Empty unless status is "ok"."""

    data: Any
    steps: NDArray[np.int64]
    ordinals: NDArray[np.uint64]
    torn: NDArray[np.bool_]
    lost: int
    incarnation: int
    status: Answer

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """Pairs of step and box."""
        return iter([(int(step), self.data[i]) for i, step in enumerate(self.steps)])

    @property
    def ended(self) -> bool:
        """Whether the writer has closed the series and everything was read."""
        return self.status == "end"


class Series(Closing):
    """What writers and readers have in common."""

    def __init__(self, handle: _couplet.Series) -> None:
        self._handle = handle
        self._info = self.describe()

    @property
    def name(self) -> str:
        """Name of the series."""
        return self._info.name

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the whole array."""
        return self._info.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type."""
        return self._info.dtype

    @property
    def box(self) -> tuple[tuple[int, int], ...]:
        """This rank's (start, stop) in each dimension."""
        return self._info.box

    def describe(self) -> SeriesInfo:
        """Everything that is known."""
        raw = self._handle.describe()
        return SeriesInfo(
            name=raw["name"],
            program=raw["program"],
            route=raw["route"],
            dtype=dtype_of(raw["type"]),
            shape=raw["shape"],
            box=tuple(zip(raw["start"], raw["stop"], strict=True)),
            step_bytes=raw["step_bytes"],
            slots=raw["slots"],
            writers=raw["writers"],
        )

    @property
    def statistics(self) -> Statistics:
        """Counts of this rank up to now."""
        return Statistics(**self._handle.statistics())

    @property
    def retained(self) -> Retained | None:
        """The steps that are still there; None before the first."""
        found = self._handle.retained()
        return None if found is None else Retained(*found)

    @property
    def newest(self) -> int | None:
        """The newest step; None before the first. Costs a look at one cache line."""
        found = self._handle.retained()
        return None if found is None else found[2]

    @property
    def closed(self) -> bool:
        """Whether close was called."""
        return self._handle.closed

    def close(self) -> None:
        """End writing (readers get what is left, then the end) or reading. Again: nothing."""
        self._handle.close()


class Writer(Series):
    """Writes a series; use as a context manager, or close it."""

    def __init__(self, handle: _couplet.Series) -> None:
        super().__init__(handle)
        self._unpublished: tuple[int, NDArray[Any]] | None = None  # claimed, and the block ended with an exception

    def put(self, array: Any, step: int) -> None:
        """Copy this rank's box of `step` (strictly increasing) and publish it.

        One copy of a C-contiguous array; another layout is made contiguous first, which costs a second copy. Waits for
        holders; raises Full or DeadlineError after wait_timeout, and nothing was written then.
        """
        source = np.ascontiguousarray(array) if isinstance(array, np.ndarray) or not hasattr(array, "shape") else array
        self._check(source, step)
        if not self._handle.put(source, step):
            raise Full(f"put: series '{self.name}', step {step}: holders have not read, and wait_timeout is 0")

    @contextmanager
    def claim(self, step: int) -> Iterator[NDArray[Any]]:
        """The memory of the next slot as an array, to compute in place: nothing is copied.

        Its content is undefined at first. It is published when the block ends normally, and read-only then. After an
        exception it is not published, and must be claimed again for the same step. Not valid once the series is closed.
        """
        if self._unpublished is None or self._unpublished[0] != step:
            array = self._handle.claim(step, self._handle)
            if array is None:
                raise Full(f"claim: series '{self.name}', step {step}: holders have not read, and wait_timeout is 0")
            self._unpublished = (step, array)
        slot = self._unpublished[1].view()
        try:
            yield slot
        finally:
            slot.flags.writeable = False
        self._unpublished = None
        self._handle.publish()

    def _check(self, array: Any, step: int) -> None:
        where = f"put: series '{self.name}', step {step}"
        if tuple(array.shape) != self._info.box_shape:
            extents = tuple(array.shape)
            raise ShapeError(f"{where}: this rank's box has shape {self._info.box_shape}, the array {extents}")
        if isinstance(array, np.ndarray) and array.dtype != self.dtype:
            raise ElementTypeError(f"{where}: the series has elements of {self.dtype}, the array of {array.dtype}")


class Reader(Series):
    """Reads a series; use as a context manager, or close it."""

    def read(self, at_least: int = 1, up_to: int | None = None, timeout: float | None = None, out: Any = None) -> Batch:
        """Read the box of at least `at_least` (waited for) and at most `up_to` (64) steps in one call.

        The data go into `out` (shape (k, *box), k >= up_to; NumPy or DLPack) or into a new array, which costs its page
        faults: give the same `out` again where speed matters. timeout: seconds, then the batch is empty and its status
        "not yet"; None waits for ever. Collective over the ranks unless the series was opened with local=True.
        """
        if out is None:
            steps = 64 if up_to is None else up_to
            out = np.empty((max(steps, at_least if up_to is None else 0), *self._info.box_shape), self.dtype)
        self._check_out(out, up_to)
        status, count, steps_read, ordinals, torn, lost, incarnation = self._handle.read(
            at_least, len(out) if up_to is None else up_to, -1.0 if timeout is None else timeout, out
        )
        return Batch(out[:count], steps_read, ordinals, torn.view(np.bool_), lost, incarnation, _ANSWERS[status])

    def batches(
        self, up_to: int = 64, at_least: int = 1, timeout: float | None = None, reuse: bool = False
    ) -> Iterator[Batch]:
        """Read again and again until the end.

        Answers come as empty batches: "restarted" (the writer is a new incarnation), and "not yet" after `timeout`
        seconds. reuse: all batches share one array, so that a batch is overwritten by the next; saves the page faults.
        """
        out = np.empty((up_to, *self._info.box_shape), self.dtype) if reuse else None
        while True:
            batch = self.read(at_least, up_to, timeout, out)
            if batch.ended:
                return
            yield batch

    def _check_out(self, out: Any, up_to: int | None) -> None:
        where = f"read: series '{self.name}'"
        if tuple(out.shape[1:]) != self._info.box_shape or (up_to is not None and len(out) < up_to):
            wanted = (up_to if up_to is not None else "steps", *self._info.box_shape)
            raise ShapeError(f"{where}: out has shape {tuple(out.shape)}, needed is {wanted}")
        if isinstance(out, np.ndarray) and out.dtype != self.dtype:
            raise ElementTypeError(f"{where}: the series has elements of {self.dtype}, out has {out.dtype}")
