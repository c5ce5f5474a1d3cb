"""Says why an array or another buffer cannot be taken. The extension calls it, once it knows that it cannot."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from couplet._arguments import shown
from couplet._elements import NAMES, is_known
from couplet.errors import ArgumentError, ArgumentTypeError, ElementTypeError

# The name of the argument, for calls in which it is not `array`.
_NAMES = {
    "Isend": "buffer",
    "Irecv": "buffer",
    "submit": "payload",
    "dispatch": "payload",
    "read": "out",
    "read_at": "out",
}


# What to do in a call that does not receive into an array that it writes.
_REMEDIES = {"expose_area": "expose a contiguous copy, as numpy.ascontiguousarray(...) makes it"}


def refuse_buffer(call: str, given: Any, writable: bool, dense: bool, name: str = "") -> NoReturn:
    """Raises the error of a call that cannot take `given`."""
    where = f"{call}: {name or _NAMES.get(call, 'array')}"
    if isinstance(given, np.ndarray):
        _refuse_array(where, given, writable, dense)
    if hasattr(given, "__dlpack__"):
        raise ArgumentError(
            f"{where} is {shown(given)}; its memory must be{' writable,' if writable else ''} on the CPU"
            f"{' and C-contiguous' if dense else ''}, with elements of {NAMES}"
        )
    try:
        view = memoryview(given)
    except TypeError:
        raise ArgumentTypeError(
            f"{where} is {shown(given)}; it must be an array or a buffer, such as numpy.array(...)"
        ) from None
    if writable and view.readonly:
        raise ArgumentError(f"{where} is {shown(given)}, which is read-only; it must be writable")
    if dense and not view.c_contiguous:
        raise ArgumentError(f"{where} is {shown(given)}, which has gaps; it must be C-contiguous")
    raise ElementTypeError(f"{where} has elements of the format {view.format!r}; they must be {NAMES}")


def given(array: Any, call: str) -> Any:
    """Returns an array that may be one; the extension looks more closely."""
    if array is None:
        refuse_buffer(call, array, False, False)
    return array


def _refuse_array(where: str, array: NDArray[Any], writable: bool, dense: bool) -> NoReturn:
    if not is_known(array.dtype):
        _refuse_elements(where, array.dtype)
    if writable and not array.flags.writeable:
        raise ArgumentError(f"{where} is {shown(array)}, which is read-only; it must be writable")
    if dense and not array.flags.c_contiguous:
        remedy = _REMEDIES.get(where.split(":")[0], "receive into a new array and copy from it")
        if not writable:
            remedy = "give numpy.ascontiguousarray(...)"
        raise ArgumentError(f"{where} is {shown(array)}, which is not C-contiguous; {remedy}")
    raise ArgumentError(f"{where} is {shown(array)}, whose memory cannot be used; give a copy of it")


def _refuse_elements(where: str, dtype: np.dtype[Any]) -> NoReturn:
    remedy = ""
    if dtype.kind in "iufc" and is_known(dtype.newbyteorder("=")):
        remedy = "; they are not in the byte order of this host: give array.astype(array.dtype.newbyteorder('='))"
    elif dtype.kind == "b":
        remedy = "; array.view(numpy.uint8) sends them as numbers"
    elif dtype == np.float16:
        remedy = "; array.view(numpy.uint16) sends them as numbers, array.astype(numpy.float32) converts them"
    raise ElementTypeError(f"{where} has elements of {dtype}; they must be {NAMES}{remedy}")
