"""Grids that are divided into blocks, and the cells around the block of this rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from couplet import _couplet
from couplet._arguments import MAX_INT32, counted, flag, flags, items, named, seconds, text, whole_number, whole_numbers
from couplet._buffers import refuse_buffer
from couplet._closing import Closing
from couplet.errors import ArgumentError, ShapeError

MAX_DIMENSIONS = 4


class Grid:
    """A grid of cells that is divided into one block for each rank. All ranks give the same.

    Ranks are numbered with the last dimension fastest.

    Parameters
    ----------
    cells
        The number of cells of the whole grid in each dimension.
    ranks
        How many ranks there are.
    blocks
        The number of blocks in each dimension. If it is 0, a number is chosen with which blocks have few cells at
        their faces.
    periodic
        True for a dimension that wraps around: its last cell is next to its first one.
    block_cells
        The number of cells of each block, for each dimension; by default they are as even as possible.
    """

    def __init__(
        self,
        cells: Sequence[int],
        ranks: int,
        *,
        blocks: Sequence[int] | None = None,
        periodic: Sequence[bool] | None = None,
        block_cells: Sequence[Sequence[int]] | None = None,
    ) -> None:
        cells = whole_numbers(cells, "cells", "Grid")
        dimensions = len(cells)
        if not 1 <= dimensions <= MAX_DIMENSIONS:
            raise ArgumentError(f"Grid: a grid must have 1 to {MAX_DIMENSIONS} dimensions, not {dimensions}")
        given = []
        if block_cells is not None:
            lists = items(block_cells, "block_cells", "Grid", "a list of lists of whole numbers")
            given = [whole_numbers(one, f"block_cells[{place}]", "Grid") for place, one in enumerate(lists)]
        if blocks is None:
            blocks = [len(one) for one in given] if given else [0] * dimensions
        blocks = whole_numbers(blocks, "blocks", "Grid", -1, MAX_INT32)
        around = [False] * dimensions if periodic is None else flags(periodic, "periodic", "Grid")
        if len(blocks) != dimensions or len(around) != dimensions or (given and len(given) != dimensions):
            wanted = counted(dimensions, "entry", "entries")
            raise ArgumentError(f"Grid: blocks, periodic and block_cells must have {wanted}, as cells has")
        if given and [len(one) for one in given] != list(blocks):
            raise ArgumentError("Grid: block_cells must have an entry for each block of each dimension")
        flat = [each for one in given for each in one]
        self._cells = tuple(cells)
        self._periodic = tuple(around)
        self._handle = _couplet.Grid(self._cells, blocks, around, flat)
        self._handle.divide(whole_number(ranks, "ranks", "Grid", -1, MAX_INT32))

    @property
    def handle(self) -> _couplet.Grid:
        """The grid of the extension."""
        return self._handle

    @property
    def cells(self) -> tuple[int, ...]:
        """The cells of the whole grid."""
        return self._cells

    @property
    def periodic(self) -> tuple[bool, ...]:
        """Whether what is beyond one end is at the other."""
        return self._periodic

    @property
    def blocks(self) -> tuple[int, ...]:
        """The number of blocks in each dimension."""
        return tuple(self._handle.blocks)

    def box(self, rank: int) -> list[tuple[int, int]]:
        """Returns the cells of a block: start and stop (not included) in each dimension."""
        start, stop = self._handle.box(whole_number(rank, "rank", "box", -1, MAX_INT32))
        return list(zip(start, stop, strict=True))

    @named
    def shape(self, rank: int, width: int = 0) -> tuple[int, ...]:
        """Returns the shape of an array that holds a block, and `width` cells at each of its sides."""
        around = 2 * whole_number(width, "width", "shape")
        rank = whole_number(rank, "rank", "shape", -1, MAX_INT32)
        return tuple(stop - start + around for start, stop in self.box(rank))

    def neighbor(self, rank: int, offset: Sequence[int]) -> int | None:
        """Returns the rank whose block is so many blocks away, or None if that is beyond the grid."""
        steps = whole_numbers(offset, "offset", "neighbor")
        if len(steps) != len(self._cells):
            wanted = counted(len(self._cells), "entry", "entries")
            raise ArgumentError(f"neighbor: offset must have {wanted}, not {len(steps)}")
        found = self._handle.neighbor(whole_number(rank, "rank", "neighbor", -1, MAX_INT32), steps)
        return None if found < 0 else found


class Halo(Closing):
    """The cells around the block of this rank, or the ghosts of its list of points.

    `Group.create_halo` and `Group.create_list_halo` make it. Use it in a `with` block, or call close.

    Add the arrays, call `freeze` on all ranks, and then `begin` and `end` in each round. Arrays are read and written in
    place, in any order and with gaps.
    """

    def __init__(self, handle: _couplet.Halo, grid: Grid | None) -> None:
        self._handle = handle
        self._dimensions = 1 if grid is None else len(grid.cells)

    def add(
        self,
        array: NDArray[Any],
        width: int | Sequence[int] = 0,
        *,
        below: Sequence[int] | None = None,
        above: Sequence[int] | None = None,
        first: Sequence[int] | None = None,
        staggered: Sequence[bool] | None = None,
        corners: bool = False,
        component_axis: int | None = None,
        name: str = "",
    ) -> None:
        """Adds a field: an array that holds the block of this rank and some points around it.

        Parameters
        ----------
        array
            An array with the dimensions of the grid, or with one dimension for the points of a list. It has one more if
            each point has components.
        width
            How many points come from each side; one number, or one for each dimension.
        below, above
            The same for the lower and for the upper sides, in place of `width`.
        first
            Where the block begins in the array; by default behind `below`.
        staggered
            True in dimensions in which points lie between cells. The array then has one point more there.
        corners
            Whether points come also from blocks that share only an edge or a corner with this one.
        component_axis
            The axis of the components; by default the last one, if the array has one more dimension.
        name
            What error texts call the field.
        """
        dimensions = self._dimensions
        if not hasattr(array, "ndim"):
            refuse_buffer("add", array, True, False)
        axis = None if component_axis is None else whole_number(component_axis, "component_axis", "add")
        if axis is None and array.ndim == dimensions + 1:
            axis = -1
        if axis is not None and -array.ndim <= axis < array.ndim:
            axis %= array.ndim
        if array.ndim != dimensions + (axis is not None) or (axis is not None and not 0 <= axis < array.ndim):
            raise ShapeError(
                f"add: the array has {counted(array.ndim, 'dimension')}, and the halo {dimensions}; "
                "only an array with components has one more"
            )
        terms = _couplet.HaloTerms(
            text(name, "name", "add"),
            entries(below, width, dimensions, "below", "width"),
            entries(above, width, dimensions, "above", "width"),
            entries(first, -1, dimensions, "first"),
            _staggered(staggered, dimensions),
            flag(corners, "corners", "add"),
            -1 if axis is None else axis,
        )
        self._handle.add(array, terms)

    def freeze(self) -> None:
        """Agrees with the other ranks on the fields and on the method. Collective over the group.

        Raises MismatchError if two ranks disagree on the grid or on a field.
        """
        self._handle.freeze()

    def begin(self, width: int | None = None) -> None:
        """Begins a round. Until it has ended, the block may only be read, and what is around it not be used.

        `width`: how far the halos reach in this round, the same at all ranks; None: as far as the fields say.
        """
        reach = -1
        if width is not None:
            reach = whole_number(width, "width", "begin", most=MAX_INT32)
            reach = reach if reach >= 0 else -2
        self._handle.begin(reach)

    def test(self) -> bool:
        """Returns whether the round is over. Never blocks."""
        return self._handle.test()

    def end(self, timeout: float | None = None) -> None:
        """Waits until the round is over. After DeadlineError it is still under way."""
        self._handle.end(seconds(timeout, "timeout", "end"))

    @property
    def method(self) -> str:
        """The name of the method, or "" before the halo is frozen."""
        return self._handle.method()

    def explain(self) -> str:
        """Returns a table of the methods, their times in the trials, and why others were left out."""
        return self._handle.explain()

    def close(self) -> None:
        """Closes the halo. Ranks that wait for a round which this one has not begun get StateError."""
        self._handle.close()


def entries(given: Any, default: Any, dimensions: int, name: str, other: str = "") -> list[int]:
    """Returns one number for each dimension. `other`: the argument that `default` comes from."""
    if given is None:
        name = other or name
        is_list = isinstance(default, Sequence | np.ndarray) and not isinstance(default, str)
        given = default if is_list else [whole_number(default, name, "add")] * dimensions
    numbers = whole_numbers(given, name, "add")
    if len(numbers) != dimensions:
        wanted = counted(dimensions, "entry", "entries")
        raise ArgumentError(f"add: {name} must have {wanted}, as many as the grid has dimensions")
    return numbers


def _staggered(given: Sequence[bool] | None, dimensions: int) -> list[bool]:
    chosen = [False] * dimensions if given is None else flags(given, "staggered", "add")
    if len(chosen) != dimensions:
        wanted = counted(dimensions, "entry", "entries")
        raise ArgumentError(f"add: staggered must have {wanted}, as many as the grid has dimensions")
    return chosen
