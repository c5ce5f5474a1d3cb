"""Writes and reads series: NumPy arrays in and out, of one field or of several."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from couplet import _couplet
from couplet._arguments import (
    MAX_INT32,
    count,
    flag,
    in_name_of,
    positive,
    real_number,
    refuse,
    seconds,
    tell,
    told,
    whole_number,
)
from couplet._arrays import arrays_to_fill, arrays_to_put, new_arrays
from couplet._closing import Closing
from couplet._elements import dtype_of
from couplet._waiting import Entry, Thing, left, limit, ready
from couplet.errors import ArgumentError, Error, Full, NotFoundError, StateError

Answer = Literal["ok", "not yet", "end", "restarted"]
_NO_SLOT = (
    "no slot is free, and wait_timeout is 0: a reader that holds has not read, or a required reader has not opened it"
)
_MAX_STEP_BITS = 63
_ANSWERS: dict[int, Answer] = {0: "ok", 1: "not yet", 3: "end", 4: "restarted"}


@dataclass(frozen=True)
class Statistics:
    """The accounting of one rank. For a reader: published - first == delivered + lost + skipped + pending."""

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
        """Says whether published - first == delivered + lost + skipped + pending."""
        return self.published - self.first == self.delivered + self.lost + self.skipped + self.pending


@dataclass(frozen=True)
class Waits:
    """How long a writer has waited for holding readers, and for which of them. Names are "" before the first wait."""

    count: int
    total_ns: int
    last_ns: int
    longest_ns: int
    last_for: str
    longest_for: str
    last_rank: int
    """Universe rank of the reader; -1: a required program that has not opened the series, or no wait."""
    longest_rank: int


@dataclass(frozen=True)
class FieldInfo:
    """Describes one of the arrays that belong to a step, and this rank's boxes."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    boxes: tuple[tuple[tuple[int, int], ...], ...]
    step_bytes: int

    @property
    def box_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Gives the extents of this rank's boxes."""
        return tuple(tuple(stop - start for start, stop in box) for box in self.boxes)


@dataclass(frozen=True)
class SeriesInfo:
    """Describes a series, and this rank's box. The members dtype to step_bytes are those of the first field."""

    name: str
    program: str
    route: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    box: tuple[tuple[int, int], ...]
    step_bytes: int
    slots: int
    writers: int
    fields: dict[str, FieldInfo]
    """The fields by name, in order. If the series was created without fields, its only field has the name ""."""

    @property
    def box_shape(self) -> tuple[int, ...]:
        """Gives the extents of this rank's box."""
        return tuple(stop - start for start, stop in self.box)


@dataclass(frozen=True)
class Retained:
    """The steps that are still in their slots: ordinals first to end - 1. newest_step is the newest step's number."""

    first: int
    end: int
    newest_step: int


@dataclass(frozen=True)
class Batch:
    """The steps of one read, oldest first: data[i] is the box of step steps[i]. It is empty unless status is "ok".

    If several fields are read, batch["density"][i] is a step of one of them, and data is that of the first one.
    """

    data: Any
    steps: NDArray[np.int64]
    ordinals: NDArray[np.uint64]
    torn: NDArray[np.bool_]
    lost: int
    incarnation: int
    status: Answer
    times: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    """Physical times; NaN for a step to which the writer gave none."""
    fields: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        """Gives the steps of a field."""
        if isinstance(name, str) and name in self.fields:
            return self.fields[name]
        if list(self.fields) in ([], [""]):
            raise NotFoundError(
                f"there is no field {name!r} in this batch, which has no named fields: write batch.data"
            )
        raise NotFoundError(f"there is no field {name!r} in this batch; it has {', '.join(map(repr, self.fields))}")

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """Iterates over pairs of step and box. If several fields are read, over pairs of step and a dict of boxes."""
        if len(self.fields) > 1:
            boxes = [{name: data[i] for name, data in self.fields.items()} for i in range(len(self))]
            return iter([(int(step), box) for step, box in zip(self.steps, boxes, strict=True)])
        return iter([(int(step), self.data[i]) for i, step in enumerate(self.steps)])

    @property
    def ended(self) -> bool:
        """Says whether the writer has closed the series and everything was read."""
        return self.status == "end"


