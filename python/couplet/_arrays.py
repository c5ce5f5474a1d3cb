"""The arrays that users give to put and read, in the order in which the extension takes them, after checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from couplet._arguments import counted, shown
from couplet._buffers import refuse_buffer
from couplet.errors import ArgumentError, ArgumentTypeError, ElementTypeError, OutOfMemoryError, ShapeError

if TYPE_CHECKING:
    from couplet._series import FieldInfo

Fields = Mapping[str, "FieldInfo"]


def arrays_to_put(given: Any, step: int, series: str, fields: Fields) -> list[Any]:
    """Returns the arrays of all boxes of all fields."""
    if len(fields) == 1 and type(given) is np.ndarray:  # nothing is written down that only an error needs
        (info,) = fields.values()
        if given.dtype == info.dtype and info.box_shapes == (given.shape,):
            return [given]
    where = f"put: series '{series}', step {step}"
    by_name = _by_field(given, where, "array", fields)
    arrays: list[Any] = []
    for name, info in fields.items():
        own = by_name[name]
        title = _of(name)
        several = len(info.boxes) != 1
        if several and not isinstance(own, list | tuple):
            raise ArgumentError(f"{where}: {title}this rank writes {len(info.boxes)} boxes; give a list of arrays")
        if several and len(own) != len(info.boxes):
            raise ArgumentError(
                f"{where}: {title}{counted(len(own), 'array is', 'arrays are')} given, "
                f"and this rank writes {counted(len(info.boxes), 'box', 'boxes')}"
            )
        for array, extents in zip(list(own) if several else [own], info.box_shapes, strict=True):
            source = array if hasattr(array, "shape") else _made_array(array, f"{where}: {title}")
            if isinstance(source, np.ma.MaskedArray) and np.ma.is_masked(source):
                raise ArgumentError(
                    f"{where}: {title}the array has masked elements, and a series has no mask; give array.filled(value)"
                )
            if tuple(source.shape) != extents:
                raise ShapeError(
                    f"{where}: {title}this rank's box has shape {extents}, the array {tuple(source.shape)}"
                )
            if isinstance(source, np.ndarray) and source.dtype != info.dtype:
                raise ElementTypeError(
                    f"{where}: {title}the series has elements of {info.dtype}, the array of {source.dtype}"
                )
            arrays.append(source)
    return arrays


def arrays_to_fill(out: Any, at_least: int, up_to: int | None, where: str, fields: Fields) -> list[Any]:
    """Returns one array for each field, new ones if none are given. `where` names the call and the series."""
    if out is None:
        return list(new_arrays(max(64, at_least) if up_to is None else up_to, where, fields).values())
    by_name = _by_field(out, where, "out", fields)
    for name, info in fields.items():
        one = by_name[name]
        extents = info.box_shapes[0]
        if not hasattr(one, "shape") or not hasattr(one, "__len__"):
            refuse_buffer(where, one, True, False, f"{_of(name)}out")
        shape = tuple(one.shape)
        if not shape or shape[1:] != extents or (up_to is not None and shape[0] < up_to):
            wanted = (up_to if up_to is not None else "steps", *extents)
            raise ShapeError(
                f"{where}: {_of(name)}out has shape ({', '.join(map(str, shape))}), it must have the shape "
                f"({', '.join(map(str, wanted))})"
            )
        if isinstance(one, np.ndarray) and one.dtype != info.dtype:
            raise ElementTypeError(f"{where}: {_of(name)}the series has elements of {info.dtype}, out has {one.dtype}")
    return [by_name[name] for name in fields]


def new_arrays(steps: int, where: str, fields: Fields) -> dict[str, Any]:
    """Returns an array of so many steps for each field."""
    try:
        return {name: np.empty((steps, *info.box_shapes[0]), info.dtype) for name, info in fields.items()}
    except (MemoryError, ValueError):
        raise OutOfMemoryError(
            f"{where}: there is no memory for up_to = {counted(steps, 'step')}; give a smaller up_to"
        ) from None


def _by_field(given: Any, where: str, argument: str, fields: Fields) -> Mapping[str, Any]:
    """Returns the arrays by the names of their fields."""
    if not isinstance(given, Mapping):
        if len(fields) > 1:
            names = ", ".join(map(repr, fields))
            raise ArgumentError(f"{where}: {argument} is {shown(given)}; give a dict with the fields {names}")
        return {next(iter(fields)): given}
    if set(given) == set(fields):
        return given
    if list(fields) == [""]:
        raise ArgumentError(f"{where}: {argument} is {shown(given)}; the series has no named fields: give one array")
    names = ", ".join(map(repr, fields))
    have = ", ".join(map(repr, given)) if given else "none"
    raise ArgumentError(f"{where}: {argument}: the fields are {names}, not {have}")


def _made_array(given: Any, where: str) -> Any:
    try:
        made = np.asarray(given)
    except (TypeError, ValueError) as wrong:
        raise ArgumentTypeError(f"{where}array is {shown(given)}; it must be an array: {wrong}") from None
    if made.dtype.kind == "O":
        raise ArgumentTypeError(f"{where}array is {shown(given)}; it must be an array")
    return made


def _of(name: str) -> str:
    return f"field '{name}': " if name else ""
