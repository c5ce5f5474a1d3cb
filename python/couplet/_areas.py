"""Areas: an array in the memory of its owner, which other processes read and write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from couplet import _couplet
from couplet._arguments import count as count_of
from couplet._arguments import in_name_of, seconds
from couplet._boxes import Box, split_box
from couplet._buffers import refuse_buffer
from couplet._closing import Closing
from couplet._elements import dtype_of
from couplet.errors import Error


@dataclass(frozen=True)
class AreaInfo:
    """Describes an area. Its route is "own", "mapped", "memory" (in the owner's process) or "served"."""

    name: str
    route: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    owner: int
    stamped: bool


class Area(Closing):
    """An n-D array in the memory of one rank. Use it as a context manager, or call close.

    Reading and writing block for at most `timeout` seconds (None: for ever). They raise ShapeError if the elements are
    not inside the area, PeerLostError if the owner has died or left, and DeadlineError if the owner makes no call, or
    if the area was being written all the time.
    """

    def __init__(self, handle: _couplet.Area) -> None:
        self._handle = handle
        found = handle.describe()
        self._name: str = found["name"]
        self._shape: tuple[int, ...] = found["shape"]

    @property
    def info(self) -> AreaInfo:
        """Describes the area: name, route, dtype, shape, owner, and whether it is stamped."""
        found = self._handle.describe()
        return AreaInfo(
            found["name"], found["route"], dtype_of(found["type"]), found["shape"], found["owner"], found["stamped"]
        )

    @property
    def memory(self) -> NDArray[Any] | None:
        """Gives an array over the elements if they are in this process's memory (the owner's, or route "mapped"), else
        None.

        The array keeps its memory: it can be used after the area is closed and the universe is left. What other
        processes read and write is then no longer there.
        """
        return self._handle.memory()

    def read(self, box: Box | None = None, *, timeout: float | None = None) -> NDArray[Any]:
        """Reads `box` (default: the whole area) into a new array. The elements of a stamped area are all from one
        write.
        """
        return self._read("read", box, timeout)[0]

    def read_stamped(self, box: Box | None = None, *, timeout: float | None = None) -> tuple[NDArray[Any], int]:
        """Reads as `read` does, and also returns how often a stamped area has been written."""
        return self._read("read_stamped", box, timeout)

    def _read(self, call: str, box: Box | None, timeout: float | None) -> tuple[NDArray[Any], int]:
        try:
            return self._handle.read(*self._bounds(box, call), seconds(timeout, "timeout", call))
        except Error as error:
            in_name_of(call, error)
            raise

    def write(self, array: Any, box: Box | None = None, *, timeout: float | None = None) -> int:
        """Writes `box` (default: the whole area), and returns how often a stamped area has been written."""
        wait_s = seconds(timeout, "timeout", "write")
        if array is None:
            refuse_buffer("write", array, False, True)
        return self._handle.write(array, *self._bounds(box, "write"), wait_s)

    def read_elements(self, offset: int, count: int, *, timeout: float | None = None) -> NDArray[Any]:
        """Reads `count` elements into a new array, beginning with element `offset` in C order."""
        where = f"read_elements: area '{self._name}'"
        offset = count_of(offset, "offset", where)
        count = count_of(count, "count", where)
        return self._handle.read_elements(offset, count, seconds(timeout, "timeout", "read_elements"))[0]

    def write_elements(self, array: Any, offset: int, *, timeout: float | None = None) -> int:
        """Writes the elements of the array, beginning with element `offset` in C order. Returns as `write` does."""
        offset = count_of(offset, "offset", f"write_elements: area '{self._name}'")
        wait_s = seconds(timeout, "timeout", "write_elements")
        if array is None:
            refuse_buffer("write_elements", array, False, True)
        return self._handle.write_elements(array, offset, wait_s)

    def begin(self, timeout: float | None = None) -> None:
        """Begins a change of a stamped area by its owner, in its own memory. Others cannot read or write until
        `end`.
        """
        self._handle.begin(seconds(timeout, "timeout", "begin"))

    def end(self) -> None:
        """Ends a change that `begin` has begun."""
        self._handle.end()

    def close(self) -> None:
        """Closes the area. If the owner closes it, others can no longer reach it. It may be called twice.

        Arrays that `memory` has given stay as they are; their memory is given back with the last of them.
        """
        self._handle.close()

    def _bounds(self, box: Box | None, call: str) -> tuple[list[int], list[int]]:
        if box is not None:
            return split_box(box, f"{call}: area '{self._name}'")
        return [0] * len(self._shape), list(self._shape)