class Series(Closing):
    """The base of Writer and Reader."""

    def __init__(self, handle: _couplet.Series) -> None:
        self._handle = handle
        self._info = self.describe()

    @property
    def name(self) -> str:
        """Gives the name of the series."""
        return self._info.name

    @property
    def shape(self) -> tuple[int, ...]:
        """Gives the extents of the whole array."""
        return self._info.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Gives the element type."""
        return self._info.dtype

    @property
    def box(self) -> tuple[tuple[int, int], ...]:
        """Gives this rank's (start, stop) in each dimension."""
        return self._info.box

    def describe(self) -> SeriesInfo:
        """Describes the series and its fields."""
        raw = self._handle.describe()
        fields = {
            name: FieldInfo(
                name, dtype_of(code), shape, tuple(tuple(zip(*corners, strict=True)) for corners in boxes), step_bytes
            )
            for name, code, shape, boxes, step_bytes in raw["fields"]
        }
        first = next(iter(fields.values()))
        return SeriesInfo(
            name=raw["name"],
            program=raw["program"],
            route=raw["route"],
            dtype=first.dtype,
            shape=first.shape,
            box=first.boxes[0] if first.boxes else tuple((0, 0) for _ in first.shape),
            step_bytes=first.step_bytes,
            slots=raw["slots"],
            writers=raw["writers"],
            fields=fields,
        )

    @property
    def statistics(self) -> Statistics:
        """Gives the accounting of this rank up to now."""
        return Statistics(**self._handle.statistics())

    @property
    def retained(self) -> Retained | None:
        """Gives the steps that are still there, or None before the first step."""
        found = self._handle.retained()
        return None if found is None else Retained(*found)

    @property
    def newest(self) -> int | None:
        """Gives the newest step, or None before the first one. This reads one cache line."""
        try:
            found = self._handle.retained()
        except Error as error:
            in_name_of("newest", error)
            raise
        return None if found is None else found[2]

    @property
    def closed(self) -> bool:
        """Says whether close was called."""
        return self._handle.closed

    def close(self) -> None:
        """Ends writing (readers get what is left, then the end) or reading. It may be called twice."""
        self._handle.close()


class Writer(Series):
    """Writes a series. Use it as a context manager, or call close."""

    def __init__(self, handle: _couplet.Series) -> None:
        super().__init__(handle)
        # The step and the arrays of a claim whose block has ended with an exception: the slot is still claimed.
        self._unpublished: tuple[int, list[NDArray[Any]]] | None = None

    @property
    def waits(self) -> Waits:
        """Says how long put and claim have waited for holding readers, and for which of them."""
        return Waits(**self._handle.waits())

    def put(self, array: Any, step: int, time: float | None = None) -> None:
        """Copies this rank's box of step `step` into the next slot and publishes it.

        Blocking: up to wait_timeout, if a holding reader still needs the oldest slot.

        Parameters
        ----------
        array
            The array of this rank's box. Several boxes: a list of arrays. Several fields: a dict of these by name. The
            arrays may have any order and gaps, such as views without ghost cells. They are copied once.
        step
            Number of the step; greater than the previous one.
        time
            Physical time of the step.

        Raises
        ------
        Full
            wait_timeout is 0, and a holding reader still needs the oldest slot. Nothing was written.
        DeadlineError
            wait_timeout has passed; the text names the reader. Nothing was written.
        StepError
            The step is not greater than the previous one, or the time is before an earlier one.
        ShapeError, ElementTypeError
            An array does not fit its box or its field.
        """
        try:
            if type(step) is not int or step.bit_length() > _MAX_STEP_BITS:
                step = whole_number(step, "step", f"put: series '{self.name}'")
            arrays = arrays_to_put(array, step, self.name, self._info.fields)
            if time is not None:
                self._handle.set_time(real_number(time, "time", f"put: series '{self.name}', step {step}"))
        except Exception as error:
            tell(self._handle.refuse_put, error)
            raise
        alone = len(arrays) == 1 and not (isinstance(arrays[0], np.ndarray) and not arrays[0].flags.c_contiguous)
        done = self._handle.put(arrays[0], step) if alone else self._handle.put_arrays(arrays, step)
        if not done:
            raise Full(f"put: series '{self.name}', step {step}: {_NO_SLOT}")

    @contextmanager
    def claim(self, step: int, time: float | None = None) -> Iterator[Any]:
        """Gives the memory of the next slot as an array, for computation in place. Nothing is copied.

        The step is published when the block ends normally, and the array can then only be read. If the block ends with
        an exception, the step is not published: claim it again, or call `abandon`. Blocking and errors: as `put`.

        Parameters
        ----------
        step, time
            As for `put`.

        Yields
        ------
        array
            The memory of this rank's box, whose old contents are undefined. Several boxes: a list of arrays. Several
            fields: a dict of these by name. Once the step is published, they change as soon as the slot is written
            again. They can also be read after the series is closed and the universe is left, and their memory is given
            back with the last of them. But slots in the window of an MPI job (COUPLET_MPI_WINDOW_BYTES) end when the
            universe is left.
        """
        where = f"claim: series '{self.name}'"
        with told(self._handle.refuse_put):
            step = whole_number(step, "step", where)
            moment = None if time is None else real_number(time, "time", where)
        if self._unpublished is None or self._unpublished[0] != step:
            claimed = self._handle.claim_arrays(step, self._handle)
            if claimed is None:
                raise Full(f"claim: series '{self.name}', step {step}: {_NO_SLOT}")
            self._unpublished = (step, claimed)
        slots = [array.view() for array in self._unpublished[1]]
        try:
            yield self._by_name(slots)
        finally:
            for slot in slots:
                slot.flags.writeable = False
        try:
            if moment is not None:
                self._handle.set_time(moment)
            self._unpublished = None
            self._handle.publish()
        except Error as error:
            in_name_of("claim", error)
            raise

    def abandon(self) -> None:
        """Gives a claim back: nothing is published, and the same step or another one may be written next."""
        self._handle.abandon()
        self._unpublished = None

    def close(self) -> None:
        """Ends writing: readers get what is left, and then the end. It may be called twice."""
        self._unpublished = None
        super().close()

    def _by_name(self, arrays: list[NDArray[Any]]) -> Any:
        fields: dict[str, Any] = {}
        at = 0
        for name, info in self._info.fields.items():
            own = arrays[at : at + len(info.boxes)]
            fields[name] = own[0] if len(own) == 1 else own
            at += len(own)
        return fields[""] if list(fields) == [""] else fields


