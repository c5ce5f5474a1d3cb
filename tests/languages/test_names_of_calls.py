"""The text of an error begins with the name of the call that the user has made, and has no name of a C function.

Python calls the C interface, and some calls of the package are made of others: what those write must not be seen.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from public_calls import Call, Context, all_calls

import couplet

ONE = np.zeros(1)

# Errors that come from the library: the call as it is named, and how it fails in a universe of one rank.
FAILING: list[tuple[str, Callable[[Context], Any]]] = [
    ("Send", lambda c: c.group.Send(ONE, 5)),
    ("Recv", lambda c: c.group.Recv(ONE, 5)),
    ("Isend", lambda c: c.group.Isend(ONE, 5)),
    ("Isend", lambda c: c.group.Isend(np.zeros((4, 4))[:, 1], 0, -1)),
    ("Irecv", lambda c: c.group.Irecv(ONE, 5)),
    ("send", lambda c: c.group.send(1, 5)),
    ("send", lambda c: c.group.send("x" * 10_000, 5)),
    ("recv", lambda c: c.group.recv(5)),
    ("isend", lambda c: c.group.isend(1, 5)),
    ("irecv", lambda c: c.group.irecv(5)),
    ("find_rank", lambda c: c.universe.find_rank("solo", 5)),
    ("open_area", lambda c: c.universe.open_area("area", 5)),
    ("create_exchange", lambda c: c.group.create_exchange("exchange")),
    ("create_halo", lambda c: c.group.create_halo("halo", c.grid)),
    ("create_step_manager", lambda c: c.group.create_step_manager("manager")),
    ("create_step_manager", lambda c: c.group.create_step_manager("other", phases=0)),
    ("create_step_manager", lambda c: c.group.create_step_manager("other", phases=65)),
    ("create_group", lambda c: c.universe.create_group("none", [])),
    ("filter_group", lambda c: c.universe.filter_group("none", lambda rank, program: False)),
    ("free", lambda c: c.group.free()),
    ("Grid", lambda c: couplet.Grid((4, 4), 0)),
    ("Grid", lambda c: couplet.Grid((0, 4), 1)),
    ("Grid", lambda c: couplet.Grid((2, 2), 7)),
    ("box", lambda c: c.grid.box(5)),
    ("shape", lambda c: c.grid.shape(5)),
    ("neighbor", lambda c: c.grid.neighbor(5, (0, 0))),
    ("wait_any", lambda c: couplet.wait_any([c.request, c.request])),
    ("wait_any", lambda c: couplet.wait_any([c.writer])),
    ("arm_any", lambda c: couplet.arm_any([c.request])),
    ("collective_method", lambda c: c.group.collective_method("gossip", 8)),
]


@pytest.fixture
def context(solo: couplet.Universe) -> Iterator[Context]:
    yield Context(solo)


def error_of(call: Callable[[], Any]) -> str:
    with pytest.raises(couplet.Error) as caught:
        result = call()
        if asyncio.iscoroutine(result):
            asyncio.run(result)
    return str(caught.value)


def problem_of(text: str, name: str) -> str:
    """Says what is wrong with the text of an error of the call `name`, or returns ""."""
    if not text.startswith(f"{name}:"):
        return f"does not begin with {name}: {text}"
    return f"has a name of the inside: {text}" if "couplet_" in text or ":envelopes" in text else ""


@pytest.mark.parametrize(("name", "call"), FAILING)
def test_an_error_of_the_library_names_the_call_of_the_user(
    context: Context, name: str, call: Callable[[Context], Any]
) -> None:
    assert not problem_of(error_of(lambda: call(context)), name)


def properties(context: Context) -> dict[str, tuple[str, Callable[[], Any]]]:
    """Calls that are written without parentheses, and those that take no arguments."""
    universe, group, writer, reader = context.universe, context.group, context.writer, context.reader
    of_objects = [
        (universe, ("rank", "size", "program", "program_rank", "programs", "program_group", "descriptor")),
        (group, ("rank", "size")),
        (writer, ("retained", "newest", "statistics", "waits")),
        (reader, ("retained", "newest", "statistics")),
        (context.area, ("info", "memory")),
        (context.exchange, ("method",)),
        (context.halo, ("method",)),
    ]
    found: dict[str, tuple[str, Callable[[], Any]]] = {}
    for owner, names in of_objects:
        for name in names:
            call = (lambda owner=owner, name=name: getattr(owner, name),)[0]
            found[f"{type(owner).__name__}.{name}"] = (name, call)
    methods = [(universe, "explain"), (universe, "progress"), (writer, "abandon"), (context.area, "end")]
    methods += [(context.exchange, "freeze"), (context.exchange, "start"), (context.halo, "explain")]
    return found | {f"{type(owner).__name__}.{name}": (name, getattr(owner, name)) for owner, name in methods}


# Calls that never look at the universe, or that have nothing to look at.
PURE = {"Reader.steps", "Group.Arrival", "join", "waitall", "waitany", "waitany_task", "wait_any", "arm_any"}
PURE |= {"Universe.ready", "Task.wait", "Grid", "Grid.box", "Grid.shape", "Grid.neighbor", "Weights.rows_of"}


def test_an_error_after_leave_names_the_call_of_the_user(context: Context) -> None:
    """Fault: group.size said "rank:", requester "open_tasks:", newest "retained:", and Recv "irecv:"."""
    given = properties(context)

    def bound(call: Call) -> Callable[[], Any]:
        function = call.find(context)
        return lambda: function(**call.right)

    calls = {
        name: (name.rpartition(".")[2], bound(call))
        for name, call in all_calls().items()
        if name not in PURE and not name.startswith("weights.") and name != "Group.refuse_collective"
    }
    context.universe.leave()
    problems = []
    for title, (name, call) in {**given, **calls}.items():
        try:
            made = call()
            if asyncio.iscoroutine(made):
                asyncio.run(made)
            elif hasattr(made, "__anext__"):
                asyncio.run(anext(made))
            elif hasattr(made, "__next__"):
                next(made)
            elif hasattr(made, "__enter__"):
                made.__enter__()
            problems.append(f"{title} has no error")
        except couplet.Error as error:
            wrong = problem_of(str(error), name)
            problems += [f"{title}: {wrong}"] if wrong else []
    assert not problems, "\n".join(problems)


def test_an_error_of_threads_names_the_call_of_the_user(context: Context) -> None:
    """Fault: Recv said "irecv: another call of this universe is running"."""
    context.group.isend(1, 0).wait()  # so that the groups of objects are there
    calls: dict[str, Callable[[], Any]] = {
        "Send": lambda: context.group.Send(ONE, 0),
        "Recv": lambda: context.group.Recv(ONE),
        "send": lambda: context.group.send(1, 0),
        "recv": context.group.recv,
        "size": lambda: context.group.size,
        "programs": lambda: context.universe.programs,
        "newest": lambda: context.writer.newest,
        "requester": lambda: context.universe.requester("t"),
    }

    def wait() -> None:
        with suppress(couplet.DeadlineError):
            context.request.wait(3.0)

    holder = threading.Thread(target=wait)
    holder.start()
    with suppress(couplet.ThreadError):
        while holder.is_alive():  # until the other thread is in its call
            context.universe.find_rank("solo")
    texts = {name: error_of(call) for name, call in calls.items()}
    holder.join()
    assert [problem_of(text, name) for name, text in texts.items()] == [""] * len(calls)
