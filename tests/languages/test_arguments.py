"""Every public call of the package, with wrong values for each of its arguments, one at a time.

The error is one of Couplet, names the call and the argument, and has no words of the extension. A call or an argument
that is not in the table (tests/support/public_calls.py) fails the test, so that none is forgotten.
"""

from __future__ import annotations

import asyncio
import ctypes
import inspect
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest
from launching import PROJECT
from public_calls import WRONG, Context, all_calls

import couplet
import couplet.weights

FORBIDDEN = ("incompatible function arguments", "std::bad_cast", "nanobind", "_couplet", "__new__", "has no attribute")
# Functions that users write, and not call.
OVERRIDDEN = {"Client"}


def public_calls() -> dict[str, Callable[..., Any]]:
    """All functions and methods that users call, by name."""
    found: dict[str, Callable[..., Any]] = {}
    for name in couplet.__all__:
        value = getattr(couplet, name)
        if inspect.isclass(value):
            if issubclass(value, couplet.Error) or name in OVERRIDDEN:
                continue
            for method, function in inspect.getmembers(value, inspect.isfunction):
                if not method.startswith("_"):
                    found[f"{name}.{method}"] = function
            if name == "Grid":
                found[name] = value.__init__
        elif inspect.isfunction(value):
            found[name] = value
    for name, value in vars(couplet.weights).items():
        if inspect.isfunction(value) and value.__module__ == "couplet.weights" and not name.startswith("_"):
            found[f"weights.{name}"] = value
    return found


def test_no_call_and_no_argument_is_forgotten() -> None:
    calls = all_calls()
    missing = []
    for name, function in public_calls().items():
        parameters = {each for each in inspect.signature(function).parameters if each != "self"} - {"options"}
        if name == "Universe.open_series":
            parameters |= set(couplet.OpenOptions.__annotations__)
        kinds = calls[name].kinds if name in calls else {}
        missing += [f"{name}({each})" for each in sorted(parameters - set(kinds))]
    assert not missing, missing


