"""Converts between NumPy's element types and Couplet's."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from couplet.errors import ElementTypeError

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


def type_of(dtype: DTypeLike) -> int:
    """Returns Couplet's type of a NumPy dtype in native byte order."""
    wanted = np.dtype(dtype)
    code = _TYPES.get(wanted)
    if code is None:
        names = ", ".join(str(known) for known in _TYPES)
        raise ElementTypeError(f"a series cannot have elements of dtype {wanted!s}; it can have {names}")
    return code


def dtype_of(code: int) -> np.dtype[Any]:
    """Returns the dtype of a Couplet type; opaque bytes become uint8."""
    return _DTYPES.get(code, np.dtype(np.uint8))
