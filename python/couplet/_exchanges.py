"""Exchanges: the same arrays to and from the same ranks, again and again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from couplet import _couplet
from couplet._closing import Closing
from couplet._numbers import index_list


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
        terms = _couplet.EdgeTerms(peer, tag, title, every, offset, variable)
        return self._handle.add(array, terms, True)

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
        terms = _couplet.EdgeTerms(peer, tag, title, every, offset, variable)
        return self._handle.add(array, terms, False)

    def send_list(
        self, array: NDArray[Any], indices: Sequence[int], peer: int, *, block: int = 1, tag: int = 0, title: str = ""
    ) -> int:
        """Adds elements of a contiguous array: for each index, `block` elements from index * block on."""
        terms = _couplet.EdgeTerms(peer, tag, title, 1, 0, False)
        return self._handle.add_list(array, index_list(indices), block, terms, True)

    def receive_list(
        self, array: NDArray[Any], indices: Sequence[int], peer: int, *, block: int = 1, tag: int = 0, title: str = ""
    ) -> int:
        """Adds elements of a contiguous array to what comes from rank `peer`. See `send_list`."""
        terms = _couplet.EdgeTerms(peer, tag, title, 1, 0, False)
        return self._handle.add_list(array, index_list(indices), block, terms, False)

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
        self._handle.wait(-1.0 if timeout is None else float(timeout))

    def arrived(self, edge: int) -> bool:
        """Returns whether what the edge receives has arrived in this round."""
        return self._handle.arrived(edge)

    def set_length(self, edge: int, length: int) -> None:
        """Sets how many bytes of an edge with a variable length are sent from the next round on."""
        self._handle.set_length(edge, length)

    def length(self, edge: int) -> int:
        """Returns the bytes that the edge moves: as set, or as arrived last."""
        return self._handle.length(edge)

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
