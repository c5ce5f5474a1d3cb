"""The fields of a series, as users describe and choose them, in the form that the extension takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from numpy.typing import DTypeLike

from couplet._arguments import items, shown, text, whole_numbers
from couplet._boxes import Box, is_one_box, split_box, split_boxes
from couplet._elements import type_of
from couplet.errors import ArgumentError, ArgumentTypeError, ShapeError

# A field is described as (dtype, shape), (dtype, shape, box) or (dtype, shape, boxes).
FieldDescription = tuple[DTypeLike, Sequence[int]] | tuple[DTypeLike, Sequence[int], Box | Sequence[Box] | None]

# Name, type, shape, starts and stops of the boxes, and their number.
_Described = tuple[str, int, list[int], list[int], list[int], int]
_Chosen = tuple[str, list[int] | None, list[int] | None]


def extents(shape: Any, call: str, name: str = "shape") -> list[int]:
    """Returns the extents of an array."""
    made = whole_numbers(shape, name, call)
    if not made:
        raise ShapeError(f"{call}: {name} is {shown(shape)}; an array has at least one dimension, as (12,) has")
    return made


def described_fields(
    call: str,
    shape: Sequence[int] | None,
    dtype: DTypeLike,
    box: Box | Sequence[Box] | None,
    fields: Mapping[str, FieldDescription] | None,
) -> list[_Described]:
    """Returns the fields of a series that is created."""
    if (shape is None) == (fields is None):
        raise ArgumentError(f"{call}: {'neither shape nor' if shape is None else 'both shape and'} fields are given")
    if fields is None:
        return [_described("", dtype, shape, box, call, ("dtype", "shape", "box"))]
    if box is not None:
        raise ArgumentError(f"{call}: box is {shown(box)}; with fields, each of them has its own: (dtype, shape, box)")
    if not isinstance(fields, Mapping):
        raise ArgumentTypeError(f"{call}: fields is {shown(fields)}; it must be a dict of (dtype, shape) by name")
    if not fields or "" in fields:
        raise ArgumentError(f"{call}: fields is {shown(fields)}; they need names, and there is at least one")
    made = []
    for name, given in fields.items():
        field = f"fields[{text(name, 'the name of each of the fields', call)!r}]"
        if not isinstance(given, tuple | list) or not 2 <= len(given) <= 3:
            raise ArgumentTypeError(
                f"{call}: {field} is {shown(given)}; it must be (dtype, shape) or (dtype, shape, box)"
            )
        titles = (f"{field}[0] (the dtype)", f"{field}[1] (the shape)", f"{field}[2] (the box)")
        made.append(_described(name, given[0], given[1], given[2] if len(given) == 3 else None, call, titles))
    return made


def _described(name: str, dtype: Any, shape: Any, box: Any, call: str, titles: tuple[str, str, str]) -> _Described:
    kind = type_of(dtype, titles[0], call)
    whole = extents(shape, call, titles[1])
    if box is None:
        return name, kind, whole, [0] * len(whole), whole, 1
    boxes = [box] if is_one_box(box) else box
    starts, stops, count = split_boxes(boxes, len(whole), call, titles[2])
    return name, kind, whole, starts, stops, count


def chosen_fields(call: str, fields: Iterable[str] | Mapping[str, Box | None] | None) -> list[_Chosen]:
    """Returns the fields that a reader chooses."""
    if fields is None:
        return []
    if isinstance(fields, str):
        raise ArgumentTypeError(f"{call}: fields is a list of names, not the text {fields!r}")
    if not isinstance(fields, Mapping):
        names = items(fields, "fields", call, "a list of names, or a dict of boxes by name")
        fields = dict.fromkeys(text(name, f"fields[{place}]", call) for place, name in enumerate(names))
    if not fields:
        raise ArgumentError(f"{call}: fields is empty: no fields are chosen")
    chosen: list[_Chosen] = []
    for name, own in fields.items():
        title = f"fields[{text(name, 'the name of each of the fields', call)!r}]"
        chosen.append((name, *(split_box(own, call, title) if own is not None else (None, None))))
    return chosen
