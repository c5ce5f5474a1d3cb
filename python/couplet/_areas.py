"""Areas: memory that its owner exposes and others read and write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from couplet import _couplet
from couplet._boxes import Box, split_box
from couplet._closing import Closing
from couplet._elements import dtype_of


@dataclass(frozen=True)
class AreaInfo:
    """What an area is, and how it is reached: route "own", "mapped", "memory" (in the owner's process) or "served"."""

    name: str
    route: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    owner: int
    stamped: bool


class Area(Closing):
    """An n-D array of one rank. Use as a context manager, or close it."""

    def __init__(self, handle: _couplet.Area) -> None:
        self._handle = handle

    @property
    def info(self) -> AreaInfo:
        """Name, route, dtype, shape, owner, and whether it has a stamp."""
        found = self._handle.describe()
        return AreaInfo(
            found["name"], found["route"], dtype_of(found["type"]), found["shape"], found["owner"], found["stamped"]
        )

    @property
    def memory(self) -> NDArray[Any] | None:
        """An array over the elements, where they are in this process (owner, and route "mapped"); else None."""
        return self._handle.memory()

    def read(self, box: Box | None = None, *, timeout: float | None = None) -> NDArray[Any]:
        """A new array with the elements of `box` (default: all). Of a stamped area they are of one write."""
        return self.read_stamped(box, timeout=timeout)[0]

    def read_stamped(self, box: Box | None = None, *, timeout: float | None = None) -> tuple[NDArray[Any], int]:
        """The elements, and how often a stamped area has been written."""
        return self._handle.read(*self._bounds(box), -1.0 if timeout is None else float(timeout))

    def write(self, array: Any, box: Box | None = None, *, timeout: float | None = None) -> int:
        """Write `box` (default: all); returns how often a stamped area has been written."""
        return self._handle.write(array, *self._bounds(box), -1.0 if timeout is None else float(timeout))

    def read_elements(self, offset: int, count: int, *, timeout: float | None = None) -> NDArray[Any]:
        """`count` elements from `offset` on, in C order."""
        return self._handle.read_elements(offset, count, -1.0 if timeout is None else float(timeout))[0]

    def write_elements(self, array: Any, offset: int, *, timeout: float | None = None) -> int:
        """Write the array's elements from `offset` on, in C order."""
        return self._handle.write_elements(array, offset, -1.0 if timeout is None else float(timeout))

    def begin(self, timeout: float | None = None) -> None:
        """Owner of a stamped area: before he changes its memory himself."""
        self._handle.begin(-1.0 if timeout is None else float(timeout))

    def end(self) -> None:
        """Owner of a stamped area: after that."""
        self._handle.end()

    def close(self) -> None:
        """Give it up; the owner takes it away. Again: nothing."""
        self._handle.close()

    def _bounds(self, box: Box | None) -> tuple[list[int], list[int]]:
        if box is not None:
            return split_box(box, self.info.name)
        shape = self.info.shape
        return [0] * len(shape), list(shape)
