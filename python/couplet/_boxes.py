"""Boxes as users write them: [(start, stop), ...], half open, with one pair or slice for each dimension."""

from __future__ import annotations

from collections.abc import Sequence

from couplet.errors import ShapeError

Bounds = tuple[int, int] | slice
Box = Sequence[Bounds]


def is_one_box(given: Box | Sequence[Box]) -> bool:
    """Says whether these are the bounds of one box, and not a list of boxes."""
    if len(given) == 0:
        return False
    first = given[0]
    return isinstance(first, slice) or (len(first) > 0 and not isinstance(first[0], Sequence | slice))


def split_boxes(boxes: Sequence[Box], dimensions: int, name: str) -> tuple[list[int], list[int], int]:
    """Returns all starts, all stops, and the number of boxes."""
    starts: list[int] = []
    stops: list[int] = []
    for box in boxes:
        start, stop = split_box(box, name)
        if len(start) != dimensions:
            raise ShapeError(f"create_series: series '{name}' has {dimensions} dimensions, the box has {len(start)}")
        starts += start
        stops += stop
    return starts, stops, len(boxes)


def split_box(box: Box, name: str) -> tuple[list[int], list[int]]:
    """Returns the arrays start and stop of a box."""
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
