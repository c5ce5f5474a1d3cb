"""Exchanges: the same arrays to and from the same ranks, again and again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from couplet import _couplet
from couplet._arguments import MAX_INT32, count, flag, index_list, positive, rank_number, seconds, text, whole_number
from couplet._buffers import given
from couplet._closing import Closing


class Exchange(Closing):
    """One rank's part in an exchange. `Group.create_exchange` makes it. Use it as a context manager, or call close.

    Add the arrays that go out and come in, call `freeze` on all ranks, and then `start` and `wait` in each round. An
    array may be a view with gaps, such as a face of a block: it is read and written in place.
    """

    def __init__(self, handle: _couplet.Exchange) -> None:
        self._handle = handle

    def send(
        self,
        array: NDArray[Any],
        peer: int,
        *,
        tag: int = 0,
        title: str = "",
        every: int = 1,
        offset: int = 0,
        variable: bool = False,
    ) -> int:
        """Adds an array to what goes to rank `peer`, and returns the number of the edge.

        Peer and tag name the edge, which takes part in the rounds offset, offset + every, ... The receiver gives the
        same terms. Arrays with the same peer and tag are parts of one edge. With `variable`, `set_length` says how many
        bytes are sent.
        """
        terms = _edge("send", peer, tag, title, every, offset, variable)
        return self._handle.add(given(array, "send"), terms, True)

    def receive(
        self,
        array: NDArray[Any],
        peer: int,
        *,
        tag: int = 0,
        title: str = "",
        every: int = 1,
        offset: int = 0,
        variable: bool = False,
    ) -> int:
        """Adds an array to what comes from rank `peer`, and returns the number of the edge. See `send`."""
        terms = _edge("receive", peer, tag, title, every, offset, variable)
        return self._handle.add(given(array, "receive"), terms, False)

    def send_list(
        self, array: NDArray[Any], indices: Sequence[int], peer: int, *, block: int = 1, tag: int = 0, title: str = ""
    ) -> int:
        """Adds elements of a contiguous array: for each index, `block` elements from index * block on."""
        terms = _edge("send_list", peer, tag, title, 1, 0, False)
        chosen = index_list(indices, "indices", "send_list")
        block = count(block, "block", "send_list")
        return self._handle.add_list(given(array, "send_list"), chosen, block, terms, True)

    def receive_list(
        self, array: NDArray[Any], indices: Sequence[int], peer: int, *, block: int = 1, tag: int = 0, title: str = ""
    ) -> int:
        """Adds elements of a contiguous array to what comes from rank `peer`. See `send_list`."""
        terms = _edge("receive_list", peer, tag, title, 1, 0, False)
        chosen = index_list(indices, "indices", "receive_list")
        block = count(block, "block", "receive_list")
        return self._handle.add_list(given(array, "receive_list"), chosen, block, terms, False)

    def freeze(self) -> None:
        """Agrees with the other ranks on the edges and on the method. Collective over the group.

        Raises MismatchError if two ranks disagree on an edge.
        """
        self._handle.freeze()

    def start(self) -> None:
        """Begins a round. Leave the arrays alone until it has ended."""
        self._handle.start()

    def test(self) -> bool:
        """Returns whether the round is over. Never blocks."""
        return self._handle.test()

    def wait(self, timeout: float | None = None) -> None:
        """Waits until the round is over. After DeadlineError it is still under way."""
        self._handle.wait(seconds(timeout, "timeout", "wait"))

    def arrived(self, edge: int) -> bool:
        """Returns whether what the edge receives has arrived in this round."""
        return self._handle.arrived(_number_of(edge, "arrived"))

    def set_length(self, edge: int, length: int) -> None:
        """Sets how many bytes of an edge with a variable length are sent from the next round on."""
        self._handle.set_length(_number_of(edge, "set_length"), count(length, "length", "set_length"))

    def length(self, edge: int) -> int:
        """Returns the bytes that the edge moves: as set, or as arrived last."""
        return self._handle.length(_number_of(edge, "length"))

    @property
    def method(self) -> str:
        """The name of the method, or "" before the exchange is frozen."""
        return self._handle.method()

    def explain(self) -> str:
        """Returns a table of the methods, their times in the trials, and why others were left out."""
        return self._handle.explain()

    def close(self) -> None:
        """Closes the exchange. Ranks that wait for a round which this one has not begun get StateError."""
        self._handle.close()


def _number_of(edge: Any, call: str) -> int:
    return whole_number(edge, "edge", call, 0, MAX_INT32, "the number of an edge, as send and receive return it")


def _edge(call: str, peer: Any, tag: Any, title: Any, every: Any, offset: Any, variable: Any) -> _couplet.EdgeTerms:
    """Returns the terms of an edge."""
    return _couplet.EdgeTerms(
        rank_number(peer, "peer", call),
        whole_number(tag, "tag", call),
        text(title, "title", call),
        positive(every, "every", call),
        count(offset, "offset", call),
        flag(variable, "variable", call),
    )