class Steps(Thing):
    """Stands for a number of steps that a reader waits for, for `wait_any` and `Universe.ready`."""

    def __init__(self, reader: Reader, at_least: int) -> None:
        self.reader = reader
        self.at_least = at_least

    def _entry(self) -> Entry:
        return self.reader._handle, self.at_least, 0, 0

    def _settled(self) -> bool:
        return self.reader._settled()


class Reader(Series, Thing):
    """Reads a series. Use it as a context manager, or call close.

    In a coroutine, `async for batch in reader` does the same as `for batch in reader.batches()`.
    """

    def __init__(self, handle: _couplet.Series) -> None:
        super().__init__(handle)
        self._where = f"read: series '{self.name}'"

    def read(self, at_least: int = 1, up_to: int | None = None, timeout: float | None = None, out: Any = None) -> Batch:
        """Reads this rank's box of at least `at_least` and at most `up_to` steps, in order.

        Blocking: until at_least steps are there, at most `timeout` seconds. Collective over the readers, unless the
        series was opened with local=True.

        Parameters
        ----------
        at_least
            Number of steps that the read waits for.
        up_to
            Largest number of steps; default: the room in `out`, else 64.
        timeout
            After this many seconds the batch is empty, and its status is "not yet". None: it waits for ever.
        out
            An array of the shape (k, *box) with k >= up_to, in any order and with gaps; NumPy or DLPack. Several
            fields: a dict of these by name. Without it, each read makes new arrays, which costs page faults: reuse one
            `out` if speed matters.

        Raises
        ------
        PeerLostError
            The writer died before it closed the series, and everything that it published was read.
        MismatchError
            The ranks of the writer have given an ordinal different steps or times, or have closed the series after
            different numbers of steps. What is not whole is lost; the next read continues after it.
        EvictedError
            The writer has released this reader's hold.
        LimitError
            More steps will come, and at_least is greater than the number of slots.
        """
        try:
            where = self._where
            if type(at_least) is not int or not 0 < at_least <= MAX_INT32:
                at_least = positive(at_least, "at_least", where)
            if up_to is not None:
                up_to = count(up_to, "up_to", where)
            wait_s = -1.0 if timeout is None else seconds(timeout, "timeout", where)
            outs = arrays_to_fill(out, at_least, up_to, where, self._info.fields)
        except Exception as error:
            tell(self._handle.refuse_read, error)
            raise
        room = min(len(one) for one in outs) if up_to is None else up_to
        return self._batch(self._handle.read(at_least, room, wait_s, outs), outs)

    def read_at(self, times: Any, timeout: float | None = None, out: Any = None) -> Batch:
        """Reads values at physical times, interpolated linearly between the steps around each time.

        Blocking: until the step after each time is there, at most `timeout` seconds. Collective as `read`.

        Parameters
        ----------
        times
            One time or several, which must not descend. The fields must have elements of type float32 or float64.
        timeout, out
            As for `read`; `out` is in C order, without gaps.

        Returns
        -------
        Batch
            data[i] is the box at times[i]. `Batch.times` are the given times, and `Batch.steps` the steps at or before
            each of them. If something prevents the later times, only the earlier ones are delivered, and the next call
            says what it was.
        """
        with told(self._handle.refuse_read_at):
            where = f"read_at: series '{self.name}'"
            instants = _instants(times, where)
            wait_s = seconds(timeout, "timeout", where)
            outs = arrays_to_fill(out, 1, len(instants), where, self._info.fields)
        return self._batch(self._handle.read_at(instants, wait_s, outs), outs)

    def steps(self, at_least: int) -> Steps:
        """Returns an object that is ready when this reader has at_least steps, for `wait_any` and `Universe.ready`."""
        if self.closed:
            raise StateError(f"steps: series '{self.name}' is closed")
        return Steps(self, positive(at_least, "at_least", f"steps: series '{self.name}'"))

    def _entry(self) -> Entry:
        return self._handle, 1, 0, 0

    def _settled(self) -> bool:
        return self._handle.interrupted

    async def read_async(
        self, at_least: int = 1, up_to: int | None = None, timeout: float | None = None, out: Any = None
    ) -> Batch:
        """Does the same as `read` in a coroutine: other coroutines go on while the steps are not there.

        If it is cancelled, nothing was taken. All ranks of a collective reader must make the same calls. As soon as
        this rank has its steps, the whole event loop waits for the ranks that have not made the call yet.
        """
        with told(self._handle.refuse_read):
            end = limit(timeout, self._where)
            steps = Steps(self, positive(at_least, "at_least", self._where))
            if up_to is not None:
                up_to = count(up_to, "up_to", self._where)
        pause = 0.001
        while True:
            try:
                found = await ready([steps], None if end is None else left(end))
                batch = self.read(at_least, up_to, 0.0, out)
            except Error as error:
                in_name_of("read_async", error)
                raise
            if batch.status != "not yet" or found is None:
                return batch
            # This rank has its steps, but another rank does not, or a new incarnation cannot be reached yet.
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.05)

    async def batches_async(
        self, up_to: int = 64, at_least: int = 1, timeout: float | None = None, reuse: bool = False
    ) -> AsyncIterator[Batch]:
        """Does the same as `batches` in a coroutine."""
        out = self._shared(up_to, reuse)
        while True:
            try:
                batch = await self.read_async(at_least, up_to, timeout, out)
            except Error as error:
                in_name_of("batches_async", error)
                raise
            if batch.ended:
                return
            if batch.status == "restarted":
                out = self._shared(up_to, reuse)
            yield batch

    def __aiter__(self) -> AsyncIterator[Batch]:
        return self.batches_async()

    def _shared(self, up_to: int, reuse: bool) -> dict[str, Any] | None:
        """Returns arrays that all batches share, if they are to be reused."""
        where = f"batches: series '{self.name}'"
        with told(self._handle.refuse_read):
            if not flag(reuse, "reuse", where):
                return None
            return new_arrays(count(up_to, "up_to", where), where, self._info.fields)

    def _batch(self, got: Any, outs: list[Any]) -> Batch:
        status, count, steps, ordinals, torn, lost, incarnation, times = got
        data = [one[:count] for one in outs]
        fields = dict(zip(self._info.fields, data, strict=True))
        answer = _ANSWERS[status]
        if answer == "restarted":  # the new incarnation may have another shape, type or order of fields
            self._info = self.describe()
        return Batch(data[0], steps, ordinals, torn.view(np.bool_), lost, incarnation, answer, times, fields)

    def batches(
        self, up_to: int = 64, at_least: int = 1, timeout: float | None = None, reuse: bool = False
    ) -> Iterator[Batch]:
        """Iterates over reads until the end of the series.

        Answers come as empty batches: "restarted" (the writer is a new incarnation), and "not yet" after `timeout`
        seconds. With `reuse`, all batches share one array: each batch overwrites the one before, and page faults are
        saved. The other parameters are those of `read`.
        """
        out = self._shared(up_to, reuse)
        while True:
            try:
                batch = self.read(at_least, up_to, timeout, out)
            except Error as error:
                in_name_of("batches", error)
                raise
            if batch.ended:
                return
            if batch.status == "restarted":
                out = self._shared(up_to, reuse)
            yield batch


def _instants(times: Any, where: str) -> list[float]:
    """Returns physical times as a list."""
    try:
        given = np.atleast_1d(np.asarray(times, np.float64))
    except (TypeError, ValueError):
        refuse(times, "times", where, "a number or a list of numbers")
    if given.ndim != 1:
        refuse(times, "times", where, "a number or a list of numbers")
    if given.size == 0:
        raise ArgumentError(f"{where}: times is empty; it must have at least one time")
    instants: list[float] = given.tolist()
    return instants
