"""Converts between NumPy's element types and Couplet's."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from couplet._arguments import shown
from couplet.errors import ArgumentTypeError, ElementTypeError

BYTE = 0
_TYPES: dict[np.dtype[Any], int] = {
    np.dtype(np.int8): 1,
    np.dtype(np.int16): 2,
    np.dtype(np.int32): 3,
    np.dtype(np.int64): 4,
    np.dtype(np.uint8): 5,
    np.dtype(np.uint16): 6,
    np.dtype(np.uint32): 7,
    np.dtype(np.uint64): 8,
    np.dtype(np.float32): 9,
    np.dtype(np.float64): 10,
    np.dtype(np.complex64): 11,
    np.dtype(np.complex128): 12,
}
_DTYPES = {code: dtype for dtype, code in _TYPES.items()}
NAMES = ", ".join(str(known) for known in list(_TYPES)[:-1]) + " or complex128"


def is_known(dtype: np.dtype[Any]) -> bool:
    """Says whether Couplet has elements of this type."""
    return dtype in _TYPES


def dtype_from(given: DTypeLike, name: str, call: str) -> np.dtype[Any]:
    """Returns the dtype of which Couplet has elements."""
    try:
        wanted = np.dtype(given)
    except (TypeError, ValueError):
        raise ElementTypeError(f"{call}: {name} is {shown(given)}; it must be {NAMES}") from None
    if wanted not in _TYPES:
        raise ElementTypeError(f"{call}: {name} is {wanted!s}; it must be {NAMES}")
    return wanted


def type_of(dtype: DTypeLike, name: str, call: str) -> int:
    """Returns Couplet's type of a NumPy dtype in native byte order."""
    return _TYPES[dtype_from(dtype, name, call)]


def dtype_of(code: int) -> np.dtype[Any]:
    """Returns the dtype of a Couplet type; opaque bytes become uint8."""
    return _DTYPES.get(code, np.dtype(np.uint8))


def contiguous(array: ArrayLike | None, name: str, call: str) -> NDArray[Any]:
    """Returns an array in C order. If it had to be made, its elements are some that Couplet has."""
    if type(array) is np.ndarray:
        return np.ascontiguousarray(array)  # the extension looks at its elements
    try:
        made = np.ascontiguousarray(array)
    except (TypeError, ValueError) as wrong:
        raise ArgumentTypeError(f"{call}: {name} is {shown(array)}; it must be an array: {wrong}") from None
    if made.dtype not in _TYPES:
        raise ElementTypeError(f"{call}: {name} is {shown(array)}, with elements of {made.dtype}; they must be {NAMES}")
    return made
