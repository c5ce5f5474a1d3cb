"""What users give to a call. Each function returns the value as the extension takes it, or says what is wrong with it.

An error names the call, the argument, what was given, and what would be right. The functions look for the usual case
first, so that a call pays little for them.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from os import PathLike, fsdecode, fspath
from typing import Any, NoReturn, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from couplet.errors import ArgumentError, ArgumentTypeError, Error

MAX_INT64 = 2**63 - 1
MAX_INT32 = 2**31 - 1
RANK = "a rank, which is a whole number (Universe.find_rank gives the rank of a program)"
SECONDS = "a number of seconds, or None (for ever)"

_WANTED = {"tag": "a whole number", "root": "the rank of a member, which is a whole number"}
_MAX_SHOWN = 60
_Kind = TypeVar("_Kind")
_Given = ParamSpec("_Given")


def shown(value: object) -> str:
    """Describes a value in one short line."""
    if isinstance(value, np.ndarray) and value.ndim > 0:
        return f"an array of {value.dtype} with the shape {value.shape}"
    text = repr(value.item() if isinstance(value, np.generic | np.ndarray) else value)
    if len(text) <= _MAX_SHOWN and "\n" not in text and not text.startswith("<"):
        return text
    if isinstance(value, str | bytes | list | tuple | dict | set):
        return f"a {type(value).__name__} of length {len(value)}"
    if callable(value) and hasattr(value, "__name__"):
        return f"the {type(value).__name__} {value.__name__}"
    return f"an object of type {type(value).__name__}"


def counted(number: int, one: str, several: str = "") -> str:
    """Returns a number with its noun: "1 step", "2 steps". several: the plural, if it is not `one` with an s."""
    return f"{number} {one if number == 1 else several or one + 's'}"


def sentence(value: object, name: str, call: str, wanted: str) -> str:
    """Returns the sentence of an error about an argument."""
    return (
        f"{call}: {name} is {shown(value)}; it must be {wanted}"
        if call
        else f"{name} is {shown(value)}; it must be {wanted}"
    )


def refuse(value: object, name: str, call: str, wanted: str) -> NoReturn:
    """Raises the error of a value that has the wrong type."""
    raise ArgumentTypeError(sentence(value, name, call, wanted)) from None


def whole_number(
    value: Any,
    name: str,
    call: str = "",
    least: int = -MAX_INT64 - 1,
    most: int = MAX_INT64,
    wanted: str = "a whole number",
) -> int:
    """Returns an int. What int() would cut is refused: 24.5 is no number of cells."""
    if type(value) is not int:
        try:
            value = operator.index(value)
        except TypeError:
            refuse(value, name, call, wanted)
    if not least <= value <= most:
        bound = f"at least {least}" if value < least else f"at most {most}"
        raise ArgumentError(sentence(value, name, call, bound))
    number: int = value
    return number


def rank_number(value: Any, name: str, call: str) -> int:
    """Returns a rank or a tag, which C stores in 32 bits."""
    return whole_number(value, name, call, -MAX_INT32 - 1, MAX_INT32, _WANTED.get(name, RANK))


def count(value: Any, name: str, call: str, most: int = MAX_INT64) -> int:
    """Returns a whole number from 0 on."""
    return whole_number(value, name, call, 0, most)


def positive(value: Any, name: str, call: str, most: int = MAX_INT64) -> int:
    """Returns a whole number from 1 on."""
    return whole_number(value, name, call, 1, most)


def items(values: Any, name: str, call: str, wanted: str) -> list[Any]:
    """Returns the entries of a list. Texts and dicts are none, since their entries are letters and keys."""
    if isinstance(values, list):
        return values
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        refuse(values, name, call, wanted)
    try:
        return list(values)
    except TypeError:  # an array without dimensions
        refuse(values, name, call, wanted)


def whole_numbers(
    values: Any, name: str, call: str = "", least: int = -MAX_INT64 - 1, most: int = MAX_INT64
) -> list[int]:
    """Returns a list of int, of which each is a whole number."""
    given = items(values, name, call, "a list of whole numbers")
    return [whole_number(value, f"{name}[{place}]", call, least, most) for place, value in enumerate(given)]


def index_list(indices: Sequence[int] | NDArray[Any], name: str = "indices", call: str = "") -> list[int]:
    """Returns indices. A mask of True and False is refused."""
    if isinstance(indices, np.ndarray) and indices.dtype.kind in "iu" and indices.ndim == 1:
        return [whole_number(int(index), name, call) for index in indices.tolist()]
    given = items(indices, name, call, "a list of indices")
    where = f"{call}: " if call else ""
    for place, index in enumerate(given):
        if isinstance(index, bool | np.bool_):
            raise ArgumentTypeError(
                f"{where}{name}[{place}] is {index}: give indices, not a mask (numpy.flatnonzero makes them)"
            )
    numbers = []
    for place, index in enumerate(given):
        try:
            numbers.append(whole_number(operator.index(index), f"{name}[{place}]", call))
        except TypeError:
            raise ArgumentTypeError(
                f"{where}{name}[{place}] is {shown(index)}; an index must be a whole number"
            ) from None
    return numbers


def real_number(value: Any, name: str, call: str, wanted: str = "a number") -> float:
    """Returns a float, which is not NaN."""
    number = value
    if type(value) is not float:
        kind = type(value)
        if not (hasattr(kind, "__float__") or hasattr(kind, "__index__")) or np.ndim(value) > 0:
            refuse(value, name, call, wanted)
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            refuse(value, name, call, wanted)
    if number != number:
        raise ArgumentError(f"{f'{call}: ' if call else ''}{name} is NaN; it must be {wanted}")
    return float(number)


def seconds(timeout: Any, name: str, call: str) -> float:
    """Returns a time in seconds. None, which means for ever, is -1."""
    if timeout is None:
        return -1.0
    return real_number(timeout, name, call, SECONDS)


def text(value: Any, name: str, call: str, wanted: str = "a text (str)") -> str:
    """Returns a text that C can take: without a zero byte, which would end it."""
    if not isinstance(value, str):
        refuse(value, name, call, wanted)
    if "\0" in value:
        raise ArgumentError(sentence(value, name, call, f"{wanted} without a zero byte"))
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ArgumentError(sentence(value, name, call, f"{wanted} that can be encoded as UTF-8")) from None
    return str(value)


def optional_text(value: Any, name: str, call: str) -> str:
    """Returns a text, or "" for None."""
    return "" if value is None else text(value, name, call, "a text (str), or None")


def texts(values: Any, name: str, call: str) -> list[str]:
    """Returns a list of texts. One text stands for itself."""
    wanted = "a list of texts (str)"
    if isinstance(values, str):
        return [text(values, name, call, wanted)]
    given = items(values, name, call, wanted)
    return [text(value, f"{name}[{place}]", call) for place, value in enumerate(given)]


def path(value: str | PathLike[str], name: str, call: str) -> str:
    """Returns the text of a path."""
    try:
        return text(fsdecode(fspath(value)), name, call)
    except TypeError:
        refuse(value, name, call, "a path: a text (str) or a pathlib.Path")


def flag(value: Any, name: str, call: str) -> bool:
    """Returns True or False, also for those of NumPy."""
    if value is True or value is False:
        return bool(value)
    if isinstance(value, np.bool_):
        return bool(value)
    refuse(value, name, call, "True or False")


def flags(values: Any, name: str, call: str) -> list[bool]:
    """Returns a list of True and False. In a list, 1 and 0 are taken for them."""
    given = items(values, name, call, "a list of True and False")
    return [
        value == 1 if type(value) is int and value in (0, 1) else flag(value, f"{name}[{place}]", call)
        for place, value in enumerate(given)
    ]


def word(value: Any, name: str, call: str, words: Mapping[str, _Kind], wanted: str = "") -> _Kind:
    """Returns what one of several words stands for. `wanted` says what is possible, if that is more than the words."""
    if isinstance(value, str) and value in words:
        return words[value]
    if not wanted:
        shape = (" or ", "") if len(words) < 4 else (", ", "one of ")
        wanted = shape[1] + shape[0].join(map(repr, words))
    raise (ArgumentError if isinstance(value, str) else ArgumentTypeError)(sentence(value, name, call, wanted))


def instance(value: Any, kind: type[_Kind], name: str, call: str, wanted: str) -> _Kind:
    """Returns an object of a class of this package."""
    if isinstance(value, kind):
        return value
    refuse(value, name, call, wanted)


def function(value: Any, name: str, call: str, wanted: str) -> Callable[..., Any]:
    """Returns an object that can be called."""
    if callable(value):
        called: Callable[..., Any] = value
        return called
    refuse(value, name, call, wanted)


def is_for_ever(wait_s: float) -> bool:
    """Says whether a time in seconds means that a call waits without a limit."""
    return wait_s < 0 or wait_s == math.inf


# ---- calls that were refused ----


def utf8(sentence: str) -> str:
    """Returns the text without the surrogates that a file name may have, and without a zero byte."""
    return sentence.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\0")


def tell(refuse_call: Callable[[int, str], None], error: Exception) -> None:
    """Makes this rank's part of a collective call that it has refused, so that the other ranks get the error, too."""
    code = error.code if isinstance(error, Error) and error.code < 0 else ArgumentError.code
    with suppress(Error):  # the error of this rank is the one that is raised
        refuse_call(code, utf8(str(error) or type(error).__name__))


