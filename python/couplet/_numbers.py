"""Whole numbers that users give, and what is refused in their place."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def whole_number(value: Any, name: str) -> int:
    """Refuses what int() would cut: 24.5 is no number of cells."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be a whole number") from None


def whole_numbers(values: Sequence[Any], name: str) -> list[int]:
    """Does the same for each entry of a list."""
    return [whole_number(value, f"{name}[{place}]") for place, value in enumerate(values)]


def index_list(indices: Sequence[int] | NDArray[Any], name: str = "indices") -> list[int]:
    """Returns indices; a mask of True and False is none."""
    if isinstance(indices, np.ndarray) and indices.dtype.kind in "iu" and indices.ndim == 1:
        return [int(index) for index in indices.tolist()]
    for place, index in enumerate(indices):
        if isinstance(index, (bool, np.bool_)):
            raise TypeError(f"{name}[{place}] is {index}: give indices, not a mask (numpy.flatnonzero makes them)")
    numbers = []
    for place, index in enumerate(indices):
        try:
            numbers.append(operator.index(index))
        except TypeError:
            raise TypeError(f"{name}[{place}] is {index!r}; an index must be a whole number") from None
    return numbers
