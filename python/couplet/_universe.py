"""The universe: joining, programs and ranks, and where groups and series come from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from couplet import _couplet
from couplet._areas import Area
from couplet._boxes import Box, is_one_box, split_box, split_boxes
from couplet._closing import Closing
from couplet._elements import type_of
from couplet._groups import Group
from couplet._series import Reader, Writer
from couplet._tasks import Coupler, Requester, Worker
from couplet.errors import ArgumentError
from couplet.weights import Weights

Mode = Literal["hold", "follow"]
_MODES = {"hold": 0, "follow": 1}
_STARTS = {"oldest": 0, "newest": 1, "next": 2}
_FROM_STEP = 3
_BEYOND = {"wait": 0, "error": 1}
_ON_LOST = {"fail": 0, "retry": 1}
_POLICIES = {"first idle": 0, "round robin": 1}
# (dtype, shape), (dtype, shape, box) or (dtype, shape, boxes)
FieldDescription = tuple[DTypeLike, Sequence[int]] | tuple[DTypeLike, Sequence[int], Box | Sequence[Box] | None]


@dataclass(frozen=True)
class Program:
    """A separately started application; its ranks are first_rank to first_rank + size - 1 of the universe."""

    id: int
    name: str
    size: int
    first_rank: int


class Universe(Closing):
    """Everything coupled in one run. Use as a context manager, or leave it: without, the others see a lost process."""

    def __init__(self, handle: _couplet.Universe) -> None:
        self._handle = handle

    def close(self) -> None:
        """Leave, at the end of a `with` block."""
        self.leave()

    def leave(self) -> None:
        """Close what is open and finish what was sent. Again: nothing."""
        self._handle.leave()

    @property
    def rank(self) -> int:
        """Rank in the universe."""
        return self._handle.rank_and_size()[0]

    @property
    def size(self) -> int:
        """Number of ranks in the universe."""
        return self._handle.rank_and_size()[1]

    @property
    def program(self) -> Program:
        """The own program."""
        return self._program(self._handle.own_program()[1])

    @property
    def program_rank(self) -> int:
        """Rank in the own program."""
        return self._handle.own_program()[2]

    @property
    def programs(self) -> tuple[Program, ...]:
        """All programs, in order of their ids."""
        return tuple(self._program(program) for program in range(self._handle.own_program()[0]))

    def _program(self, program: int) -> Program:
        return Program(program, *self._handle.program_info(program))

    def find_rank(self, program: str, rank: int = 0) -> int:
        """Universe rank of rank `rank` of the program called `program`."""
        return self._handle.find_rank(program, rank)

    def progress(self) -> None:
        """Give the library a chance to move things; never blocks."""
        self._handle.progress()

    def explain(self) -> dict[str, Any]:
        """Links, limits and choices."""
        found: dict[str, Any] = json.loads(self._handle.explain())
        return found

    @property
    def group(self) -> Group:
        """All ranks of the universe."""
        return Group(self._handle.group(), "universe", lambda: range(self.size), self._handle.create_group)

    @property
    def program_group(self) -> Group:
        """All ranks of the own program."""
        own = self.program
        ranks = range(own.first_rank, own.first_rank + own.size)
        return Group(self._handle.program_group(), f"program:{own.name}", lambda: ranks, self._handle.create_group)

    def create_group(self, name: str, ranks: Iterable[int]) -> Group:
        """An ordered set of universe ranks; each member makes the same call with the same arguments."""
        members = list(ranks)
        return Group(self._handle.create_group(name, members), name, lambda: members, self._handle.create_group)

    def create_series(
        self,
        name: str,
        shape: Sequence[int] | None = None,
        dtype: DTypeLike = np.float64,
        *,
        box: Box | Sequence[Box] | None = None,
        fields: Mapping[str, FieldDescription] | None = None,
        slots: int = 0,
        memory_bytes: int = 0,
        required_readers: str | Iterable[str] = (),
        required_timeout: float | None = None,
        wait_timeout: float | None = None,
        evict_after_held: float | None = None,
        group: Group | None = None,
        holders: int = 0,
        collective: bool = False,
    ) -> Writer:
        """Create the series `name`, an array of `shape`, of which this rank writes `box` (default: all of it).

        box may be a list of boxes. fields, instead of shape, dtype and box: several arrays that belong to one step,
        each (dtype, shape), (dtype, shape, box) or (dtype, shape, boxes) by its name; no boxes: this rank writes none.
        slots: retained steps (0: as many as fit into memory_bytes, by default 256 MiB). required_readers: programs that
        must have opened it before anything unread is overwritten. Times in seconds, None: for ever. holders: readers
        that can hold at once (0: 64). collective: put and claim are collective, and all ranks publish a step or none.
        Collective over the writers (group; default: the program).
        """
        readers = required_readers if isinstance(required_readers, str) else ",".join(required_readers)
        if (shape is None) == (fields is None):
            raise ArgumentError(f"create_series: series '{name}' needs a shape, or fields, and not both")
        described = fields if fields is not None else {"": (dtype, shape or (), box)}
        if fields is not None and (not fields or "" in fields):
            raise ArgumentError(f"create_series: the fields of series '{name}' need names, and there is at least one")
        return Writer(
            self._handle.create_series(
                name,
                [_field(name, field, *description) for field, description in described.items()],
                slots,
                memory_bytes,
                readers,
                _seconds(required_timeout),
                _seconds(wait_timeout),
                _seconds(evict_after_held),
                group._handle if group is not None else None,
                holders,
                collective,
            )
        )

    def series(
        self,
        name: str,
        *,
        box: Box | None = None,
        fields: Iterable[str] | Mapping[str, Box | None] | None = None,
        mode: Mode = "hold",
        start: Literal["oldest", "newest", "next"] | int = "oldest",
        dtype: DTypeLike | None = None,
        local: bool = False,
        group: Group | None = None,
        timeout: float = 60.0,
        buffer_bytes: int = 0,
        every: int = 1,
        latest: bool = False,
        torn: bool = False,
        interval: float = 0.0,
        weights: Weights | None = None,
        beyond_newest: Literal["wait", "error"] = "wait",
    ) -> Reader:
        """Open a series for reading `box` (default: the whole array), waiting until it exists.

        mode "hold": the writer waits for this reader; "follow": never, and steps may be lost. start: the oldest
        retained step, the newest, the next one, or the first step >= a number. local: reads are not collective over the
        ranks.
        dtype: what is expected (default: whatever it is). buffer_bytes: local slots for a series of another node.
        every: deliver the first step and then every n-th one. latest: a read gives the `at_least` newest steps and
        skips older ones (mode "follow"). torn: deliver torn steps too, marked in `Batch.torn`. interval: of physical
        time; the first step of each is delivered. fields: which ones are read, in this order (default: all); a dict
        gives each its own box. weights: a matrix that turns points of the whole array into the points of this rank
        while a step is read, instead of a box; each step is then an array of one dimension (see `couplet.weights`).
        beyond_newest: what `Reader.read_at` does about a time that no step has reached yet.
        """
        if beyond_newest not in _BEYOND:
            raise ArgumentError(f"series '{name}': beyond_newest is 'wait' or 'error', not {beyond_newest!r}")
        if mode not in _MODES:
            raise ArgumentError(f"series '{name}': mode is 'hold' or 'follow', not {mode!r}")
        if isinstance(start, str) and start not in _STARTS:
            raise ArgumentError(f"series '{name}': start is 'oldest', 'newest', 'next' or a step, not {start!r}")
        first, last = split_box(box, name) if box is not None else (None, None)
        return Reader(
            self._handle.open_series(
                name,
                first,
                last,
                _MODES[mode],
                _STARTS[start] if isinstance(start, str) else _FROM_STEP,
                0 if isinstance(start, str) else int(start),
                local,
                -1 if dtype is None else type_of(dtype),
                group._handle if group is not None else None,
                float(timeout),
                buffer_bytes,
                every,
                latest,
                torn,
                float(interval),
                _choices(name, fields),
                None if weights is None else weights.arrays(),
                _BEYOND[beyond_newest],
            )
        )

    def requester(self, name: str, *, couplers: str = "coupler") -> Requester:
        """Open the tasks `name` to submit requests. couplers: the program whose ranks dispatch."""
        return Requester(self._handle.open_tasks(name, 0, -1, 0, 0, 0, 0, couplers, "", ""))

    def worker(
        self, name: str, *, worker_id: int | None = None, group_size: int = 0, couplers: str = "coupler"
    ) -> Worker:
        """Open the tasks `name` to do them; every rank of the program makes the same call.

        worker_id: by which requests find these workers (default: the id of the program). group_size: consecutive ranks
        that do a task together (0: all of the program).
        """
        own = -1 if worker_id is None else worker_id
        return Worker(self._handle.open_tasks(name, 1, own, group_size, 0, 0, 0, couplers, "", ""))

    def coupler(
        self,
        name: str,
        *,
        requesters: str | Iterable[str] = (),
        workers: str | Iterable[str] = (),
        on_lost: Literal["fail", "retry"] = "fail",
        policy: Literal["first idle", "round robin"] = "first idle",
        queue_limit: int = 0,
        couplers: str | None = None,
    ) -> Coupler:
        """Open the tasks `name` to dispatch them.

        requesters, workers: programs; one may be left out, and is then all the others. on_lost: a lost worker's task is
        handed back with an error, or done by others. policy: who does what any worker may do. queue_limit: tasks that
        wait (0: as many as memory holds). couplers: the program whose ranks dispatch (default: the own one).
        """
        if on_lost not in _ON_LOST or policy not in _POLICIES:
            raise ArgumentError(
                f"tasks '{name}': on_lost is 'fail' or 'retry', policy 'first idle' or 'round robin', "
                f"not {on_lost!r} and {policy!r}"
            )
        return Coupler(
            self._handle.open_tasks(
                name,
                2,
                -1,
                0,
                _ON_LOST[on_lost],
                _POLICIES[policy],
                queue_limit,
                couplers if couplers is not None else self.program.name,
                requesters if isinstance(requesters, str) else ",".join(requesters),
                workers if isinstance(workers, str) else ",".join(workers),
            )
        )

    def create_area(
        self, name: str, shape: Sequence[int], dtype: DTypeLike = np.float64, *, stamped: bool = False
    ) -> Area:
        """Memory of the library, zero, that others may read and write; `Area.memory` is an array over it.

        stamped: one writes at a time, and what is read is whole.
        """
        extents = [int(extent) for extent in shape]
        return Area(self._handle.create_area(name, type_of(dtype), extents, stamped, None))

    def expose_area(self, name: str, array: NDArray[Any], *, stamped: bool = False) -> Area:
        """Let others read and write an own array (C-contiguous, writable), which is kept until the area is closed."""
        return Area(self._handle.create_area(name, type_of(array.dtype), list(array.shape), stamped, array))

    def open_area(self, name: str, owner: int, timeout: float = 60.0) -> Area:
        """The area `name` of universe rank `owner`, waiting until it exists."""
        return Area(self._handle.open_area(name, owner, float(timeout)))


def join(
    program: str | None = None,
    comm: Any = None,
    *,
    rank: int | None = None,
    size: int | None = None,
    hub: str | None = None,
    secret_file: str | PathLike[str] | None = None,
    timeout: float | None = None,
    multiple_threads: bool = False,
) -> Universe:
    """Join this process to the universe as one rank of `program` (default: COUPLET_PROGRAM).

    Rank and size come from `comm` (an mpi4py communicator), from the arguments, or from the launcher. Waits until all
    required programs are complete, at most `timeout` seconds (default: COUPLET_JOIN_TIMEOUT, else 60).
    """
    request = _couplet.JoinRequest(
        program or "",
        -1 if rank is None else rank,
        -1 if size is None else size,
        hub or "",
        fspath(secret_file) if secret_file is not None else "",
        _seconds(timeout),
        multiple_threads,
    )
    if comm is None:
        return Universe(_couplet.join(request))
    if rank is not None or size is not None:
        raise ArgumentError("join: rank and size come from the communicator; give one or the other")
    from couplet import _mpi

    return Universe(_mpi.join(request, comm))


def _field(
    series: str, name: str, dtype: DTypeLike, shape: Sequence[int], box: Box | Sequence[Box] | None = None
) -> tuple[str, int, list[int], list[int], list[int], int]:
    """A field as the extension takes it."""
    extents = [int(extent) for extent in shape]
    if box is None:
        return name, type_of(dtype), extents, [0] * len(extents), extents, 1
    boxes = [box] if is_one_box(box) else box
    starts, stops, count = split_boxes(boxes, len(extents), series)  # type: ignore[arg-type]
    return name, type_of(dtype), extents, starts, stops, count


def _choices(
    series: str, fields: Iterable[str] | Mapping[str, Box | None] | None
) -> list[tuple[str, list[int] | None, list[int] | None]]:
    """The choice of fields as the extension takes it."""
    if fields is None:
        return []
    if isinstance(fields, str):
        raise ArgumentError(f"series '{series}': fields is a list of names, not the text {fields!r}")
    boxes = fields if isinstance(fields, Mapping) else dict.fromkeys(fields)
    if not boxes:
        raise ArgumentError(f"series '{series}': no fields are chosen")
    return [(name, *(split_box(box, series) if box is not None else (None, None))) for name, box in boxes.items()]


def _seconds(timeout: float | None) -> float:
    return -1.0 if timeout is None else float(timeout)