def make(call: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Makes a call, up to its first result."""
    if "things" in arguments and inspect.signature(call).parameters["things"].kind == inspect.Parameter.VAR_POSITIONAL:
        rest = {name: value for name, value in arguments.items() if name != "things"}
        made = call(arguments["things"], **rest)
    else:
        made = call(**arguments)
    if inspect.iscoroutine(made):
        asyncio.run(made)
    elif inspect.isasyncgen(made):
        asyncio.run(anext(made))  # type: ignore[arg-type]
    elif inspect.isgenerator(made):
        next(made)
    elif isinstance(made, AbstractContextManager):
        with made:
            pass


def names_of(call: str) -> set[str]:
    """The names of a call in texts. A variant of a call may have the name of that call."""
    name = call.rpartition(".")[2]
    other = call.partition(".")[0] if "eights" in call else "read" if "batches" in name else name
    return {name, name.removeprefix("i"), name.removesuffix("_async"), name.removesuffix("_stamped"), other}


def problem_with(name: str, call: Callable[..., Any], arguments: Mapping[str, Any], argument: str) -> str:
    """Says what is wrong with the error of a call, or returns "" if nothing is."""
    try:
        make(call, arguments)
    except couplet.Error as error:
        text = str(error)
        if not re.search(rf"\b{argument}\b", text):
            return f"does not name the argument: {text}"
        if not any(text.startswith(f"{each}: ") for each in names_of(name)):
            return f"does not name the call: {text}"
        words = [each for each in FORBIDDEN if each in text]
        return f"has {words}: {text}" if words or "\n" in text or len(text) > 400 else ""
    except Exception as error:
        return f"raises {type(error).__name__}: {error}"
    return "accepts it"


def test_wrong_arguments(solo: couplet.Universe) -> None:
    """Faults: 378 calls ended with words of the extension, with an error of another library, or were cut silently."""
    context = Context(solo)
    problems = []
    for name, call in all_calls().items():
        for argument, kind in call.kinds.items():
            for title, value in WRONG.items():
                if title in kind.split():
                    continue
                problem = problem_with(name, call.find(context), {**call.right, argument: value}, argument)
                if problem:
                    problems.append(f"{name}({argument}={title}) {problem}")
    assert not problems, "\n".join(problems)
    assert solo.group.allreduce(np.ones(1)).tolist() == [1]  # all refused calls have been counted


def test_the_table_for_users_of_mpi4py_names_what_exists() -> None:
    page = (PROJECT / "docs" / "guide" / "python.md").read_text()
    table = page.partition("## Coming from mpi4py")[2].partition("\n## ")[0]
    right = " ".join(line.split("|")[2] for line in table.splitlines() if line.startswith("| `"))
    owners = {"group": couplet.Group, "universe": couplet.Universe, "couplet": couplet, "message": couplet.Message}
    names = re.findall(r"\b(group|universe|couplet|message)\.(\w+)(?:\(([^)]*)\))?", right)
    assert len(names) > 30
    for owner, name, arguments in names:
        found = getattr(owners[owner], name)
        given = re.findall(r"(\w+)=", arguments)
        assert not given or set(given) <= set(inspect.signature(found).parameters), (owner, name, given)


# What was cut or taken for something else silently, and sentences that misled: the call, its error, its words.
MISTAKEN: list[tuple[Callable[[Context], Any], type[couplet.Error], str]] = [
    (lambda c: c.universe.create_series("cut", (4.7, 3)), couplet.ArgumentError, "shape[0] is 4.7; it must be a whole"),
    (lambda c: c.universe.create_area("cut", "43"), couplet.ArgumentError, "shape is '43'; it must be a list of whole"),
    (lambda c: c.universe.create_area("cut", ()), couplet.ShapeError, "an array has at least one dimension"),
    (lambda c: c.universe.open_series("eta", start=1.5), couplet.ArgumentError, "start is 1.5"),
    (lambda c: c.universe.open_series("eta", box=[(0.5, 2), (0, 2)]), couplet.ArgumentError, "box[0][0] is 0.5"),
    (lambda c: c.universe.open_series("eta", box=(0, 2)), couplet.ShapeError, "box[0] is 0; it must be (start, stop)"),
    (
        lambda c: c.area.read((slice(None), slice(2))),
        couplet.ShapeError,
        "area 'area': box[0] is slice(None, None",
    ),
    (lambda c: c.requester.submit(0, [1.5]), couplet.ArgumentError, "submit: parameters[0] is 1.5"),
    (lambda c: c.group.gatherv(np.zeros(1), [1.5]), couplet.ArgumentError, "gatherv: counts[0] is 1.5"),
    (
        lambda c: c.universe.create_series("bytes", fields={"a": "f8"}),
        couplet.ArgumentError,
        "fields['a'] is 'f8'; it must be (dtype, shape) or (dtype, shape, box)",
    ),
    (lambda c: c.area.write(np.zeros((1, 4))), couplet.ShapeError, "the box has the shape (2, 2), the array (1, 4)"),
    (lambda c: c.area.write(np.zeros(4)), couplet.ShapeError, "the box has the shape (2, 2), the array (4,)"),
    (
        lambda c: c.area.write(np.zeros((2, 2), "f4")),
        couplet.ElementTypeError,
        "area 'area': the area has elements of float64, the array of float32",
    ),
    (lambda c: c.area.write([[0.0, 0.0]]), couplet.ArgumentError, "array is [[0.0, 0.0]]; it must be an array"),
    (lambda c: c.group.Send(np.zeros(2), "monitor"), couplet.ArgumentError, "target is 'monitor'; it must be a rank"),
    (lambda c: c.group.Recv(np.frombuffer(b"12345678")), couplet.ArgumentError, "which is read-only"),
    (lambda c: c.group.Send(np.zeros(2, "f2"), 0), couplet.ElementTypeError, "buffer has elements of float16"),
    (lambda c: c.writer.put(7, np.zeros((2, 2))), couplet.ArgumentError, "step is an array of float64 with the shape"),
    (lambda c: c.writer.put({}, 7), couplet.ArgumentError, "the series has no named fields: give one array"),
    (lambda c: c.batch[0], couplet.NotFoundError, "has no named fields: write batch.data"),
    (lambda c: c.universe.create_area("text\0zero", (2,)), couplet.ArgumentError, "without a zero byte"),
    (
        lambda c: c.universe.coupler("t", on_lost="keep"),
        couplet.ArgumentError,
        "on_lost is 'keep'; it must be 'fail'",
    ),
    (lambda c: c.area.read_elements(-1, 1), couplet.ArgumentError, "area 'area': offset is -1; it must be at least 0"),
    (
        lambda c: c.universe.open_series("eta", start="first"),
        couplet.ArgumentError,
        "start is 'first'; it must be 'oldest', 'newest', 'next' or the number of a step",
    ),
    (lambda c: couplet.join("a", rank=-3, size=3), couplet.ArgumentError, "join: rank is -3; it must be at least 0"),
    (lambda c: c.universe.worker("t", worker_id=-1), couplet.ArgumentError, "worker_id is -1; it must be at least 0"),
    (lambda c: c.requester.submit(-9), couplet.ArgumentError, "-9 is no worker id; they are numbers from 0 on"),
    (lambda c: c.universe.requester(""), couplet.ArgumentError, "name is empty; it needs at least 1 byte"),
    (lambda c: c.universe.create_group("", [0]), couplet.ArgumentError, "name is empty; it needs at least 1 byte"),
    (
        lambda c: c.universe.expose_area("gaps", np.zeros((4, 4))[:, ::2]),
        couplet.ArgumentError,
        "which is not C-contiguous; expose a contiguous copy",
    ),
    (lambda c: c.reader.read(timeout=np.nan), couplet.ArgumentError, "timeout is NaN; it must be a number of seconds"),
    (lambda c: c.group.allgatherv(np.zeros(1), []), couplet.ArgumentError, "1 count from 0 on is needed"),
    (lambda c: c.group.scatter(np.zeros(2), np.zeros(1)), couplet.ShapeError, "array has 2 elements, and 1 is needed"),
    (lambda c: couplet.Grid((4,), 1).neighbor(0, (1, 1)), couplet.ArgumentError, "must have 1 entry, not 2"),
    (lambda c: c.universe.find_rank("solo", 5), couplet.NotFoundError, "program 'solo' has rank 0, not 5"),
    (lambda c: c.group.Send(np.zeros(1), 5), couplet.ArgumentError, "group 'universe', which has rank 0"),
]


def test_what_was_cut_or_misunderstood_is_refused(solo: couplet.Universe) -> None:
    context = Context(solo)
    for call, error, words in MISTAKEN:
        with pytest.raises(error, match=re.escape(words)):
            call(context)


def test_what_is_closed_is_named(solo: couplet.Universe) -> None:
    """Fault: a read of a closed area said "describe: the area is closed"."""
    context = Context(solo)
    for each in (context.writer, context.reader, context.area, context.requester):
        each.close()
    closed = {
        "put: series 'eta' is closed": lambda: context.writer.put(np.zeros((2, 2)), 9),
        "read: series 'eta' is closed": context.reader.read,
        "read: area 'area' is closed": context.area.read,
        "write: area 'area' is closed": lambda: context.area.write(np.zeros((2, 2))),
        "submit: tasks 'submitted' are closed": lambda: context.requester.submit(0),
        "steps: series 'eta' is closed": lambda: context.reader.steps(2),
        "wait_any: entry 0 of 1 is closed": lambda: couplet.wait_any([context.reader]),
    }
    for words, call in closed.items():
        with pytest.raises(couplet.StateError, match=words):
            call()


def test_truths_and_whole_numbers_of_numpy_are_taken(solo: couplet.Universe) -> None:
    """Fault: `latest=(n > 3)` with an n of NumPy was refused."""
    count = np.int64(4)
    with solo.create_series("eta", (count, np.int32(2)), slots=count, collective=count > 5) as writer:
        writer.put(np.zeros((4, 2)), np.int64(3), np.float32(0.5))
        with solo.open_series("eta", mode="follow", latest=count > 3, every=np.uint8(1), start=np.int16(2)) as reader:
            assert reader.read(np.int64(1), np.int64(8), np.float64(0.0)).steps.tolist() == [3]
    with solo.create_area("area", np.array([2, 3]), stamped=np.False_) as area:
        assert area.info.shape == (2, 3)
        assert area.read_elements(np.int64(1), np.int64(2)).tolist() == [0, 0]


@pytest.mark.parametrize("number", [0, -1])
def test_every_and_at_least_begin_with_1(solo: couplet.Universe, number: int) -> None:
    """Fault: for -1 the error said that 0 is right, and for 0 that 1 is right."""
    with solo.create_series("eta", (2, 2)) as writer:
        writer.put(np.zeros((2, 2)), 0)
        with pytest.raises(couplet.ArgumentError, match=f"every is {number}; it must be at least 1"):
            solo.open_series("eta", every=number)
        message = f"at_least is {number}; it must be at least 1"
        with solo.open_series("eta") as reader, pytest.raises(couplet.ArgumentError, match=message):
            reader.read(number)


def test_masked_elements_are_not_put_without_their_mask(solo: couplet.Universe) -> None:
    """Fault: what lay under the mask was published."""
    with solo.create_series("eta", (2,), slots=4) as writer:
        with pytest.raises(couplet.ArgumentError, match="has masked elements, and a series has no mask"):
            writer.put(np.ma.array([1.0, 2.0], mask=[False, True]), 0)
        writer.put(np.ma.array([1.0, 2.0]), 1)


def test_an_error_of_a_wrong_type_is_a_type_error(solo: couplet.Universe) -> None:
    with pytest.raises(TypeError, match="rank is 1.5"):
        solo.find_rank("solo", 1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="rank is 1.5"):
        solo.find_rank("solo", 1.5)  # type: ignore[arg-type]


def test_an_array_of_ctypes_is_a_buffer(solo: couplet.Universe) -> None:
    """Fault: SIGSEGV, since ctypes gives no strides."""
    got = np.zeros(4)
    request = solo.group.Irecv(got, 0)
    solo.group.Send((ctypes.c_double * 4)(1, 2, 3, 4), 0)
    request.wait()
    assert got.tolist() == [1, 2, 3, 4]


def test_a_wrong_value_of_a_right_type_is_no_type_error(solo: couplet.Universe) -> None:
    """Fault: an unknown word as operation, and a list without times, were errors of the type."""
    context = Context(solo)
    for words, call in {
        "op is 'foo'; it must be 'sum'": lambda: context.group.allreduce(np.ones(1), "foo"),
        "times is empty; it must have at least one time": lambda: context.reader.read_at([]),
    }.items():
        with pytest.raises(couplet.ArgumentError, match=words) as caught:
            call()
        assert not isinstance(caught.value, TypeError)
