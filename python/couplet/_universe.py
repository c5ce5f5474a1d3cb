"""The universe: joining and leaving, programs and ranks, and the calls that make groups, series, tasks and areas."""

from __future__ import annotations

import itertools
import json
import operator
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from couplet import _couplet
from couplet._areas import Area
from couplet._boxes import Box, is_one_box, split_box, split_boxes
from couplet._closing import Closing
from couplet._collectives import Operation
from couplet._elements import type_of
from couplet._groups import Group, Objects
from couplet._open_options import OpenOptions, members_of
from couplet._series import Reader, Writer
from couplet._tasks import Coupler, Requester, Worker
from couplet._waiting import Thing, forget, ready
from couplet.errors import ArgumentError, MismatchError, NotFoundError
from couplet.weights import Weights

_STARTS = {"oldest": 0, "newest": 1, "next": 2}
_FROM_STEP = 3
_ON_LOST = {"fail": 0, "retry": 1}
_POLICIES = {"first idle": 0, "round robin": 1}
# A field is described as (dtype, shape), (dtype, shape, box) or (dtype, shape, boxes).
FieldDescription = tuple[DTypeLike, Sequence[int]] | tuple[DTypeLike, Sequence[int], Box | Sequence[Box] | None]


@dataclass(frozen=True)
class Program:
    """A separately started application. Its universe ranks are first_rank to first_rank + size - 1."""

    id: int
    name: str
    size: int
    first_rank: int


