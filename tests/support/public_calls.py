"""Every public call of the package couplet: its right arguments, and which of the wrong values each argument takes.

The values have names (WRONG). A kind of argument is the names of those that it takes, since they are right for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import couplet
import couplet.weights

WRONG: dict[str, Any] = {
    "text": "x",
    "fraction": 1.5,
    "none": None,
    "list": [1],
    "object": object(),
    "huge": 2**70,
    "array": np.zeros((2, 2)),
    "nan": float("nan"),
    "dict": {},
}
ALL = " ".join(WRONG)

# What each kind of argument takes of the values above.
TEXT = "text"
OPTIONAL_TEXT = "text none"
WHOLE = ""
OPTIONAL_WHOLE = "none"
WHOLES = "list"
SECONDS = "fraction none huge"
NUMBER = "fraction huge"
FLAG = ""
BUFFER = "array"
ARRAY = "fraction list array nan"
DTYPE = "none"
OPTIONAL = "none"
TEXTS = "text"
OTHER = ""


class Context:
    """What the calls are made on."""

    def __init__(self, universe: couplet.Universe) -> None:
        self.universe = universe
        self.group = universe.group
        self.writer = universe.create_series("eta", (2, 2), slots=4)
        self.writer.put(np.zeros((2, 2)), 1, 1.0)
        self.reader = universe.open_series("eta", mode="follow")
        self.area = universe.create_area("area", (2, 2), stamped=True)
        self.requester = universe.requester("submitted", couplers="solo")
        self.worker = universe.worker("worked", couplers="solo")
        self.coupler = universe.coupler("coupled", requesters="solo", couplers="solo")
        self.work = couplet.Work(self.coupler._handle, 1, 0, 0, (), None, False)
        # Its timeout is looked at before the task.
        self.task = couplet.Task(None)  # type: ignore[arg-type]
        self.request = self.group.Irecv(np.zeros(1), 0, 99)
        self.grid = couplet.Grid((4, 4), 1)
        self.exchange = self.group.create_exchange("exchange")
        self.halo = self.group.create_halo("halo", self.grid, widths=True)
        self.manager = self.group.create_step_manager("manager")
        self.batch = self.reader.read(timeout=0)
        self.weights = couplet.weights.from_entries(4, 1, [0], [0], [1.0])


@dataclass(frozen=True)
class Call:
    """A public call: where it is found, its right arguments, and what each argument takes."""

    find: Callable[[Context], Callable[..., Any]]
    right: dict[str, Any]
    kinds: dict[str, str]


def ignore(*_: Any) -> None:
    """A function where one is needed."""


GROUP_CALL = {"timeout": SECONDS, "method": OTHER}
NUMBERS = np.zeros(2)
EDGE = {"peer": WHOLE, "tag": WHOLE, "title": TEXT}
REPEATED = {**EDGE, "every": WHOLE, "offset": WHOLE, "variable": FLAG}
PHASED = {"every": WHOLE, "phase": WHOLE, "root": WHOLE, "arity": WHOLE}
READ = {"at_least": WHOLE, "up_to": OPTIONAL_WHOLE, "timeout": SECONDS, "out": OPTIONAL}
BATCHES = {"at_least": WHOLE, "up_to": OPTIONAL_WHOLE, "timeout": SECONDS, "reuse": FLAG}
OPEN_OPTIONS = {
    "mode": OTHER,
    "local": FLAG,
    "timeout": SECONDS,
    "buffer_bytes": WHOLE,
    "every": WHOLE,
    "latest": FLAG,
    "torn": FLAG,
    "interval": NUMBER,
    "beyond_newest": OTHER,
    "up_to_bytes": WHOLE,
}
COLLECTIVES: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "barrier": ({}, {}),
    "broadcast": ({"array": NUMBERS}, {"array": BUFFER, "root": WHOLE}),
    "reduce": ({"array": NUMBERS}, {"array": ARRAY, "op": OTHER, "root": WHOLE}),
    "allreduce": ({"array": NUMBERS}, {"array": ARRAY, "op": OTHER, "out": OPTIONAL}),
    "gather": ({"array": NUMBERS}, {"array": ARRAY, "root": WHOLE}),
    "gatherv": ({"array": NUMBERS, "counts": [2]}, {"array": ARRAY, "counts": WHOLES, "root": WHOLE}),
    "allgather": ({"array": NUMBERS}, {"array": ARRAY}),
    "allgatherv": ({"array": NUMBERS, "counts": [2]}, {"array": ARRAY, "counts": WHOLES}),
    "scatter": ({"array": NUMBERS, "out": np.zeros(2)}, {"array": ARRAY, "out": BUFFER, "root": WHOLE}),
    "scatterv": (
        {"array": NUMBERS, "counts": [2], "out": np.zeros(2)},
        {"array": ARRAY, "counts": WHOLES, "out": BUFFER, "root": WHOLE},
    ),
    "alltoall": ({"array": NUMBERS}, {"array": ARRAY}),
    "alltoallv": (
        {"array": NUMBERS, "counts": [2], "result_counts": [2]},
        {"array": ARRAY, "counts": WHOLES, "result_counts": WHOLES},
    ),
    "reduce_scatter": ({"array": NUMBERS, "counts": [2]}, {"array": ARRAY, "counts": WHOLES, "op": OTHER}),
    "scan": ({"array": NUMBERS}, {"array": ARRAY, "op": OTHER}),
}


def on_universe(name: str) -> Callable[[Context], Callable[..., Any]]:
    return lambda c: getattr(c.universe, name)  # type: ignore[no-any-return]


def universe_calls() -> dict[str, Call]:
    on = on_universe
    return {
        "Universe.find_rank": Call(on("find_rank"), {"program": "solo"}, {"program": TEXT, "rank": WHOLE}),
        "Universe.ready": Call(on("ready"), {}, {"things": "", "timeout": SECONDS}),
        "Universe.create_group": Call(on("create_group"), {"name": "g", "ranks": [0]}, {"name": TEXT, "ranks": WHOLES}),
        "Universe.create_operation": Call(
            on("create_operation"),
            {"name": "o", "function": ignore},
            {"name": TEXT, "function": OTHER, "commutative": FLAG},
        ),
        "Universe.split": Call(
            on("split"),
            {"name": "s", "color": 0},
            {"name": TEXT, "color": OPTIONAL_WHOLE, "key": WHOLE, "group": OPTIONAL},
        ),
        "Universe.heads_group": Call(on("heads_group"), {}, {"name": TEXT}),
        "Universe.program_group_of": Call(on("program_group_of"), {"program": "solo"}, {"program": ""}),
        "Universe.filter_group": Call(
            on("filter_group"), {"name": "f", "keep": lambda rank, program: True}, {"name": TEXT, "keep": OTHER}
        ),
        "join": Call(
            lambda c: couplet.join,
            {"program": "solo", "timeout": 0.0},
            {
                "program": OPTIONAL_TEXT,
                "comm": OPTIONAL,
                "rank": OPTIONAL_WHOLE,
                "size": OPTIONAL_WHOLE,
                "hub": OPTIONAL_TEXT,
                "secret_file": OPTIONAL_TEXT,
                "timeout": SECONDS,
                "multiple_threads": FLAG,
            },
        ),
    }


def opening_calls() -> dict[str, Call]:
    on = on_universe
    return {
        "Universe.create_series": Call(
            on("create_series"),
            {"name": "made", "shape": (2, 2)},
            {
                "name": TEXT,
                "shape": WHOLES,
                "dtype": DTYPE,
                "box": OPTIONAL,
                "fields": OPTIONAL,
                "slots": WHOLE,
                "memory_bytes": WHOLE,
                "required_readers": TEXTS,
                "required_timeout": SECONDS,
                "wait_timeout": SECONDS,
                "evict_after_held": SECONDS,
                "group": OPTIONAL,
                "holders": WHOLE,
                "collective": FLAG,
            },
        ),
        "Universe.open_series": Call(
            on("open_series"),
            {"name": "eta"},
            {
                "name": TEXT,
                "box": OPTIONAL,
                "fields": OPTIONAL,
                "start": "",
                "dtype": OPTIONAL,
                "group": OPTIONAL,
                "weights": OPTIONAL,
                **OPEN_OPTIONS,
            },
        ),
    }


def task_and_area_opening_calls() -> dict[str, Call]:
    on = on_universe
    return {
        "Universe.requester": Call(on("requester"), {"name": "t"}, {"name": TEXT, "couplers": TEXT}),
        "Universe.worker": Call(
            on("worker"),
            {"name": "t"},
            {"name": TEXT, "worker_id": OPTIONAL_WHOLE, "group_size": WHOLE, "couplers": TEXT},
        ),
        "Universe.coupler": Call(
            on("coupler"),
            {"name": "t"},
            {
                "name": TEXT,
                "requesters": TEXTS,
                "workers": TEXTS,
                "on_lost": OTHER,
                "policy": OTHER,
                "queue_limit": WHOLE,
                "couplers": OPTIONAL_TEXT,
            },
        ),
        "Universe.create_area": Call(
            on("create_area"),
            {"name": "a", "shape": (2, 2)},
            {"name": TEXT, "shape": WHOLES, "dtype": DTYPE, "stamped": FLAG},
        ),
        "Universe.expose_area": Call(
            on("expose_area"),
            {"name": "a", "array": np.zeros(2)},
            {"name": TEXT, "array": BUFFER, "stamped": FLAG},
        ),
        "Universe.open_area": Call(
            on("open_area"), {"name": "area", "owner": 0}, {"name": TEXT, "owner": WHOLE, "timeout": SECONDS}
        ),
    }


def message_calls() -> dict[str, Call]:
    def on(name: str) -> Callable[[Context], Callable[..., Any]]:
        return lambda c: getattr(c.group, name)  # type: ignore[no-any-return]

    from_where = {"source": WHOLE, "tag": WHOLE}
    to_where = {"target": WHOLE, "tag": WHOLE}
    lists = {"owned": WHOLES, "ghosts": WHOLES, "owners": "none list", "places": "none list"}
    made = {"name": TEXT, "method": TEXT, "timeout": SECONDS}
    return {
        "Group.Send": Call(
            on("Send"), {"buffer": NUMBERS, "target": 0}, {"buffer": BUFFER, **to_where, "timeout": SECONDS}
        ),
        "Group.Isend": Call(on("Isend"), {"buffer": NUMBERS, "target": 0}, {"buffer": BUFFER, **to_where}),
        "Group.Recv": Call(
            on("Recv"), {"buffer": np.zeros(2), "timeout": 0}, {"buffer": BUFFER, **from_where, "timeout": SECONDS}
        ),
        "Group.Irecv": Call(on("Irecv"), {"buffer": np.zeros(2)}, {"buffer": BUFFER, **from_where}),
        "Group.Arrival": Call(on("Arrival"), {}, from_where),
        "Group.send": Call(
            on("send"),
            {"value": 1, "target": 0},
            {"value": "text fraction none list object huge array nan dict", **to_where, "timeout": SECONDS},
        ),
        "Group.isend": Call(
            on("isend"),
            {"value": 1, "target": 0},
            {"value": "text fraction none list object huge array nan dict", **to_where},
        ),
        "Group.recv": Call(on("recv"), {"timeout": 0}, {**from_where, "timeout": SECONDS}),
        "Group.irecv": Call(on("irecv"), {}, from_where),
        "Group.arrival": Call(on("arrival"), {}, from_where),
        "Group.recv_async": Call(on("recv_async"), {}, from_where),
        "Group.refuse_collective": Call(
            on("refuse_collective"), {"call": "barrier", "text": "no"}, {"call": TEXT, "text": TEXT}
        ),
        "Group.collective_method": Call(
            on("collective_method"), {"call": "barrier", "nbytes": 8}, {"call": TEXT, "nbytes": WHOLE}
        ),
        "Group.create_exchange": Call(on("create_exchange"), {"name": "e"}, made),
        "Group.create_halo": Call(
            on("create_halo"),
            {"name": "h", "grid": couplet.Grid((4, 4), 1)},
            {**made, "grid": OTHER, "widths": FLAG},
        ),
        "Group.create_list_halo": Call(
            on("create_list_halo"), {"name": "l", "owned": [0], "ghosts": []}, {**made, **lists}
        ),
        "Group.create_step_manager": Call(
            on("create_step_manager"),
            {"name": "m"},
            {**made, "phases": WHOLE, "merge_waits": FLAG, "merge_messages": FLAG, "max_events": WHOLE},
        ),
        "Request.wait": Call(lambda c: c.request.wait, {}, {"timeout": SECONDS}),
        "CollectiveRequest.wait": Call(lambda c: c.request.wait, {}, {"timeout": SECONDS}),
        "waitall": Call(lambda c: couplet.waitall, {"requests": []}, {"requests": "", "timeout": SECONDS}),
        "waitany": Call(lambda c: couplet.waitany, {"requests": []}, {"requests": "", "timeout": SECONDS}),
        "wait_any": Call(lambda c: couplet.wait_any, {"things": []}, {"things": "", "timeout": SECONDS}),
        "arm_any": Call(lambda c: couplet.arm_any, {"things": []}, {"things": ""}),
    }


def collective_calls() -> dict[str, Call]:
    calls: dict[str, Call] = {}
    for name, (right, kinds) in COLLECTIVES.items():
        for verb in (name, f"i{name}"):
            calls[f"Group.{verb}"] = Call(
                lambda c, verb=verb: getattr(c.group, verb),  # type: ignore[misc]
                right,
                {**kinds, **GROUP_CALL},
            )
    return calls


def series_calls() -> dict[str, Call]:
    step = {"step": WHOLE, "time": "fraction none huge"}
    return {
        "Writer.put": Call(lambda c: c.writer.put, {"array": np.zeros((2, 2)), "step": 5}, {"array": BUFFER, **step}),
        "Writer.claim": Call(lambda c: c.writer.claim, {"step": 5}, step),
        "Reader.read": Call(lambda c: c.reader.read, {"timeout": 0}, READ),
        "Reader.read_async": Call(lambda c: c.reader.read_async, {"timeout": 0}, READ),
        "Reader.read_at": Call(
            lambda c: c.reader.read_at,
            {"times": [1.0], "timeout": 0},
            {"times": "fraction none list huge nan", "timeout": SECONDS, "out": OPTIONAL},
        ),
        "Reader.steps": Call(lambda c: c.reader.steps, {"at_least": 1}, {"at_least": WHOLE}),
        "Reader.batches": Call(lambda c: c.reader.batches, {"timeout": 0}, BATCHES),
        "Reader.batches_async": Call(lambda c: c.reader.batches_async, {"timeout": 0}, BATCHES),
    }


def area_and_task_calls() -> dict[str, Call]:
    submitted = {"parameters": WHOLES, "payload": "none array"}
    return {
        "Area.read": Call(lambda c: c.area.read, {}, {"box": OPTIONAL, "timeout": SECONDS}),
        "Area.read_stamped": Call(lambda c: c.area.read_stamped, {}, {"box": OPTIONAL, "timeout": SECONDS}),
        "Area.write": Call(
            lambda c: c.area.write,
            {"array": np.zeros((2, 2))},
            {"array": BUFFER, "box": OPTIONAL, "timeout": SECONDS},
        ),
        "Area.read_elements": Call(
            lambda c: c.area.read_elements,
            {"offset": 0, "count": 1},
            {"offset": WHOLE, "count": WHOLE, "timeout": SECONDS},
        ),
        "Area.write_elements": Call(
            lambda c: c.area.write_elements,
            {"array": np.zeros(1), "offset": 0},
            {"array": BUFFER, "offset": WHOLE, "timeout": SECONDS},
        ),
        "Area.begin": Call(lambda c: c.area.begin, {}, {"timeout": SECONDS}),
        "Task.wait": Call(lambda c: c.task.wait, {}, {"timeout": SECONDS}),
        "waitany_task": Call(lambda c: couplet.waitany_task, {"tasks": []}, {"tasks": "", "timeout": SECONDS}),
        "Requester.submit": Call(
            lambda c: c.requester.submit, {"worker": -1}, {"worker": WHOLE, **submitted, "timeout": SECONDS}
        ),
        "Work.dispatch": Call(
            lambda c: c.work.dispatch, {}, {"worker": OPTIONAL_WHOLE, **submitted, "parameters": "none list"}
        ),
        "Work.complete": Call(lambda c: c.work.complete, {}, {"error": OPTIONAL}),
        "Worker.next": Call(
            lambda c: c.worker.next,
            {"timeout": 0},
            {"parameters": OPTIONAL_WHOLE, "count": OPTIONAL_WHOLE, "dtype": OPTIONAL, "timeout": SECONDS},
        ),
        "Coupler.next": Call(lambda c: c.coupler.next, {}, {"timeout": SECONDS}),
        "Coupler.run": Call(lambda c: c.coupler.run, {}, {"timeout": SECONDS}),
    }


def exchange_calls() -> dict[str, Call]:
    listed = {"array": BUFFER, "indices": WHOLES, **EDGE, "block": WHOLE}
    request = {"client": WHOLE, "array": BUFFER, **REPEATED, "phase": WHOLE, "optional": FLAG}
    calls: dict[str, Call] = {}
    for verb in ("send", "receive"):
        right = {"array": np.zeros((2, 2)), "peer": 0}
        calls[f"Exchange.{verb}"] = Call(
            lambda c, verb=verb: getattr(c.exchange, verb),  # type: ignore[misc]
            right,
            {"array": BUFFER, **REPEATED},
        )
        calls[f"Exchange.{verb}_list"] = Call(
            lambda c, verb=verb: getattr(c.exchange, f"{verb}_list"),  # type: ignore[misc]
            {**right, "indices": [0]},
            listed,
        )
        calls[f"StepManager.{verb}"] = Call(
            lambda c, verb=verb: getattr(c.manager, verb),  # type: ignore[misc]
            {**right, "client": 0},
            request,
        )
    return calls | {
        "Exchange.wait": Call(lambda c: c.exchange.wait, {}, {"timeout": SECONDS}),
        "Exchange.arrived": Call(lambda c: c.exchange.arrived, {"edge": 0}, {"edge": WHOLE}),
        "Exchange.set_length": Call(
            lambda c: c.exchange.set_length, {"edge": 0, "length": 0}, {"edge": WHOLE, "length": WHOLE}
        ),
        "Exchange.length": Call(lambda c: c.exchange.length, {"edge": 0}, {"edge": WHOLE}),
    }


def manager_calls() -> dict[str, Call]:
    callbacks = {"name": "n", "give": ignore, "take": ignore}
    return {
        "StepManager.add": Call(
            lambda c: c.manager.add, {"name": "n", "client": couplet.Client()}, {"name": TEXT, "client": OTHER}
        ),
        "StepManager.remove": Call(lambda c: c.manager.remove, {"client": 0}, {"client": WHOLE}),
        "StepManager.add_broadcast": Call(
            lambda c: c.manager.add_broadcast,
            {**callbacks, "capacity": 1},
            {"name": TEXT, "give": OTHER, "take": OTHER, "capacity": WHOLE, "dtype": DTYPE, **PHASED},
        ),
        "StepManager.add_reduction": Call(
            lambda c: c.manager.add_reduction,
            {**callbacks, "operation": "sum"},
            {
                "name": TEXT,
                "operation": OTHER,
                "give": OTHER,
                "take": OTHER,
                "count": WHOLE,
                "dtype": DTYPE,
                "to_all": FLAG,
                **PHASED,
            },
        ),
        "StepManager.amend": Call(lambda c: c.manager.amend, {"from_round": 0}, {"from_round": WHOLE}),
        "StepManager.round": Call(lambda c: c.manager.round, {}, {"timeout": SECONDS}),
        "StepManager.set_length": Call(
            lambda c: c.manager.set_length, {"request": 0, "length": 0}, {"request": WHOLE, "length": WHOLE}
        ),
        "StepManager.length": Call(lambda c: c.manager.length, {"request": 0}, {"request": WHOLE}),
    }


def halo_calls() -> dict[str, Call]:
    cells = {"cells": WHOLES, "ranks": WHOLE, "blocks": "none list", "periodic": "none list", "block_cells": OPTIONAL}
    widths = {"width": WHOLES, "below": "none list", "above": "none list", "first": "none list"}
    return {
        "Grid": Call(lambda c: couplet.Grid, {"cells": (4, 4), "ranks": 1}, cells),
        "Grid.box": Call(lambda c: c.grid.box, {"rank": 0}, {"rank": WHOLE}),
        "Grid.shape": Call(lambda c: c.grid.shape, {"rank": 0}, {"rank": WHOLE, "width": WHOLE}),
        "Grid.neighbor": Call(
            lambda c: c.grid.neighbor, {"rank": 0, "offset": (1, 1)}, {"rank": WHOLE, "offset": WHOLES}
        ),
        "Halo.add": Call(
            lambda c: c.halo.add,
            {"array": np.zeros((6, 6)), "width": 1},
            {
                "array": BUFFER,
                **widths,
                "staggered": "none list",
                "corners": FLAG,
                "component_axis": OPTIONAL_WHOLE,
                "name": TEXT,
            },
        ),
        "Halo.begin": Call(lambda c: c.halo.begin, {}, {"width": OPTIONAL_WHOLE}),
        "Halo.end": Call(lambda c: c.halo.end, {}, {"timeout": SECONDS}),
    }


def weights_calls() -> dict[str, Call]:
    entries = {"targets": [0], "sources": [0], "weights": [1.0]}
    return {
        "Weights.rows_of": Call(lambda c: c.weights.rows_of, {"first": 0, "last": 1}, {"first": WHOLE, "last": WHOLE}),
        "weights.from_entries": Call(
            lambda c: couplet.weights.from_entries,
            {"source_points": 4, "rows": 2, **entries},
            {
                "source_points": WHOLE,
                "rows": WHOLE,
                "targets": "list",
                "sources": "list",
                "weights": "list",
                "source_mask": "none list array fraction nan",
                "fill": "fraction huge nan",
            },
        ),
        "weights.from_matrix": Call(
            lambda c: couplet.weights.from_matrix,
            {"matrix": None},
            {"matrix": OTHER, "source_mask": ALL, "fill": ALL},  # what is no matrix is refused first
        ),
        "weights.from_file": Call(
            lambda c: couplet.weights.from_file,
            {"path": "x"},
            {"path": TEXT, "normalise": OTHER, "fill": "fraction huge nan"},
        ),
    }


def all_calls() -> dict[str, Call]:
    return (
        universe_calls()
        | opening_calls()
        | task_and_area_opening_calls()
        | message_calls()
        | collective_calls()
        | series_calls()
        | area_and_task_calls()
        | exchange_calls()
        | manager_calls()
        | halo_calls()
        | weights_calls()
    )
