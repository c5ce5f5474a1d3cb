"""Groups of ranks, and messages between them.

As in mpi4py, the name shows the cost. ``Send``, ``Recv``, ``Isend`` and ``Irecv`` move the memory of an array or buffer
(NumPy, DLPack or the buffer protocol) without a copy in Python. ``send``, ``recv``, ``isend`` and
``irecv`` move any Python object, pickled. A call of one kind never receives a message of the other. Programs in other
languages see only messages of the first kind.
"""

from __future__ import annotations

import asyncio
import itertools
import pickle
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from couplet import _couplet
from couplet._arguments import (
    MAX_INT32,
    count,
    flag,
    in_name_of,
    index_list,
    instance,
    rank_number,
    seconds,
    shown,
    text,
    whole_number,
)
from couplet._buffers import refuse_buffer
from couplet._coalesce import StepManager
from couplet._collectives import Collectives
from couplet._couplet import Message
from couplet._exchanges import Exchange
from couplet._halos import Grid, Halo
from couplet._requests import Request, is_of_signal
from couplet._waiting import Entry, Thing, ready, wake
from couplet.errors import ArgumentTypeError, Error

ANY_SOURCE = -1
ANY_TAG = -1
MAX_PHASES = 64

# An object is sent as one message of up to ENVELOPE_BYTES: its size, a number and its pickle. A longer pickle follows
# in a context of its own, with the number as its tag, so that concurrent receives cannot take each other's messages.
# The universe counts for all its groups, since several Group objects may stand for the same context. It begins with any
# number, since pickles of a killed process may wait to be received when the process has been started again. The pickle
# is sent first: a process that is killed between the two leaves no envelope that waits for a pickle.
ENVELOPE_BYTES = 4096
_ENVELOPE = struct.Struct("<Qi")
_INLINE_BYTES = ENVELOPE_BYTES - _ENVELOPE.size

_LARGEST_NUMBER = 0x7FFFFFFF

MakeGroup = Callable[[str, Sequence[int]], _couplet.Group]


class MessageArrival(Thing):
    """Stands for a message that can be received, for `wait_any` and `Universe.ready`."""

    def __init__(self, handle: _couplet.Group, source: int, tag: int) -> None:
        self._handle = handle
        self._source = source
        self._tag = tag
        self._message: Message | None = None

    @property
    def message(self) -> Message | None:
        """Gives source, tag and size of the message that the last wait has found; its count is in bytes.

        Of an object, the size is not known before it is received.
        """
        return self._message

    def _entry(self) -> Entry:
        return self._handle, 0, self._source, self._tag

    def _note(self, message: Message) -> bool:
        self._message = message
        return True


