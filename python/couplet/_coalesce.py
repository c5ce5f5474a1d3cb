"""Coalesced communication: many clients, one message for each neighbour, and one wait for each phase of a round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from couplet import _couplet
from couplet._arguments import (
    MAX_INT32,
    MAX_INT64,
    flag,
    function,
    instance,
    rank_number,
    seconds,
    text,
    whole_number,
    word,
)
from couplet._arguments import count as count_of
from couplet._buffers import given
from couplet._closing import Closing
from couplet._elements import dtype_from

_OPERATIONS = {"sum": 0, "product": 1, "max": 2, "min": 3, "logical_and": 4, "logical_or": 5}
_TABLE, _JSON, _TIMELINE = 0, 1, 2


class Moment(NamedTuple):
    """When and for what a client is called."""

    round: int
    phase: int
    peer: int  # for arrived(): the rank from which everything is here; else -1


class Client:
    """A part of a program that communicates in rounds. Override the stages in which it has something to do.

    An exception that leaves a stage ends the rounds of all ranks, and leaves `StepManager.round` here.
    """

    def fill(self, moment: Moment) -> None:
        """What is sent in this phase is written, and lengths are set."""

    def overlap(self, moment: Moment) -> None:
        """Everything is under way: what needs nothing of it is computed."""

    def arrived(self, moment: Moment) -> None:
        """Everything that moment.peer sends to this client in this phase is here."""

    def use(self, moment: Moment) -> None:
        """Everything is here."""

    def end_round(self, moment: Moment) -> None:
        """The last phase is over."""


_STAGES = ("fill", "overlap", "arrived", "use", "end_round")


class StepManager(Closing):
    """One rank's part in coalesced rounds. `Group.create_step_manager` makes it. Use it as a context manager.

    Add clients in the same order on all ranks, declare what they send and receive, call `freeze` on all ranks, and
    then `round`.
    """

    def __init__(self, handle: _couplet.Coalesce) -> None:
        self._handle = handle

    def add(self, name: str, client: Client) -> int:
        """Registers a client, and returns its number."""
        text(name, "name", "add")
        instance(client, Client, "client", "add", "an object of a class that is derived from couplet.Client")
        stages = [getattr(client, stage) for stage in _STAGES]
        has = sum(
            1 << place
            for place, stage in enumerate(_STAGES)
            if getattr(type(client), stage) is not getattr(Client, stage)
        )

        def call(stage: int, number: int, phase: int, peer: int) -> None:
            stages[stage](Moment(number, phase, peer))

        return self._handle.add(name, call, has)

    def remove(self, client: int) -> None:
        """Lets the client take part until the next amendment, and no longer."""
        self._handle.remove(_number_of(client, "client", "remove"))

    def send(
        self,
        client: int,
        array: NDArray[Any],
        peer: int,
        *,
        tag: int = 0,
        title: str = "",
        every: int = 1,
        offset: int = 0,
        phase: int = 0,
        variable: bool = False,
        optional: bool = False,
    ) -> int:
        """Declares that a client sends an array to rank `peer`, and returns the number of the request.

        It takes part in the rounds offset, offset + every, ... The receiver gives the same terms. With `variable` or
        `optional`, `set_length` says in each `fill` how many bytes are sent.
        """
        client = _number_of(client, "client", "send")
        terms = _request("send", peer, tag, title, every, offset, phase, variable, optional)
        return self._handle.declare(client, given(array, "send"), terms, True)

    def receive(
        self,
        client: int,
        array: NDArray[Any],
        peer: int,
        *,
        tag: int = 0,
        title: str = "",
        every: int = 1,
        offset: int = 0,
        phase: int = 0,
        variable: bool = False,
        optional: bool = False,
    ) -> int:
        """Declares that a client receives an array from rank `peer`, and returns the number of the request."""
        client = _number_of(client, "client", "receive")
        terms = _request("receive", peer, tag, title, every, offset, phase, variable, optional)
        return self._handle.declare(client, given(array, "receive"), terms, False)

    def add_broadcast(
        self,
        name: str,
        give: Callable[[int], NDArray[Any] | None],
        take: Callable[[int, NDArray[Any]], None],
        *,
        capacity: int,
        dtype: DTypeLike = np.float64,
        every: int = 1,
        phase: int = 0,
        root: int = 0,
        arity: int = 2,
    ) -> int:
        """Registers a broadcast of at most `capacity` elements, which descends one level of a tree in each round.

        give(round) is called at the root, and returns a value or None. take(began, value) is called at all ranks in
        the same round.
        """
        kind = dtype_from(dtype, "dtype", "add_broadcast")
        room = count_of(capacity, "capacity", "add_broadcast", MAX_INT64 // kind.itemsize) * kind.itemsize
        function(give, "give", "add_broadcast", "a function of the round")
        function(take, "take", "add_broadcast", "a function of the round and the value")

        def take_bytes(began: int, _givers: int, image: bytes) -> None:
            take(began, np.frombuffer(image, kind))

        terms = _phased("add_broadcast", name, every, phase, root, arity)
        return self._handle.add_broadcast(terms, room, _giver(give, kind), take_bytes)

    def add_reduction(
        self,
        name: str,
        operation: str,
        give: Callable[[int], NDArray[Any] | None],
        take: Callable[[int, int, NDArray[Any]], None],
        *,
        count: int = 1,
        dtype: DTypeLike = np.float64,
        to_all: bool = False,
        every: int = 1,
        phase: int = 0,
        root: int = 0,
        arity: int = 2,
    ) -> int:
        """Registers a reduction of arrays of `count` elements, which climbs one level of a tree in each round.

        `operation`: "sum", "product", "max", "min", "logical_and" or "logical_or". give(round) returns this rank's
        value, or None. take(began, givers, result) is called at the root, or at all ranks with `to_all`.
        """
        chosen = word(operation, "operation", "add_reduction", _OPERATIONS)
        kind = dtype_from(dtype, "dtype", "add_reduction")
        elements = count_of(count, "count", "add_reduction", MAX_INT32)
        function(give, "give", "add_reduction", "a function of the round")
        function(take, "take", "add_reduction", "a function of the round, the givers and the result")

        def take_bytes(began: int, givers: int, image: bytes) -> None:
            take(began, givers, np.frombuffer(image, kind))

        terms = _phased("add_reduction", name, every, phase, root, arity)
        everywhere = flag(to_all, "to_all", "add_reduction")
        like = np.zeros(elements, kind)
        return self._handle.add_reduction(terms, chosen, like, everywhere, _giver(give, kind), take_bytes)

    def freeze(self) -> None:
        """Agrees with the other ranks on clients and requests. Collective over the group.

        Raises MismatchError if two ranks disagree.
        """
        self._handle.freeze()

    def amend(self, from_round: int) -> None:
        """Agrees on what has changed since; it takes effect when the round `from_round` begins. Collective."""
        self._handle.amend(count_of(from_round, "from_round", "amend"))

    def round(self, timeout: float | None = None) -> None:
        """Runs a round. After DeadlineError it is still under way: call it again."""
        self._handle.round(seconds(timeout, "timeout", "round"))

    @property
    def round_number(self) -> int:
        """The number of the round that is under way, or comes next."""
        return self._handle.round_number()

    def set_length(self, request: int, length: int) -> None:
        """Sets how many bytes of a request are sent in this round, within the `fill` of its phase."""
        self._handle.set_length(_number_of(request, "request", "set_length"), count_of(length, "length", "set_length"))

    def length(self, request: int) -> int:
        """Returns the bytes that a request moves in this round; 0: nothing."""
        return self._handle.length(_number_of(request, "request", "length"))

    def table(self) -> str:
        """Returns messages, bytes and waits of this rank as a table."""
        return self._handle.report(_TABLE)

    def json(self) -> str:
        """Returns messages, bytes and waits of this rank as one line of JSON."""
        return self._handle.report(_JSON)

    def timeline(self) -> str:
        """Returns what this rank did when, as JSON in the Chrome trace format."""
        return self._handle.report(_TIMELINE)

    def close(self) -> None:
        """Closes the rounds. Ranks that wait for a round which this one has not begun get StateError."""
        self._handle.close()


def _giver(give: Callable[[int], NDArray[Any] | None], kind: np.dtype[Any]) -> Callable[[int], bytes | None]:
    def give_bytes(number: int) -> bytes | None:
        value = give(number)
        return None if value is None else np.ascontiguousarray(value, kind).tobytes()

    return give_bytes


def _number_of(value: Any, name: str, call: str) -> int:
    return whole_number(value, name, call, 0, MAX_INT32, f"the number of a {name}, which is a whole number")


def _request(
    call: str, peer: Any, tag: Any, title: Any, every: Any, offset: Any, phase: Any, variable: Any, optional: Any
) -> _couplet.RequestTerms:
    """Returns the terms of a request."""
    return _couplet.RequestTerms(
        rank_number(peer, "peer", call),
        whole_number(tag, "tag", call),
        text(title, "title", call),
        count_of(every, "every", call),
        count_of(offset, "offset", call),
        whole_number(phase, "phase", call, -1, MAX_INT32),
        flag(variable, "variable", call),
        flag(optional, "optional", call),
    )


def _phased(call: str, name: Any, every: Any, phase: Any, root: Any, arity: Any) -> _couplet.PhasedTerms:
    """Returns the terms of a broadcast or a reduction in phases."""
    return _couplet.PhasedTerms(
        text(name, "name", call),
        count_of(every, "every", call),
        whole_number(phase, "phase", call, -1, MAX_INT32),
        rank_number(root, "root", call),
        whole_number(arity, "arity", call, -1, MAX_INT32),
    )
