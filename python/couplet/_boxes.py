"""Boxes as users write them: [(start, stop), ...], half open, with one pair or slice for each dimension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from couplet._arguments import counted, items, shown, whole_number
from couplet.errors import ShapeError

Bounds = tuple[int, int] | slice
Box = Sequence[Bounds]

_EXAMPLE = "a list with (start, stop) for each dimension, such as [(0, 4), (0, 3)]"


def _is_list(given: Any) -> bool:
    if isinstance(given, np.ndarray):
        return given.ndim > 0
    return isinstance(given, Sequence) and not isinstance(given, str | bytes)


def is_one_box(given: Any) -> bool:
    """Says whether these are the bounds of one box, and not a list of boxes."""
    if not _is_list(given) or len(given) == 0:
        return not _is_list(given)  # what is no list at all is refused as a box
    first = given[0]
    if not _is_list(first):
        return True
    return len(first) > 0 and not _is_list(first[0]) and not isinstance(first[0], slice)


def split_boxes(boxes: Any, dimensions: int, where: str, name: str = "box") -> tuple[list[int], list[int], int]:
    """Returns all starts, all stops, and the number of boxes."""
    starts: list[int] = []
    stops: list[int] = []
    for place, box in enumerate(boxes):
        start, stop = split_box(box, where, f"{name}[{place}]" if len(boxes) > 1 else name)
        if len(start) != dimensions:
            raise ShapeError(f"{where}: {name} has {counted(len(start), 'dimension')}, the array has {dimensions}")
        starts += start
        stops += stop
    return starts, stops, len(boxes)


def split_box(box: Any, where: str, name: str = "box") -> tuple[list[int], list[int]]:
    """Returns the arrays start and stop of a box. `where` names the call, and what is read or written."""
    start: list[int] = []
    stop: list[int] = []
    if isinstance(box, Mapping):
        raise ShapeError(f"{where}: {name} is {shown(box)}; it must be {_EXAMPLE}")
    for dimension, bounds in enumerate(items(box, name, where, _EXAMPLE)):
        title = f"{name}[{dimension}]"
        if isinstance(bounds, slice):
            if bounds.step not in (None, 1) or bounds.stop is None:
                raise ShapeError(f"{where}: {title} is {bounds}; it must have a stop and no stride: slice(start, stop)")
            start.append(0 if bounds.start is None else whole_number(bounds.start, f"start of {title}", where))
            stop.append(whole_number(bounds.stop, f"stop of {title}", where))
        else:
            if not _is_list(bounds) or len(bounds) != 2:
                raise ShapeError(f"{where}: {title} is {shown(bounds)}; it must be (start, stop); {name} is {_EXAMPLE}")
            start.append(whole_number(bounds[0], f"{title}[0]", where))
            stop.append(whole_number(bounds[1], f"{title}[1]", where))
    return start, stop