class Group(Collectives):
    """An ordered set of ranks, numbered 0 to size - 1.

    `target` and `source` are ranks in the group; a tag is 0 to 2**31 - 1. Calls that wait raise DeadlineError after
    `timeout` seconds (None: they wait for ever) and PeerLostError if the other rank has died or left.
    """

    def __init__(self, handle: _couplet.Group, name: str, find_objects: Callable[[], Objects]) -> None:
        self._handle = handle
        self._name = name
        self._find_objects = find_objects
        self._found: Objects | None = None  # not before it is needed, for it makes two more groups

    @property
    def name(self) -> str:
        """Gives the name with which the group was created."""
        return self._name

    @property
    def rank(self) -> int:
        """Gives the caller's rank in the group, or -1 if it is not a member."""
        return self._handle.rank()

    @property
    def size(self) -> int:
        """Gives the number of ranks."""
        return self._handle.size()

    def create_exchange(self, name: str, *, method: str = "auto", timeout: float = 60.0) -> Exchange:
        """Creates the exchange `name` among the ranks of the group. No message is sent.

        `method`: "auto" or the name of one. `timeout` bounds freezing and closing, in seconds.
        """
        call = "create_exchange"
        method = text(method, "method", call)
        name = text(name, "name", call)
        return Exchange(_couplet.create_exchange(self._handle, name, method, seconds(timeout, "timeout", call)))

    def create_halo(
        self, name: str, grid: Grid, *, widths: bool = False, method: str = "auto", timeout: float = 60.0
    ) -> Halo:
        """Creates the halo `name` for a grid with one block for each rank of the group. No message is sent.

        `widths`: whether `begin` may be given a width. `method` and `timeout`: as in `create_exchange`.
        """
        call = "create_halo"
        instance(grid, Grid, "grid", call, "a couplet.Grid")
        made = _couplet.create_halo(
            self._handle,
            text(name, "name", call),
            grid.handle,
            flag(widths, "widths", call),
            text(method, "method", call),
            seconds(timeout, "timeout", call),
        )
        return Halo(made, grid)

    def create_list_halo(
        self,
        name: str,
        owned: Sequence[int] | NDArray[Any],
        ghosts: Sequence[int] | NDArray[Any],
        *,
        owners: Sequence[int] | NDArray[Any] | None = None,
        places: Sequence[int] | NDArray[Any] | None = None,
        method: str = "auto",
        timeout: float = 60.0,
    ) -> Halo:
        """Creates the halo `name` of points that have numbers of their own. No message is sent.

        Parameters
        ----------
        owned
            The points that this rank owns, each once.
        ghosts
            The points that it needs of other ranks.
        owners
            The rank that owns each ghost; by default the owners are found.
        places
            Where each owned point, and then each ghost, is in the arrays; by default in that order.
        method, timeout
            As in `create_exchange`.
        """
        call = "create_list_halo"
        lists = _couplet.HaloLists(
            index_list(owned, "owned", call),
            index_list(ghosts, "ghosts", call),
            owners is not None,
            [] if owners is None else [rank_number(one, "owners", call) for one in index_list(owners, "owners", call)],
            places is not None,
            [] if places is None else index_list(places, "places", call),
        )
        name, method = text(name, "name", call), text(method, "method", call)
        made = _couplet.create_list_halo(self._handle, name, lists, method, seconds(timeout, "timeout", call))
        return Halo(made, None)

    def create_step_manager(
        self,
        name: str,
        *,
        method: str = "auto",
        timeout: float = 60.0,
        phases: int = 1,
        merge_waits: bool = True,
        merge_messages: bool = True,
        max_events: int = 0,
    ) -> StepManager:
        """Creates the manager `name` of coalesced rounds among the ranks of the group. No message is sent.

        `timeout` bounds freezing, amending and closing, in seconds. `max_events` bounds the timeline of this rank; with
        0 there is none. All ranks give the same phases and merges.
        """
        call = "create_step_manager"
        options = _couplet.CoalesceOptions(
            text(method, "method", call),
            seconds(timeout, "timeout", call),
            whole_number(phases, "phases", call, 1, MAX_PHASES),
            flag(merge_waits, "merge_waits", call),
            flag(merge_messages, "merge_messages", call),
            count(max_events, "max_events", call),
        )
        return StepManager(_couplet.create_coalesce(self._handle, text(name, "name", call), options))

    def free(self) -> None:
        """Frees a group of create_group. The other groups belong to the universe."""
        self._handle.free()

    # The following calls move the memory of arrays and buffers.

    def Send(self, buffer: Any, target: int, tag: int = 0, timeout: float | None = None) -> None:  # noqa: N802
        """Sends an array or buffer. It returns when the memory may be changed again.

        The elements of an array with gaps, such as ``field[:, 0]``, are sent in C order.

        Raises
        ------
        DeadlineError
            The receiver has not taken the message within the timeout. The message stays on its way, and the memory
            must not be changed: the receiver gets what is in it when it takes the message.
        """
        wait_s = -1.0 if timeout is None else seconds(timeout, "timeout", "Send")
        try:
            request = self._handle.isend(buffer, target, tag)
        except (TypeError, Error) as error:
            raise _explained(error, "Send", "target", buffer, target, tag) from None
        try:
            request.wait(wait_s)
        except Error as error:
            in_name_of("Send", error)
            raise

    def Recv(  # noqa: N802
        self, buffer: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, timeout: float | None = None
    ) -> Message:
        """Receives into an array or writable buffer, which may have gaps. A message that comes after the timeout is
        left to the next receive.

        Raises
        ------
        TruncatedError
            The message is longer than the buffer, whose content is then undefined.
        ElementTypeError
            The sizes of the elements do not fit.
        """
        if timeout is not None:
            timeout = seconds(timeout, "timeout", "Recv")
        try:
            request = Request(self._handle.irecv(buffer, source, tag))
        except (TypeError, Error) as error:
            raise _explained(error, "Recv", "source", buffer, source, tag) from None
        try:
            message: Message = request._wait_or_withdraw(timeout)
        except Error as error:
            in_name_of("Recv", error)
            raise
        return message

    def Isend(self, buffer: Any, target: int, tag: int = 0) -> Request:  # noqa: N802
        """Starts to send an array or buffer, which must not change until the request is complete."""
        try:
            return Request(self._handle.isend(buffer, target, tag))
        except TypeError as error:
            raise _explained(error, "Isend", "target", buffer, target, tag) from None

    def Irecv(self, buffer: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:  # noqa: N802
        """Starts to receive into an array or writable buffer, which belongs to the library until the request is
        complete.
        """
        try:
            return Request(self._handle.irecv(buffer, source, tag))
        except TypeError as error:
            raise _explained(error, "Irecv", "source", buffer, source, tag) from None

    def Arrival(self, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> MessageArrival:  # noqa: N802
        """Returns an object that is ready when Recv could receive a message, for `wait_any` and `Universe.ready`."""
        return MessageArrival(
            self._handle, rank_number(source, "source", "Arrival"), rank_number(tag, "tag", "Arrival")
        )

    # The following calls move Python objects, pickled.

    def send(self, value: Any, target: int, tag: int = 0, timeout: float | None = None) -> None:
        """Sends an object that can be pickled."""
        wait_s = None if timeout is None else seconds(timeout, "timeout", "send")
        try:
            self._objects().send(value, target, tag, "send").wait(wait_s)
        except Error as error:
            in_name_of("send", error)
            raise

    def recv(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, timeout: float | None = None) -> Any:
        """Receives an object. One that comes after the timeout is left to the next receive."""
        wait_s = None if timeout is None else seconds(timeout, "timeout", "recv")
        try:
            return self._objects().receive(source, tag, "recv")._wait_or_withdraw(wait_s)
        except Error as error:
            in_name_of("recv", error)
            raise

    def isend(self, value: Any, target: int, tag: int = 0) -> Request:
        """Starts to send an object that can be pickled. The object may be changed at once."""
        try:
            return self._objects().send(value, target, tag, "isend")
        except Error as error:
            in_name_of("isend", error)
            raise

    def irecv(self, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Starts to receive an object."""
        try:
            return self._objects().receive(source, tag, "irecv")
        except Error as error:
            in_name_of("irecv", error)
            raise

    def arrival(self, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> MessageArrival:
        """Returns an object that is ready when recv could receive one, for `wait_any` and `Universe.ready`."""
        source, tag = rank_number(source, "source", "arrival"), rank_number(tag, "tag", "arrival")
        try:
            return ObjectArrival(self._objects(), source, tag)
        except Error as error:
            in_name_of("arrival", error)
            raise

    async def recv_async(self, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Any:
        """Receives an object in a coroutine. If it is cancelled, the next receive of this source and tag gets it."""
        source, tag = rank_number(source, "source", "recv_async"), rank_number(tag, "tag", "recv_async")
        try:
            objects = self._objects()
            await ready([ObjectArrival(objects, source, tag)])
            request = objects.receive(source, tag, "recv_async")
            try:
                return await request
            except BaseException as raised:
                ends_wait = isinstance(raised, asyncio.CancelledError | GeneratorExit)
                goes_on = request.pending and not request._part.failed
                if ends_wait or goes_on or (not request.pending and request._is_still_given_after(raised)):
                    objects.keep(request)
                raise
        except Error as error:
            in_name_of("recv_async", error)
            raise

    def _objects(self) -> Objects:
        if self._found is None:
            self._found = self._find_objects()
        return self._found


def _explained(error: Exception, call: str, peer_name: str, buffer: Any, peer: Any, tag: Any) -> Exception:
    """Returns the error of a call that moves a buffer, in its words. The extension only checks while all is well."""
    if type(error) is TypeError:  # the extension cannot convert an argument
        if buffer is None:
            refuse_buffer(call, buffer, peer_name == "source", True, "buffer")
        rank_number(peer, peer_name, call)
        rank_number(tag, "tag", call)
    return in_name_of(call, error) if isinstance(error, Error) else error


class Objects:
    """The objects that travel between the members of a group. All Group objects of the same name and ranks share it."""

    def __init__(self, name: str, ranks: Sequence[int], make: MakeGroup, numbers: Iterator[int]) -> None:
        self.envelopes = make(f"{name}:envelopes", ranks)
        self.payloads = make(f"{name}:payloads", ranks)
        self.orders = itertools.count()
        self._numbers = numbers
        self._kept: list[ObjectReceive] = []  # those whose caller was cancelled or interrupted, oldest first

    def send(self, value: Any, target: int, tag: int, call: str) -> Request:
        if type(target) is not int or type(tag) is not int or abs(target) > MAX_INT32 or abs(tag) > MAX_INT32:
            target, tag = rank_number(target, "target", call), rank_number(tag, "tag", call)
        try:
            pickled = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
        except (pickle.PicklingError, AttributeError, TypeError) as wrong:
            raise ArgumentTypeError(
                f"{call}: value is {shown(value)}; it must be an object that can be pickled: {wrong}"
            ) from wrong
        number = next(self._numbers) & _LARGEST_NUMBER
        envelope = _ENVELOPE.pack(len(pickled), number)
        if len(pickled) <= _INLINE_BYTES:
            return ObjectSend(self.envelopes.isend(np.frombuffer(envelope + pickled, np.uint8), target, tag))
        payload = self.payloads.isend(np.frombuffer(pickled, np.uint8), target, number)
        return ObjectSend(self.envelopes.isend(np.frombuffer(envelope, np.uint8), target, tag), payload)

    def receive(self, source: int, tag: int, call: str) -> ObjectReceive:
        if type(source) is not int or type(tag) is not int or abs(source) > MAX_INT32 or abs(tag) > MAX_INT32:
            source, tag = rank_number(source, "source", call), rank_number(tag, "tag", call)
        while (kept := self.find_kept(source, tag)) is not None:
            with suppress(ValueError):  # another thread has taken it meanwhile
                self._kept.remove(kept)
                return kept
        return ObjectReceive(self, source, tag)

    def find_kept(self, source: int, tag: int) -> ObjectReceive | None:
        """Returns the oldest receive that was kept and that a receive of `source` and `tag` continues."""
        return next((one for one in list(self._kept) if one.is_for(source, tag)), None)

    def keep(self, request: ObjectReceive) -> None:
        """Keeps a receive whose caller has gone for the next caller, unless no message has met it."""
        with suppress(Error):
            if request._withdraw():
                return
        self._kept.append(request)
        self._kept.sort(key=lambda one: one.order)
        with suppress(Error):
            wake(self.envelopes)


class ObjectArrival(MessageArrival):
    """Stands for an object that can be received. It may be one whose receive was cancelled."""

    def __init__(self, objects: Objects, source: int, tag: int) -> None:
        super().__init__(objects.envelopes, source, tag)
        self._objects = objects

    def _settled(self) -> bool:
        kept = self._objects.find_kept(self._source, self._tag)
        if kept is None:
            return False
        self._message = kept.envelope
        return True


class ObjectSend(Request):
    """The request of an object that is being sent."""

    def __init__(self, envelope: _couplet.Request, payload: _couplet.Request | None = None) -> None:
        self._payload = payload
        super().__init__(envelope, self._take_payload)

    def _take_payload(self, _: Message) -> _couplet.Request | None:
        payload, self._payload = self._payload, None
        return payload

    def _result(self) -> Any:
        super()._result()


class ObjectReceive(Request):
    """The request of an object that is being received."""

    def __init__(self, objects: Objects, source: int, tag: int) -> None:
        self.order = next(objects.orders)
        self.envelope: Message | None = None
        self._objects = objects
        self._asked = (source, tag)
        self._buffer: NDArray[np.uint8] = np.empty(ENVELOPE_BYTES, np.uint8)
        super().__init__(objects.envelopes.irecv(self._buffer, source, tag), self._open_envelope)

    def is_for(self, source: int, tag: int) -> bool:
        """Says whether the object is one for a receive of `source` and `tag`. Its envelope has met a message."""
        if not all(
            ANY_TAG in (own, wanted) or own == wanted for own, wanted in zip(self._asked, (source, tag), strict=True)
        ):
            return False
        while self.pending and self.envelope is None:  # the rest of the envelope, which is short, is on its way
            try:
                self._finish_part(self._part.wait(-1.0))
            except Error as error:
                if is_of_signal(error):
                    raise
                self._fail(error)
        if self.envelope is None:
            return True  # it has failed, and the next receive is told
        return source in (ANY_SOURCE, self.envelope.source) and tag in (ANY_TAG, self.envelope.tag)

    def _open_envelope(self, message: Message) -> _couplet.Request | None:
        if self._arriving:
            return None
        if self.envelope is None:
            self.envelope = message
        length, number = _ENVELOPE.unpack_from(self._buffer.data)
        if length <= _INLINE_BYTES:
            self._buffer = self._buffer[_ENVELOPE.size : _ENVELOPE.size + length]
            return None
        buffer: NDArray[np.uint8] = np.empty(length, np.uint8)
        payload = self._objects.payloads.irecv(buffer, self.envelope.source, number)
        self._buffer = buffer
        return payload

    def _interrupted(self, raised: BaseException) -> None:
        self._objects.keep(self)

    @property
    def message(self) -> Message | None:
        """Gives source and tag of the object, once it has arrived."""
        return None if self.pending else self.envelope

    def _result(self) -> Any:
        super()._result()
        return pickle.loads(self._buffer.data)