@contextmanager
def told(refuse_call: Callable[[int, str], None]) -> Iterator[None]:
    """Lets the other ranks of a collective call know if this rank refuses its arguments in the block."""
    try:
        yield
    except Exception as error:
        tell(refuse_call, error)
        raise


# ---- calls that are made for another call ----

# The calls, also of the extension, that public calls of other names make.
_INNER = frozenset(
    [
        "Irecv",
        "Isend",
        "allgather",
        "box",
        "create_area",
        "create_group",
        "group",
        "open_tasks",
        "program",
        "program_info",
        "programs",
        "put",
        "publish",
        "rank",
        "read",
        "read_async",
        "ready",
        "retained",
        "size",
        "wait",
        "withdraw",
    ]
)
# The groups in which the objects of a group travel.
_GROUP_OF_OBJECTS = re.compile(r"'([^']*):(?:envelopes|payloads)'")


def in_name_of(call: str, error: Error, other: str = "") -> Error:
    """Lets the text of an error name the call and the group that its user has chosen. Returns the same error.

    other: a call that `call` makes, beside those that many calls make.
    """
    said = str(error)
    inner, _, rest = said.partition(":")
    words = f"{call}:{rest}" if inner in _INNER or inner == other else said
    words = _GROUP_OF_OBJECTS.sub(r"'\1'", words)
    if words != said:
        error.args = (words,)
    return error


def named(function: Callable[_Given, _Kind]) -> Callable[_Given, _Kind]:
    """Decorates a public call whose errors name it, whatever calls it makes. It is not for calls that must be fast."""

    @wraps(function)
    def call(*given: _Given.args, **options: _Given.kwargs) -> _Kind:
        try:
            return function(*given, **options)
        except Error as error:
            in_name_of(function.__name__, error)
            raise

    return call
