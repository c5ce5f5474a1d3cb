"""The universe: joining and leaving, programs and ranks, and the calls that make groups, series, tasks and areas."""

from __future__ import annotations

import itertools
import json
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from couplet import _couplet
from couplet._areas import Area
from couplet._arguments import (
    MAX_INT32,
    count,
    flag,
    instance,
    named,
    optional_text,
    path,
    positive,
    rank_number,
    refuse,
    seconds,
    text,
    texts,
    told,
    whole_number,
    whole_numbers,
    word,
)
from couplet._arguments import function as function_of
from couplet._boxes import Box, split_box
from couplet._closing import Closing
from couplet._collectives import Operation
from couplet._elements import type_of
from couplet._fields import FieldDescription, chosen_fields, described_fields, extents
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
_START = "'oldest', 'newest', 'next' or the number of a step, which is a whole number"
_GROUP = "a couplet.Group, such as universe.program_group"


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
        return self._handle.rank()

    @property
    def size(self) -> int:
        """Gives the number of ranks of the universe."""
        return self._handle.size()

    @property
    @named
    def program(self) -> Program:
        """Describes the program of this process."""
        return self._program(self._handle.own_program()[1])

    @property
    @named
    def program_rank(self) -> int:
        """Gives this process's rank in its program."""
        return self._handle.own_program()[2]

    @property
    @named
    def programs(self) -> tuple[Program, ...]:
        """Describes all programs, in the order of their ids."""
        return tuple(self._program(program) for program in range(self._handle.own_program()[0]))

    def _program(self, program: int) -> Program:
        return Program(program, *self._handle.program_info(program))

    def find_rank(self, program: str, rank: int = 0) -> int:
        """Returns the universe rank of rank `rank` of the program `program`."""
        program = text(program, "program", "find_rank", "the name of a program (str)")
        return self._handle.find_rank(program, whole_number(rank, "rank", "find_rank", -MAX_INT32, MAX_INT32))

    def progress(self) -> None:
        """Lets the library do pending work. It waits only for a hub that was started again: 200 ms at most."""
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
    @named
    def program_group(self) -> Group:
        """Gives the group of all ranks of this program."""
        if self._program_group is None:
            own = self.program
            ranks = range(own.first_rank, own.first_rank + own.size)
            self._program_group = self._make_group(self._handle.program_group(), f"program:{own.name}", ranks)
        return self._program_group

    @named
    def create_group(self, name: str, ranks: Iterable[int]) -> Group:
        """Creates the group `name` of these universe ranks, in this order. Every member makes the same call."""
        return self._create_group("create_group", name, ranks)

    def _create_group(self, call: str, name: str, ranks: Iterable[int]) -> Group:
        name = text(name, "name", call)
        members = whole_numbers(ranks, "ranks", call, -MAX_INT32, MAX_INT32)
        return self._make_group(self._handle.create_group(name, members), name, members)

    def create_operation(
        self, name: str, function: Callable[[NDArray[Any], NDArray[Any]], ArrayLike], *, commutative: bool = True
    ) -> Operation:
        """Makes an operation of reductions from an associative function of two arrays. Each member makes it under the
        same name. It is kept as long as the process lives.
        """
        call = "create_operation"
        function_of(function, "function", call, "a function of two arrays")
        name, commutes = text(name, "name", call), flag(commutative, "commutative", call)
        return Operation(name, self._handle.create_operation(name, function, commutes))

    @named
    def split(self, name: str, color: int | None, key: int = 0, group: Group | None = None) -> Group | None:
        """Splits a group (default: all ranks) into groups of the members that give the same color.

        Collective over the group. The members of each new group are in the order of their keys, and of their ranks if
        keys are equal. A member whose color is None, or negative, gets None.
        """
        whole = self.group if group is None else instance(group, Group, "group", "split", _GROUP)
        mark, chosen = 0, -1

        def choice() -> NDArray[np.int64]:  # what is wrong is told to the others, who make this call, too
            nonlocal mark, chosen
            mark = _hash_of(text(name, "name", "split"))
            chosen = -1 if color is None else max(whole_number(color, "color", "split"), -1)
            own = [int(chosen >= 0), max(chosen, 0), whole_number(key, "key", "split"), self.rank, mark]
            return np.array(own, np.int64)

        gathered = whole._array("allgather", lambda: whole._for_allgather(choice()), None, "automatic")
        rows = [tuple(int(value) for value in row) for row in gathered]
        other = next((place for place, row in enumerate(rows) if row[4] != mark), None)
        if other is not None:
            raise MismatchError(f"split: rank {other} splits the group under another name than {name!r}")
        if chosen < 0:
            return None
        members = sorted((row[2], place, row[3]) for place, row in enumerate(rows) if row[:2] == (1, chosen))
        return self.create_group(f"{name}:{chosen}", [member[2] for member in members])

    @named
    def heads_group(self, name: str = "heads") -> Group:
        """Creates the group of the ranks 0 of all programs."""
        return self._create_group("heads_group", name, [program.first_rank for program in self.programs])

    @named
    def program_group_of(self, program: str) -> Group:
        """Creates the group of all ranks of one program. Ranks of other programs are no members."""
        program = text(program, "program", "program_group_of", "the name of a program (str)")
        found = next((one for one in self.programs if one.name == program), None)
        if found is None:
            names = ", ".join(repr(one.name) for one in self.programs)
            raise NotFoundError(f"program_group_of: there is no program {program!r} in this universe; it has {names}")
        return self.create_group(f"ranks of {program}", range(found.first_rank, found.first_rank + found.size))

    @named
    def filter_group(self, name: str, keep: Callable[[int, Program], bool]) -> Group:
        """Creates the group of the universe ranks for which keep(rank, program) is true, in their order. Every process
        calls it with a function that decides alike.
        """
        function_of(keep, "keep", "filter_group", "a function of a rank and a Program")
        ranks = [
            rank
            for program in self.programs
            for rank in range(program.first_rank, program.first_rank + program.size)
            if keep(rank, program)
        ]
        return self._create_group("filter_group", name, ranks)

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
            memory_bytes is 0, too, it is 256 MiB, and at most 4096 steps. If the series has a setting, that counts in
            place of each default of this call.
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
            Another live program writes a series of this name, or this process writes or creates it; a box is outside
            the array, or overlaps with another; the ranks do not agree.
        LimitError, NoSpaceError
            There are too many fields, boxes or required readers, or the slots do not fit into shared memory.
        """
        call = "create_series"
        members = _handle_of(group, call)
        name = text(name, "name", call)
        call = f"{call}: series '{name}'"
        with told(partial(self._handle.refuse_create_series, members, name)):
            given = (
                described_fields(call, shape, dtype, box, fields),
                count(slots, "slots", call),
                count(memory_bytes, "memory_bytes", call),
                ",".join(texts(required_readers, "required_readers", call)),
                seconds(required_timeout, "required_timeout", call),
                seconds(wait_timeout, "wait_timeout", call),
                seconds(evict_after_held, "evict_after_held", call),
                members,
                count(holders, "holders", call),
                flag(collective, "collective", call),
            )
        return Writer(self._handle.create_series(name, *given))

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
            every, latest, torn, interval and others. Also with timeout=0, the call waits for an answer of the hub, for
            at most 5 s.
        """
        call = "open_series"
        readers = _handle_of(group, call)
        name = text(name, "name", call)
        call = f"{call}: series '{name}'"
        alone = isinstance(local := options.get("local"), bool | np.bool_) and local
        with nullcontext() if alone else told(partial(self._handle.refuse_open_series, readers, name)):
            members = members_of(call, options)
            if isinstance(start, str):
                members["from"] = word(start, "start", call, _STARTS, _START)
            else:
                members["from"] = _FROM_STEP
                members["from_step"] = whole_number(start, "start", call, wanted=_START)
            members["type"] = -1 if dtype is None else type_of(dtype, "dtype", call)
            first, last = split_box(box, call) if box is not None else (None, None)
            choices = chosen_fields(call, fields)
            wanted = "a couplet.Weights, as couplet.weights.from_file returns it"
            matrix = None if weights is None else instance(weights, Weights, "weights", call, wanted).arrays()
        return Reader(self._handle.open_series(name, first, last, readers, choices, matrix, members))

    @named
    def requester(self, name: str, *, couplers: str = "coupler") -> Requester:
        """Opens the tasks `name` to submit requests. `couplers` is the program whose ranks dispatch them."""
        name = text(name, "name", "requester")
        couplers = text(couplers, "couplers", "requester", "the name of a program (str)")
        return Requester(self._handle.open_tasks(name, 0, -1, 0, 0, 0, 0, couplers, "", ""), name, couplers)

    @named
    def worker(
        self, name: str, *, worker_id: int | None = None, group_size: int = 0, couplers: str = "coupler"
    ) -> Worker:
        """Opens the tasks `name` to work on them. Every rank of the program makes the same call.

        Parameters
        ----------
        worker_id
            The id by which requests find these workers, from 0 on (default: the id of the program).
        group_size
            Number of consecutive ranks that do a task together; 0: all ranks of the program.
        couplers
            The program whose ranks dispatch.
        """
        call = "worker"
        name = text(name, "name", call)
        own = -1 if worker_id is None else count(worker_id, "worker_id", call, MAX_INT32)
        size = whole_number(group_size, "group_size", call, -MAX_INT32, MAX_INT32)
        couplers = text(couplers, "couplers", call, "the name of a program (str)")
        return Worker(self._handle.open_tasks(name, 1, own, size, 0, 0, 0, couplers, "", ""))

    @named
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
        call = "coupler"
        own = self.program.name if couplers is None else text(couplers, "couplers", call, "the name of a program (str)")
        return Coupler(
            self._handle.open_tasks(
                text(name, "name", call),
                2,
                -1,
                0,
                word(on_lost, "on_lost", call, _ON_LOST),
                word(policy, "policy", call, _POLICIES),
                count(queue_limit, "queue_limit", call),
                own,
                ",".join(texts(requesters, "requesters", call)),
                ",".join(texts(workers, "workers", call)),
            )
        )

    def create_area(
        self, name: str, shape: Sequence[int], dtype: DTypeLike = np.float64, *, stamped: bool = False
    ) -> Area:
        """Creates the area `name` in memory of the library, which is set to zero. `Area.memory` is an array over it.

        If it is `stamped`, one process writes at a time, and what is read is whole. Never waits for another process.
        """
        name = text(name, "name", "create_area")
        call = f"create_area: area '{name}'"
        kind = type_of(dtype, "dtype", call)
        return Area(self._handle.create_area(name, kind, extents(shape, call), flag(stamped, "stamped", call), None))

    @named
    def expose_area(self, name: str, array: NDArray[Any], *, stamped: bool = False) -> Area:
        """Makes an array of yours (C-contiguous, writable) an area. The array is kept until the area is closed."""
        name = text(name, "name", "expose_area")
        call = f"expose_area: area '{name}'"
        if not isinstance(array, np.ndarray):
            refuse(array, "array", call, "a NumPy array")
        kind = type_of(array.dtype, "the dtype of array", call)
        made = self._handle.create_area(name, kind, extents(array.shape, call), flag(stamped, "stamped", call), array)
        return Area(made)

    def open_area(self, name: str, owner: int, timeout: float = 60.0) -> Area:
        """Opens the area `name` of universe rank `owner`. Blocking: until it exists, at most `timeout` seconds."""
        name = text(name, "name", "open_area")
        call = f"open_area: area '{name}'"
        return Area(self._handle.open_area(name, rank_number(owner, "owner", call), seconds(timeout, "timeout", call)))


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
        optional_text(program, "program", "join"),
        -1 if rank is None else count(rank, "rank", "join", MAX_INT32),
        -1 if size is None else positive(size, "size", "join", MAX_INT32),
        optional_text(hub, "hub", "join"),
        "" if secret_file is None else path(secret_file, "secret_file", "join"),
        seconds(timeout, "timeout", "join"),
        flag(multiple_threads, "multiple_threads", "join"),
    )
    if comm is None:
        return Universe(_couplet.join(request))
    if rank is not None or size is not None:
        raise ArgumentError("join: rank and size come from the communicator; give one or the other")
    if not hasattr(comm, "Get_rank"):
        refuse(comm, "comm", "join", "a communicator of mpi4py, or None (rank and size are given by their names)")
    from couplet import _mpi

    return Universe(_mpi.join(request, comm))


def _handle_of(group: Group | None, call: str) -> _couplet.Group | None:
    return None if group is None else instance(group, Group, "group", call, _GROUP)._handle


def _hash_of(name: str) -> int:
    """Returns the FNV-1a hash of a name as a signed number: as couplet_group_split has it."""
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value - 2**64 if value >= 2**63 else value
