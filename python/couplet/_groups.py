"""Groups of ranks, and messages between them.

As in mpi4py, the name shows the cost: ``Send``, ``Recv``, ``Isend``, ``Irecv`` move the memory of an array or buffer
(C-contiguous; NumPy, DLPack or the buffer protocol) without a copy on this side; ``send``, ``recv``, ``isend`` and
``irecv`` move any Python object, pickled. The two kinds never match each other. Programs in other languages see the
capitalised ones.
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

# An object travels as one message of up to ENVELOPE_BYTES (its size, a number, its pickle); a longer pickle follows in
# a context of its own, with the number as tag: concurrent receives cannot take each other's.
ENVELOPE_BYTES = 4096
_ENVELOPE = struct.Struct("<Qi")
_INLINE_BYTES = ENVELOPE_BYTES - _ENVELOPE.size

MakeGroup = Callable[[str, Sequence[int]], _couplet.Group]


class Group:
    """An ordered set of ranks, numbered 0 to size - 1."""

    def __init__(self, handle: _couplet.Group, name: str, ranks: Callable[[], Sequence[int]], make: MakeGroup) -> None:
        self._handle = handle
        self._name = name
        self._ranks = ranks
        self._make = make
        self._contexts: tuple[_couplet.Group, _couplet.Group] | None = None
        self._sent: dict[int, int] = {}

    @property
    def name(self) -> str:
        """The name it was made with."""
        return self._name

    @property
    def rank(self) -> int:
        """Of the caller; -1 where it is no member."""
        return self._handle.rank_and_size()[0]

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self._handle.rank_and_size()[1]

    def free(self) -> None:
        """End a group of create_group early; the others belong to the universe."""
        self._handle.free()

    # Memory of arrays and buffers.

    def Send(self, buffer: Any, target: int, tag: int = 0, timeout: float | None = None) -> None:  # noqa: N802
        """Send an array or buffer; returns when it may be changed again."""
        self._handle.isend(buffer, target, tag).wait(-1.0 if timeout is None else timeout)

    def Recv(  # noqa: N802
        self, buffer: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, timeout: float | None = None
    ) -> Message:
        """Receive into an array or writable buffer. A message that comes after the timeout is for the next receive."""
        message: Message = self.Irecv(buffer, source, tag)._wait_or_withdraw(timeout)
        return message

    def Isend(self, buffer: Any, target: int, tag: int = 0) -> Request:  # noqa: N802
        """Start to send an array or buffer, which must not change until the request is done."""
        return Request(self._handle.isend(buffer, target, tag))

    def Irecv(self, buffer: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:  # noqa: N802
        """Start to receive into an array or writable buffer."""
        return Request(self._handle.irecv(buffer, source, tag))

    # Python objects, pickled.

    def send(self, value: Any, target: int, tag: int = 0, timeout: float | None = None) -> None:
        """Send a picklable object."""
        self.isend(value, target, tag).wait(timeout)

    def recv(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, timeout: float | None = None) -> Any:
        """Receive an object. One that comes after the timeout is for the next receive."""
        return self.irecv(source, tag)._wait_or_withdraw(timeout)

    def isend(self, value: Any, target: int, tag: int = 0) -> Request:
        """Start to send a picklable object; it may change at once."""
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
        """Start to receive an object."""
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
    """An object on its way out."""

    def __init__(self, envelope: _couplet.Request, payload: _couplet.Request | None = None) -> None:
        self._payload = payload
        super().__init__(envelope, self._take_payload)

    def _take_payload(self, _: Message) -> _couplet.Request | None:
        payload, self._payload = self._payload, None
        return payload

    def _result(self) -> Any:
        super()._result()


class ObjectReceive(Request):
    """An object on its way in."""

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
        """Source and tag of the object, once it is there."""
        return None if self.pending else self._envelope

    def _result(self) -> Any:
        super()._result()
        return pickle.loads(self._buffer.data)
