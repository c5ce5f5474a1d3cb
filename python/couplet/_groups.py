"""Groups of ranks, and messages between them.

As in mpi4py, the name shows the cost. ``Send``, ``Recv``, ``Isend`` and ``Irecv`` move the memory of an array or buffer
(C-contiguous; NumPy, DLPack or the buffer protocol) without a copy in Python. ``send``, ``recv``, ``isend`` and
``irecv`` move any Python object, pickled. A call of one kind never receives a message of the other. Programs in other
languages see only messages of the first kind.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from couplet import _couplet
from couplet._couplet import Message
from couplet._requests import Request

ANY_SOURCE = -1
ANY_TAG = -1

# An object is sent as one message of up to ENVELOPE_BYTES: its size, a number and its pickle. A longer pickle follows
# in a context of its own, with the number as its tag, so that concurrent receives cannot take each other's messages.
ENVELOPE_BYTES = 4096
_ENVELOPE = struct.Struct("<Qi")
_INLINE_BYTES = ENVELOPE_BYTES - _ENVELOPE.size

MakeGroup = Callable[[str, Sequence[int]], _couplet.Group]


class Group:
    """An ordered set of ranks, numbered 0 to size - 1.

    `target` and `source` are ranks in the group; a tag is 0 to 2**31 - 1. Calls that wait raise DeadlineError after
    `timeout` seconds (None: they wait for ever) and PeerLostError if the other rank has died or left.
    """

    def __init__(self, handle: _couplet.Group, name: str, ranks: Callable[[], Sequence[int]], make: MakeGroup) -> None:
        self._handle = handle
        self._name = name
        self._ranks = ranks
        self._make = make
        self._contexts: tuple[_couplet.Group, _couplet.Group] | None = None
        self._sent: dict[int, int] = {}

    @property
    def name(self) -> str:
        """Gives the name with which the group was created."""
        return self._name

    @property
    def rank(self) -> int:
        """Gives the caller's rank in the group, or -1 if it is not a member."""
        return self._handle.rank_and_size()[0]

    @property
    def size(self) -> int:
        """Gives the number of ranks."""
        return self._handle.rank_and_size()[1]

    def free(self) -> None:
        """Frees a group of create_group. The other groups belong to the universe."""
        self._handle.free()

    # The following calls move the memory of arrays and buffers.

    def Send(self, buffer: Any, target: int, tag: int = 0, timeout: float | None = None) -> None:  # noqa: N802
        """Sends an array or buffer. It returns when the memory may be changed again."""
        self._handle.isend(buffer, target, tag).wait(-1.0 if timeout is None else timeout)

    def Recv(  # noqa: N802
        self, buffer: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, timeout: float | None = None
    ) -> Message:
        """Receives into an array or writable buffer. A message that comes after the timeout is left to the next
        receive.

        Raises
        ------
        TruncatedError
            The message is longer than the buffer, whose content is then undefined.
        ElementTypeError
            The sizes of the elements do not fit.
        """
        message: Message = self.Irecv(buffer, source, tag)._wait_or_withdraw(timeout)
        return message

    def Isend(self, buffer: Any, target: int, tag: int = 0) -> Request:  # noqa: N802
        """Starts to send an array or buffer, which must not change until the request is complete."""
        return Request(self._handle.isend(buffer, target, tag))

    def Irecv(self, buffer: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:  # noqa: N802
        """Starts to receive into an array or writable buffer, which belongs to the library until the request is
        complete.
        """
        return Request(self._handle.irecv(buffer, source, tag))

    # The following calls move Python objects, pickled.

    def send(self, value: Any, target: int, tag: int = 0, timeout: float | None = None) -> None:
        """Sends an object that can be pickled."""
        self.isend(value, target, tag).wait(timeout)

    def recv(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, timeout: float | None = None) -> Any:
        """Receives an object. One that comes after the timeout is left to the next receive."""
        return self.irecv(source, tag)._wait_or_withdraw(timeout)

    def isend(self, value: Any, target: int, tag: int = 0) -> Request:
        """Starts to send an object that can be pickled. The object may be changed at once."""
        envelopes, payloads = self._object_contexts()
        pickled = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
        number = self._sent.get(target, 0)
        self._sent[target] = (number + 1) & 0x7FFFFFFF
        envelope = _ENVELOPE.pack(len(pickled), number)
        if len(pickled) <= _INLINE_BYTES:
            return ObjectSend(envelopes.isend(np.frombuffer(envelope + pickled, np.uint8), target, tag))
        first = envelopes.isend(np.frombuffer(envelope, np.uint8), target, tag)
        rest = payloads.isend(np.frombuffer(pickled, np.uint8), target, number)
        return ObjectSend(first, rest)

    def irecv(self, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Starts to receive an object."""
        return ObjectReceive(*self._object_contexts(), source, tag)

    def _object_contexts(self) -> tuple[_couplet.Group, _couplet.Group]:
        if self._contexts is None:
            ranks = list(self._ranks())
            self._contexts = (
                self._make(f"{self._name}:envelopes", ranks),
                self._make(f"{self._name}:payloads", ranks),
            )
        return self._contexts


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

    def __init__(self, envelopes: _couplet.Group, payloads: _couplet.Group, source: int, tag: int) -> None:
        self._payloads = payloads
        self._envelope: Message | None = None
        self._buffer: NDArray[np.uint8] = np.empty(ENVELOPE_BYTES, np.uint8)
        super().__init__(envelopes.irecv(self._buffer, source, tag), self._open_envelope)

    def _open_envelope(self, message: Message) -> _couplet.Request | None:
        if self._envelope is not None:
            return None
        self._envelope = message
        length, number = _ENVELOPE.unpack_from(self._buffer.data)
        if length <= _INLINE_BYTES:
            self._buffer = self._buffer[_ENVELOPE.size : _ENVELOPE.size + length]
            return None
        self._buffer = np.empty(length, np.uint8)
        return self._payloads.irecv(self._buffer, message.source, number)

    @property
    def message(self) -> Message | None:
        """Gives source and tag of the object, once it has arrived."""
        return None if self.pending else self._envelope

    def _result(self) -> Any:
        super()._result()
        return pickle.loads(self._buffer.data)
