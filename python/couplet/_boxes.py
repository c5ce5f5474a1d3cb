"""Boxes as users write them: [(start, stop), ...], half open, one pair for each dimension; slices do as well."""

from __future__ import annotations

from collections.abc import Sequence

from couplet.errors import ShapeError

Bounds = tuple[int, int] | slice
Box = Sequence[Bounds]


def split_box(box: Box, name: str) -> tuple[list[int], list[int]]:
    """Arrays start and stop."""
    start: list[int] = []
    stop: list[int] = []
    for dimension, bounds in enumerate(box):
        if isinstance(bounds, slice):
            if bounds.step not in (None, 1) or bounds.stop is None:
                raise ShapeError(f"series '{name}', dimension {dimension}: a box has a stop and no stride: {bounds}")
            start.append(int(bounds.start or 0))
            stop.append(int(bounds.stop))
        else:
            if len(bounds) != 2:
                raise ShapeError(f"series '{name}', dimension {dimension}: a box is (start, stop), not {bounds!r}")
            start.append(int(bounds[0]))
            stop.append(int(bounds[1]))
    return start, stop