class Universe(Closing):
    """Everything that is coupled in one run. Use it as a context manager, or call leave.

    If a process ends without leaving, the others see it as lost.
    """

    def __init__(self, handle: _couplet.Universe) -> None:
        self._handle = handle
        self._group: Group | None = None
        self._program_group: Group | None = None
        # Objects in messages, by name and ranks of a group. The groups of a universe number them together.
        self._objects: dict[tuple[str, tuple[int, ...]], Objects] = {}
        self._object_numbers = itertools.count(secrets.randbits(31))

    def close(self) -> None:
        """Leaves the universe, at the end of a `with` block."""
        self.leave()

    def leave(self) -> None:
        """Leaves the universe in good order: closes what is open and delivers what was sent. It may be called twice."""
        self._handle.check_can_leave()
        forget(self._handle.key)
        self._handle.leave()

    @property
    def rank(self) -> int:
        """Gives this process's rank in the universe."""
        return self._handle.rank_and_size()[0]

    @property
    def size(self) -> int:
        """Gives the number of ranks of the universe."""
        return self._handle.rank_and_size()[1]

    @property
    def program(self) -> Program:
        """Describes the program of this process."""
        return self._program(self._handle.own_program()[1])

    @property
    def program_rank(self) -> int:
        """Gives this process's rank in its program."""
        return self._handle.own_program()[2]

    @property
    def programs(self) -> tuple[Program, ...]:
        """Describes all programs, in the order of their ids."""
        return tuple(self._program(program) for program in range(self._handle.own_program()[0]))

    def _program(self, program: int) -> Program:
        return Program(program, *self._handle.program_info(program))

    def find_rank(self, program: str, rank: int = 0) -> int:
        """Returns the universe rank of rank `rank` of the program `program`."""
        return self._handle.find_rank(program, rank)

    def progress(self) -> None:
        """Lets the library do pending work. Never blocks."""
        self._handle.progress()

    async def ready(self, *things: Thing, timeout: float | None = None) -> Any:
        """Waits in a coroutine until one of several things is ready, and returns it. It takes nothing away.

        Things, result and errors are those of `wait_any`. Several coroutines may wait at the same time, if all are in
        one event loop. If it is cancelled, nothing was taken.
        """
        return await ready(things, timeout)

    @property
    def descriptor(self) -> int:
        """Gives the file descriptor for event loops other than asyncio's. `arm_any` arms it. Do not close it."""
        return self._handle.descriptor()

    def explain(self) -> dict[str, Any]:
        """Describes links, limits and choices."""
        found: dict[str, Any] = json.loads(self._handle.explain())
        return found

    @property
    def group(self) -> Group:
        """Gives the group of all ranks of the universe."""
        if self._group is None:
            self._group = self._make_group(self._handle.group(), "universe", range(self.size))
        return self._group

    @property
    def program_group(self) -> Group:
        """Gives the group of all ranks of this program."""
        if self._program_group is None:
            own = self.program
            ranks = range(own.first_rank, own.first_rank + own.size)
            self._program_group = self._make_group(self._handle.program_group(), f"program:{own.name}", ranks)
        return self._program_group

    def create_group(self, name: str, ranks: Iterable[int]) -> Group:
        """Creates the group `name` of these universe ranks, in this order. Every member makes the same call."""
        members = list(ranks)
        return self._make_group(self._handle.create_group(name, members), name, members)

    def create_operation(
        self, name: str, function: Callable[[NDArray[Any], NDArray[Any]], ArrayLike], *, commutative: bool = True
    ) -> Operation:
        """Makes an operation of reductions from an associative function of two arrays. Each member makes it under the
        same name. It is kept as long as the process lives.
        """
        return Operation(name, self._handle.create_operation(name, function, commutative))

    def split(self, name: str, color: int | None, key: int = 0, group: Group | None = None) -> Group | None:
        """Splits a group (default: all ranks) into groups of the members that give the same color.

        Collective over the group. The members of each new group are in the order of their keys, and of their ranks if
        keys are equal. A member whose color is None, or negative, gets None.
        """
        whole = self.group if group is None else group
        mark = _hash_of(name)
        chosen = -1

        def choice() -> NDArray[np.int64]:
            nonlocal chosen
            chosen = -1 if color is None else max(operator.index(color), -1)
            return np.array([int(chosen >= 0), max(chosen, 0), operator.index(key), self.rank, mark], np.int64)

        gathered = whole._array("allgather", lambda: whole._for_allgather(choice()), None, "automatic")
        rows = [tuple(int(value) for value in row) for row in gathered]
        other = next((place for place, row in enumerate(rows) if row[4] != mark), None)
        if other is not None:
            raise MismatchError(f"split: rank {other} splits the group under another name than {name!r}")
        if chosen < 0:
            return None
        members = sorted((row[2], place, row[3]) for place, row in enumerate(rows) if row[:2] == (1, chosen))
        return self.create_group(f"{name}:{chosen}", [member[2] for member in members])

    def heads_group(self, name: str = "heads") -> Group:
        """Creates the group of the ranks 0 of all programs."""
        return self.create_group(name, [program.first_rank for program in self.programs])

    def program_group_of(self, program: str) -> Group:
        """Creates the group of all ranks of one program. Ranks of other programs are no members."""
        found = next((one for one in self.programs if one.name == program), None)
        if found is None:
            raise NotFoundError(f"there is no program {program!r}; there are {[one.name for one in self.programs]}")
        return self.create_group(f"ranks of {program}", range(found.first_rank, found.first_rank + found.size))

    def filter_group(self, name: str, keep: Callable[[int, Program], bool]) -> Group:
        """Creates the group of the universe ranks for which keep(rank, program) is true, in their order. Every process
        calls it with a function that decides alike.
        """
        ranks = [
            rank
            for program in self.programs
            for rank in range(program.first_rank, program.first_rank + program.size)
            if keep(rank, program)
        ]
        return self.create_group(name, ranks)

    def _make_group(self, handle: _couplet.Group, name: str, ranks: Sequence[int]) -> Group:
        return Group(handle, name, lambda: self._find_objects(name, ranks))

    def _find_objects(self, name: str, ranks: Sequence[int]) -> Objects:
        key = (name, tuple(ranks))
        found = self._objects.get(key)
        if found is None:
            made = Objects(name, key[1], self._handle.create_group, self._object_numbers)
            found = self._objects.setdefault(key, made)
        return found

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
        """Creates the series `name`, of whose array this rank writes `box`. Collective over the writers.

        Parameters
        ----------
        shape, dtype, box
            Extents and element type of the array, and the box or the boxes that this rank writes (default: the whole
            array).
        fields
            Several arrays that belong to one step, in place of shape, dtype and box: (dtype, shape), (dtype, shape,
            box) or (dtype, shape, boxes) by name. With an empty list of boxes this rank writes nothing of the field.
        slots, memory_bytes
            Number of steps that are kept. 0: as many as fit into memory_bytes of each writer rank, but at least 2. If
            memory_bytes is 0, too, it is 256 MiB, and at most 4096 steps.
        required_readers
            Programs that must have opened the series before a step that they have not read is overwritten.
        required_timeout, wait_timeout, evict_after_held
            Seconds, None for ever: how long required readers may take to open, how long put and claim wait for holding
            readers, and when a reader that keeps the writer waiting is released.
        group, holders, collective
            The writers (default: all ranks of the program); readers that can hold at once (0: 64); whether put and
            claim are collective, so that all ranks publish a step or none does.

        Raises
        ------
        ExistsError, ShapeError, MismatchError
            Another live program writes a series of this name; a box is outside the array, or overlaps with another;
            the ranks do not agree.
        LimitError, NoSpaceError
            There are too many fields, boxes or required readers, or the slots do not fit into shared memory.
        """
        readers = required_readers if isinstance(required_readers, str) else ",".join(required_readers)
        if (shape is None) == (fields is None):
            raise ArgumentError(f"create_series: series '{name}' needs a shape, or fields, and not both")
        if fields is None:
            fields = {"": (dtype, shape or (), box)}
        elif not fields or "" in fields:
            raise ArgumentError(f"create_series: the fields of series '{name}' need names, and there is at least one")
        return Writer(
            self._handle.create_series(
                name,
                [_field(name, field, *description) for field, description in fields.items()],
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

    def open_series(
        self,
        name: str,
        *,
        box: Box | None = None,
        fields: Iterable[str] | Mapping[str, Box | None] | None = None,
        start: Literal["oldest", "newest", "next"] | int = "oldest",
        dtype: DTypeLike | None = None,
        group: Group | None = None,
        weights: Weights | None = None,
        **options: Unpack[OpenOptions],
    ) -> Reader:
        """Opens the series `name` to read `box` (default: the whole array). Collective over `group`, unless `local`.

        Parameters
        ----------
        fields, dtype, weights
            The fields to read, in this order (default: all; a dict gives each its own box), and the expected element
            type (default: any). Weights turn points of the whole array into points of this rank while a step is read,
            instead of a box; each step is then an array of one dimension (see `couplet.weights`).
        start
            The first step: the oldest retained one, the newest, the next that is published, or the first that is at
            least a number.
        group
            The readers (default: all ranks of the program).
        options
            The keyword options of `couplet.OpenOptions`: mode ("hold" or "follow"), local, timeout, buffer_bytes,
            every, latest, torn, interval and others.
        """
        if isinstance(start, str) and start not in _STARTS:
            raise ArgumentError(f"series '{name}': start is 'oldest', 'newest', 'next' or a step, not {start!r}")
        first, last = split_box(box, name) if box is not None else (None, None)
        members = members_of(name, options)
        members["from"] = _STARTS[start] if isinstance(start, str) else _FROM_STEP
        members["from_step"] = 0 if isinstance(start, str) else int(start)
        members["type"] = -1 if dtype is None else type_of(dtype)
        return Reader(
            self._handle.open_series(
                name,
                first,
                last,
                group._handle if group is not None else None,
                _choices(name, fields),
                None if weights is None else weights.arrays(),
                members,
            )
        )

    def requester(self, name: str, *, couplers: str = "coupler") -> Requester:
        """Opens the tasks `name` to submit requests. `couplers` is the program whose ranks dispatch them."""
        return Requester(self._handle.open_tasks(name, 0, -1, 0, 0, 0, 0, couplers, "", ""))

    def worker(
        self, name: str, *, worker_id: int | None = None, group_size: int = 0, couplers: str = "coupler"
    ) -> Worker:
        """Opens the tasks `name` to work on them. Every rank of the program makes the same call.

        Parameters
        ----------
        worker_id
            The id by which requests find these workers (default: the id of the program).
        group_size
            Number of consecutive ranks that do a task together; 0: all ranks of the program.
        couplers
            The program whose ranks dispatch.
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
        """Opens the tasks `name` to dispatch them.

        Parameters
        ----------
        requesters, workers
            The programs that submit, and those that work. One may be left out, and is then all the other programs.
        on_lost
            "fail": the task of a lost worker is handed back with an error. "retry": it is given to others.
        policy
            How a worker is chosen for ANY_WORKER: the first idle one, or each id in turn.
        queue_limit
            The largest number of waiting tasks; 0: as many as memory holds.
        couplers
            The program whose ranks dispatch (default: the own one).
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
        """Creates the area `name` in memory of the library, which is set to zero. `Area.memory` is an array over it.

        If it is `stamped`, one process writes at a time, and what is read is whole. Never waits for another process.
        """
        extents = [int(extent) for extent in shape]
        return Area(self._handle.create_area(name, type_of(dtype), extents, stamped, None))

    def expose_area(self, name: str, array: NDArray[Any], *, stamped: bool = False) -> Area:
        """Makes an array of yours (C-contiguous, writable) an area. The array is kept until the area is closed."""
        return Area(self._handle.create_area(name, type_of(array.dtype), list(array.shape), stamped, array))

    def open_area(self, name: str, owner: int, timeout: float = 60.0) -> Area:
        """Opens the area `name` of universe rank `owner`. Blocking: until it exists, at most `timeout` seconds."""
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
    """Joins this process to the universe as one rank of `program` (default: the variable COUPLET_PROGRAM).

    Blocking: until all required programs are complete. Collective over the ranks of the program.

    Parameters
    ----------
    comm, rank, size
        Rank and size come from `comm` (an mpi4py communicator), from `rank` and `size`, or from the launcher.
    hub, secret_file
        Default: the variables COUPLET_HUB and COUPLET_SECRET_FILE.
    timeout
        Seconds for all required programs to be complete (default: COUPLET_JOIN_TIMEOUT, else 60).
    multiple_threads
        Several threads may call the library; they take turns.

    Raises
    ------
    DeadlineError
        Not all programs have come; the text names what is missing.
    NotFoundError, ExistsError
        The universe has no such program, or this rank of it has joined already.
    AuthenticationError, HubLostError, ConfigurationError
        The hub has another secret, no hub answers, or a variable or the secret's file is wrong.
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
    """Returns a field as the extension takes it."""
    extents = [int(extent) for extent in shape]
    if box is None:
        return name, type_of(dtype), extents, [0] * len(extents), extents, 1
    boxes = [box] if is_one_box(box) else box
    starts, stops, count = split_boxes(boxes, len(extents), series)  # type: ignore[arg-type]
    return name, type_of(dtype), extents, starts, stops, count


def _choices(
    series: str, fields: Iterable[str] | Mapping[str, Box | None] | None
) -> list[tuple[str, list[int] | None, list[int] | None]]:
    """Returns the choice of fields as the extension takes it."""
    if fields is None:
        return []
    if isinstance(fields, str):
        raise ArgumentError(f"series '{series}': fields is a list of names, not the text {fields!r}")
    boxes = fields if isinstance(fields, Mapping) else dict.fromkeys(fields)
    if not boxes:
        raise ArgumentError(f"series '{series}': no fields are chosen")
    return [(name, *(split_box(box, series) if box is not None else (None, None))) for name, box in boxes.items()]


def _hash_of(name: str) -> int:
    """Returns the FNV-1a hash of a name as a signed number: as couplet_group_split has it."""
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value - 2**64 if value >= 2**63 else value


def _seconds(timeout: float | None) -> float:
    return -1.0 if timeout is None else float(timeout)
